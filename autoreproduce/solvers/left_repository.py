"""What an attempt at a whole paper left in its workspace, as a submission: it is graded by the
paper's rubric, and nothing of it is run here.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from autoreproduce.contracts import Submission
from autoreproduce.errors import UsageError
from autoreproduce.files.tree import Tree
from autoreproduce.solvers.left_program import OWN
from autoreproduce.solvers.task_folder import remove_given
from autoreproduce.task import Task

SKIPPED = (OWN, "__pycache__", ".git", "node_modules")


def left_repository(
    tree: Tree, ending: str, warnings: Sequence[str], details: Mapping[str, Any]
) -> Submission:
    """All files but those that were given; `ending` says how the attempt ended."""
    remove_given(tree)
    files = tree.files(skip=SKIPPED)
    return Submission(
        status="complete" if files else "failed",
        reason=f"it left {len(files)} files" if files else f"it left no files ({ending})",
        phase="attempt",
        warnings=warnings,
        not_reproduced=["nothing was run by the harness: what was left is graded"],
        details={"files": len(files), **details},
    )


def refuse_whole_paper(task: Task, who: str) -> None:
    """Raise UsageError for a whole paper, which `who` cannot attempt."""
    if task.writes == "repository":
        raise UsageError(
            f"{task.id} is a whole paper, for which {who} has no form",
            fix="choose --solver autoreproduce, papercoder, basic, iterative or agent:NAME",
        )

"""What an attempt left in its workspace, as a submission: committed once, then run from the
beginning without the result files of any earlier run. Only what that run writes is measured.

What an attempt at a whole paper left is graded by the paper's rubric, and nothing of it is run
here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.contracts import Submission
from autoreproduce.errors import SandboxError
from autoreproduce.files.kinds import NOT_WRITTEN
from autoreproduce.method.results import discards, results_problem
from autoreproduce.solvers.task_folder import remove_given
from autoreproduce.task import Task
from autoreproduce.trials.run import Run, run_program
from autoreproduce.trials.steps import ExecutionResult

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.contracts import Sandbox
    from autoreproduce.trials.trial import Trial
    from autoreproduce.trials.workspace import Workspace


OWN = ".agent"  # an agent's HOME, in the workspace so that an interrupted agent finds it again
PROGRAM = "main.py"
GIVEN = ("TASK.md", "preprocess.py")
NOT_OURS = NOT_WRITTEN | {OWN}
MOST_FILES, LARGEST_FILE = 300, 1_000_000  # of the program's text that is committed


@dataclass
class LeftProgram:
    """The program of one attempt; `folder`, relative to the workspace, holds its main.py."""

    task: Task
    settings: Settings
    sandbox: Sandbox
    trial: Trial
    workspace: Workspace
    folder: str = "."

    def submission(
        self, ending: str, warnings: Sequence[str] = (), details: Mapping[str, Any] | None = None
    ) -> Submission:
        """Commit the program and run it, or hand in the repository that is wanted; `ending` says
        how the attempt ended that wrote it.
        """
        self.workspace.open()
        if self.task.wants_repository:
            return self._repository(ending, warnings, details or {})
        self.commit()
        if PROGRAM not in self.workspace.committed():
            why = f"the agent left no {PROGRAM} ({ending})"
            return Submission("failed", why, "attempt", warnings=warnings)
        run = self._run()
        problem = results_problem(self.task, run)
        return Submission(
            status="failed" if discards(self.task, run, problem) else "complete",
            reason=problem or "it ran in full",
            phase="full_run",
            run=run.execution,
            warnings=warnings,
            details=details or {},
        )

    def _repository(
        self, ending: str, warnings: Sequence[str], details: Mapping[str, Any]
    ) -> Submission:
        """All files but those that were given."""
        remove_given(self.workspace.tree)
        files = self.workspace.tree.files(skip=NOT_OURS)
        return Submission(
            status="complete" if files else "failed",
            reason=f"it left {len(files)} files" if files else f"it left no files ({ending})",
            phase="attempt",
            warnings=warnings,
            not_reproduced=["nothing was run by the harness: what was left is graded"],
            details={"files": len(files), **details},
        )

    def commit(self) -> None:
        """What lies in the workspace, into its history, unless a program is there already; the
        given data code as it was given.
        """
        program = {} if self.workspace.committed() else self._texts()
        if self.task.preprocess:
            program["preprocess.py"] = self.task.preprocess
        self.workspace.commit(program, "the agent: what it left")

    def _texts(self) -> dict[str, str]:
        """The program's text by its name below `folder`."""
        tree, root = self.workspace.tree, Path(self.folder)
        program: dict[str, str] = {}
        names = tree.files(skip=NOT_OURS | {"paper"})
        inside = [name for name in names if Path(name).is_relative_to(root)]
        ours = [name for name in inside if name.endswith(".py") and name not in GIVEN]
        for name in ours[:MOST_FILES]:
            with suppress(SandboxError):  # too large to be a program's text
                text = tree.read_text(name, LARGEST_FILE)
                program[str(Path(name).relative_to(root))] = text
        return program

    def _run(self) -> ExecutionResult:
        minutes = self.settings.method.time_limit_minutes or self.task.time_limit_minutes
        command = f"python {PROGRAM}"
        run = Run(command, minutes * 60, counted=True)
        tree, listen = self.workspace.tree, self.trial.output
        self.trial.phase("full_run")
        return self.trial.step(
            ExecutionResult,
            "sandbox",
            "full_run",
            [command, minutes],
            lambda: run_program(self.sandbox, tree, run, listen),
        )

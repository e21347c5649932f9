"""TASK.md, which every agent of its own and every baseline reads."""

from pathlib import Path

from autoreproduce.config import Settings
from autoreproduce.files.tree import Tree
from autoreproduce.papers.model import Paper
from autoreproduce.solvers.agent_file import AgentLimits
from autoreproduce.solvers.task_folder import task_folder
from autoreproduce.task import Metric, Task


def text_for(folder: Path, *claims: str) -> str:
    tree = Tree(folder)
    tree.make_root()
    task = Task(id="t", metric=Metric(name="mse"), instruction="", user_claims=list(claims))
    paper = Paper(title="A paper", text="# A paper", body="", source="text", note="")
    return task_folder(tree, task, paper, Settings(), AgentLimits(minutes=5))


def test_the_users_claims_are_named_by_their_keys_without_their_values(tmp_path: Path) -> None:
    text = text_for(
        tmp_path, "Ours: final cost = 1711.49 ± 73.3 lower", "Huang: steps = 3.58 lower"
    )
    assert "- `ours_final_cost`: Ours: final cost; lower is better\n- `huang_steps`" in text
    assert "1711" not in text and "3.58" not in text


def test_without_claims_nothing_is_said_of_them(tmp_path: Path) -> None:
    assert "Results of the paper" not in text_for(tmp_path)

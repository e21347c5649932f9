"""AutoExperiment as a benchmark: a masked task of a set as a Task that solvers and suites take.

A set is a folder in the public format: a clone of the public data, what `autoreproduce mask` wrote, or the small
set that ships. Its gold stays in the set; a Task holds nothing of it.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from autoreproduce.autoexperiment.dataset import Dataset, load_dataset
from autoreproduce.autoexperiment.selection import MaskedTask, select_tasks
from autoreproduce.autoexperiment.taskset import PaperSet
from autoreproduce.content import folder
from autoreproduce.errors import UsageError
from autoreproduce.task import Metric, Task

PASSED = Metric(
    name="passed", paper_name="pass", unit="none", direction="higher",
    definition="1 where every experiment, run again by the harness in a clean copy with the attempt's functions, "
    "gives the gold numbers within their tolerances; else 0",
)  # fmt: skip


def shipped() -> Path:
    """The small set that ships."""
    return folder("autoexperiment")


def open_set(where: Path | None = None) -> Dataset:
    """The set in a folder, the one that ships where none is named. Raises UsageError where it is none."""
    return load_dataset(where or shipped())


def task_names(where: Path | None = None, n: Sequence[int] = (1,), sample: int | None = None) -> list[str]:
    """The combined ids with n functions masked."""
    return [task.id for task in select_tasks(open_set(where), n, sample=sample)]


def load_task(name: str, profile: str = "small", where: Path | None = None) -> Task:
    """The masked task with this combined id (`PAPER_0,1`). Raises UsageError where there is none."""
    root = where or shipped()
    found = masked_task(root, name)
    made = found.paper.made or PaperSet()
    return Task(
        id=name, title=found.paper.title, method=found.paper.id, dataset="", metric=PASSED, profile=profile,
        instruction=found.experiments, digest=found.paper.text or None, masked_set=root.resolve(),
        time_limit_minutes=made.timeout / 60,
    )  # fmt: skip


def masked_task(root: Path, name: str) -> MaskedTask:
    """The set's own task: paper, functions, command and gold."""
    return select_tasks(open_set(root), ids=[name])[0]


def masked_of(task: Task) -> MaskedTask:
    """The masked task behind a Task. Raises UsageError where it is of another benchmark."""
    if task.masked_set is None:
        raise UsageError(
            f"{task.id} is no task with masked functions: this solver needs one, e.g. of the suite autoexperiment"
        )
    return masked_task(task.masked_set, task.id)


def data_of(task: Task) -> tuple[str, str] | None:
    """The ReproduceBench task and profile whose data a masked task's code reads, None where it reads none."""
    made = masked_of(task).paper.made
    benchmark, _, profile = (made.data if made else "").partition("/")
    return (benchmark, profile or "small") if benchmark else None

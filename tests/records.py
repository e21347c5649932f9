"""A trial's record, and what keeps its notes, for tests that need a trial and nothing of how it was
asked for.
"""

from typing import Any

from autoreproduce.config import Settings
from autoreproduce.job import Job
from autoreproduce.task import Metric, Task
from autoreproduce.trials.trial import TrialRecord


def trial_record(
    task: str | Task = "t",
    profile: str = "p",
    solver: str = "s",
    model: str = "m",
    settings: dict[str, Any] | None = None,
    created: str = "2026-01-01",
    command: str = "",
    **more: Any,
) -> TrialRecord:
    """A record of a Job for the task, or for one of that id."""
    if isinstance(task, str):
        task = Task(id=task, profile=profile, metric=Metric(name="mse"), instruction="")
    job = Job(
        task=task,
        solver=solver,
        settings=Settings(**(settings or {})),
        command=command,
        created="2026-01-01",
    )
    return TrialRecord(job=job, model=model, created=created, **more)


class Notes:
    """An observer that keeps the notes."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str) -> None:
        self.texts.append(text)

    def phase(self, name: str) -> None: ...
    def step(self, step: object, replayed: bool) -> None: ...
    def output(self, text: str) -> None: ...

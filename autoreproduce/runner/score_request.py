"""What a user asks to have scored: a program, a trial or a folder of trials, and how."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.material import PointsSource
from autoreproduce.evaluation.outside_run import OutsideRun, read_beside
from autoreproduce.sandboxes.package_lists import read_requirements
from autoreproduce.task import Task
from autoreproduce.trials.steps import Observer


@dataclass
class ScoreRequest:
    """What is to be scored, and how. `task` None is the trial's own; `points` None: from the paper
    if its text is at hand, else curated. `draw`: the seed of the data that the run sees, which
    nobody who wrote the program could know; "": a new one.
    """

    path: str
    settings: Settings
    task: Task | None = None
    levels: Sequence[str] = ()
    judges: Sequence[str] = ()
    repeats: int = 1
    run: str | None = None
    metric_from: Sequence[str] = ()
    data_at: str = ""
    requirements: Path | None = None
    beside: Sequence[Path] = ()
    carry: Sequence[str] = ()
    system: str | None = None
    paper: Path | None = None
    points: PointsSource | None = None
    reference: str | None = None
    data: Path | None = None
    draw: str = ""
    out: Path | None = None
    note: Callable[[str], None] = print
    observers: Sequence[Observer] = field(default_factory=list)

    @property
    def outside_run(self) -> OutsideRun | None:
        """How the program is to be run, None if it is not. Raises UsageError."""
        given = {
            "--metric-from": tuple(self.metric_from),
            "--data-at": self.data_at,
            "--requirements": self.requirements,
            "--beside": tuple(self.beside),
            "--carry": tuple(self.carry),
        }
        if self.run is not None:
            packages = read_requirements(self.requirements) if self.requirements else ()
            beside = read_beside(self.beside)
            return OutsideRun(self.run, self.data_at, tuple(self.metric_from), packages, beside)
        if named := next((option for option, value in given.items() if value), ""):
            raise UsageError(f"{named} is of a program that is run", fix="add --run COMMAND")
        return None

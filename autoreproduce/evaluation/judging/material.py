"""What a judge is shown beside the program: key points, reference program, the data code given."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.benchmarks.reproducebench.curated import Point, Points
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.evaluation.judging.program import Program, is_text, program_below, read_program
from autoreproduce.evaluation.report.versions import tracked_files
from autoreproduce.task import Task

PointsSource = Literal["paper", "curated"]
POINTS_IN_WORDS: dict[PointsSource, str] = {
    "paper": "key points written from the paper by a judge model",
    "curated": "curated key points, not the paper's definition",
}


@dataclass(frozen=True)
class Material:
    """The key points and the reference program; empty and None if the task has none.

    `points_source`: written by a judge model from the paper, as the paper defines them, or curated
    by the task's author. A level that needs what is missing is not scored.
    """

    points: list[Point] = field(default_factory=list)
    reference: Program | None = None
    points_source: PointsSource = "curated"


def material_of(task: Task, reference: str | None = None, points: Points | None = None) -> Material:
    """The task's own points and reference, or those given.

    `points`: those that a judge wrote from the paper. Raises UsageError for malformed ones.
    """
    own = task.folder is not None
    found = points or (reproducebench.points(task) if own else None)
    program = read_program(reference) if reference else _own_reference(task) if own else None
    if program is not None and program.empty:
        raise UsageError(
            f"--reference {reference} holds no code",
            fix="name the reference program's file or folder",
        )
    source: PointsSource = "paper" if points else "curated"
    return Material(found.points if found else [], program, source)


def _own_reference(task: Task) -> Program:
    folder = reproducebench.reference_folder(task)
    return Program(
        {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    )


def program_of(folder: Path, task: Task) -> Program:
    """A trial's program as last committed, else as in its workspace; without the data code."""
    try:
        files = {name: text for name, text in tracked_files(folder).items() if is_text(name)}
    except (TrialError, OSError):
        files = {}
    program = Program(files) if files else program_below(folder / "workspace")
    given = (task.preprocess or "").strip()
    own = {name: text for name, text in program.files.items() if not given or text.strip() != given}
    return Program(own, program.unread, program.origin)

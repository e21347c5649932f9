"""What the judge is shown beside the program: the key points, the reference, the data code that was given."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.benchmarks import reproducebench
from autoreproduce.benchmarks.schema import Point, Points
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.eval.judging.program import Program, is_text, read_program
from autoreproduce.eval.report.evidence import tracked_files

if TYPE_CHECKING:
    from autoreproduce.task import Task


@dataclass(frozen=True)
class Material:
    """`points` is empty and `reference` None where the task has none; a level that needs them is not scored."""

    points: list[Point] = field(default_factory=list)
    reference: Program | None = None


def material_of(task: Task, reference: str | None = None, points: Points | None = None) -> Material:
    """The task's own points and reference, or those that are given. Raises UsageError for malformed ones."""
    own = task.folder is not None
    found = points or (reproducebench.points(task) if own else None)
    program = read_program(reference) if reference else _own_reference(task) if own else None
    if program is not None and program.empty:
        raise UsageError(f"--reference {reference} holds no code: name the reference program's file or folder")
    return Material(found.points if found else [], program)


def _own_reference(task: Task) -> Program:
    folder = reproducebench.reference_folder(task)
    return Program({path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))})


def program_of(folder: Path, task: Task) -> Program:
    """The program of a trial: as last committed, or as it lies there; without the data code that was given."""
    try:
        files = {name: text for name, text in tracked_files(folder).items() if is_text(name)}
    except (TrialError, OSError):
        files = {}
    program = Program(files) if files else read_program(str(folder / "workspace"))
    given = (task.preprocess or "").strip()
    kept = {name: text for name, text in program.files.items() if not given or text.strip() != given}
    return Program(kept, program.unread, program.origin)

"""What a judge is shown beside the program: key points, reference program, the data code given.

Source of the key points: AutoReproduce (arXiv 2505.20662), appendix A.3.2: three points on the
method, one on hyperparameters, one on training; nothing that is common to all papers, and nothing
on the making of data.

The points come from one of two sources: written from the paper by a judge model (the paper's
definition), or curated by the task's author.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.benchmarks.reproducebench.curated import Point, Points
from autoreproduce.config import digest
from autoreproduce.errors import PaperError, TrialError, UsageError
from autoreproduce.evaluation.judging.submitted_code import (
    Sources,
    is_text,
    program_below,
    read_program,
)
from autoreproduce.evaluation.report.versions import tracked_files
from autoreproduce.papers.reading import read_paper, saved_paper
from autoreproduce.task import Task
from autoreproduce.trials.journal import write_whole

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.evaluation.judging.judge import Judge
    from autoreproduce.papers.model import Paper


def paper_at_hand(trial: Path | None, file: Path | None, settings: Settings) -> Paper | None:
    """The paper in `file`, else the one that the trial in the folder `trial` read, without network.

    None if there is neither: a task's digest is not the paper. Raises PaperError for a file that
    cannot be read.
    """
    if file is not None:
        home = settings.cache_dir / "points" / "papers"
        return read_paper(settings, home, file=file)
    found = saved_paper(trial / "paper") if trial else None
    return found if found is not None and found.source != "digest" else None


def fetched_paper(task: Task, settings: Settings) -> Paper:
    """The task's paper from arXiv, cached. Raises PaperError if it cannot be fetched."""
    if not task.arxiv_id or settings.papers.offline:
        raise PaperError(
            f"the paper of task {task.id} is not at hand, and key points are written from its text",
            fix="give it with --paper FILE, or take --points curated",
        )
    home = settings.cache_dir / "points" / digest(task.arxiv_id)[:16]
    return read_paper(settings, home, arxiv_id=task.arxiv_id)


def key_points(judge: Judge, paper: Paper, task: Task, settings: Settings) -> Points | None:
    """The points of `paper` for this task, from the cache or asked of `judge`.

    Cached by judge, paper, task and instruction. None if the judge's replies cannot be used.
    """
    home = settings.cache_dir / "points"
    asked = judge.prompts().render("points", paper=paper.body, task=task)
    saved = home / f"{digest([judge.name, asked])}.json"
    if saved.exists():
        return Points.model_validate_json(saved.read_text(encoding="utf-8"))
    verdict = judge.ask(home, "points", Points, 1, paper=paper.body, task=task).verdict
    if verdict is not None:
        write_whole(saved, verdict.model_dump_json(indent=1) + "\n")
    return verdict


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
    reference: Sources | None = None
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


def _own_reference(task: Task) -> Sources:
    folder = reproducebench.reference_folder(task)
    return Sources(
        {path.name: path.read_text(encoding="utf-8") for path in sorted(folder.glob("*.py"))}
    )


def program_of(folder: Path, task: Task) -> Sources:
    """A trial's program as last committed, else as in its workspace; without the data code."""
    try:
        files = {name: text for name, text in tracked_files(folder).items() if is_text(name)}
    except (TrialError, OSError):
        files = {}
    program = Sources(files) if files else program_below(folder / "workspace")
    given = (task.preprocess or "").strip()
    own = {name: text for name, text in program.files.items() if not given or text.strip() != given}
    return Sources(own, program.unread, program.origin)


POINTED = {"paper", "mixed"}  # the levels that are judged by key points


@dataclass(frozen=True)
class PointsChoice:
    """How key points are chosen.

    `source` None: from the paper if `file` or the folder `trial` has its text, else curated, with a
    note. `judge` writes them.
    """

    judge: Judge
    settings: Settings
    source: PointsSource | None = None
    trial: Path | None = None
    file: Path | None = None
    note: Callable[[str], None] = print


def judged_material(task: Task, reference: str | None, choice: PointsChoice) -> Material:
    """Key points and reference of a task.

    Without points if the judge's cannot be used: levels that need them are not scored. Raises
    PaperError if the paper should be the source and cannot be fetched.
    """
    curated = material_of(task, reference)
    paper = _paper(task, choice)
    if paper is None:
        if curated.points and choice.source is None:
            choice.note(f"key points: the curated ones of {task.id}, since no paper's text is here")
        return curated
    points = key_points(choice.judge, paper, task, choice.settings)
    if points is None:
        choice.note(
            "the judge wrote no usable key points: levels that need them are not scored; "
            "--points curated takes the task's own"
        )
        return replace(curated, points=[], points_source="paper")
    return material_of(task, reference, points)


def _paper(task: Task, choice: PointsChoice) -> Paper | None:
    """The paper that key points are written from, None if they are the curated ones."""
    if choice.source == "curated":
        return None
    found = paper_at_hand(choice.trial, choice.file, choice.settings)
    return fetched_paper(task, choice.settings) if found is None and choice.source else found

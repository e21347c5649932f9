"""What judges are shown beside a program, with the key points of one of two sources: written from
the paper by a judge model (the paper's definition), or curated by the task's author.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.evaluation.judging.material import (
    Material,
    PointsSource,
    fetched_paper,
    key_points,
    material_of,
    paper_at_hand,
)

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.evaluation.judging.judge import Judge
    from autoreproduce.papers.model import Paper
    from autoreproduce.task import Task

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
    PaperError if the paper is to be the source and cannot be had.
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

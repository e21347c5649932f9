"""The five key points of a paper, written once by a judge model from the paper alone, and saved.

Source: AutoReproduce (arXiv 2505.20662), appendix A.3.2: three points on the method, one on
hyperparameters, one on training; nothing that is common to all papers, and nothing on the making of
data.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.benchmarks.reproducebench.curated import Points
from autoreproduce.config import digest
from autoreproduce.errors import PaperError
from autoreproduce.papers.reading import read_paper, saved_paper
from autoreproduce.trials.journal import write_whole

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.evaluation.judging.judge import Judge
    from autoreproduce.papers.model import Paper
    from autoreproduce.task import Task


def paper_at_hand(trial: Path | None, file: Path | None, settings: Settings) -> Paper | None:
    """The paper in `file`, else the one that the trial in the folder `trial` read, without network.

    None if there is neither: a task's digest is not the paper. Raises PaperError for a file that
    cannot be read.
    """
    if file is not None:
        home = settings.cache_dir / "points" / "papers"
        return read_paper(
            settings, home, arxiv_id=None, file=file, digest=None, note=lambda _: None
        )
    found = saved_paper(trial / "paper") if trial else None
    return found if found is not None and found.source != "digest" else None


def fetched_paper(task: Task, settings: Settings) -> Paper:
    """The task's paper from arXiv, saved in the cache. Raises PaperError if it cannot be had."""
    if not task.arxiv_id or settings.papers.offline:
        raise PaperError(
            f"the paper of task {task.id} is not at hand, and key points are written from its text",
            fix="give it by --paper FILE, or take --points curated",
        )
    home = settings.cache_dir / "points" / digest(task.arxiv_id)[:16]
    return read_paper(
        settings, home, arxiv_id=task.arxiv_id, file=None, digest=None, note=lambda _: None
    )


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

"""The five key points of a paper outside the benchmark: written once by a judge, kept, and then the same for all.

Source: AutoReproduce (arXiv 2505.20662), appendix A.3.2: three points on the method, one on hyperparameters,
one on training; nothing that is common to all papers, and nothing on the making of data.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.benchmarks.schema import Points
from autoreproduce.config import digest
from autoreproduce.journal import write_whole
from autoreproduce.papers.reading import read_paper

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.eval.judging.judge import Judge
    from autoreproduce.task import Task


def key_points(judge: Judge, paper_file: Path, task: Task, settings: Settings) -> Points | None:
    """The points of the paper in `paper_file` for this task, from the cache or asked of `judge`; None where its
    replies cannot be used. Raises PaperError where the paper cannot be read."""
    home = settings.cache_dir / "points"
    paper = read_paper(settings, home / "papers", arxiv_id=None, file=paper_file, digest=None, note=lambda _: None)
    kept = home / f"{digest([paper.body, task.instruction])}.json"
    if kept.exists():
        return Points.model_validate_json(kept.read_text(encoding="utf-8"))
    verdict = judge.ask(home, task, "points", Points, 1, paper=paper.body, task=task).verdict
    if verdict is not None:
        write_whole(kept, verdict.model_dump_json(indent=1) + "\n")
    return verdict

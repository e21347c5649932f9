"""report.html: one self-contained page that tells what a trial did, what came of it, and what did not.

`evidence` reads the folder, `verdict` judges, `timeline`, `comparison` and `chart` count and draw, `texts`
makes hostile text harmless, `page` and the templates put it together. Nothing is fetched by the page, and
nothing in it is active but a button that unfolds all.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.errors import UsageError
from autoreproduce.journal import write_whole
from autoreproduce.task import Task

if TYPE_CHECKING:
    from autoreproduce.eval.report.evidence import Evidence

__all__ = ["write_report"]


def write_report(trial_folder: Path, task: Task | None, found: Evidence | None = None) -> Path:
    """Write report.html into a trial's folder, finished or not, and return its path.

    `task` gives the references to compare with; None takes the task that the trial's record keeps, and
    where there is none the page says so. `found` spares reading the folder again.
    Raises UsageError where the folder does not exist, TrialError where the page cannot be written.
    """
    from autoreproduce.eval.report.evidence import gather
    from autoreproduce.eval.report.page import render

    if not trial_folder.is_dir():
        raise UsageError(f"{trial_folder} is no folder: name a trial's folder, such as one below runs/")
    found = found or gather(trial_folder)
    path = trial_folder / "report.html"
    write_whole(path, render(found, task or found.task()))
    return path

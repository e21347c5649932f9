"""report.html: one self-contained page on what a trial did, what came of it, and what did not.

`evidence` and `versions` read the folder, `verdict` judges, `timeline`, `comparison` and `chart`
count and draw, `texts` makes hostile text harmless, `page` and the templates put it together. The
page fetches nothing, and nothing in it is active but a button that unfolds all.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.task import Task
from autoreproduce.trials.journal import write_whole

if TYPE_CHECKING:
    from autoreproduce.evaluation.report.evidence import Evidence

__all__ = ["write_report"]


def write_report(trial_folder: Path, task: Task | None, found: Evidence | None = None) -> Path:
    """Write report.html into a trial's folder, finished or not, and return its path.

    `task` gives the references to compare with; None takes the task that the trial's record keeps,
    and if there is none the page says so. `found` spares reading the folder again. Raises
    UsageError if the folder does not exist, TrialError if it holds a link, or the page cannot be
    written.
    """
    from autoreproduce.evaluation.report.evidence import gather_to_write
    from autoreproduce.evaluation.report.page import render

    found = found or gather_to_write(trial_folder)
    path = trial_folder / "report.html"
    write_whole(path, render(found, task or found.task()))
    return path

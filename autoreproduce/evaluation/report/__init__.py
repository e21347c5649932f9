"""report.html: one self-contained page on what a trial did, what came of it, and what did not.

`evidence` and `versions` read the folder, `verdict` judges, `timeline`, `comparison` and `chart`
count and draw, `texts` makes hostile text harmless, `page` and the templates put it together. The
page fetches nothing, and nothing in it is active but a button that unfolds all.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.errors import UsageError
from autoreproduce.task import Task
from autoreproduce.trials.folders import refuse_links
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
    from autoreproduce.evaluation.report.evidence import gather
    from autoreproduce.evaluation.report.page import render

    if not trial_folder.is_dir():
        raise UsageError(
            f"{trial_folder} isn't a folder", fix="name a trial's folder, such as one below runs/"
        )
    refuse_links(trial_folder)
    found = found or gather(trial_folder)
    path = trial_folder / "report.html"
    write_whole(path, render(found, task or found.task()))
    return path

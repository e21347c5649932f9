"""The Python API's `grade`."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

from autoreproduce.config import Settings
from autoreproduce.options import File, path_or_none
from autoreproduce.plugins.paperbench.grade import Grading, GradingResult, grading_job
from autoreproduce.plugins.paperbench.grade import grade as grade_job
from autoreproduce.runner.api_results import note_to_stderr
from autoreproduce.runner.settings import settings_of, takes

Note = Callable[[str], None]


@takes()
def grade(
    submission: File,
    rubric: File,
    *,
    model: str | None = None,
    settings: Settings | None = None,
    judge: str | None = None,
    paper: File | None = None,
    run: int = 1,
    workers: int = 8,
    room: int = 60_000,
    provided: bool = False,
    full: bool = False,
    labels: File | None = None,
    out: File | None = None,
    note: Note = note_to_stderr,
    **more: Any,
) -> GradingResult:
    """Grade code by a paper's rubric (PaperBench Code-Dev), or resume the grading.

    `submission`: a file, folder, archive, git URL or a trial; `full`: all leaves, of a folder that
    the command `rerun` made. `rubric`: a paper's folder or a
    rubric.json. `judge`: a model's name, else `model`. Raises UsageError, BudgetError.
    """
    used = settings_of(settings, model=model, **more)
    how = Grading(
        rubric=Path(rubric),
        run=run,
        workers=workers,
        room=room,
        provided=provided,
        full=full,
        labels=path_or_none(labels),
    )
    job = grading_job(
        str(submission), how, used, judge, paper=path_or_none(paper), out=path_or_none(out)
    )
    return grade_job(job, note)

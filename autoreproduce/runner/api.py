"""The Python API: what the commands do, as functions. The commands call them.

    from autoreproduce import reproduce
    done = reproduce(arxiv="2301.12664", task="Darcy", model="tape")
    done.outcome.metric

Each function takes the settings by the names that a flag has (`max_debug=5`); what is not given
comes from the environment, autoreproduce.toml and the defaults, as on the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.runner.api_results import PhaseNotes, Reproduction, note_to_stderr
from autoreproduce.runner.api_scoring import default_judges, score
from autoreproduce.runner.settings import TrialSettings, path_or_none, settings_of, shows_settings
from autoreproduce.trials.chain import TRIAL
from autoreproduce.trials.steps import Observer

if TYPE_CHECKING:
    from autoreproduce.runner.attempt import Finished, Request
    from autoreproduce.task import Task

File = str | Path
OpenView = Callable[["Task"], AbstractContextManager[Observer]]
Note = Callable[[str], None]
__all__ = ["default_judges", "reproduce", "score", "settings_of", "watched_attempt"]


@shows_settings(TrialSettings)
def reproduce(
    *,
    arxiv: str | None = None,
    paper: File | None = None,
    task: str | None = None,
    metric: str | Sequence[str] | None = None,
    claims: Sequence[str] = (),
    model: str | None = None,
    data: File | None = None,
    targets: str = "",
    instruction: str = "",
    out: File | None = None,
    trial: int = 1,
    solver: str = "autoreproduce",
    view: OpenView | None = None,
    command: str = "",
    settings: Settings | None = None,
    **more: Unpack[TrialSettings],
) -> Reproduction:
    """Reproduce one experiment of a paper, or resume the attempt.

    A task of the benchmark is named by `task`; one of your own needs `metric` and `arxiv` or
    `paper` (a file); several metrics are a list. `claims` and `solver`: as --claim and --solver.
    `data`: published files, or your own task's, whose test targets lie at `targets`, as for
    --targets. `more`: settings. Raises AutoReproduceError if it
    cannot begin; what ends it later is the outcome.
    """
    from autoreproduce.runner.attempt import Request
    from autoreproduce.runner.find import find_or_make_task
    from autoreproduce.runner.hub_data import local_data

    if out is not None and trial > 1:
        raise UsageError(
            f"--out {out} is one trial's folder, so --trial {trial} changes nothing",
            fix="leave one of them out",
        )
    _refuse_foreign_folder(path_or_none(out))
    used = settings_of(settings, model=model, **more)
    file = path_or_none(paper)
    found = find_or_make_task(task, arxiv, file, metric, instruction, used.profile, claims, targets)
    request = Request(
        found,
        used,
        solver=solver,
        out=path_or_none(out),
        number=trial,
        paper_file=file,
        data=local_data(path_or_none(data), used, note_to_stderr),
        command=command,
    )
    return watched_attempt(request, view)


def _refuse_foreign_folder(out: Path | None) -> None:
    """Raise UsageError for a folder that holds something and is no trial's."""
    if out is None or not out.is_dir() or (out / TRIAL).exists():
        return
    if any(entry.name != ".lock" for entry in out.iterdir()):
        raise UsageError(
            f"{out} is not empty, and no trial's folder", fix="name a new or an empty folder"
        )


def watched_attempt(request: Request, view: OpenView | None = None) -> Reproduction:
    """Attempt what is requested; `view` opens what watches it, a line a phase by default."""
    from autoreproduce.runner.attempt import attempt

    opened = view(request.task) if view else nullcontext(PhaseNotes())
    with opened as observer:
        request.observers = [observer]
        done: Finished = attempt(request)
    return Reproduction(done.folder, done.outcome, done.report, done.task, done.earlier)

"""The part of the Python API that scores and grades code (see `api`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from autoreproduce.claims.user_claims import read_user_claims
from autoreproduce.errors import UsageError
from autoreproduce.runner.api_results import ScoredTrials, note_to_stderr
from autoreproduce.runner.settings import path_or_none, settings_of
from autoreproduce.runner.settings_given import TrialSettings

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.evaluation.judging.material import PointsSource
    from autoreproduce.runner.outside import ScoreRequest

File = str | Path
Note = Callable[[str], None]


class ScoreOptions(TrialSettings, total=False):
    """What `score` passes on to `score_request`."""

    repeats: int
    run: str | None
    metric_from: Sequence[str]
    data_at: str
    requirements: File | None
    beside: Sequence[File]
    carry: Sequence[str]
    claims: Sequence[str]
    system: str | None
    paper: File | None
    points: PointsSource | None
    reference: str | None
    metric: str | None
    instruction: str
    data: File | None
    out: File | None


def score(
    path: File,
    *,
    task: str | None = None,
    levels: Sequence[str] = (),
    judges: Sequence[str] = (),
    model: str | None = None,
    settings: Settings | None = None,
    note: Note = note_to_stderr,
    **options: Unpack[ScoreOptions],
) -> ScoredTrials:
    """Score a program (file, folder, archive, git URL), a trial or a folder of trials.

    `levels`: all that need no judge, and with one all, if empty. `judges`: models' names, else
    `model`. `options`: those of `score_request`, and settings by name. Raises UsageError if there
    is nothing to score.
    """
    from autoreproduce.runner.score import score_all

    known: dict[str, Any] = {
        "levels": levels,
        "judges": judges,
        "model": model,
        "settings": settings,
        "note": note,
    }
    return ScoredTrials(*score_all(score_request(path, task=task, **known, **options)))


def score_request(
    path: File,
    *,
    task: str | None = None,
    levels: Sequence[str] = (),
    judges: Sequence[str] = (),
    repeats: int = 1,
    run: str | None = None,
    metric_from: Sequence[str] = (),
    data_at: str = "",
    requirements: File | None = None,
    beside: Sequence[File] = (),
    carry: Sequence[str] = (),
    claims: Sequence[str] = (),
    system: str | None = None,
    paper: File | None = None,
    points: PointsSource | None = None,
    reference: str | None = None,
    metric: str | None = None,
    instruction: str = "",
    data: File | None = None,
    out: File | None = None,
    model: str | None = None,
    note: Note = note_to_stderr,
    settings: Settings | None = None,
    **more: Unpack[TrialSettings],
) -> ScoreRequest:
    """What is to be scored, with the task found and the settings read.

    `run`: a command that runs the program in the sandbox first; `metric_from` (FILE:KEY) and
    `data_at` map what it writes and expects, `requirements` lists its packages, the files `beside`
    lie next to it while it runs, `claims` are held against it. `carry`: large files of the program
    that its run needs. `system`: who wrote the program, as
    tables name it. `points`: where key points come from. Raises UsageError.
    """
    from autoreproduce.runner.find import find_or_make_task
    from autoreproduce.runner.outside import ScoreRequest

    used, file = settings_of(settings, model=model, **more), path_or_none(paper)
    own = metric or _own_metric(claims, file, task)
    named = task or file
    if claims and (run is None or named is None):
        raise UsageError("--claim is held against a run", fix="add --task NAME and --run COMMAND")
    given = (task, None, file, own, instruction, used.profile, claims)
    found = find_or_make_task(*given) if named else None
    return ScoreRequest(
        path=str(path),
        settings=used,
        task=found,
        levels=levels,
        judges=judges or default_judges(used),
        repeats=repeats,
        run=run,
        metric_from=metric_from,
        data_at=data_at,
        requirements=path_or_none(requirements),
        beside=[Path(one) for one in beside],
        carry=carry,
        system=system,
        paper=file,
        points=points,
        reference=reference,
        data=path_or_none(data),
        out=path_or_none(out),
        note=note,
    )


def _own_metric(claims: Sequence[str], paper: Path | None, task: str | None) -> str | None:
    """The metric of a task that names none: the first claim's, else any; None of a benchmark's."""
    if not paper or not task or _is_benchmark_id(task):
        return None
    if not claims:
        return "metric:higher"
    first = read_user_claims(claims)[0]
    return f"{first.id}:{'lower' if first.direction == 'lower' else 'higher'}"


def _is_benchmark_id(task: str) -> bool:
    """Whether it is exactly a task's id: its paper's file may be given without another metric."""
    from autoreproduce.benchmarks.reproducebench.tasks import task_folders

    return task in {path.name for path in task_folders()}


def default_judges(settings: Settings) -> list[str]:
    """The judge if none is named: the model."""
    return [settings.model.name] if settings.model.name else []

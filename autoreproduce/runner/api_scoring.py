"""The part of the Python API that scores and grades code (see `api`)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from autoreproduce.claims.user_claims import read_user_claims
from autoreproduce.errors import UsageError
from autoreproduce.runner.api_results import ScoredTrials, note_to_stderr
from autoreproduce.runner.settings import TrialSettings, path_or_none, settings_of

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.evaluation.judging.material import PointsSource
    from autoreproduce.runner.external_program import ScoreRequest

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

    request = score_request(
        path,
        task=task,
        levels=levels,
        judges=judges,
        model=model,
        settings=settings,
        note=note,
        **options,
    )
    return ScoredTrials(*score_all(request))


class RequestOptions(ScoreOptions, total=False):
    """What `score_request` takes: all that `score` does."""

    task: str | None
    levels: Sequence[str]
    judges: Sequence[str]
    model: str | None
    settings: Settings | None
    note: Note


def score_request(path: File, **options: Unpack[RequestOptions]) -> ScoreRequest:
    """What is to be scored, with the task found and the settings read.

    `run`: a command that runs the program in the sandbox first; `metric_from` (FILE:KEY) and
    `data_at` map what it writes and expects, `requirements` lists its packages, the files `beside`
    lie next to it while it runs, `claims` are held against it. `carry`: large files of the program
    that its run needs. `system`: who wrote the program, as tables name it. `points`: where key
    points come from. Raises UsageError.
    """
    from autoreproduce.runner.external_program import ScoreRequest
    from autoreproduce.runner.find import find_or_make_task

    given: dict[str, Any] = {"note": note_to_stderr, **options}
    for name in ("paper", "requirements", "data", "out"):
        given[name] = path_or_none(given.get(name))
    given["beside"] = [Path(one) for one in given.get("beside", ())]
    task, file, claims = given.pop("task", None), given["paper"], given.pop("claims", ())
    metric, instruction = given.pop("metric", None), given.pop("instruction", "")
    own_fields = {each.name for each in fields(ScoreRequest)} - {"settings"}
    how = {name: given.pop(name) for name in own_fields & given.keys()}
    used = settings_of(given.pop("settings", None), **given)
    own = metric or _own_metric(claims, file, task)
    named = task or file
    if claims and (how.get("run") is None or named is None):
        raise UsageError("--claim is held against a run", fix="add --task NAME and --run COMMAND")
    asked = (task, None, file, own, instruction, used.profile, claims)
    found = find_or_make_task(*asked) if named else None
    how["judges"] = how.get("judges") or default_judges(used)
    return ScoreRequest(path=str(path), settings=used, task=found, **how)


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

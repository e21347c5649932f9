"""Scoring from start to end: what is to be scored, by which judges, and what is left behind.

A trial that is there is scored as it is, and nothing of it is run; anything else that holds a program becomes
a trial's folder first, and is run only where a command is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autoreproduce import Observer, Score
from autoreproduce.benchmarks.reproducebench import prepare
from autoreproduce.budget import Budget
from autoreproduce.config import Settings
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.eval.judging.judge import Judge
from autoreproduce.eval.judging.key_points import key_points
from autoreproduce.eval.judging.material import Material, material_of
from autoreproduce.eval.judging.program import NO_CODE, Program, read_program
from autoreproduce.eval.score_page import write_page
from autoreproduce.eval.scorers import LEVELS, Setup, open_scorers
from autoreproduce.eval.scoring import score_trial, trials_below
from autoreproduce.eval.structure.keep import measure_both
from autoreproduce.eval.submission import NOT_RUN, lay_out, run_submission, submission_folder
from autoreproduce.model_errors import shown
from autoreproduce.models import open_model
from autoreproduce.runner.accounts import close_accounts
from autoreproduce.runner.find import data_folder
from autoreproduce.runner.suite.results import SUITE, write_results
from autoreproduce.task import Task
from autoreproduce.trial import Trial

if TYPE_CHECKING:
    from autoreproduce.tape_model import TapeModel


@dataclass
class ScoreRequest:
    """What is to be scored, and how. `task` None: the trial's own."""

    path: str
    settings: Settings
    task: Task | None = None
    levels: Sequence[str] = ()
    judges: Sequence[str] = ()
    repeats: int = 1
    run: str | None = None
    paper: Path | None = None
    reference: str | None = None
    data: Path | None = None
    out: Path | None = None
    note: Callable[[str], None] = print
    observers: Sequence[Observer] = field(default_factory=list)


@dataclass
class Scored:
    """One trial's scores. `wanted`: the levels whose missing score is a failure of the command."""

    folder: Path
    task: Task
    scores: list[Score]
    page: Path
    wanted: list[str]

    @property
    def missing(self) -> list[Score]:
        """The scores that were asked for and could not be had."""
        return [score for score in self.scores if score.value is None and score.scorer in self.wanted]


def score_all(request: ScoreRequest) -> tuple[list[Scored], list[Path]]:
    """Score a program, a trial, or every trial below a folder. Raises UsageError where there is nothing to score.

    A damaged trial among several is told and left out; their folders come second. The rows of a suite's folder are
    written again, since they tell of scores and judges.
    """
    judges = open_judges(request.judges, request.settings)
    scored: list[Scored] = []
    damaged: list[Path] = []
    try:
        trials = _trials(request)
        for folder, task in trials:
            try:
                scored.append(_score(request, folder, task or _task_of(folder), judges))
            except TrialError as error:
                if len(trials) == 1:
                    raise
                request.note(f"{folder} is left out: {' '.join(str(error).split())}")
                damaged.append(folder)
        return scored, damaged
    finally:
        if (Path(request.path) / SUITE).is_file():
            write_results(Path(request.path))


def open_judges(names: Sequence[str], settings: Settings) -> list[Judge]:
    """The judges by their models' names; they share one budget. Raises UsageError as `open_model`."""
    budget = Budget.parse(settings.budget)
    return [_judge(name, settings, budget) for name in dict.fromkeys(names)]


def _judge(name: str, settings: Settings, budget: Budget) -> Judge:
    model: Any = open_model(settings, name)
    tape: TapeModel | None = model if hasattr(model, "skip") else None
    return Judge(f"tape of {tape.head.model}" if tape else name, model, settings, budget)


def _trials(request: ScoreRequest) -> list[tuple[Path, Task | None]]:
    """The trial folders to score: the one that is named, those below it, or a new one around a program.

    Beside each its task, None for the one that the trial itself tells.
    """
    path = Path(request.path)
    folders = [path] if (path / "trial.json").is_file() else trials_below(path)
    if not folders or _holds_a_program(request, path):
        return [_submitted(request)]
    if request.run:
        raise UsageError(f"{path} holds a finished trial, which is scored as it is: leave --run out")
    return [(folder, request.task) for folder in folders]


def _holds_a_program(request: ScoreRequest, path: Path) -> bool:
    """A task is named, and the folder has code beside the trials that earlier scoring put into it (`score .`)."""
    inside = any(path.resolve() in place.resolve().parents for place in _own_folders(request))
    return request.task is not None and inside and not read_program(request.path, without=_own_folders(request)).empty


def _own_folders(request: ScoreRequest) -> list[Path]:
    """What scoring writes, and has written below the program: no part of it."""
    out = [request.out] if request.out else []
    return [request.settings.runs_dir, *out, *trials_below(Path(request.path))]


def _task_of(folder: Path) -> Task:
    from autoreproduce.benchmarks.reproducebench import load_task

    record = Trial.read(folder).record
    if not record.task_json:
        raise TrialError(f"{folder} does not say which task it is of: add --task NAME")
    try:
        task = Task.model_validate(record.task_json)
    except ValidationError as error:
        raise TrialError(f"{folder}/trial.json tells no task that can be read ({error}): restore it") from None
    return load_task(task.id, task.profile) if task.folder is not None else task


def _submitted(request: ScoreRequest) -> tuple[Path, Task]:
    """A trial's folder around the program, run where a command is given."""
    if request.task is None:
        raise UsageError(f"{shown(request.path)} is a program, not a trial: add --task NAME, or --paper and --metric")
    program = _handed_in(request)
    task = _with_data(request, request.task) if request.run else request.task
    folder = request.out or submission_folder(program, task, request.settings.runs_dir, request.run)
    trial = lay_out(folder, program, task, request.observers)
    try:
        if request.run and not _ran_already(trial, request.run):
            outcome = run_submission(trial, task, request.settings, request.run, request.note)
            close_accounts(outcome, trial, task, 0.0)
            trial.write("outcome.json", outcome.model_dump_json(indent=1))
    finally:
        trial.close()
    return folder, task


def _handed_in(request: ScoreRequest) -> Program:
    """The program, with a word on what a person may miss in it."""
    program = read_program(request.path, without=_own_folders(request))
    if program.origin and program.empty:
        request.note(f"{program.origin} holds no code: it scores 0")
    left = [f"{name} ({why})" for name, why in program.unread.items() if why != NO_CODE]
    if left:
        request.note(f"left out of the program: {', '.join(left[:8])}{f' and {len(left) - 8} more' * (len(left) > 8)}")
    return program


def _ran_already(trial: Trial, command: str) -> bool:
    """Whether the folder's program was run to its outcome; a run that the journal alone holds is gone on with.

    Raises UsageError where that was by another command.
    """
    ran = [str(step.result["command"]) for step in trial.steps if step.kind == "execute"]
    if ran and command not in ran:
        raise UsageError(f"{trial.folder} was run by another command ({ran[-1]}): name a new folder by --out")
    return bool(ran) and (trial.outcome is None or trial.outcome.phase != NOT_RUN)


def _with_data(request: ScoreRequest, task: Task) -> Task:
    if request.data is not None:
        return task.model_copy(update={"data_dir": data_folder(request.data)})
    if task.folder is None:
        return task
    return task.model_copy(
        update={"data_dir": prepare(task.id, task.profile, request.settings.cache_dir, request.note)}
    )


def _score(request: ScoreRequest, folder: Path, task: Task, judges: list[Judge]) -> Scored:
    material = _material(request, folder, task, judges)
    levels = list(request.levels) or [name for name, (_, model) in LEVELS.items() if judges or not model]
    if "structure" in levels and material.reference is not None:
        measure_both(folder, _with_data(request, task), material.reference, request.settings, request.note)
    setup = Setup(judges, request.repeats, material, note=request.note)
    scores = score_trial(folder, task, open_scorers(levels, setup))
    wanted = list(request.levels) or [name for name in levels if LEVELS[name][1]]
    return Scored(folder, task, scores, write_page(folder, task, material), wanted)


def _material(request: ScoreRequest, folder: Path, task: Task, judges: list[Judge]) -> Material:
    """The task's own points and reference; for a paper outside the benchmark the first judge writes the points."""
    if request.paper is None or task.folder is not None or not judges:
        return material_of(task, request.reference)
    points = key_points(judges[0], request.paper, task, request.settings)
    if points is None:
        request.note("the judge wrote no key points that can be used: levels that need them are not scored")
    return material_of(task, request.reference, points)

"""Scoring from start to end: what is scored, by which judges, and what is written.

An existing trial is scored as it is, and nothing of it is run; anything else with a program becomes
a trial's folder first, and is run only if a command is given.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.benchmarks import benchmark_of
from autoreproduce.config import Settings
from autoreproduce.contracts import Score
from autoreproduce.errors import TrialError, UsageError, shown
from autoreproduce.evaluation.judging.judge import Judge
from autoreproduce.evaluation.judging.material import (
    POINTED,
    Material,
    PointsChoice,
    judged_material,
    material_of,
    program_of,
)
from autoreproduce.evaluation.judging.submitted_code import (
    NO_CODE,
    Sources,
    program_at,
    read_program,
)
from autoreproduce.evaluation.outside_run import OutsideRun, read_beside
from autoreproduce.evaluation.report import write_report
from autoreproduce.evaluation.score_page import write_page
from autoreproduce.evaluation.scorers import SCORERS, Setup, open_scorers
from autoreproduce.evaluation.scoring import ALTERED, score_trial
from autoreproduce.evaluation.submission import (
    CarriedFiles,
    carried_files,
    known_by,
    lay_out,
    not_run,
    put_in,
)
from autoreproduce.extensions import found_at, installed
from autoreproduce.files.unpacking import is_url, opened_source
from autoreproduce.job import Job, Program
from autoreproduce.models.budget import Budget
from autoreproduce.models.open import open_model
from autoreproduce.runner.api_results import Reproduction
from autoreproduce.runner.attempt import OpenView, watched_attempt
from autoreproduce.runner.conclude import add_judgement
from autoreproduce.runner.ending import result_of, stopped_by, write_end
from autoreproduce.runner.runtime import Runtime
from autoreproduce.sandboxes.package_lists import last_commit, read_requirements
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.task import Task
from autoreproduce.trials.begun import note_begun, refuse_foreign
from autoreproduce.trials.folders import refuse_links, trials_below
from autoreproduce.trials.steps import Observer
from autoreproduce.trials.trial import Trial

if TYPE_CHECKING:
    from autoreproduce.models.tape_model import TapeModel


@dataclass
class Scored:
    """One trial's scores. `wanted`: the levels whose missing score is a failure of the command."""

    folder: Path
    task: Task
    scores: list[Score]
    page: Path
    wanted: list[str]
    verdict: str = ""  # on the claims, "" of a program that was not run
    sentence: str = ""

    @property
    def missing(self) -> list[Score]:
        """The scores that were asked for and are missing."""
        return [
            score for score in self.scores if score.value is None and score.scorer in self.wanted
        ]


def score_all(job: Job, runtime: Runtime | None = None) -> tuple[list[Scored], list[Path]]:
    """Score a program, a trial, or every trial below a folder; the folders of damaged ones too.

    A damaged trial among several is noted and left out. Plugins that keep something of the scores
    are told. Raises UsageError if there is nothing to score.
    """
    runtime = runtime or Runtime()
    judges = open_judges(job.to_judge.judges, job.settings)
    scored: list[Scored] = []
    damaged: list[Path] = []
    try:
        trials = _trials(job, runtime)
        for folder, task in trials:
            try:
                scored.append(_score(job, runtime, folder, task or _task_of(folder), judges))
            except TrialError as error:
                if len(trials) == 1:
                    raise
                runtime.note(f"{folder} is left out: {' '.join(str(error).split())}")
                damaged.append(folder)
        return scored, damaged
    finally:
        for plugin in installed().values():
            for place in plugin.scored:
                found_at(place)(Path(job.of_program.code))


def open_judges(names: Sequence[str], settings: Settings) -> list[Judge]:
    """The judges by their models' names, with one budget. Raises UsageError as `open_model`."""
    budget = Budget.parse(settings.budget.total)
    return [_judge(name, settings, budget) for name in dict.fromkeys(names)]


def _judge(name: str, settings: Settings, budget: Budget) -> Judge:
    model: Any = open_model(settings, name)
    tape: TapeModel | None = model if hasattr(model, "skip") else None
    return Judge(f"tape of {tape.head.model}" if tape else name, model, settings, budget)


def _trials(job: Job, runtime: Runtime) -> list[tuple[Path, Task | None]]:
    """The trial folders to score: the named one, those below it, or a new one around a program.

    With each its task, None for the one in its own record.
    """
    run, folders = outside_run(job.of_program), _finished(job)
    if run is None and job.settings.seeds > 1:
        runtime.note(f"--seeds {job.settings.seeds} adds no run: without --run nothing is run")
    if not folders:
        return [_new_trial(job, runtime)]
    if run:
        raise UsageError(
            f"{job.of_program.code} is a finished trial, which is scored as it is",
            fix="leave --run out",
        )
    return [(folder, job.task) for folder in folders]


def programs_to_score(job: Job, runtime: Runtime) -> list[tuple[Sources, Task, Path | None]]:
    """Each program with its task, and the folder of its trial if it has one; writes nothing.

    Raises UsageError if there is nothing to score.
    """
    folders = _finished(job)
    if not folders:
        with opened_source(job.of_program.code) as root:
            return [(submitted_program(job, runtime, root), named_task(job), None)]
    found = [(folder, job.task or _task_of(folder)) for folder in folders]
    return [(program_of(folder, task), task, folder) for folder, task in found]


def _finished(job: Job) -> list[Path]:
    """The trials that are named; none if a task is named and the folder has code beside trials of
    earlier scoring: then that is what to score.
    """
    path = Path(job.of_program.code)
    found, own = trials_below(path), own_folders(job)
    inside = any(path.resolve() in place.resolve().parents for place in own)
    if not found or not inside or job.task is None:
        return found
    return found if read_program(str(path), without=own).empty else []


def _task_of(folder: Path) -> Task:
    record = Trial.read(folder).record
    task = record.stored_task()
    in_folder = record.job.of_task.folder is not None
    return benchmark_of(task).load(task.id, task.profile) if in_folder else task


def _score(job: Job, runtime: Runtime, folder: Path, task: Task, judges: list[Judge]) -> Scored:
    refuse_links(folder)
    asked = job.to_judge
    levels = list(asked.levels) or [
        name for name, (_, model) in SCORERS.items() if judges or not model
    ]
    material = _material(job, runtime, folder, task, judges if set(levels) & POINTED else [])
    setup = Setup(judges, asked.repeats, material, note=runtime.note)
    scores = score_trial(folder, task, open_scorers(levels, setup))
    for reason in {str(score.details[ALTERED]) for score in scores if ALTERED in score.details}:
        runtime.note(f"{folder} is not to be trusted: {reason}")
    add_judgement(folder, scores)
    write_report(folder, task)
    wanted = list(asked.levels) or [name for name in levels if SCORERS[name][1]]
    page, outcome = write_page(folder, task, material), Trial.read(folder).result
    words = (outcome.verdict, outcome.sentence) if outcome else ("", "")
    return Scored(folder, task, scores, page, wanted, *words)


def _material(
    job: Job, runtime: Runtime, folder: Path, task: Task, judges: list[Judge]
) -> Material:
    """The reference, and the key points: the first judge writes them, or the task brings them."""
    if not judges:
        return material_of(task, job.to_judge.reference)
    choice = PointsChoice(
        judges[0], job.settings, job.to_judge.points, folder, job.paper, runtime.note
    )
    return judged_material(task, job.to_judge.reference, choice)


# A program that someone else wrote, as a trial: attempted if a command is given
# (`solvers.outside_program`), and then scored as any trial.


def outside_run(program: Program) -> OutsideRun | None:
    """How to run the program, None if it isn't run. Raises UsageError."""
    if program.run is not None:
        packages = read_requirements(program.requirements) if program.requirements else ()
        beside = read_beside(program.beside)
        return OutsideRun(program.run, program.data_at, program.metric_from, packages, beside)
    given = {
        "--metric-from": program.metric_from,
        "--data-at": program.data_at,
        "--requirements": program.requirements,
        "--beside": program.beside,
        "--carry": program.carry,
    }
    if named := next((option for option, value in given.items() if value), ""):
        raise UsageError(f"{named} is of a program that is run", fix="add --run COMMAND")
    return None


def _new_trial(job: Job, runtime: Runtime) -> tuple[Path, Task]:
    """A trial's folder around the program, run if a command is given."""
    if job.of_program.run is None:
        return _trial_of_unrun(job, runtime)
    done = attempt_outside(job, runtime, lambda _: nullcontext(_Told(runtime.note)))
    if done.result.status == "stopped":
        raise stopped_by(done.result)
    return done.path, done.task


class _Told(Observer):
    """Tells what the user should know of a trial, and no more."""

    def __init__(self, told: Callable[[str], None]) -> None:
        self.told = told

    def note(self, text: str) -> None:
        self.told(text)


def attempt_outside(job: Job, runtime: Runtime, view: OpenView | None = None) -> Reproduction:
    """Attempt the Job of a program from outside, or resume the attempt. `view`: as of an attempt.

    The program is put into its trial, which is known by what it holds: a changed one has another.
    """
    task, run = named_task(job), outside_run(job.of_program)
    if run is None:
        raise UsageError("no command is given that runs it", fix="add --run COMMAND")
    if run.data_at and task.own and job.data is None:
        raise UsageError(f"task {task.id} has no data to put there", fix="add --data FOLDER")
    with opened_source(job.of_program.code) as root:
        program, carried = submitted_program(job, runtime, root), _carried(job, runtime, root)
        run = replace(run, written=last_commit(root))
        runtime.lay_out = partial(put_in, program=program, task=task, run=run, carried=carried)
        asked = known_by(job.having(task=task), program, run, carried)
        return watched_attempt(asked, view, runtime)


def _trial_of_unrun(job: Job, runtime: Runtime) -> tuple[Path, Task]:
    """The trial of a program of which nothing is run."""
    task, settings = named_task(job), job.settings
    with opened_source(job.of_program.code) as root:
        program = submitted_program(job, runtime, root)
        asked = known_by(job.having(task=task), program)
        folder = asked.folder()
        refuse_foreign(settings.cache_dir, folder, runtime.trust)
        begun = partial(note_begun, settings.cache_dir, folder)
        with lay_out(folder, program, task, asked, begun) as trial:
            if trial.result is None:
                sandboxes = SandboxSetup.of_trial(folder, settings, None, note=runtime.note)
                found = benchmark_of(task).measure(task, not_run(), trial, sandboxes)
                write_end(result_of(not_run(), found, task), trial, task, sandboxes)
    return folder, task


def _carried(job: Job, runtime: Runtime, root: Path) -> CarriedFiles:
    """The whole tree for the run, with a word on what is not in it."""
    found = carried_files(root, own_folders(job), job.of_program.carry)
    left = [f"{name} ({why})" for name, why in found.left_out.items()]
    if left:
        more = f" and {len(left) - 8} more" if len(left) > 8 else ""
        runtime.note(f"not in the sandbox: {', '.join(left[:8])}{more}")
    return found


def submitted_program(job: Job, runtime: Runtime, root: Path) -> Sources:
    """The program at `root`, with a word on what a person may miss in it."""
    path, is_run = job.of_program.code, job.of_program.run is not None
    program = program_at(root, path, own_folders(job))
    if program.empty and not is_run and Path(path).is_file():
        raise UsageError(f"{path} has no code", fix="name a program's file or folder")
    if program.origin and program.empty and not is_run:
        runtime.note(f"{program.origin} has no code: it scores 0")
    left = [f"{name} ({why})" for name, why in program.unread.items() if why != NO_CODE]
    if left:
        more = f" and {len(left) - 8} more" if len(left) > 8 else ""
        runtime.note(f"left out of what is judged: {', '.join(left[:8])}{more}")
    return program


def named_task(job: Job) -> Task:
    """The task of a program that is no trial. Raises UsageError if none is named."""
    path = job.of_program.code
    if job.task is None:
        if not is_url(path) and not Path(path).exists():
            raise UsageError(
                f"{path} does not exist",
                fix="name a trial's folder, a folder of trials, or a program with --task NAME",
            )
        raise UsageError(
            f"{shown(path)} is a program, not a trial",
            fix="add --task NAME, or --paper and --metric",
        )
    return job.task


def own_folders(job: Job) -> list[Path]:
    """The folders that scoring writes below the program, which are no part of it."""
    out = [job.out] if job.out else []
    return [job.settings.runs_dir, *out, *trials_below(Path(job.of_program.code))]

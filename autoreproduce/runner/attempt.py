"""One trial from start to close: task, data, model, folder, sandbox, solver, and what is left
behind.

Whatever ends a trial, its folder says so: the solver's own failures are outcomes; what came from
outside (budget, model, sandbox, the user) is the status "stopped", and the same command resumes it.
"""

import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from pathlib import Path
from typing import Any

from autoreproduce.benchmarks import benchmark_of
from autoreproduce.claims.withholding import may_have_been_seen
from autoreproduce.contracts import Submission
from autoreproduce.errors import AutoReproduceError, ReplyError, UnusableModelError
from autoreproduce.evaluation.outside_run import read_outside_run
from autoreproduce.evaluation.report import write_report
from autoreproduce.evaluation.report.evidence import gather_to_write
from autoreproduce.evaluation.result_folder import write_result
from autoreproduce.extensions import found_at, installed
from autoreproduce.job import Job, Program, now
from autoreproduce.models.budget import Budget
from autoreproduce.models.tape import CallSite, TapeHead, tape_of, write_tape
from autoreproduce.runner.api_results import Reproduction
from autoreproduce.runner.conclude import conclude
from autoreproduce.runner.ending import result_of, write_end
from autoreproduce.runner.hub_data import local_data
from autoreproduce.runner.last_look import LastLook
from autoreproduce.runner.open_models import ModelChoice, chosen_model, has_ended, servers
from autoreproduce.runner.readings import missing_readings
from autoreproduce.runner.runtime import Runtime
from autoreproduce.runner.seeds import missing_seeds
from autoreproduce.runner.signals import undisturbed
from autoreproduce.runner.views import PlainView
from autoreproduce.sandboxes.package_lists import check_modules, with_packages
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.solvers import open_solver
from autoreproduce.solvers.own_code import submitted
from autoreproduce.task import Task
from autoreproduce.trials.begun import note_begun, refuse_foreign, was_begun_here
from autoreproduce.trials.chain import RESULT
from autoreproduce.trials.live import LiveRecord
from autoreproduce.trials.machines import add_machine, hardware, note_sandbox, versions
from autoreproduce.trials.result import LOOK_LOST, Result
from autoreproduce.trials.steps import ModelResult, Observer
from autoreproduce.trials.trial import Trial, TrialRecord

OpenView = Callable[[Task], AbstractContextManager[Observer]]


def watched_attempt(
    job: Job, view: OpenView | None = None, runtime: Runtime | None = None
) -> Reproduction:
    """Attempt a Job; `view` opens what watches it: by default what the command writes into a file,
    on stderr.
    """
    runtime = runtime or Runtime()
    choice = chosen_model(job, runtime)  # which may ask the user, so before a view is drawn
    opened = view(job.of_task) if view else PlainView(sys.stderr)
    with opened as observer:
        runtime.observers = [observer]
        return attempt(job, runtime, choice)


def attempt(
    job: Job, runtime: Runtime | None = None, choice: ModelChoice | None = None
) -> Reproduction:
    """Attempt a Job's task, or resume the attempt that was begun, by the models of `choice` if they
    were chosen before. Raises UsageError and TrialError before it begins.
    """
    runtime = runtime or Runtime()
    choice = choice or chosen_model(job, runtime)
    cache, note = choice.settings.cache_dir, _noter(runtime.observers)
    if choice.announcement:
        note(choice.announcement)
    job = job.having(data=local_data(job.data, job.settings, note))
    task = benchmark_of(job.of_task).prepare(job.of_task, cache, note, job.data)
    asked = (runtime.asked or job).settings.having(**choice.settings.identity())
    stored = job.having(settings=asked).fixed()
    job = stored.having(settings=choice.settings)
    folder = job.folder()
    refuse_foreign(cache, folder, runtime.trust)
    trial = Trial.open(
        folder,
        _record_of(stored, task, choice),
        runtime.observers,
        lambda: note_begun(cache, folder),
    )
    if not was_begun_here(cache, folder):
        choice.trusted = False  # its code is in the folder, and anybody may have written it
    live = LiveRecord(folder)
    trial.observers.append(live)
    choice.tell_of_waits(trial.note)
    try:
        runtime.lay_out(trial)
        outcome = trial.result
        earlier = has_ended(trial, job.settings)
        report = None
        if outcome is None or not earlier:
            with _watched_by_plugins(trial) as watching:
                outcome = _run(job, runtime, task, choice, trial)
                report = _close(trial, task, outcome, earlier)
                for each in watching:
                    each.close(outcome)
        elif _lacks_runs(trial, outcome, choice):
            outcome = _with_more_runs(job, runtime, task, choice, trial, outcome)
            earlier = False
        report = report or _close(trial, task, outcome, earlier)
        if job.settings.model.record:
            _record_tape(job.settings.model.record, trial)
        return Reproduction(folder, outcome, report, task, earlier)
    finally:
        live.end()
        trial.close()


def _record_of(job: Job, task: Task, choice: ModelChoice) -> TrialRecord:
    """trial.json."""
    settings, found = choice.settings, hardware(choice.settings.sandbox.gpus)
    names = {choice.models.research_name, choice.models.code_name} - {""}
    live = names and choice.replayed is None
    return TrialRecord(
        job=job,
        model=choice.name,
        created=now(),
        versions=versions(),
        hardware=found,
        planned_minutes=settings.method.time_limit_minutes or task.time_limit_minutes,
        planned_cores=min(settings.sandbox.limits.cpus, found["cpus"] or math.inf),
        replayed=choice.replayed,
        # for a resumed trial to ask there too
        inputs={"server": servers(sorted(names), settings) if live else None},
    )


@contextmanager
def _watched_by_plugins(trial: Trial) -> Iterator[list[Any]]:
    """What plugins watch the trial with while the block runs; each is closed with the outcome."""
    with ExitStack() as stack:
        opened = (
            stack.enter_context(found_at(place)(trial.record, str(trial.folder), trial.observers))
            for plugin in installed().values()
            for place in plugin.observers
        )
        yield [each for each in opened if each is not None]


def _run(job: Job, runtime: Runtime, task: Task, choice: ModelChoice, trial: Trial) -> Result:
    """The outcome of what was submitted and measured, or "stopped" with the reason; written once.

    Until it is written the folder says nothing of an end, so a killed trial is begun again, and
    the journal answers for what was done.
    """
    began, settings = time.monotonic(), job.settings
    add_machine(trial.folder, trial.record.hardware, hardware(settings.sandbox.gpus))
    (trial.folder / RESULT).unlink(missing_ok=True)
    sandboxes = _sandboxes(runtime, task, choice, trial)
    try:
        sandboxes = _ready(job, task, trial, sandboxes)
        budget = runtime.budget or Budget.parse(settings.budget.total)
        submission = _submission(job, runtime, task, choice, trial, sandboxes, budget)
        measurement = benchmark_of(task).measure(task, submission, trial, sandboxes)
        outcome = result_of(submission, measurement, task)
        outcome.warnings += may_have_been_seen(trial.folder)
        look = _look(job, runtime, task, choice, trial, outcome, budget)
        conclude(trial, task, outcome, settings, sandboxes, look=look)
    except KeyboardInterrupt:
        outcome = Result(
            status="stopped",
            reason="stopped by the user: the same command resumes it",
            phase=trial.phase_name,
        )
    except AutoReproduceError as error:
        outcome = Result(status="stopped", reason=str(error), phase=trial.phase_name)
        outcome.details |= {
            "exit_code": error.exit_code,
            "error": error.kind,
            "retryable": error.retryable,
        }
    outcome.notes += choice.notes()
    write_end(outcome, trial, task, sandboxes, time.monotonic() - began)
    return outcome


def _sandboxes(runtime: Runtime, task: Task, choice: ModelChoice, trial: Trial) -> SandboxSetup:
    """Where the trial's programs run."""
    return SandboxSetup.of_trial(
        trial.folder,
        choice.settings,
        task.data_dir,
        trusted=choice.trusted,
        note=trial.note,
        starts=runtime.starts,
    )


def _ready(job: Job, task: Task, trial: Trial, sandboxes: SandboxSetup) -> SandboxSetup:
    """The sandboxes with what the task and a program from outside need.

    A program whose number is read from its own words sees the test targets: with decoys in their
    place its words would be about these.
    """
    program, outside = job.program or Program(code=""), read_outside_run(trial.folder)
    if not program.metric_from:
        sandboxes = benchmark_of(task).ready(task, sandboxes).of_draw(program.draw)
    return with_packages(sandboxes, outside.packages, outside.written) if outside else sandboxes


def _lacks_runs(trial: Trial, outcome: Result, choice: ModelChoice) -> bool:
    """True if more runs of a finished trial's program are asked for than there are, or if its last
    look was lost.
    """
    if outcome.status != "measured":
        return False
    if LOOK_LOST in outcome.details and choice.models.research is not None:
        return True
    settings = choice.settings
    return missing_seeds(trial, settings.seeds) or missing_readings(outcome.claims, settings)


def _look(
    job: Job,
    runtime: Runtime,
    task: Task,
    choice: ModelChoice,
    trial: Trial,
    outcome: Result,
    budget: Budget,
) -> LastLook | None:
    """What looks at a miss of our method's; None of another solver's, and of a part of a run."""
    if job.solver != "autoreproduce" or "partial" in outcome.details:
        return None
    return LastLook(trial, task, choice.settings, choice.guarded(runtime.guard), budget)


def _with_more_runs(
    job: Job, runtime: Runtime, task: Task, choice: ModelChoice, trial: Trial, outcome: Result
) -> Result:
    """The outcome of a finished trial after the runs that it lacks; stopped, the old one stays."""
    here = hardware(choice.settings.sandbox.gpus)
    add_machine(trial.folder, trial.record.hardware, here)
    sandboxes = _sandboxes(runtime, task, choice, trial)
    try:
        sandboxes = _ready(job, task, trial, sandboxes)
        budget = runtime.budget or Budget.parse(choice.settings.budget.total)
        lost = LOOK_LOST in outcome.details and choice.models.research is not None
        look = _look(job, runtime, task, choice, trial, outcome, budget) if lost else None
        conclude(trial, task, outcome, choice.settings, sandboxes, look=look)
    except KeyboardInterrupt:
        why = "stopped by the user: the same command adds the runs that are missing"
        return outcome.model_copy(update={"status": "stopped", "reason": why, "sentence": ""})
    write_end(outcome, trial, task, sandboxes, outcome.cost.seconds)
    return outcome


def _submission(
    job: Job,
    runtime: Runtime,
    task: Task,
    choice: ModelChoice,
    trial: Trial,
    sandboxes: SandboxSetup,
    budget: Budget,
) -> Submission:
    """What the solver submits from a sandbox of its own, which is closed before anything is
    measured; a model that can't answer is its failure.
    """
    models = choice.guarded(runtime.guard)
    solver = open_solver(job.solver, settings=choice.settings, budget=budget, paper_file=job.paper)
    sandbox = sandboxes.open(trial.workspace.resolve())
    try:
        note_sandbox(trial, sandbox, sandboxes.unisolated)
        if job.program is None:  # one from outside brings its own
            check_modules(sandbox, task.modules)
        return submitted(job.solver, solver, task, models, sandbox, trial)
    except (ReplyError, UnusableModelError) as error:
        return Submission("failed", str(error), trial.phase_name)
    finally:
        with undisturbed():
            sandbox.close()


def _record_tape(path: Path, trial: Trial) -> None:
    """The tape of the replies so far; the journal is what makes it durable, so it is written when
    a trial rests.
    """
    record = trial.record
    head = TapeHead(
        model=record.model,
        recorded=record.created[:10],
        task=record.task,
        profile=record.profile,
        settings=record.settings,
    )
    calls = [
        (CallSite(step.role, step.phase, step.name), step.result)
        for step in trial.steps
        if isinstance(step.result, ModelResult)
    ]
    write_tape(path, head, tape_of(calls))


def _close(trial: Trial, task: Task, outcome: Result, earlier: bool) -> Path:
    """The result folder and the report; of a trial that ended earlier they are left as they are."""
    report = trial.folder / "report.html"
    if earlier and report.exists():
        return report
    found = gather_to_write(trial.folder)
    if outcome.status == "measured":
        write_result(trial.folder, task, found)
    return write_report(trial.folder, task, found)


def _noter(observers: Sequence[Observer]) -> Callable[[str], None]:
    def note(text: str) -> None:
        for observer in observers:
            observer.note(text)

    return note

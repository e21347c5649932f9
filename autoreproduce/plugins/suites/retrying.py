"""The attempt of one job, retried after a pause if what it runs on failed.

The same for a thread of the runner and for a worker on another machine; `WorkerContext` holds what
differs: whose budget is asked, what limits the calls, where the GPUs come from.

What a call may cost is reserved with the suite before the call, so parallel trials cannot exceed
the limit together. What is in a trial's journal was counted when the suite began, and is not
counted again as it is replayed.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from autoreproduce.config import Settings
from autoreproduce.errors import (
    AutoReproduceError,
    BudgetError,
    ContextError,
    ExecutorError,
    ModelError,
    SandboxError,
    SolverError,
    TrialError,
)
from autoreproduce.job import Job
from autoreproduce.models.budget import Budget
from autoreproduce.plugins.suites.finished_trials import EndedTrial, Status, forget_end, write_ended
from autoreproduce.plugins.suites.job import suite_trial
from autoreproduce.runner.attempt import attempt
from autoreproduce.runner.runtime import Runtime
from autoreproduce.runner.settings import settings_here
from autoreproduce.trials.steps import Observer

if TYPE_CHECKING:
    from autoreproduce.runner.api_results import Reproduction


# What ended a trial: the solver itself, which is data, or what it runs on, which is not its
# failure.
#
# The error's facts decide, as the attempt wrote them down. What may pass (an endpoint or a daemon
# that is down, a full disk) is retried; what will not pass by waiting (a refused key, a damaged
# PDF, a tape of another trial) is not.

SYSTEM = "system"  # the kind of an OSError
BUG = "bug"  # of any other error that is none of ours
SOLVERS_OWN = {ContextError.kind, BudgetError.kind, SolverError.kind}  # its prompt, budget, code
# What, met again and again, will meet every trial.
SHARED = {ModelError.kind, SandboxError.kind, TrialError.kind, ExecutorError.kind, SYSTEM}


def of_result(done: Reproduction, out_of_money: bool) -> tuple[EndedTrial, bool]:
    """How a trial that has a result ended, and whether another attempt may help.

    `out_of_money`: it was the suite's budget that stopped it, not one of its own.
    """
    result, kind = done.result, str(done.result.details.get("error", ""))
    status: Status
    if result.status != "stopped":
        status = result.status
    elif not kind or (kind == BudgetError.kind and out_of_money):
        status = "stopped"
    else:
        status = "failed" if kind in SOLVERS_OWN else "not scored"
    ended = EndedTrial.of(result, status=status, kind=kind)
    return ended, status == "not scored" and bool(result.details.get("retryable"))


def of_error(error: BaseException) -> tuple[EndedTrial, bool]:
    """The same for an error that left no result: before the trial began, or because its folder
    cannot be written.
    """
    if isinstance(error, AutoReproduceError):
        kind, reason, retryable = error.kind, str(error), error.retryable
    elif isinstance(error, OSError):
        kind, reason, retryable = SYSTEM, str(error), True
    else:
        reason = f"{type(error).__name__}: {error}"
        return EndedTrial(status="not scored", reason=reason, kind=BUG, cost=None), False
    return EndedTrial(status="not scored", reason=reason, kind=kind), retryable


RESUME = "the same command resumes it"


@dataclass
class WorkerContext:
    """What attempts on one machine have in common.

    `budget`: the suite's. `guard` is given each chat model that was opened. `machine` gives the
    settings with this machine's share of processors and its GPUs, held while the trial is
    attempted. `ending`: True if no further attempt makes sense.
    """

    budget: Budget
    stop: threading.Event
    guard: Callable[[Any, str], Any]
    machine: Callable[[Settings], AbstractContextManager[Settings]]
    starts: AbstractContextManager[Any] = field(default_factory=nullcontext)
    ending: Callable[[], bool] = lambda: False
    note: Callable[[str], None] = lambda text: None


def attempt_job(job: Job, around: WorkerContext, observer: Observer) -> EndedTrial:
    """How the trial ended, which is written into its folder too."""
    began, attempts = time.monotonic(), 0
    while True:
        attempts += 1
        ended, again = _attempt_once(job, around, observer)
        pauses = suite_trial(job).retry_after[attempts - 1 :]
        if not again or not pauses or around.ending():
            break
        words = suite_trial(job).planned.words
        around.note(f"{words}: {ended.reason} (again in {pauses[0]:g} s)")
        if around.stop.wait(pauses[0]):
            break
    ended.attempts = attempts
    ended.seconds = ended.seconds or round(time.monotonic() - began, 1)
    write_ended(suite_trial(job).folder, ended)
    return ended


def _attempt_once(job: Job, around: WorkerContext, observer: Observer) -> tuple[EndedTrial, bool]:
    """How the attempt ended, and whether a retry may help."""
    try:
        forget_end(suite_trial(job).folder)
        settings = settings_here(job)
        budget = Budget.parse(settings.budget.total, around.budget, around.stop)
        with around.machine(settings.having(max_retries=0)) as prepared:  # the gate retries
            runtime = Runtime(
                [observer],
                around.note,
                budget,
                around.guard,
                around.starts,
                trust=True,  # whoever took the job up has looked at its folder
                asked=job,
            )
            done = attempt(job.having(settings=prepared), runtime)
    except KeyboardInterrupt:
        stopped = EndedTrial(status="stopped", reason=f"stopped by the user: {RESUME}")
        return stopped, False
    except (Exception, SystemExit) as error:  # a solver that exits must not end its worker
        return of_error(error)
    return of_result(done, budget.exhausted)

"""Checks before a suite begins: no other process runs it, and its models can be opened."""

from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from autoreproduce.errors import TrialError
from autoreproduce.models.budget import Budget
from autoreproduce.plugins.suites.plan import Plan, Planned
from autoreproduce.runner.open_models import choose_model
from autoreproduce.solvers import refuse_faulty
from autoreproduce.trials.begun import make_own_folder
from autoreproduce.trials.folders import SCRIPTS, TRIALS, refuse_links


def check_solvers(plan: Plan) -> None:
    """Raise UsageError that names the variant of a solver that is unknown, or can't be loaded."""
    for name in dict.fromkeys(trial.variant for trial in plan.trials):
        with plan.suite.naming(name, "solver"):
            refuse_faulty(plan.solver(name))


def check_models(plan: Plan, finished: Collection[Planned], budget: Budget) -> None:
    """Open the model of each variant, and look up its price unless tokens are limited.

    Raises UsageError that names the variant.
    """
    for name in dict.fromkeys(trial.variant for trial in plan.trials if trial not in finished):
        first = next(trial for trial in plan.trials if trial.variant == name)
        job = plan.job(first.task, name)
        with plan.suite.naming(name, "model"):
            choice = choose_model(job.settings, job.of_task, job.solver)
            choice.check_budget(budget, Budget.parse(job.settings.budget.total))


def refuse_planted(cache: Path, folder: Path) -> None:
    """Raise UsageError if a suite's own folder holds anything that no run of this machine made."""
    make_own_folder(cache, folder, (*TRIALS, SCRIPTS))


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """The suite's folder for this process alone. Raises TrialError if another process has it."""
    refuse_links(folder, (*TRIALS, SCRIPTS))
    lock = FileLock(folder / ".lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise TrialError(
            f"{folder} is being run by another process",
            fix=f"wait for it, watch it (autoreproduce watch {folder}), or give --out another "
            "folder",
            retryable=True,
        ) from None
    except OSError as error:
        raise TrialError(
            f"cannot lock {folder} ({error.strerror})",
            fix="make room, then run the same command",
            retryable=True,
        ) from error
    try:
        yield
    finally:
        lock.release()

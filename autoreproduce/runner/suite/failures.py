"""What ended a trial: the solver itself, which is data, or what it runs on, which is not its failure.

The kind of error decides, as `attempt` records it. What may pass (an endpoint or a daemon that is down, a full disk)
is tried again; what will not pass by waiting (a refused key, a damaged PDF, a tape of another trial) is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoreproduce.errors import AutoReproduceError
from autoreproduce.runner.suite.kept import Ended

if TYPE_CHECKING:
    from autoreproduce.runner.attempt import Finished

# By the error's class: does waiting help? A PaperError is of the paper itself, which stays as it is.
PASSING = {"ModelError": True, "SandboxError": True, "UnreachableError": True, "OSError": True,
           "PaperError": False, "TapeError": False, "UsageError": False}  # fmt: skip
SOLVERS_OWN = {"ContextError": "the prompt is longer than the model's context", "BudgetError": "its own budget"}
FOR_GOOD = ("refused the key", "does not permit this call", "does not know this model", "has no credit left")


def of_outcome(done: Finished, out_of_money: bool) -> tuple[Ended, bool]:
    """How a trial that came to an outcome ended, and whether another attempt may help.

    `out_of_money`: it was the suite's budget that stopped it, not one of its own.
    """
    outcome = done.outcome
    usage, kind = outcome.usage, str(outcome.details.get("error", ""))
    ended = Ended(
        status="succeeded", reason=outcome.reason, kind=kind, seconds=outcome.seconds, cost=outcome.cost,
        tokens=usage.get("input", 0) + usage.get("output", 0), metric=outcome.metric, gap=outcome.gap,
    )  # fmt: skip
    if outcome.status != "stopped":
        ended.status = outcome.status
    elif not kind or (kind == "BudgetError" and out_of_money):
        ended.status = "stopped"
    elif kind in SOLVERS_OWN:
        ended.status = "failed"
    else:
        ended.status = "not scored"
    return ended, ended.status == "not scored" and may_pass(kind, outcome.reason)


def of_error(error: BaseException) -> tuple[Ended, bool]:
    """The same for an error that left no outcome: before the trial began, or because its folder cannot be written."""
    kind = type(error).__name__ if isinstance(error, AutoReproduceError) else "OSError"
    if not isinstance(error, AutoReproduceError | OSError):
        return Ended(status="not scored", reason=f"{type(error).__name__}: {error}", kind="bug", cost=None), False
    return Ended(status="not scored", reason=str(error), kind=kind), may_pass(kind, str(error))


def may_pass(kind: str, reason: str) -> bool:
    """True where the same attempt may do better after a while."""
    if kind == "TrialError":  # a full disk, or a folder in use; a damaged or a foreign one stays so
        return "make room" in reason or "in use" in reason
    return PASSING.get(kind, False) and not any(words in reason for words in FOR_GOOD)

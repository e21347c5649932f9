"""What a trial cost and what its number means: read from its journal when it ends."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from autoreproduce.journal import Step
    from autoreproduce.task import Task
    from autoreproduce.trial import Outcome, Trial


def close_accounts(outcome: Outcome, trial: Trial, task: Task, seconds: float) -> None:
    """Fill in usage, cost, seconds and, where there is a metric, its distance from the reference."""
    calls = [step for step in trial.steps if step.kind == "model"]
    usage: Counter[str] = Counter()
    for step in calls:
        usage.update(step.result["usage"])
    outcome.usage = dict(usage)
    outcome.details["models"] = sorted({str(step.result["model"]) for step in calls})  # as the provider names them
    prices = [step.result["price"] for step in calls]
    outcome.cost = None if any(price is None for price in prices) else float(sum(prices))
    outcome.seconds = round(max(seconds, sum(step.seconds for step in trial.steps)), 1)
    for name in dict.fromkeys(step.phase for step in trial.steps):
        outcome.phases.setdefault(name, {}).update(_phase(trial, name))
    if outcome.metric is not None:
        _compare(outcome, task)


def accounted(outcome: Outcome, steps: Iterable[Step]) -> bool:
    """False where a process was killed between its solver's word and its accounts: the journal then tells all again."""
    return bool(outcome.usage) or not any(step.kind == "model" for step in steps)


def _phase(trial: Trial, name: str) -> dict[str, float]:
    steps = [step for step in trial.steps if step.phase == name]
    calls = [step.result["usage"] for step in steps if step.kind == "model"]
    return {
        "seconds": round(sum(step.seconds for step in steps), 1),
        "calls": len(calls),
        "executions": sum(step.kind == "execute" for step in steps),
        "input": sum(usage["input"] for usage in calls),
        "cached": sum(usage["cached"] for usage in calls),
        "output": sum(usage["output"] for usage in calls),
    }


def _compare(outcome: Outcome, task: Task) -> None:
    """Signed relative gap to the reference (above 0 is worse) and whether the number lies in its band."""
    reference = task.reference
    if reference is None or outcome.metric is None:
        return
    worse = 1 if task.metric.direction == "lower" else -1
    largest = max(abs(reference.value), abs(outcome.metric))
    outcome.gap = worse * (outcome.metric - reference.value) / largest if largest else 0.0
    if reference.low is not None and reference.high is not None:
        outcome.within_band = reference.low <= outcome.metric <= reference.high

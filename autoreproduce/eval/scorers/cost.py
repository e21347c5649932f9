"""What a trial cost: dollars, tokens and seconds, by phase."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

from autoreproduce import Score

if TYPE_CHECKING:
    from autoreproduce.eval.scorers import Setup
    from autoreproduce.task import Task
    from autoreproduce.trial import Step, Trial


class CostScorer:
    """Dollars of all model calls; no value where a price is unknown, and the tokens are told all the same."""

    name = "cost"

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def score(self, trial: Trial, task: Task) -> Score:
        """Read off the journal: what was replayed from it is counted once."""
        if not trial.steps:
            return Score(self.name, None, "not scored: no step was recorded")
        phases: dict[str, list[Step]] = defaultdict(list)
        for step in trial.steps:
            phases[step.phase].append(step)
        details = {name: _sum(steps) for name, steps in phases.items()}
        total = _sum(trial.steps)
        tokens = f"{total['calls']} calls, {total['input'] + total['output']:,} tokens, {total['seconds']:.0f} s"
        dollars = total["dollars"]
        reason = f"the price is unknown; {tokens}" if dollars is None else f"${dollars:.4f}; {tokens}"
        return Score(self.name, dollars, reason, {"phases": details, "total": total})


def _sum(steps: list[Step]) -> dict[str, Any]:
    calls = [step.result for step in steps if step.kind == "model"]
    prices = [call.get("price") for call in calls]
    return {
        "calls": len(calls),
        "executions": sum(step.kind == "execute" for step in steps),
        **{kind: sum(call["usage"].get(kind, 0) for call in calls) for kind in ("input", "cached", "output")},
        "dollars": None if None in prices else sum(prices),
        "seconds": round(sum(step.seconds for step in steps), 1),
    }

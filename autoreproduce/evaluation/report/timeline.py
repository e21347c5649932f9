"""What the trial did and what it cost, by phase, counted from its journal.

The sums are made here from the steps, the one durable record, so they hold for a trial that never
came to an outcome. One call of unknown price makes a sum unknown: the known part is a lower bound
and is called so.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

from autoreproduce.evaluation.report.wording import BY_PLAN, money, phase_words
from autoreproduce.trials.result import Result
from autoreproduce.trials.steps import CommandResult, ExecutionResult, ModelResult, Step

USAGE = ("input", "cached", "output", "reasoning")


@dataclass
class PhaseSums:
    """One phase's sums. `cost` is the known part; `unpriced` counts the calls of unknown price."""

    phase: str
    status: str = ""
    seconds: float = 0.0
    model_seconds: float = 0.0
    calls: int = 0
    executions: int = 0
    failures: int = 0
    usage: dict[str, int] = field(default_factory=lambda: dict.fromkeys(USAGE, 0))
    cost: float = 0.0
    unpriced: int = 0
    by_plan: int = 0  # calls that their user's plan paid
    steps: list[Step] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The phase in words."""
        return phase_words(self.phase)

    @property
    def cost_text(self) -> str:
        """Dollars, "unknown", or the known part as a lower bound; a dash if no model was called."""
        if not self.calls:
            return "–"
        if self.by_plan == self.calls:
            return BY_PLAN
        if not self.unpriced:
            return f"{money(self.cost)}, and {BY_PLAN}" if self.by_plan else money(self.cost)
        return f"unknown, at least {money(self.cost)}" if self.cost else "unknown"

    def add(self, step: Step) -> None:
        """Count one step."""
        self.seconds += step.seconds
        self.steps.append(step)
        if isinstance(step.result, ModelResult):
            self.model_seconds += step.seconds
            self._add_call(step.result)
        elif isinstance(step.result, ExecutionResult):
            self.executions += 1
            self.failures += not step.result.ok

    def _add_call(self, call: ModelResult) -> None:
        self.calls += 1
        self.by_plan += call.by_plan
        for key in USAGE:
            self.usage[key] += getattr(call.usage, key)
        if call.price is None:
            self.unpriced += 1
        else:
            self.cost += call.price


def succeeded(step: Step) -> bool:
    """True for a command that ended by itself with exit code 0."""
    return isinstance(step.result, CommandResult) and step.result.ok


def lines(steps: Iterable[Step], outcome: Result | None = None) -> list[PhaseSums]:
    """One line a phase that had a step or came to an end, in the order in which they began."""
    by_phase: dict[str, PhaseSums] = {}
    for step in steps:
        by_phase.setdefault(step.phase, PhaseSums(step.phase)).add(step)
    for name, facts in (outcome.cost.phases if outcome else {}).items():
        line = by_phase.setdefault(name, PhaseSums(name))
        line.status = str(facts.get("status", ""))
    return [line for line in by_phase.values() if line.steps or line.status]


def total(parts: Iterable[PhaseSums]) -> PhaseSums:
    """The sum of all phases."""
    whole_trial = PhaseSums("")
    for part in parts:
        for step in part.steps:
            whole_trial.add(step)
    return whole_trial

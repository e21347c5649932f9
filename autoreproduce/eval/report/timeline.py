"""What the trial did and what it cost, by phase, counted from its journal.

The sums are made here from the steps, the one durable record, so they hold for a trial that never came to
an outcome. One call of unknown price makes a sum unknown: the known part is a lower bound and is called so.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from autoreproduce.eval.report.wording import PHASES, money, phase_words
from autoreproduce.trial import Outcome, Step

USAGE = ("input", "cached", "output", "reasoning")


@dataclass
class Line:
    """One phase's sums. `cost` is the known part; `unpriced` counts the calls of unknown price."""

    phase: str
    status: str = ""
    seconds: float = 0.0
    model_seconds: float = 0.0
    program_seconds: float = 0.0
    calls: int = 0
    executions: int = 0
    failures: int = 0
    installs: int = 0
    fetches: int = 0
    usage: dict[str, int] = field(default_factory=lambda: dict.fromkeys(USAGE, 0))
    cost: float = 0.0
    unpriced: int = 0
    steps: list[Step] = field(default_factory=list)

    @property
    def title(self) -> str:
        """The phase in words."""
        return phase_words(self.phase)

    @property
    def cost_text(self) -> str:
        """Dollars, «unknown», or the known part as a lower bound; a dash where no model was called."""
        if not self.calls:
            return "–"
        if not self.unpriced:
            return money(self.cost)
        return f"unknown, at least {money(self.cost)}" if self.cost else "unknown"

    def add(self, step: Step) -> None:
        """Count one step."""
        self.seconds += step.seconds
        if step.kind == "model":
            self._add_call(step)
        elif step.kind == "fetch":
            self.fetches += 1
        else:
            self.program_seconds += step.seconds
            self.installs += step.kind == "install"
            self.executions += step.kind == "execute"
            self.failures += step.kind == "execute" and not succeeded(step)
        self.steps.append(step)

    def _add_call(self, step: Step) -> None:
        self.calls += 1
        self.model_seconds += step.seconds
        for key in USAGE:
            self.usage[key] += whole(usage_of(step).get(key))
        price = step.result.get("price")
        if isinstance(price, int | float):
            self.cost += price
        else:
            self.unpriced += 1


def succeeded(step: Step) -> bool:
    """True for an execution that ended by itself with exit code 0."""
    return step.result.get("exit_code") == 0 and not step.result.get("stopped")


def usage_of(step: Step) -> dict[str, Any]:
    """The tokens of a model call; empty where the provider told none."""
    usage = step.result.get("usage")
    return usage if isinstance(usage, dict) else {}


def whole(value: object) -> int:
    """A count, 0 where there is none."""
    return int(value) if isinstance(value, int | float) and math.isfinite(value) else 0


def lines(steps: Iterable[Step], outcome: Outcome | None = None) -> list[Line]:
    """One line a phase, in the order of the method; a phase without a step is there with nothing in it."""
    by_phase = {name: Line(name) for name in PHASES}
    for step in steps:
        by_phase.setdefault(step.phase, Line(step.phase)).add(step)
    for name, facts in (outcome.phases if outcome else {}).items():
        line = by_phase.setdefault(name, Line(name))
        line.status = str(facts.get("status", ""))
    return list(by_phase.values())


def total(parts: Iterable[Line]) -> Line:
    """The sum of all phases."""
    whole_trial = Line("")
    for part in parts:
        for step in part.steps:
            whole_trial.add(step)
    return whole_trial

"""What one attempt may cost and how long it may take, whatever a suite's budget allows.

A budget over many attempts stops them all; these limits end one attempt in good order: the step
under way is finished and one more is left to hand in. They are counted from the journal's steps,
replayed ones included, so an attempt that was killed and resumed is cut at the same place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, Field

from autoreproduce.errors import UsageError
from autoreproduce.models.budget import Budget, Cost
from autoreproduce.trials.steps import ModelResult, Observer

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.trials.steps import Step

LEAST = 1.0  # seconds that a command gets however late it is


class AgentLimits(BaseModel):
    """What one attempt may take; --attempt-seconds and --attempt-budget go before them."""

    model_config = ConfigDict(extra="forbid", coerce_numbers_to_str=True)

    minutes: float = Field(120.0, gt=0, le=10_000)
    calls: int = Field(1_000, ge=1, le=100_000, description="of the model")


class Meter(Observer):
    """Watches a trial's steps; `reached` says which limit was, "" while none is."""

    def __init__(
        self, settings: Settings, seconds: float | None = None, calls: int | None = None
    ) -> None:
        """`seconds` and `calls` are the solver's own limits; --attempt-seconds goes before."""
        self.budget = Budget.parse(settings.budget.attempt)
        self.seconds = 0.0
        self.calls = 0
        self._most_seconds = settings.budget.attempt_seconds or seconds
        self._most_calls = calls
        self._command_seconds = settings.masked.command_seconds

    @property
    def reached(self) -> str:
        """The limit that was reached, in words."""
        b = self.budget
        if b.limit_dollars is not None and b.spent_dollars >= b.limit_dollars:
            return f"${b.limit_dollars:g} for one attempt are spent"
        if b.limit_tokens is not None and b.spent_tokens >= b.limit_tokens:
            return f"{b.limit_tokens:,} tokens for one attempt are spent"
        if self._most_seconds is not None and self.seconds >= self._most_seconds:
            return f"{self._most_seconds:g} s for one attempt are over"
        if self._most_calls is not None and self.calls >= self._most_calls:
            return f"{self._most_calls:,} calls for one attempt are made"
        return ""

    @property
    def command_seconds(self) -> float:
        """Seconds that the next command may take: never more than the attempt has left."""
        if self._most_seconds is None:
            return self._command_seconds
        return max(LEAST, min(self._command_seconds, self._most_seconds - self.seconds))

    def step(self, step: Step, replayed: bool) -> None:
        """Count a step. Raises UsageError where the limit is in dollars and the step's price is
        unknown.
        """
        self.seconds += step.seconds
        call = step.result
        if not isinstance(call, ModelResult):
            return
        self.calls += 1
        if self.budget.limit_dollars is not None and call.price is None:
            raise UsageError(
                "--attempt-budget in dollars needs the model's price, which is unknown",
                fix="give it with --price INPUT,CACHED,OUTPUT (dollars a million tokens), or set "
                "--attempt-budget in tokens",
            )
        self.budget.spend(Cost(call.usage.total, call.price))

"""A budget in dollars or tokens that is checked before each call, over all trials that share it.

A limit that is checked after a call is exceeded by that call, and by every parallel one. So the
most that a call may cost is reserved first, and settled when its usage is known; a call that would
exceed the limit is not made. A call without a known price cannot be reserved in dollars: unknown is
not 0.

Budgets nest: a call is reserved with a budget and with all around it (an attempt's, its trial's,
its suite's), and the smallest decides.
"""

from __future__ import annotations

import re
import threading
import time
from dataclasses import dataclass, field, replace
from typing import Self

from autoreproduce.errors import BudgetError, UnknownPriceError, UsageError

NO_PRICE_FIX = (
    "give it with --price INPUT,CACHED,OUTPUT (dollars a million tokens, 0,0,0 if it is free), or "
    "set the budget in tokens: --budget '500000 tokens'"
)
_DOLLARS = re.compile(r"\$?\s*(\d+(?:\.\d+)?|\.\d+)\s*(?:\$|dollars?|usd)?", re.IGNORECASE)
_CALLS = re.compile(r"(\d[\d_,]*) *calls?", re.IGNORECASE)
_TOKENS = re.compile(r"(\d[\d_,]*(?:\.\d+)?)\s*([km]?)\s*(?:tokens?|tok)", re.IGNORECASE)
_SCALE = {"": 1, "k": 1_000, "m": 1_000_000}


@dataclass(frozen=True)
class Cost:
    """What a call costs, or may cost: all its tokens, and dollars (None: the price is unknown)."""

    tokens: int = 0
    dollars: float | None = None
    calls: int = 1


@dataclass
class Budget:
    """At most one limit, in dollars, tokens or calls; without one it only counts. Safe for threads.

    `spent_dollars` and `spent_tokens` begin with what a resumed trial spent before. `dollars_known`
    turns False with the first spending of unknown price: from then on `spent_dollars` is a lower
    bound.

    `parent`: the budget around this one. With `stop`, a call that passes the parent's limit only
    because of what others have reserved there waits until they are settled, as a call costs far
    less than it may; once `stop` is set, `reserve` raises KeyboardInterrupt. `exhausted` is True
    once the parent refused a call.
    """

    limit_dollars: float | None = None
    limit_tokens: int | None = None
    spent_dollars: float = 0.0
    spent_tokens: int = 0
    dollars_known: bool = True
    parent: Budget | None = None
    stop: threading.Event | None = None
    exhausted: bool = False
    limit_calls: int | None = None
    spent_calls: int = 0
    _reserved: dict[int, Cost] = field(default_factory=dict, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, repr=False)

    @classmethod
    def parse(
        cls,
        text: str | None,
        parent: Budget | None = None,
        stop: threading.Event | None = None,
        option: str = "--budget",
    ) -> Budget:
        """`5`, `$5`, `2.50 dollars`, `200000 tokens`, `200k tokens`, `200 calls`; None is no limit.

        Raises UsageError.
        """
        if text is None:
            return cls(parent=parent, stop=stop)
        if found := _CALLS.fullmatch(text.strip()):
            if (calls := int(re.sub("[_,]", "", found[1]))) > 0:
                return cls(limit_calls=calls, parent=parent, stop=stop)
        elif found := _TOKENS.fullmatch(text.strip()):
            limit = int(float(re.sub("[_,]", "", found[1])) * _SCALE[found[2].lower()])
            if limit > 0:
                return cls(limit_tokens=limit, parent=parent, stop=stop)
        elif (found := _DOLLARS.fullmatch(text.strip())) and float(found[1]) > 0:
            return cls(limit_dollars=float(found[1]), parent=parent, stop=stop)
        raise UsageError(
            f"{option} {text!r} is not understood",
            fix="give dollars (5, $5), tokens ('200000 tokens') or calls ('200 calls')",
        )

    def reserve(self, estimate: Cost) -> Reservation:
        """Set aside what a call may cost at most, before it is made.

        Raises BudgetError if spent, reserved and `estimate` together would exceed the limit, and
        UnknownPriceError if the limit is in dollars and the estimate's price is unknown.
        """
        if self.limit_dollars is not None and estimate.dollars is None:
            raise UnknownPriceError(
                "a budget in dollars needs the model's price, which is unknown", fix=NO_PRICE_FIX
            )
        with self._lock:
            self._check(estimate)
            reservation = Reservation(self, estimate)
            self._reserved[id(reservation)] = estimate
        try:
            reservation.above = self._of_parent(estimate)
        except BaseException:
            reservation.release()
            raise
        return reservation

    def _of_parent(self, estimate: Cost) -> Reservation | None:
        while self.parent is not None:
            others = self.parent.calls_under_way
            try:
                return self.parent.reserve(estimate)
            except BudgetError:
                if not others or self.stop is None:
                    self.exhausted = True
                    raise
            if self.stop.is_set():
                raise KeyboardInterrupt
            time.sleep(0.02)
        return None

    def spend(self, cost: Cost) -> None:
        """Count what was spent without a reservation: the steps of a resumed trial."""
        with self._lock:
            self._count(cost)

    def charge(self, cost: Cost) -> None:
        """Count what was spent just now without a reservation, here and in all budgets around."""
        self.spend(cost)
        if self.parent is not None:
            self.parent.charge(cost)

    @property
    def calls_under_way(self) -> int:
        """How many calls have reserved and not settled yet."""
        with self._lock:
            return len(self._reserved)

    def _check(self, estimate: Cost) -> None:
        reserved = self._reserved.values()
        if self.limit_tokens is not None:
            tokens = sum(cost.tokens for cost in reserved)
            _refuse_excess(
                "{:,.0f} tokens", self.limit_tokens, self.spent_tokens, tokens, estimate.tokens
            )
        if self.limit_calls is not None:
            _refuse_excess("{:,.0f} calls", self.limit_calls, self.spent_calls, len(reserved), 1)
        if self.limit_dollars is not None:
            dollars = sum(cost.dollars or 0.0 for cost in reserved)
            _refuse_excess(
                "${:.4f}", self.limit_dollars, self.spent_dollars, dollars, estimate.dollars or 0.0
            )

    def _count(self, cost: Cost) -> None:
        self.spent_tokens += cost.tokens
        self.spent_calls += cost.calls
        self.spent_dollars += cost.dollars or 0.0
        self.dollars_known = self.dollars_known and cost.dollars is not None

    def _end(self, reservation: Reservation, actual: Cost | None) -> None:
        """Reserved becomes spent under one lock, or another call could use the same money."""
        with self._lock:
            estimate = self._reserved.pop(id(reservation), None)
            if estimate is not None and actual is not None:
                priced = self.limit_dollars is not None and actual.dollars is None
                self._count(replace(actual, dollars=estimate.dollars) if priced else actual)


class Reservation:
    """What one call may cost, set aside. A context manager: released at its end if not settled."""

    def __init__(self, budget: Budget, estimate: Cost) -> None:
        self.budget = budget
        self.estimate = estimate
        self.above: Reservation | None = None  # with the parent

    def settle(self, actual: Cost) -> None:
        """The call was made and cost this; if its price is unknown, the estimate counts."""
        self.budget._end(self, actual)
        if self.above is not None:
            self.above.settle(actual)

    def release(self) -> None:
        """The call was not made, or failed without a charge. Does nothing after `settle`."""
        self.budget._end(self, None)
        if self.above is not None:
            self.above.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.release()


def _refuse_excess(form: str, limit: float, spent: float, reserved: float, estimate: float) -> None:
    """Raises BudgetError if the sum exceeds the limit; `form` writes an amount with its unit."""
    if spent + reserved + estimate <= limit:
        return
    running = f" and {form.format(reserved)} reserved by calls under way" if reserved else ""
    raise BudgetError(
        f"the next call may cost {form.format(estimate)} and would pass the budget of "
        f"{form.format(limit)} ({form.format(spent)} spent{running})",
        fix="run the same command with a larger --budget to resume",
    )

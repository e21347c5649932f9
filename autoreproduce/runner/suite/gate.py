"""How many calls of one model are in flight: fewer while the provider answers 429, more again when it does not.

The provider's own client would retry with its place held, and nobody else would learn of the 429. So in a suite the
clients do not retry; each call goes through the gate of its model, which gives its place away while it waits.

The limit moves once a window. Refusals lower it; but some providers refuse a share of calls whatever one does, and
there fewer in flight only means fewer that succeed. So what the last move did to the calls that succeed decides: where
they changed with the limit, more in flight bring more, and it goes up; where they did not, the provider grants no
more than that, and it goes down. Without refusals it rises.
"""

from __future__ import annotations

import math
import random
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from typing import Any, TypeVar

from autoreproduce import turns
from autoreproduce.model_errors import may_pass, retry_after, status_of

T = TypeVar("T")
SMALLEST = 16  # calls in a window: fewer say nothing about a rate
FEW = 0.02  # share of refusals that is none
MOST = 0.6  # share of refusals above which there are too many calls, whatever else is true
REST = 6  # windows at the most that is allowed, before fewer are tried
LONGEST = 60.0  # seconds between two tries of a call


@dataclass
class Window:
    """What came of the calls that ended in a stretch of time under one limit.

    The first `skip` are not counted: they began under another limit.
    """

    limit: float
    skip: int
    began: float
    fine: int = 0
    refused: int = 0

    def count(self, fine: bool, now: float) -> bool:
        """One more call ended. True where the window is full."""
        if self.skip:
            self.skip -= 1
            self.began = now
            return False
        self.fine, self.refused = self.fine + fine, self.refused + (not fine)
        return self.fine + self.refused >= max(SMALLEST, 2 * self.limit)

    @property
    def share(self) -> float:
        """Of refusals."""
        return self.refused / (self.fine + self.refused)

    def rate(self, now: float) -> float:
        """Calls a second that succeeded; a little more than none, so that rates can be compared."""
        return (self.fine + 0.5) / max(now - self.began, 1e-9)


class Pace:
    """The limit of calls in flight, from 1 to `most`; not safe for threads by itself."""

    def __init__(self, most: int, now: float) -> None:
        self.most = most
        self.limit = float(most)
        self._window = Window(self.limit, 0, now)
        self._before: tuple[float, float] | None = None  # limit and rate of the window before
        self._rest = 0

    def count(self, fine: bool, now: float) -> None:
        """A call ended; at the end of a window the limit moves."""
        if not self._window.count(fine, now):
            return
        limit, rate = self.limit, self._window.rate(now)
        self._move(self._window.share, rate)
        self._before = (limit, rate)
        self._window = Window(self.limit, 0 if limit == self.limit else int(max(limit, self.limit)), now)

    def _move(self, share: float, rate: float) -> None:
        if share <= FEW:
            self.limit = min(self.most, self.limit * 1.15 + 0.5)
        elif share < MOST and self._more_brings_more(rate):
            self.limit = min(self.most, self.limit * 1.5)
            self._rest = REST
        elif self._rest and self.limit >= self.most:
            self._rest -= 1
        else:
            self.limit = max(1.0, self.limit * 2 / 3)

    def _more_brings_more(self, rate: float) -> bool:
        """True where the last move of the limit changed the calls that succeed by more than half as much."""
        if self._before is None or self._before[0] == self.limit:
            return False
        moved = math.log(self.limit / self._before[0])
        return math.log(rate / self._before[1]) / moved > 0.5


class Gate:
    """Lets the calls of one model through, some at a time, and tries those again that may pass later.

    `tries` bounds how often a failing provider is asked (5xx, time-outs, no connection); a 429 is waited for as long
    as other calls succeed, and `patience` seconds more. `stop` ends all waiting with KeyboardInterrupt.
    """

    def __init__(self, most: int, stop: threading.Event, tries: int = 7, patience: float = 600.0) -> None:
        self.stop = stop
        self.tries = tries
        self.patience = patience
        self.in_flight = 0
        self.refusals = 0
        self._pace = Pace(most, time.monotonic())
        self._free = threading.Condition()
        self._usual = 0.0  # seconds that a call takes
        self._last_fine = time.monotonic()

    @property
    def limit(self) -> int:
        """Calls that may be in flight now."""
        return max(1, int(self._pace.limit))

    def call(self, do: Callable[[], T]) -> T:
        """The result of `do`, or its last error where trying again is of no use."""
        failures = refusals = 0
        began = time.monotonic()
        while True:
            with self._place():
                try:
                    return self._timed(do)
                except Exception as error:
                    if not may_pass(error):
                        raise
                    refused = status_of(error) == 429
                    refusals, failures = refusals + refused, failures + (not refused)
                    if self._hopeless(failures, began):
                        raise
                    wait = self._wait(refusals + failures, retry_after(error))
            with turns.left():
                stopped = self.stop.wait(wait)
            if stopped:
                raise KeyboardInterrupt

    def _timed(self, do: Callable[[], T]) -> T:
        began = time.monotonic()
        try:
            result = do()
        except Exception as error:
            if status_of(error) == 429:
                self._count(False, time.monotonic() - began)
            raise
        self._count(True, time.monotonic() - began)
        return result

    def _count(self, fine: bool, seconds: float) -> None:
        with self._free:
            now = time.monotonic()
            self._pace.count(fine, now)
            if fine:
                self._last_fine = now
                self._usual = seconds if not self._usual else 0.9 * self._usual + 0.1 * seconds
            self.refusals += not fine

    def _hopeless(self, failures: int, began: float) -> bool:
        return failures >= self.tries or time.monotonic() - max(began, self._last_fine) > self.patience

    def _wait(self, number: int, asked: float | None) -> float:
        """What the provider asks, else first about as long as a call takes, then twice as long each time."""
        usual = min(max(self._usual, 0.05), 2.0)
        wait = asked if asked is not None else usual * 2 ** min(number - 1, 10)
        return min(wait, LONGEST) * random.uniform(0.75, 1.25)

    @contextmanager
    def _place(self) -> Iterator[None]:
        if not self._enter():
            with turns.left():
                self._wait_to_enter()
        try:
            yield
        finally:
            with self._free:
                self.in_flight -= 1
                self._free.notify(2)

    def _enter(self) -> bool:
        """True where there was a place, which is taken now."""
        with self._free:
            free = self.in_flight < self.limit
            self.in_flight += free
        return free

    def _wait_to_enter(self) -> None:
        with self._free:
            while self.in_flight >= self.limit:
                if self.stop.is_set():
                    raise KeyboardInterrupt
                self._free.wait(0.5)
            self.in_flight += 1


class Gates:
    """A gate a model. `guard` puts a chat model behind its gate: what `attempt` is given."""

    def __init__(self, most: int, stop: threading.Event, tries: int = 7, patience: float = 600.0) -> None:
        self._how = (most, stop, tries, patience)
        self._gates: dict[str, Gate] = {}
        self._lock = threading.Lock()

    def guard(self, model: Any, name: str) -> Any:
        """`model`, whose calls go through the gate of its name from now on.

        Its own `_generate` is replaced, in this object alone, so that it stays the model that it was to all that
        asks for its type, its profile or its tools. Asynchronous calls do not pass here.
        """
        gate, generate = self._gate(name), model._generate
        waiting = nullcontext if getattr(model, "leaves_turn", False) else turns.left

        def through(messages: Any, stop: Any = None, run_manager: Any = None, **more: Any) -> Any:
            def do() -> Any:
                with waiting():
                    return generate(messages, stop, run_manager, **more)

            return gate.call(do)

        object.__setattr__(model, "_generate", through)
        return model

    @property
    def in_flight(self) -> int:
        """Calls under way, of all models."""
        return sum(gate.in_flight for gate in list(self._gates.values()))

    @property
    def limit(self) -> int:
        """Calls that may be under way, of all models."""
        return sum(gate.limit for gate in list(self._gates.values()))

    @property
    def refusals(self) -> int:
        """Answers with 429 so far."""
        return sum(gate.refusals for gate in list(self._gates.values()))

    def _gate(self, name: str) -> Gate:
        with self._lock:
            return self._gates.setdefault(name, Gate(*self._how))

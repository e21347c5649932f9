"""Who attempts the trials of a suite: a contract, and one implementation on one machine.

A trial waits on models and programs, not on Python, so threads are enough. A cluster would be a second class here: a
planned trial is a few plain values and names its folder, so it can be sent anywhere that sees the suite's folder.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from typing import Protocol

from autoreproduce import turns
from autoreproduce.runner.suite.kept import Ended
from autoreproduce.runner.suite.plan import Planned

TICK = 0.2


class Executor(Protocol):
    """Attempts trials, several at once."""

    def run(
        self,
        trials: Iterator[Planned],
        attempt: Callable[[Planned], Ended],
        ended: Callable[[Planned, Ended], None],
        tick: Callable[[], None],
        stop: threading.Event,
    ) -> bool:
        """Call `attempt` with each of `trials`, and `ended` with what it returns, one at a time.

        The next of `trials` is taken only when a place is free, so that what waits costs nothing, and so that
        whoever makes them may end early. `tick` is called a few times a second in the caller's thread. Ctrl-C sets
        `stop`, which makes an attempt come to an end soon. True where all attempts that began have ended; False
        where some were given up, whose folders a later run goes on with.
        """
        ...


class Threads:
    """Threads of this process. `grace`: seconds that attempts have to end after Ctrl-C."""

    def __init__(self, workers: int, grace: float = 10.0) -> None:
        self.workers = workers
        self.grace = grace

    def run(
        self,
        trials: Iterator[Planned],
        attempt: Callable[[Planned], Ended],
        ended: Callable[[Planned, Ended], None],
        tick: Callable[[], None],
        stop: threading.Event,
    ) -> bool:
        """See Executor."""
        taking, telling = threading.Lock(), threading.Lock()
        ends = threading.Semaphore(0)

        def work() -> None:
            try:
                while not stop.is_set():
                    with taking:
                        planned = next(trials, None)
                    if planned is None:
                        return
                    with turns.taken():
                        came = attempt(planned)
                    with telling:
                        ended(planned, came)
            finally:
                ends.release()

        for number in range(self.workers):  # daemons, so that the process can end although an attempt does not
            threading.Thread(target=work, name=f"trial-{number}", daemon=True).start()
        return self._wait(ends, tick, stop)

    def _wait(self, ends: threading.Semaphore, tick: Callable[[], None], stop: threading.Event) -> bool:
        """Wait for the end of every thread; after Ctrl-C for `grace` seconds, after a second one no more.

        Not by joining them: an interrupted `Thread.join` with a timeout takes a running thread for ended.
        """
        left, until = self.workers, float("inf")
        while left and time.monotonic() < until:
            try:
                left -= ends.acquire(timeout=TICK)
                tick()
            except KeyboardInterrupt:
                if stop.is_set():
                    return False
                stop.set()
                until = time.monotonic() + self.grace
        return not left

"""Turns: of a process's many trials one runs at a time, while the others wait in line.

Only one thread can run Python at a time, and a thread gives that place away at each system call. With a hundred
threads that all have something to do, handing it round costs a good part of the processor. So a thread works in its
turn, and leaves it while it waits for something else: an answer, a program, the disk.

To begin and to close a trial is far more work than a step. Where many trials end together, these would all be done
before the next step of any. So there is a door, which one trial at a time passes, and the steps of those who have
passed come in between.

Both are a courtesy and no lock. Whoever has waited for a while goes on all the same, so that a thread that waits in
its turn, unknown to this module, holds nobody up for long, and no two can wait for each other for ever.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

PATIENCE = 1.0  # seconds


class Turns:
    """Turns that many threads share, `at_once` of them. Whoever waits for one leaves its turn of `beside`."""

    def __init__(self, at_once: int = 1, beside: Turns | None = None, patience: float = PATIENCE) -> None:
        self._free = threading.Semaphore(at_once)
        self._beside = beside
        self._patience = patience
        self._lock = threading.Lock()
        self._extra = 0  # turns that were made because none came free in time
        self._own = threading.local()

    @contextmanager
    def taken(self) -> Iterator[None]:
        """What this thread does within takes turns with what others do."""
        self._take()
        self._own.takes = True
        try:
            yield
        finally:
            self._own.takes = False
            self._leave()

    @contextmanager
    def left(self) -> Iterator[None]:
        """While a thread waits for something. Does nothing in one that takes no turns, or has left its own."""
        if not getattr(self._own, "takes", False):
            yield
            return
        self._own.takes = False
        self._leave()
        try:
            yield
        finally:
            self._take()
            self._own.takes = True

    def _take(self) -> None:
        if self._free.acquire(blocking=False):
            return
        if self._beside is None:
            self._wait()
        else:
            with self._beside.left():
                self._wait()

    def _wait(self) -> None:
        if not self._free.acquire(timeout=self._patience):
            with self._lock:
                self._extra += 1

    def _leave(self) -> None:
        with self._lock:
            extra = self._extra > 0
            self._extra -= extra
        if not extra:
            self._free.release()


_work = Turns()
_door = Turns(beside=_work, patience=5 * PATIENCE)  # a hundred may stand there
taken = _work.taken  # around all that a trial's thread does
at_door = _door.taken  # around a trial from its beginning to its close
inside = _door.left  # while its solver works
pausing = _work.left  # for moments: the disk


@contextmanager
def left() -> Iterator[None]:
    """While a trial waits for something that may take long."""
    with _work.left(), _door.left():
        yield

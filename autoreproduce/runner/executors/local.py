"""This machine: a thread a job. A trial waits on models and programs, not on Python."""

import queue
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from autoreproduce.runner.executors import Executor, ExecutorOptions, ExecutorSetup

T = TypeVar("T")
R = TypeVar("R")


class Threads(Executor[T, R]):
    """Threads of this process that call `attempt`, which must not raise."""

    def __init__(self, workers: int, attempt: Callable[[T], R], grace: float = 5.0) -> None:
        self.places = workers
        self.grace = grace
        self._attempt = attempt
        self._ends: queue.SimpleQueue[tuple[T, R]] = queue.SimpleQueue()

    def submit(self, job: T) -> None:
        """See Executor. A daemon, so that the process can end although an attempt does not."""
        threading.Thread(target=self._work, args=(job,), name="trial", daemon=True).start()

    def ended(self, seconds: float) -> list[tuple[T, R]]:
        """See Executor."""
        found = []
        try:
            found.append(self._ends.get(timeout=seconds))
            while True:
                found.append(self._ends.get_nowait())
        except queue.Empty:
            return found

    def _work(self, job: T) -> None:
        self._ends.put((job, self._attempt(job)))


class LocalExecutor(Threads[Any, Any]):
    """The default: `workers` threads of the suite's own process."""

    def __init__(self, setup: ExecutorSetup, options: ExecutorOptions) -> None:
        super().__init__(setup.workers, setup.attempt)

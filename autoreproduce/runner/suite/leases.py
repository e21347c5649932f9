"""What a machine has little of, divided among the trials that run at once: processors and GPUs."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from autoreproduce import turns
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError


def processors() -> int:
    """Those that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def divided(settings: Settings, workers: int) -> Settings:
    """The settings with a trial's share of the processors, one at least: each program starts as many threads."""
    share = max(1.0, processors() / workers)
    limits = settings.limits.model_copy(update={"cpus": min(settings.limits.cpus, share)})
    return settings.model_copy(update={"limits": limits})


class Gpus:
    """The GPUs of `settings.gpus`, leased one trial at a time, or `part` of one each.

    Two trials on one GPU share its memory without any wall between them: a part is a promise of the suite's author.
    """

    def __init__(self, gpus: str | None, part: float, stop: threading.Event) -> None:
        self.part = min(part, 1.0) if part <= 1 else float(round(part))
        self.free = dict.fromkeys(_named(gpus), 1.0)
        if self.free and self.part > len(self.free):
            raise UsageError(f"gpus_per_trial is {part:g}, and there are {len(self.free)} GPUs: ask for fewer")
        self.stop = stop
        self._freed = threading.Condition()

    @contextmanager
    def lease(self, settings: Settings) -> Iterator[Settings]:
        """The settings with the GPUs of one trial; waits for them. As they are where none was asked for.

        Raises KeyboardInterrupt where the suite is stopped while this waits.
        """
        if not settings.gpus:
            yield settings
            return
        with turns.left():
            names = self._take()
        try:
            yield settings.model_copy(update={"gpus": ",".join(names)})
        finally:
            with self._freed:
                for name in names:
                    self.free[name] += min(self.part, 1.0)
                self._freed.notify_all()

    def _take(self) -> list[str]:
        count, each = max(1, int(self.part)), min(self.part, 1.0)
        with self._freed:
            while True:
                fitting = [name for name, left in self.free.items() if left >= each - 1e-9]
                if len(fitting) >= count:
                    fullest = sorted(fitting, key=lambda name: self.free[name])[:count]  # leaves whole ones whole
                    for name in fullest:
                        self.free[name] -= each
                    return fullest
                if self.stop.is_set():
                    raise KeyboardInterrupt
                self._freed.wait(0.5)


def _named(gpus: str | None) -> list[str]:
    """The GPUs' numbers; «all» asks the driver."""
    if not gpus:
        return []
    if gpus != "all":
        return [name.strip() for name in gpus.split(",") if name.strip()]
    try:
        done = subprocess.run(
            ["nvidia-smi", "--query-gpu=index", "--format=csv,noheader"],
            capture_output=True, text=True, timeout=20, check=True,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError) as error:
        raise UsageError(f"gpus: all, but the driver names none ({error}): give their numbers, e.g. 0,1") from None
    return done.stdout.split()

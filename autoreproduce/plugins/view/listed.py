"""A trial or a suite as a list shows it: of a trial's files only what a row needs is read, and only
when it is asked for, since a list may have ten thousand.
"""

import os
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

from autoreproduce.trials.chain import RESULT, STEPS, TRIAL
from autoreproduce.trials.live import LIVE, OUTPUT, WRITTEN, LiveState, read_live
from autoreproduce.trials.result import Result
from autoreproduce.trials.summary import TrialSummary
from autoreproduce.trials.trial import TrialRecord

Stamp = tuple[tuple[int, int], ...]


class TrialStamps(NamedTuple):
    """When the files changed that a row shows."""

    record: tuple[int, int]
    result: tuple[int, int]
    live: tuple[int, int]


@dataclass(frozen=True)
class ListedTrial:
    """One row of a list. `running`: a process of this machine attempts it now."""

    key: str
    name: str
    folder: Path
    suite: Path | None
    suite_key: str
    stamps: TrialStamps
    live: LiveState | None
    running: bool

    @cached_property
    def summary(self) -> TrialSummary:
        """What its files say."""
        return TrialSummary(self.folder)

    @property
    def record(self) -> TrialRecord | None:
        """Of trial.json; None if it is damaged."""
        return self.summary.record

    @property
    def result(self) -> Result | None:
        """Of result.json; None if there is none, or it is damaged."""
        return self.summary.result if any(self.stamps.result) else None

    @property
    def status(self) -> str:
        """running, measured, failed, stopped, or "killed" if it ended without a word."""
        if self.running:
            return "running"
        return self.result.status if self.result else "killed" if self.live else "not finished"

    @property
    def phase(self) -> str:
        """The phase that it is in, or ended in; "" if that is unknown."""
        if self.running and self.live is not None:
            return self.live.phase
        return self.result.phase if self.result else ""

    @property
    def tokens(self) -> int | None:
        """Spent so far; None if it does not say."""
        if self.result and not self.running:
            return self.result.cost.tokens
        return self.live.tokens if self.live else None

    @property
    def cost(self) -> float | None:
        """Dollars so far; None for an unknown price."""
        if self.result and not self.running:
            return self.result.cost.dollars
        return self.live.cost if self.live else None

    @property
    def seconds(self) -> float | None:
        """How long it took, or has been running."""
        if self.running and self.live:
            return (datetime.now(UTC) - datetime.fromisoformat(self.live.began)).total_seconds()
        return self.result.cost.seconds if self.result else None

    @property
    def label(self) -> str:
        """The name for a list that shows task and variant too: of a suite's, suite and number."""
        return f"{self.suite.name} {self.folder.name}" if self.suite is not None else self.name

    @property
    def task(self) -> str:
        """The task's name: in a suite that of its folder."""
        if self.suite is not None:
            return self.folder.parts[-3]
        return self.record.task if self.record else "unknown"

    @property
    def variant(self) -> str:
        """The variant in a suite, else the solver or the code that was handed in."""
        if self.suite is not None:
            return self.folder.parts[-2]
        return self.record.system if self.record else "unknown"

    @property
    def seen(self) -> tuple[Any, ...]:
        """What changes if the row does; a line that a program prints changes nothing."""
        live = self.live
        doing = (live.phase, live.tokens, int(20 * (live.share or 0))) if live else ()
        return (self.key, self.stamps[:2], self.running, doing)


@dataclass(frozen=True)
class ListedSuite:
    """One suite: `facts` is suite.json, `state` its runner's last state.json."""

    key: str
    name: str
    folder: Path
    facts: dict[str, Any]
    state: dict[str, Any]


def trial_stamps(folder: Path) -> TrialStamps:
    """When the files of a row changed, and their sizes."""
    return TrialStamps(*stamp_of(folder, (TRIAL, RESULT, LIVE)))


def live_of(folder: Path, stamps: TrialStamps) -> LiveState | None:
    """What a trial does or did last; None if it does not say."""
    return read_live(folder) if any(stamps.live) else None


def stamp_of(folder: Path, names: tuple[str, ...] = (STEPS, RESULT, LIVE)) -> Stamp:
    """When files of a folder changed, and their sizes; (0, 0) for one that is missing."""
    return tuple(_changed(f"{folder}/{name}") for name in names)


def ended_stamp(folder: Path) -> tuple[Stamp, bool]:
    """What changes if a step, the trial or its process ends.

    The process outlives its result by a moment, and may end without a word.
    """
    live = live_of(folder, trial_stamps(folder))
    return stamp_of(folder, (STEPS, RESULT)), live is not None and live.process is not None


def output_stamp(folder: Path) -> Stamp:
    """The same of what changes while a step runs."""
    return stamp_of(folder, (LIVE, OUTPUT, WRITTEN))


def _changed(path: str) -> tuple[int, int]:
    try:
        status = os.lstat(path)
    except OSError:
        return (0, 0)
    return (status.st_mtime_ns, status.st_size)

"""A suite's progress: counted as its trials begin and end, and written to `state.json`.

The runner's own table and `autoreproduce watch` show the same snapshot, so they cannot disagree.
"""

import json
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TextIO

from autoreproduce.errors import TrialError, UsageError
from autoreproduce.files.owner import owner, stale
from autoreproduce.job import now
from autoreproduce.models.budget import Budget
from autoreproduce.plugins.suites.finished_trials import EndedTrial
from autoreproduce.plugins.suites.plan import Planned
from autoreproduce.plugins.suites.rate_limit import Gates
from autoreproduce.plugins.suites.view import (
    LiveSuite,
    Snapshot,
    SuiteView,
    first_line,
    open_suite_view,
    sums,
)
from autoreproduce.trials.journal import write_whole
from autoreproduce.trials.live import read_live
from autoreproduce.trials.steps import Observer, Step
from autoreproduce.trials.summary import read_json


def watch(folder: Path, stream: TextIO, once: bool = False, pause: float = 1.0) -> bool:
    """Show the progress of the suite in `folder` until it ends; True if it came to its end.

    False if its runner was killed. `once` shows it as it is now and returns. Raises UsageError if
    no suite was begun there.
    """
    view = open_suite_view("auto", stream)
    state = _state_in(folder)
    view.begin(state)
    shown = ""
    try:
        while True:
            shown = _show(view, state, shown)
            if once or state["ended"] or stale(state["owner"]):
                break
            time.sleep(pause)
            state = _state_in(folder)
    finally:
        view.close(state)
    view.write_line(_last_line(folder, state))
    return bool(state["ended"])


def _state_in(folder: Path) -> Snapshot:
    state = read_json(folder / STATE)
    if state is None or "counts" not in state:
        raise UsageError(
            f"{folder} has no {STATE} of a suite", fix="name the folder of a suite that was begun"
        )
    return state


def _show(view: SuiteView, state: Snapshot, before: str) -> str:
    """Redraw, or write a line if the counts changed; the counts as shown."""
    if isinstance(view, LiveSuite):
        view.tick(state)
        return before
    counts = state["counts"]
    shown = ", ".join(f"{counts[key]} {key}" for key in counts if key != "total" and counts[key])
    if shown != before:
        view.write_line(f"{state['at']} {shown}; {sums(state)}")
    return shown


def _last_line(folder: Path, state: Snapshot) -> str:
    if state["ended"]:
        return f"{first_line(state)}: ended: {state['ended']}"
    if stale(state["owner"]):
        return (
            f"{first_line(state)}: its runner is gone; the same `suite` command resumes it in "
            f"{folder}"
        )
    return first_line(state)


STATE = "state.json"
ROWS = 40  # of the table by task and variant; a larger suite's table is by variant


@dataclass
class Running:
    """A trial under way."""

    began: float
    phase: str = ""
    calls: int = 0
    runs: int = 0


class SuiteProgress:
    """The counts of one run of a suite. Safe for threads."""

    def __init__(
        self,
        name: str,
        trials: Iterable[Planned],
        finished: Mapping[Planned, EndedTrial],
        workers: int,
    ) -> None:
        self.name = name
        self.workers = workers
        self.began = time.monotonic()
        self.finished_before = len(finished)
        self.notes: deque[str] = deque(maxlen=3)
        self.running: dict[Planned, Running] = {}
        self._rows: dict[tuple[str, str], Counter[str]] = {}
        self._seconds: list[float] = []
        self._lock = threading.Lock()
        trials = list(trials)
        self._by_task = len({(t.task, t.variant) for t in trials}) <= ROWS
        for trial in trials:
            row = self._rows.setdefault(self._key(trial), Counter())
            row["total"] += 1
            if trial in finished:
                row[finished[trial].status] += 1

    def _key(self, planned: Planned) -> tuple[str, str]:
        return planned.task if self._by_task else "all tasks", planned.variant

    def begin(self, planned: Planned) -> None:
        """A trial begins; whoever attempts it updates its record."""
        with self._lock:
            self.running[planned] = Running(time.monotonic())

    def end(self, planned: Planned, ended: EndedTrial) -> None:
        """A trial ended."""
        with self._lock:
            running = self.running.pop(planned, None)
            self._rows[self._key(planned)][ended.status] += 1
            if running is not None and ended.scored:
                self._seconds.append(time.monotonic() - running.began)

    def note(self, text: str) -> None:
        """A line for the watchers."""
        with self._lock:
            self.notes.append(text)

    def snapshot(self, budget: Budget, gates: Gates | None = None) -> dict[str, Any]:
        """All that is shown, as plain values."""
        with self._lock:
            rows: list[dict[str, Any]] = [
                {"task": task, "variant": variant, **_counts(row, self._under_way(task, variant))}
                for (task, variant), row in self._rows.items()
            ]
            counted = ("total", *_STATUSES, "running", "waiting")
            totals = {key: sum(row[key] for row in rows) for key in counted}
            return {
                "suite": self.name,
                "at": now(),
                "owner": owner(),
                "finished_before": self.finished_before,
                "workers": self.workers,
                "seconds": round(time.monotonic() - self.began, 1),
                "seconds_left": self._left(totals["waiting"]),
                "counts": totals,
                "rows": rows,
                "running": [_running(p, r) for p, r in self.running.items()],
                "notes": list(self.notes),
                "cost": budget.spent_dollars,
                "cost_known": budget.dollars_known,
                "tokens": budget.spent_tokens,
                "limit_dollars": budget.limit_dollars,
                "calls": budget.spent_calls,
                "limit_tokens": budget.limit_tokens,
                "limit_calls": budget.limit_calls,
                "calls_in_flight": gates.in_flight if gates else 0,
                "calls_limit": gates.limit if gates else 0,
                "refusals": gates.refusals if gates else 0,
                "ended": "",
            }

    def _under_way(self, task: str, variant: str) -> int:
        return sum(self._key(planned) == (task, variant) for planned in self.running)

    def _left(self, waiting: int) -> float | None:
        """Seconds until the end, if the rest takes as long as what ended; None before any did."""
        if not self._seconds:
            return None
        mean, clock = sum(self._seconds) / len(self._seconds), time.monotonic()
        rest = sum(max(mean - (clock - running.began), 0.0) for running in self.running.values())
        at_once = min(self.workers, waiting + len(self.running))  # the last ones leave places empty
        return round((waiting * mean + rest) / max(at_once, 1), 1)


_STATUSES = ("measured", "failed", "not scored", "stopped")


def _counts(row: Counter[str], running: int) -> dict[str, int]:
    cells = {key: row[key] for key in _STATUSES}
    return {
        "total": row["total"],
        **cells,
        "running": running,
        "waiting": row["total"] - sum(cells.values()) - running,
    }


def _running(planned: Planned, running: Running) -> dict[str, Any]:
    seconds = round(time.monotonic() - running.began, 1)
    return {
        "trial": planned.words,
        "phase": running.phase,
        "calls": running.calls,
        "runs": running.runs,
        "seconds": seconds,
    }


def write_state(folder: Path, snapshot: dict[str, Any]) -> None:
    """Write the snapshot for the watchers; a full disk only leaves them without news."""
    with suppress(OSError, TrialError):
        write_whole(folder / STATE, json.dumps(snapshot), wait=False)


def read_running(folder: Path, running: Running) -> None:
    """Update a trial's state from what it wrote of itself on another machine."""
    if live := read_live(folder):
        running.phase, running.calls, running.runs = live.phase, live.calls, live.runs


class TrialWatch(Observer):
    """An observer of one trial for the suite, by which a stopped suite ends a trial under way.

    A trial calls its observers often. Once `stop` is set, they raise KeyboardInterrupt, as if the
    user had interrupted that trial alone: the current step is dropped or was just saved.
    """

    def __init__(self, running: Running, stop: threading.Event) -> None:
        self.running = running
        self.stop = stop

    def phase(self, name: str) -> None:
        """A phase begins."""
        self.running.phase = name
        self._raise_if_stopped()

    def step(self, step: Step, replayed: bool) -> None:
        """A step ended."""
        self.running.calls += step.kind == "model"
        self.running.runs += step.kind == "execute"
        self._raise_if_stopped()

    def output(self, text: str) -> None:
        """A program printed something."""
        self._raise_if_stopped()

    def _raise_if_stopped(self) -> None:
        if self.stop.is_set():
            raise KeyboardInterrupt

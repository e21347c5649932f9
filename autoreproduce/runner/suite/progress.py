"""How a suite stands: counted as its trials begin and end, and written to `state.json` for whoever watches.

The runner's own table and `autoreproduce watch` draw the same snapshot, so they cannot disagree.
"""

from __future__ import annotations

import json
import threading
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.runner.suite.kept import Ended
from autoreproduce.runner.suite.plan import Planned
from autoreproduce.sandboxes.owners import owner
from autoreproduce.trial import now

if TYPE_CHECKING:
    from autoreproduce.budget import Budget
    from autoreproduce.runner.suite.gate import Gates

STATE = "state.json"
ROWS = 40  # of the table by task and variant; a larger suite is told by variant


@dataclass
class Running:
    """A trial under way."""

    began: float
    phase: str = ""
    calls: int = 0
    runs: int = 0


class Progress:
    """The counts of one run of a suite. Safe for threads."""

    def __init__(self, name: str, trials: Iterable[Planned], kept: Mapping[Planned, Ended], workers: int) -> None:
        self.name = name
        self.workers = workers
        self.began = time.monotonic()
        self.kept = len(kept)
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
            if trial in kept:
                row[kept[trial].status] += 1

    def _key(self, planned: Planned) -> tuple[str, str]:
        return planned.task if self._by_task else "all tasks", planned.variant

    def begin(self, planned: Planned) -> Running:
        """A trial begins; what is returned is its own to change."""
        with self._lock:
            self.running[planned] = Running(time.monotonic())
            return self.running[planned]

    def end(self, planned: Planned, ended: Ended) -> None:
        """A trial ended."""
        with self._lock:
            running = self.running.pop(planned, None)
            self._rows[self._key(planned)][ended.status] += 1
            if running is not None and ended.scored:
                self._seconds.append(time.monotonic() - running.began)

    def note(self, text: str) -> None:
        """A line for whoever watches."""
        with self._lock:
            self.notes.append(text)

    def snapshot(self, budget: Budget, gates: Gates | None = None) -> dict[str, Any]:
        """All that is shown, as plain values."""
        with self._lock:
            rows: list[dict[str, Any]] = [
                {"task": task, "variant": variant, **_cells(row, self._under_way(task, variant))}
                for (task, variant), row in self._rows.items()
            ]
            all_of_it = {key: sum(row[key] for row in rows) for key in ("total", *_CELLS, "running", "waiting")}
            return {
                "suite": self.name, "at": now(), "owner": owner(), "kept": self.kept, "workers": self.workers,
                "seconds": round(time.monotonic() - self.began, 1), "seconds_left": self._left(all_of_it["waiting"]),
                "counts": all_of_it, "rows": rows, "running": [_running(p, r) for p, r in self.running.items()],
                "notes": list(self.notes), "cost": budget.spent_dollars, "cost_known": budget.dollars_known,
                "tokens": budget.spent_tokens, "limit_dollars": budget.limit_dollars,
                "limit_tokens": budget.limit_tokens, "calls_in_flight": gates.in_flight if gates else 0,
                "calls_limit": gates.limit if gates else 0, "refusals": gates.refusals if gates else 0, "ended": "",
            }  # fmt: skip

    def _under_way(self, task: str, variant: str) -> int:
        return sum(self._key(planned) == (task, variant) for planned in self.running)

    def _left(self, waiting: int) -> float | None:
        """Seconds until the end, if the rest takes as long as what ended; None before anything did."""
        if not self._seconds:
            return None
        mean, clock = sum(self._seconds) / len(self._seconds), time.monotonic()
        rest = sum(max(mean - (clock - running.began), 0.0) for running in self.running.values())
        at_once = min(self.workers, waiting + len(self.running))  # the last ones leave places empty
        return round((waiting * mean + rest) / max(at_once, 1), 1)


_CELLS = ("succeeded", "failed", "not scored", "stopped")


def _cells(row: Counter[str], running: int) -> dict[str, int]:
    cells = {key: row[key] for key in _CELLS}
    return {"total": row["total"], **cells, "running": running,
            "waiting": row["total"] - sum(cells.values()) - running}  # fmt: skip


def _running(planned: Planned, running: Running) -> dict[str, Any]:
    seconds = round(time.monotonic() - running.began, 1)
    return {"trial": planned.words, "phase": running.phase, "calls": running.calls, "runs": running.runs,
            "seconds": seconds}  # fmt: skip


def write_state(folder: Path, snapshot: dict[str, Any]) -> None:
    """The snapshot for whoever watches; a full disk only leaves the watcher behind."""
    with suppress(OSError):
        part = folder / f".{STATE}.part"
        part.write_text(json.dumps(snapshot), encoding="utf-8")
        part.replace(folder / STATE)


class Watch:
    """Follows one trial for the suite; and the way by which a stopped suite reaches a trial under way.

    A trial tells its observers what it does, often. Once `stop` is set, the answer is KeyboardInterrupt, as if the
    user had interrupted that trial alone: the step in hand is given up or was just written down.
    """

    def __init__(self, running: Running, stop: threading.Event) -> None:
        self.running = running
        self.stop = stop

    def phase(self, name: str) -> None:
        """A phase begins."""
        self.running.phase = name
        self._heed()

    def step(self, step: Any, replayed: bool) -> None:
        """A step ended."""
        self.running.calls += step.kind == "model"
        self.running.runs += step.kind == "execute"
        self._heed()

    def output(self, text: str) -> None:
        """A program printed something."""
        self._heed()

    def note(self, text: str) -> None:
        """What a trial says of itself stands in its own folder."""

    def _heed(self) -> None:
        if self.stop.is_set():
            raise KeyboardInterrupt

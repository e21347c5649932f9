"""What a trial does at this moment, for whoever watches it from another process.

`live.json` has the process that attempts the trial, its phase and its last step; `output.log` the
end of what the running program prints. A trial that is resumed reads neither, so they wait for no
disk, and a file that cannot be written ends nothing.
"""

import json
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from pydantic import BaseModel, TypeAdapter, ValidationError

from autoreproduce.errors import SandboxError, TrialError
from autoreproduce.files.owner import owner, process_id
from autoreproduce.files.tree import Tree
from autoreproduce.job import now
from autoreproduce.trials.journal import write_whole
from autoreproduce.trials.printed import PrintedSteps, Row
from autoreproduce.trials.steps import CommandResult, ModelResult, Observer, Step

LIVE, OUTPUT, WRITTEN = "live.json", "output.log", "written.json"
_ROWS = TypeAdapter(list[dict[str, float | None]])
KEPT = 64_000  # characters of output
PAUSE = 0.25  # seconds between two writes of a file


class LiveState(BaseModel):
    """live.json. `steps` counts the finished ones, `last` names the latest, `ended` is when the
    attempt ended, "" while it runs or if its process was killed. `tokens` and `cost` are of all
    `calls` so far (cost None: not known), `runs` the programs that ran; `share` and `left` of the
    running program's steps, with the seconds left at `at`, or those since the last step where they
    stall (`quiet`).
    """

    owner: str
    began: str
    at: str
    phase: str = ""
    steps: int = 0
    last: str = ""
    note: str = ""
    ended: str = ""
    calls: int = 0
    runs: int = 0
    tokens: int = 0
    cost: float | None = 0.0
    share: float | None = None
    left: float | None = None
    quiet: float | None = None

    @property
    def process(self) -> int | None:
        """The process that attempts the trial now, None if there is none on this machine."""
        return None if self.ended else process_id(self.owner)


class LiveRecord(Observer):
    """An observer that writes `live.json` and `output.log` into a trial's folder."""

    def __init__(self, folder: Path, clock: Callable[[], float] = time.monotonic) -> None:
        self.folder = folder
        self._clock = clock
        self._state = LiveState(owner=owner(), began=now(), at=now())
        self._output, self._ended_command = "", True
        self._pace = PrintedSteps(clock)
        self._state_due = self._output_due = 0.0
        self._lock = threading.Lock()

    def phase(self, name: str) -> None:
        """A phase begins."""
        with self._lock:
            self._state.phase = name
            self._write_state()

    def step(self, step: Step, replayed: bool) -> None:
        """A step ended; the next output is that of another command."""
        with self._lock:
            self._state.steps, self._state.last = step.index + 1, step.name
            self._state.calls += step.kind == "model"
            self._state.runs += step.kind == "execute"
            if isinstance(call := step.result, ModelResult):
                self._state.tokens += call.usage.total
                known = call.price is not None and self._state.cost is not None
                self._state.cost = (self._state.cost or 0) + (call.price or 0) if known else None
            if isinstance(step.result, CommandResult):
                self._write_output()
                self._ended_command = True
                (self.folder / WRITTEN).unlink(missing_ok=True)
                self._pace.end()
                self._state.share = self._state.left = self._state.quiet = None
            if not replayed or self._clock() >= self._state_due:
                self._write_state()

    def output(self, text: str) -> None:
        """The running program printed `text`."""
        with self._lock:
            if text and self._ended_command:
                self._output, self._ended_command = "", False
            self._output = (self._output + _encodable(text))[-KEPT:]
            self._pace.take(text)
            paced = (self._pace.share, self._pace.seconds_left, self._pace.quiet)
            told = (self._state.share, self._state.left, self._state.quiet)
            if paced != told and self._clock() >= self._state_due:
                self._state.share, self._state.left, self._state.quiet = paced
                self._write_state()
            if not self._ended_command and self._clock() >= self._output_due:
                self._write_output()

    def rows(self, rows: list[Row]) -> None:
        """The running program wrote these rows into files."""
        with self._lock, suppress(TrialError):
            write_whole(self.folder / WRITTEN, json.dumps(rows), wait=False)

    def note(self, text: str) -> None:
        """Something the user should know."""
        with self._lock:
            self._state.note = _encodable(text[:2000])
            self._write_state()

    def end(self) -> None:
        """The attempt ended; a folder in which nothing was done stays as it is."""
        with self._lock:
            if self._state.phase:
                self._state.ended = now()
                self._write_state()

    def _write_state(self) -> None:
        self._state.at, self._state_due = now(), self._clock() + PAUSE
        with suppress(TrialError):
            write_whole(self.folder / LIVE, self._state.model_dump_json(), wait=False)

    def _write_output(self) -> None:
        self._output_due = self._clock() + PAUSE
        with suppress(TrialError):
            write_whole(self.folder / OUTPUT, self._output, wait=False)


def _encodable(text: str) -> str:
    """`text` without halves of characters, which cannot be written."""
    return text.encode("utf-8", "replace").decode()


def read_live(folder: Path) -> LiveState | None:
    """What a trial does now, or did last; None if it does not say."""
    try:
        return LiveState.model_validate_json(Tree(folder).read(LIVE, most=100_000))
    except (OSError, SandboxError, ValidationError):
        return None


def read_output(folder: Path) -> str:
    """The end of what the program printed that runs, or ran last; "" if there is none."""
    try:
        return Tree(folder).read_text(OUTPUT, most=10 * KEPT)
    except (OSError, SandboxError):
        return ""


def read_written(folder: Path) -> list[Row]:
    """The rows that the program wrote into files; none if there are none."""
    try:
        return _ROWS.validate_json(Tree(folder).read(WRITTEN, most=10**7))
    except (OSError, SandboxError, ValidationError):
        return []

"""What the views have in common: a lock, a stream that may break, and the sums so far."""

from __future__ import annotations

import re
import threading
import time
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Any, Literal, Self, TextIO

from autoreproduce.eval.report.timeline import Line, succeeded
from autoreproduce.eval.report.wording import PHASES, clean
from autoreproduce.trial import Step

NEWEST = 100  # lines that are looked at of one piece of output
LINE = 200  # characters of a program's line that are kept
Status = Literal["waiting", "running", "done", "passed over"]


class Progress:
    """The trial as seen so far. Not thread-safe by itself: a view locks it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.began = clock()
        self.phases: dict[str, Line] = {name: Line(name) for name in PHASES}
        self.status: dict[str, Status] = dict.fromkeys(PHASES, "waiting")
        self.total = Line("")
        self.current = ""
        self.replayed = 0
        self.last: Step | None = None
        self.last_at = self.began
        self.lines: deque[str] = deque(maxlen=8)
        self.notes: deque[str] = deque(maxlen=4)
        self._rest = ""
        self._program_ended = False
        self._bar = False  # the newest line is a progress bar's, to be replaced by its next state

    @property
    def elapsed(self) -> float:
        """Seconds since the view was opened."""
        return self.clock() - self.began

    def phase(self, name: str) -> None:
        """A phase begins: the one before is done, those skipped are passed over."""
        self.phases.setdefault(name, Line(name))
        self.status.setdefault(name, "waiting")
        if self.current:
            self.status[self.current] = "done"
        for other in self.phases:
            if other == name:
                break
            if self.status[other] == "waiting":
                self.status[other] = "passed over"
        self.current, self.status[name] = name, "running"
        self.last_at = self.clock()

    def step(self, step: Step, replayed: bool) -> None:
        """Count a step; what its program printed is no longer running."""
        for line in (self.phases.setdefault(step.phase, Line(step.phase)), self.total):
            line.add(step)
            line.steps.clear()  # only the sums are wanted here; replies would fill the memory
        self.replayed += replayed
        self.last, self.last_at = step, self.clock()
        if step.kind in ("execute", "install"):
            self._end_program()

    def output(self, text: str) -> tuple[list[str], int]:
        """Take in what the program prints: the newest lines that it completed, cleaned, and how many more.

        A carriage return completes a line too, so a progress bar is seen moving; it stands in one line.
        """
        *pieces, self._rest = re.split(r"(?<=[\r\n])", self._rest + text)
        self._rest = self._rest[-4000:]  # a program that never ends its line
        lines = []
        for piece in pieces[-NEWEST:]:
            line = clean(piece.rstrip("\r\n")[-4000:])[:LINE].rstrip()
            if line:
                self._take(line, bar=piece.endswith("\r"))
                lines.append(line)
        return lines, max(len(pieces) - NEWEST, 0)

    def _take(self, line: str, bar: bool) -> None:
        if self._program_ended:
            self.lines.clear()
            self._program_ended = False
        if self._bar and self.lines:
            self.lines.pop()
        self.lines.append(line)
        self._bar = bar

    def _end_program(self) -> None:
        """Its last lines stay to be read until another program prints."""
        rest, self._rest = clean(self._rest)[:LINE].rstrip(), ""
        if rest:
            self._take(rest, bar=False)
        self._bar, self._program_ended = False, True


class View:
    """An Observer that writes to a stream. Subclasses say what; this says when not to."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = stream
        self.progress = Progress(clock)
        self._lock = threading.RLock()
        self._broken = False

    def start(self) -> None:
        """Begin to show."""

    def stop(self) -> None:
        """Leave the terminal as it was. May be called twice, and after an interrupt."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.stop()

    def phase(self, name: str) -> None:
        """A phase begins."""
        with self._lock:
            self.progress.phase(name)
            self._show(self.show_phase, name)

    def step(self, step: Any, replayed: bool) -> None:
        """A step ended; `replayed` where it was read from the journal."""
        with self._lock:
            self.progress.step(step, replayed)
            self._show(self.show_step, step, replayed)

    def output(self, text: str) -> None:
        """The running program printed `text`, in pieces of any size."""
        with self._lock:
            self._show(self.show_output, *self.progress.output(text))

    def note(self, text: str) -> None:
        """One line that the user should know."""
        with self._lock:
            line = " ".join(clean(text).split())
            self.progress.notes.append(line)
            self._show(self.show_note, line)

    def show_phase(self, name: str) -> None:
        """Show that a phase began."""

    def show_step(self, step: Step, replayed: bool) -> None:
        """Show that a step ended."""

    def show_output(self, lines: list[str], more: int) -> None:
        """Show lines of the running program; `more` before them were not looked at."""

    def show_note(self, text: str) -> None:
        """Show a note."""

    def write_line(self, line: str) -> None:
        """One line to the stream, at once."""
        self.stream.write(line + "\n")
        self.stream.flush()

    def _show(self, show: Callable[..., None], *what: Any) -> None:
        """Show something; a stream that is gone ends the showing, never the trial."""
        if self._broken:
            return
        try:
            show(*what)
        except (OSError, ValueError):  # ValueError: write to a closed file, or text the terminal cannot encode
            self._broken = True


def step_words(step: Step) -> str:
    """How a step ended, in a few words."""
    result = step.result
    if step.kind == "model":
        return f"{step.role} agent: {step.name}"
    if step.kind == "fetch":
        return f"fetched {step.name}"
    if result.get("stopped"):
        end = f"stopped ({result['stopped']})"
    else:
        end = "done" if succeeded(step) else f"exit code {result.get('exit_code')}"
    command = " ".join(clean(str(result.get("command", step.name))).split())
    return f"{command[:100]}: {end}"

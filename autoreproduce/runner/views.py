"""Who watches a trial and writes lines: `PlainView` for a person, `JsonView` for a machine; what
the live view shares with them: a lock, a stream that may break, and the sums so far.
"""

from __future__ import annotations

import json
import re
import threading
import time
from collections import deque
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Literal, Self, TextIO

from autoreproduce.evaluation.report.timeline import PhaseSums
from autoreproduce.evaluation.report.wording import (
    BY_PLAN,
    clean,
    duration,
    money,
    phase_words,
    plural,
    short_count,
)
from autoreproduce.job import now
from autoreproduce.trials.printed import PrintedSteps, Row
from autoreproduce.trials.steps import FetchResult, ModelResult, Step

if TYPE_CHECKING:
    from autoreproduce.runner.remaining_time import RemainingTime

NEWEST = 100  # lines that are looked at of one piece of output
LINE = 200  # characters shown of a program's line
Status = Literal["waiting", "running", "done"]
LINES_A_SECOND = 50


class TrialProgress:
    """The trial as seen so far. Not thread-safe by itself: a view locks it."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self.clock = clock
        self.began = clock()
        self.phases: dict[str, PhaseSums] = {}  # in the order in which they happen
        self.status: dict[str, Status] = {}
        self.total = PhaseSums("")
        self.current = ""
        self.replayed = 0
        self.last: Step | None = None
        self.last_at = self.began
        self.lines: deque[str] = deque(maxlen=8)
        self.notes: deque[str] = deque(maxlen=4)
        self.remaining: RemainingTime | None = None
        self.pace = PrintedSteps(clock)
        self._rest = ""
        self.program_ended = False
        self.prints = False  # a program has printed since the last step
        self.bar = False  # the newest line is a progress bar's, to be replaced by its next state

    @property
    def elapsed(self) -> float:
        """Seconds since the view was opened."""
        return self.clock() - self.began

    @property
    def left_seconds(self) -> float | None:
        """What the running program's steps, else earlier trials, leave to take; None if unknown."""
        if (left := self.pace.seconds_left) is not None:
            return left
        if self.pace.quiet is not None:
            return None
        return self.remaining.seconds(self.elapsed) if self.remaining else None

    @property
    def left_words(self) -> str:
        """The text ", about 9 min left", or that steps stall; "" if nothing is known."""
        if (quiet := self.pace.quiet) is not None:
            return f", no step seen for {duration(quiet)}"
        left = self.left_seconds
        if left is None:
            return ""
        of_run = self.pace.seconds_left is not None or (self.remaining and self.remaining.of_run)
        about = duration(left) if left < 120 else f"{round(left / 60)} min"
        return f", about {about} left{' of this run' if of_run else ''}"

    def planned(self, names: Sequence[str]) -> None:
        """These phases are to come."""
        self._order([*self.begun, *(name for name in names if name not in self.begun)])

    def phase(self, name: str) -> None:
        """A phase begins: the one before is done, and those that it passes over won't happen."""
        if self.remaining:
            self.remaining.phase(name, self.elapsed)
        if self.current:
            self.status[self.current] = "done"
        waiting = [each for each in self.phases if each not in self.begun]
        following = waiting[waiting.index(name) + 1 :] if name in waiting else waiting
        begun = self.begun if name in self.begun else [*self.begun, name]
        self._order([*begun, *following])
        self.current, self.status[name] = name, "running"
        self.last_at = self.clock()

    @property
    def begun(self) -> list[str]:
        """The phases that run or ran."""
        return [name for name in self.phases if self.status[name] != "waiting"]

    def end(self) -> None:
        """What hasn't begun by now won't happen."""
        self._order(self.begun)

    def _order(self, names: Sequence[str]) -> None:
        self.phases = {name: self.phases.get(name) or PhaseSums(name) for name in names}
        self.status = {name: self.status.get(name, "waiting") for name in names}

    def step(self, step: Step, replayed: bool) -> None:
        """Count a step; what its program printed is no longer running."""
        if self.remaining:
            self.remaining.step(step, replayed)
        self.status.setdefault(step.phase, "done")
        for line in (self.phases.setdefault(step.phase, PhaseSums(step.phase)), self.total):
            line.add(step)
            line.steps.clear()  # only the sums are needed here; replies would fill the memory
        self.replayed += replayed
        self.last, self.last_at, self.prints = step, self.clock(), False
        if step.kind in ("execute", "install"):
            self._end_program()

    def output(self, text: str) -> tuple[list[str], int]:
        """Take in what the program prints: the newest lines that it completed, cleaned, and how
        many more.

        A carriage return completes a line too, so a progress bar is seen moving; it is in one
        line.
        """
        self.prints = True
        self.pace.take(text)
        *pieces, self._rest = re.split(r"(?<=[\r\n])", self._rest + text)
        self._rest = self._rest[-4000:]  # a program that never ends its line
        lines = []
        for piece in pieces[-NEWEST:]:
            line = clean(piece.rstrip("\r\n")[-4000:])[:LINE].rstrip()
            if line:
                self._add_line(line, bar=piece.endswith("\r"))
                lines.append(line)
        return lines, max(len(pieces) - NEWEST, 0)

    def _add_line(self, line: str, bar: bool) -> None:
        if self.program_ended:
            self.lines.clear()
            self.program_ended = False
        if self.bar and self.lines:
            self.lines.pop()
        self.lines.append(line)
        self.bar = bar

    def _end_program(self) -> None:
        """Its last lines stay to be read until another program prints."""
        self.pace.end()
        rest, self._rest = clean(self._rest)[:LINE].rstrip(), ""
        if rest:
            self._add_line(rest, bar=False)
        self.bar, self.program_ended = False, True


class View:
    """An Observer that writes to a stream. Subclasses define what is shown."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        self.stream = stream
        self.progress = TrialProgress(clock)
        self._lock = threading.RLock()
        self._broken = False

    def start(self) -> None:
        """Begin to show."""

    def stop(self) -> None:
        """Leave the terminal as it was. May be called twice, and after an interrupt."""

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def phase(self, name: str) -> None:
        """A phase begins."""
        with self._lock:
            self.progress.phase(name)
            self._show(self.show_phase, name)

    def planned(self, names: Sequence[str]) -> None:
        """These phases are to come."""
        with self._lock:
            self.progress.planned(names)

    def step(self, step: Step, replayed: bool) -> None:
        """A step ended; `replayed` where it was read from the journal."""
        with self._lock:
            self.progress.step(step, replayed)
            self._show(self.show_step, step, replayed)

    def output(self, text: str) -> None:
        """The running program printed `text`, in pieces of any size."""
        with self._lock:
            self._show(self.show_output, *self.progress.output(text))

    def rows(self, rows: list[Row]) -> None:
        """What the running program wrote into files."""
        with self._lock:
            self.progress.pace.written(rows)

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
        """Show something; a closed stream ends the view, never the trial."""
        if self._broken:
            return
        try:
            show(*what)
        except (
            OSError,
            ValueError,
        ):  # ValueError: write to a closed file, or text the terminal cannot encode
            self._broken = True


def step_words(step: Step) -> str:
    """How a step ended, in a few words."""
    result = step.result
    if isinstance(result, ModelResult):
        return f"{step.role} agent: {step.name}"
    if isinstance(result, FetchResult):
        return f"fetched {step.name}"
    if result.stopped:
        end = f"stopped ({result.stopped})"
    else:
        end = "done" if result.ok else f"exit code {result.exit_code}"
    command = " ".join(clean(result.command).split())
    return f"{command[:100]}: {end}"


class JsonView(View):
    """One object an event."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, clock)
        self._second = -1
        self._sent = 0
        self._dropped = 0
        self._ended = False

    def start(self) -> None:
        """Write the event `begin`."""
        with self._lock:
            self._show(self._write_event, "begin")

    def stop(self) -> None:
        """Write the event `end`, once."""
        with self._lock:
            if not self._ended:
                self._ended = True
                self._show(self._write_end)

    def show_phase(self, name: str) -> None:
        """A phase begins; `left_seconds` if what may be left is known."""
        left = self.progress.left_seconds
        known = {} if left is None else {"left_seconds": round(left)}
        self._write_event("phase", name=name, **known)

    def show_step(self, step: Step, replayed: bool) -> None:
        """A step without its texts."""
        self._write_dropped()
        wanted = {"kind", "command", "exit_code", "stopped", "usage", "price", "model", "finish"}
        facts = step.result.model_dump(include=wanted)
        if isinstance(step.result, ModelResult):
            facts["usage"] = step.result.usage.as_dict()
        head = step.model_dump(include={"index", "phase", "role", "name", "seconds"})
        self._write_event("step", **head, replayed=replayed, **facts)

    def show_output(self, lines: list[str], more: int) -> None:
        """Lines of the program, up to the limit."""
        second = int(self.progress.clock())
        if second != self._second:
            self._write_dropped()
            self._second, self._sent = second, 0
        room = max(LINES_A_SECOND - self._sent, 0)
        self._dropped += max(len(lines) - room, 0) + more
        self._sent += min(len(lines), room)
        for line in lines[:room]:
            self._write_event("output", text=line)

    def show_note(self, text: str) -> None:
        """A note."""
        self._write_event("note", text=text)

    def _write_dropped(self) -> None:
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            self._write_event("output", dropped=dropped)

    def _write_end(self) -> None:
        self._write_dropped()
        total = self.progress.total
        cost = None if total.unpriced else round(total.cost, 6)
        self._write_event(
            "end",
            seconds=round(self.progress.elapsed, 1),
            model_calls=total.calls,
            executions=total.executions,
            usage=total.usage,
            cost=cost,
            replayed=self.progress.replayed,
        )

    def _write_event(self, event: str, **facts: Any) -> None:
        self.write_line(json.dumps({"event": event, "at": now(), **facts}, default=str))


INTERVAL = 5.0  # seconds between two lines of a running program
QUIET = 60.0  # seconds without a line, after which one says what is waited for


class PlainView(View):
    """One line an event."""

    def __init__(
        self,
        stream: TextIO,
        clock: Callable[[], float] = time.monotonic,
        interval: float = INTERVAL,
        quiet: float = QUIET,
    ) -> None:
        super().__init__(stream, clock)
        self.interval, self.quiet = interval, quiet
        self._shown_at = float("-inf")
        self._waiting = ""
        self._left_out = 0
        self._from_journal = 0
        self._written_at = self.progress.clock()
        self._ended = threading.Event()

    def start(self) -> None:
        """Begin to say, from a thread, that the trial is alive where nothing else is written."""
        threading.Thread(target=self._watch, daemon=True).start()

    def stop(self) -> None:
        """Write what is still held back."""
        self._ended.set()
        with self._lock:
            self._show(self._write_replayed)

    def _watch(self) -> None:
        while not self._ended.wait(min(self.quiet, 10)):
            self.sign_of_life()

    def sign_of_life(self) -> None:
        """A line on what is waited for, if none was written for `quiet` seconds."""
        with self._lock:
            now, current = self.progress.clock(), self.progress.current
            if current and now - self._written_at >= self.quiet and not self._ended.is_set():
                what = "its program runs" if self.progress.prints else "waiting"
                since = duration(now - self.progress.last_at)
                title = phase_words(current)
                self._show(
                    self.write_line,
                    f"[{_minutes(self.progress.elapsed)}] {title}: {what}, for {since}",
                )

    def write_line(self, line: str) -> None:
        """One line to the stream, at once."""
        self._written_at = self.progress.clock()
        super().write_line(line)

    def show_phase(self, name: str) -> None:
        """The phase's title, with the time since the start, and what may be left."""
        self._write_replayed()
        since, left = _minutes(self.progress.elapsed), self.progress.left_words
        self.write_line(f"[{since}] {phase_words(name)}{left}")

    def show_step(self, step: Step, replayed: bool) -> None:
        """The step's end. Steps from the journal are counted and reported in one line."""
        if replayed:
            self._from_journal += 1
            return
        self._write_replayed()
        if step.kind in ("execute", "install"):
            self._write_waiting()
        parts = [step_words(step), duration(step.seconds)]
        if isinstance(call := step.result, ModelResult):
            parts.append(
                f"{short_count(call.usage.input)} tokens in, {short_count(call.usage.output)} out"
            )
            known = BY_PLAN if call.by_plan else None if call.price is None else money(call.price)
            parts.append(known or "cost unknown")
        self.write_line(f"  {parts[0]} ({', '.join(parts[1:])})")

    def show_output(self, lines: list[str], more: int) -> None:
        """The newest line, of a bar its newest state, if enough time has passed since the last."""
        if not lines:
            return
        self._left_out += len(lines) - 1 + more + bool(self._waiting)
        self._waiting = lines[-1]
        wait = self.quiet if self.progress.bar else self.interval  # a bar is one line, not many
        if self.progress.clock() - self._shown_at >= wait:
            self._write_waiting()

    def show_note(self, text: str) -> None:
        """The note, marked."""
        self._write_replayed()
        self.write_line(f"  ! {text}")

    def _write_waiting(self) -> None:
        if self._waiting:
            more = f"  (+ {plural(self._left_out, 'line')})" if self._left_out else ""
            self.write_line(f"    | {self._waiting}{more}")
            self._waiting, self._left_out, self._shown_at = "", 0, self.progress.clock()

    def _write_replayed(self) -> None:
        if self._from_journal:
            count, self._from_journal = self._from_journal, 0
            self.write_line(f"  {plural(count, 'step')} from the journal, not repeated")


def _minutes(seconds: float) -> str:
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"

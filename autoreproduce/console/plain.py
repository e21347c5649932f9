"""Plain lines, for logs and pipes: one a phase, a step, a note; never a flood.

Of a running program the newest line is shown every few seconds with how many were left out, so a log shows
that a training is alive and stays readable. All of a program's output is in steps.jsonl anyway.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TextIO

from autoreproduce.console.view import View, step_words
from autoreproduce.eval.report.timeline import usage_of, whole
from autoreproduce.eval.report.wording import duration, money, phase_words, plural, short_count
from autoreproduce.trial import Step

INTERVAL = 5.0  # seconds between two lines of a running program


class PlainView(View):
    """One line an event."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic, interval: float = INTERVAL) -> None:
        super().__init__(stream, clock)
        self.interval = interval
        self._shown_at = float("-inf")
        self._waiting = ""
        self._left_out = 0
        self._from_journal = 0

    def stop(self) -> None:
        """Say what is still held back."""
        with self._lock:
            self._show(self._say_replayed)

    def show_phase(self, name: str) -> None:
        """The phase's title, with the time since the start."""
        self._say_replayed()
        self.write_line(f"[{_clock(self.progress.elapsed)}] {phase_words(name)}")

    def show_step(self, step: Step, replayed: bool) -> None:
        """The step's end. Steps from the journal are counted and said in one line."""
        if replayed:
            self._from_journal += 1
            return
        self._say_replayed()
        if step.kind in ("execute", "install"):
            self._say_waiting()
        parts = [step_words(step), duration(step.seconds)]
        if step.kind == "model":
            usage = usage_of(step)
            parts.append(
                f"{short_count(whole(usage.get('input')))} tokens in, {short_count(whole(usage.get('output')))} out"
            )
            price = step.result.get("price")
            parts.append(money(price) if price is not None else "cost unknown")
        self.write_line(f"  {parts[0]} ({', '.join(parts[1:])})")

    def show_output(self, lines: list[str], more: int) -> None:
        """The newest line, if the last one shown is long enough ago."""
        if not lines:
            return
        self._left_out += len(lines) - 1 + more + bool(self._waiting)
        self._waiting = lines[-1]
        if self.progress.clock() - self._shown_at >= self.interval:
            self._say_waiting()

    def show_note(self, text: str) -> None:
        """The note, marked."""
        self._say_replayed()
        self.write_line(f"  ! {text}")

    def _say_waiting(self) -> None:
        if self._waiting:
            more = f"  (+ {plural(self._left_out, 'line')})" if self._left_out else ""
            self.write_line(f"    | {self._waiting}{more}")
            self._waiting, self._left_out, self._shown_at = "", 0, self.progress.clock()

    def _say_replayed(self) -> None:
        if self._from_journal:
            count, self._from_journal = self._from_journal, 0
            self.write_line(f"  {plural(count, 'step')} from the journal, not done again")


def _clock(seconds: float) -> str:
    return f"{int(seconds) // 60:02d}:{int(seconds) % 60:02d}"

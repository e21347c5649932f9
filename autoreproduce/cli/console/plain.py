"""Plain lines, for logs and pipes: one a phase, a step, a note; never a flood.

Of a running program the newest line is shown every few seconds with how many were left out, so a
log shows that a training is alive and stays readable. All of a program's output is in steps.jsonl
anyway.
"""

import time
from collections.abc import Callable
from typing import TextIO

from autoreproduce.cli.console.view import View, step_words
from autoreproduce.evaluation.report.wording import (
    duration,
    money,
    phase_words,
    plural,
    short_count,
)
from autoreproduce.trials.steps import ModelResult, Step

INTERVAL = 5.0  # seconds between two lines of a running program


class PlainView(View):
    """One line an event."""

    def __init__(
        self,
        stream: TextIO,
        clock: Callable[[], float] = time.monotonic,
        interval: float = INTERVAL,
    ) -> None:
        super().__init__(stream, clock)
        self.interval = interval
        self._shown_at = float("-inf")
        self._waiting = ""
        self._left_out = 0
        self._from_journal = 0

    def stop(self) -> None:
        """Write what is still held back."""
        with self._lock:
            self._show(self._write_replayed)

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
            parts.append("cost unknown" if call.price is None else money(call.price))
        self.write_line(f"  {parts[0]} ({', '.join(parts[1:])})")

    def show_output(self, lines: list[str], more: int) -> None:
        """The newest line, if enough time has passed since the last one."""
        if not lines:
            return
        self._left_out += len(lines) - 1 + more + bool(self._waiting)
        self._waiting = lines[-1]
        if self.progress.clock() - self._shown_at >= self.interval:
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

"""One JSON object a line, for machines. Events: begin, phase, step, output, note, end; then outcome.

A step's line has what a dashboard needs and not the texts, which are in steps.jsonl. A program's output is
passed on up to a bound a second; what is over it is counted in `dropped`.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from typing import Any, TextIO

from autoreproduce.console.view import View
from autoreproduce.trial import Step, now

LINES_A_SECOND = 50


class JsonView(View):
    """One object an event."""

    def __init__(self, stream: TextIO, clock: Callable[[], float] = time.monotonic) -> None:
        super().__init__(stream, clock)
        self._second = -1
        self._sent = 0
        self._dropped = 0
        self._ended = False

    def start(self) -> None:
        """Say that the stream begins."""
        with self._lock:
            self._show(self._say, "begin")

    def stop(self) -> None:
        """Say that it ends, once."""
        with self._lock:
            if not self._ended:
                self._ended = True
                self._show(self._say_end)

    def show_phase(self, name: str) -> None:
        """A phase begins."""
        self._say("phase", name=name)

    def show_step(self, step: Step, replayed: bool) -> None:
        """A step without its texts."""
        self._say_dropped()
        wanted = ("command", "exit_code", "stopped", "usage", "price", "model", "finish")
        facts = {key: step.result[key] for key in wanted if key in step.result}
        head = step.model_dump(include={"index", "phase", "kind", "role", "name", "seconds"})
        self._say("step", **head, replayed=replayed, **facts)

    def show_output(self, lines: list[str], more: int) -> None:
        """Lines of the program, as many as the bound allows."""
        second = int(self.progress.clock())
        if second != self._second:
            self._say_dropped()
            self._second, self._sent = second, 0
        room = max(LINES_A_SECOND - self._sent, 0)
        self._dropped += max(len(lines) - room, 0) + more
        self._sent += min(len(lines), room)
        for line in lines[:room]:
            self._say("output", text=line)

    def show_note(self, text: str) -> None:
        """A note."""
        self._say("note", text=text)

    def _say_dropped(self) -> None:
        if self._dropped:
            dropped, self._dropped = self._dropped, 0
            self._say("output", dropped=dropped)

    def _say_end(self) -> None:
        self._say_dropped()
        total = self.progress.total
        cost = None if total.unpriced else round(total.cost, 6)
        self._say(
            "end", seconds=round(self.progress.elapsed, 1), model_calls=total.calls, executions=total.executions,
            usage=total.usage, cost=cost, replayed=self.progress.replayed,
        )  # fmt: skip

    def _say(self, event: str, **facts: Any) -> None:
        self.write_line(json.dumps({"event": event, "at": now(), **facts}, default=str))

"""What one sees in the terminal while a trial runs, and the lines that close it.

Three views watch a trial: `LiveView` redraws a table in a terminal, `PlainView` writes a line an
event where the output is a file or a pipe, `JsonView` writes an object a line for machines. A trial
calls them from its own threads, so each is locked; and none of them can end a trial: a stream that
breaks (a closed pipe, a closed terminal) silences the view, and the trial continues.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Literal, TextIO

from autoreproduce.cli.console.outcome import write_outcome
from autoreproduce.cli.console.view import View
from autoreproduce.errors import UsageError

if TYPE_CHECKING:
    from autoreproduce.task import Task

__all__ = ["Kind", "View", "open_view", "write_outcome"]

Kind = Literal["auto", "live", "plain", "json"]


def open_view(kind: Kind, stream: TextIO, task: Task | None = None) -> View:
    """The view of that kind on `stream`, not yet started: use it as a context manager, or start()
    and stop().

    `auto` is live on a terminal that can be redrawn, else plain. `task` only gives the live view
    its title.
    """
    if kind == "auto":
        kind = "live" if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb" else "plain"
    if kind == "live":
        from autoreproduce.cli.console.live import LiveView

        return LiveView(stream, title=_live_title(task))
    if kind == "plain":
        from autoreproduce.cli.console.plain import PlainView

        return PlainView(stream)
    if kind == "json":
        from autoreproduce.cli.console.plain import JsonView

        return JsonView(stream)
    raise UsageError(f"there is no view {kind!r}", fix="name one of auto, live, plain, json")


def _live_title(task: Task | None) -> str:
    if task is None:
        return "Trial"
    return " · ".join(
        part
        for part in (
            task.experiment or task.method or task.id,
            task.dataset,
            f"{task.profile} profile",
        )
        if part
    )

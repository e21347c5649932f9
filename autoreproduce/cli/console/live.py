"""The live view: phases with their state, what was done last, what the program prints, the sums.

rich redraws it a few times a second from a thread of its own, under the view's lock. When it stops,
the last picture stays on the screen, so that the terminal's history shows what happened.
"""

import contextlib
import time
from collections.abc import Callable
from typing import Any, TextIO, cast

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.table import Table
from rich.text import Text

from autoreproduce.evaluation.report.timeline import PhaseSums
from autoreproduce.evaluation.report.wording import duration, plural, short_count
from autoreproduce.runner.views import Status, TrialProgress, View, step_words

MARKS: dict[Status, tuple[str, str]] = {
    "waiting": ("·", "dim"),
    "running": ("▸", "bold cyan"),
    "done": ("✓", "green"),
}


class _UnbreakableStream:
    """A stream whose writes cannot fail: rich draws from a thread of its own, where nothing catches
    an error.
    """

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)

    def write(self, text: str) -> int:
        with contextlib.suppress(OSError, ValueError):
            return self._stream.write(text)
        return len(text)

    def flush(self) -> None:
        with contextlib.suppress(OSError, ValueError):
            self._stream.flush()


class LiveView(View):
    """A table that is redrawn in place."""

    def __init__(
        self, stream: TextIO, clock: Callable[[], float] = time.monotonic, title: str = "Trial"
    ) -> None:
        super().__init__(stream, clock)
        self.title = title
        self.console = Console(file=cast(TextIO, _UnbreakableStream(stream)))
        self._live = Live(
            console=self.console,
            get_renderable=self.picture,
            refresh_per_second=4,
            transient=False,
            redirect_stdout=False,
            redirect_stderr=False,
            vertical_overflow="crop",
        )

    def start(self) -> None:
        """Begin to draw."""
        self._show(self._live.start)

    def stop(self) -> None:
        """Draw once more and restore the cursor, whatever happened."""
        with self._lock:
            self.progress.end()
        self._show(self._live.stop)

    def picture(self) -> RenderableType:
        """The whole view as it is now."""
        with self._lock:
            return draw(self.progress, self.title, self.console.width)


def draw(progress: TrialProgress, title: str, width: int = 80) -> RenderableType:
    """The picture of a trial in progress."""
    parts: list[RenderableType] = [
        Text.assemble(
            (title, "bold"), ("  " + duration(progress.elapsed) + progress.left_words, "dim")
        )
    ]
    parts += [_phase_table(progress, width), _last_step(progress)]
    notes = [Text("  ! " + note, style="yellow") for note in reversed(progress.notes)]
    if progress.program_ended:  # its output is old, and a note may say what takes so long now
        parts += notes[:1]
        notes = notes[1:]
    if progress.lines and progress.status.get(progress.current) == "running":
        parts += [
            Text("  │ " + line, style="dim", no_wrap=True, overflow="ellipsis")
            for line in progress.lines
        ]
        curves = progress.pace.curves(width=max(width - 40, 8))
        parts += [Text("  " + line, style="cyan", no_wrap=True) for line in curves]
    return Group(*parts, *notes, _totals_line(progress))


def _phase_table(progress: TrialProgress, width: int) -> Table:
    table = Table(
        box=None, padding=(0, 2, 0, 0), show_header=True, header_style="dim", pad_edge=False
    )
    table.add_column("", width=1)
    widest = max((len(line.title) for line in progress.phases.values()), default=0)
    table.add_column("phase", no_wrap=True, min_width=widest)
    for name in (
        "time",
        "calls",
        "runs",
        *(("tokens in", "out", "cost") if width >= 76 else ("cost",)),
    ):
        table.add_column(name, justify="right", no_wrap=True)
    for name, line in progress.phases.items():
        status = progress.status.get(name, "waiting")
        mark, style = MARKS[status]
        table.add_row(
            Text(mark, style=style),
            Text(line.title, style=style if status != "done" else ""),
            *_phase_cells(line, width),
        )
    return table


def _phase_cells(line: PhaseSums, width: int) -> list[Text]:
    runs = (
        f"{line.executions}" + (f" ({line.failures} failed)" if line.failures else "")
        if line.executions
        else ""
    )
    time_text = duration(line.seconds) if line.seconds else ""
    tokens = (
        [short_count(line.usage["input"]), short_count(line.usage["output"])]
        if line.calls
        else ["", ""]
    )
    cost = ("unknown" if line.unpriced else line.cost_text) if line.calls else ""
    cells = [time_text, str(line.calls or ""), runs, *(tokens if width >= 76 else []), cost]
    return [Text(cell, style="dim") for cell in cells]


def _last_step(progress: TrialProgress) -> Text:
    """The last step, and how long the next one has been running."""
    if progress.last is None:
        return Text("  working on the first step", style="dim")
    since = duration(progress.clock() - progress.last_at)
    line = Text("  last: " + step_words(progress.last), no_wrap=True, overflow="ellipsis")
    return line.append(f" · next one running for {since}", style="dim")


def _totals_line(progress: TrialProgress) -> Text:
    total = progress.total
    parts = [plural(total.calls, "model call"), plural(total.executions, "execution")]
    usage = total.usage
    parts.append(
        f"{short_count(usage['input'])} tokens in ({short_count(usage['cached'])} cached), "
        f"{short_count(usage['output'])} out"
    )
    parts.append("no cost yet" if not total.calls else f"cost {total.cost_text}")
    if progress.replayed:
        parts.append(f"{plural(progress.replayed, 'step')} from the journal")
    return Text("  " + " · ".join(parts), style="bold")

"""An attempt in the terminal: watched while it runs, closed by its lines and its exit code.

Three views watch a trial: `LiveView` redraws a table in a terminal, `PlainView` writes a line an
event where the output is a file or a pipe, `JsonView` writes an object a line for machines. A trial
calls them from its own threads, so each is locked; and none of them can end a trial: a stream that
breaks (a closed pipe, a closed terminal) silences the view, and the trial continues.
"""

from __future__ import annotations

import contextlib
import json as json_module
import os
import shlex
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TextIO

from autoreproduce.cli.options import RequireWord
from autoreproduce.evaluation.report.verdict_words import Headline
from autoreproduce.evaluation.report.wording import clean
from autoreproduce.runner.summary import Facts, labelled, places, summary
from autoreproduce.runner.views import View

if TYPE_CHECKING:
    from autoreproduce.claims.verdicts.trial_verdict import TrialVerdict
    from autoreproduce.job import Job
    from autoreproduce.runner.api_results import Reproduction
    from autoreproduce.runner.attempt import OpenView
    from autoreproduce.task import Task
    from autoreproduce.trials.result import Result


def open_view(json: bool, stream: TextIO, task: Task | None = None) -> View:
    """The view that fits `stream`, not yet started: use it as a context manager, or start() and
    stop(). `task` only gives the live view its title.
    """
    if json:
        from autoreproduce.runner.views import JsonView

        return JsonView(stream)
    if stream.isatty() and os.environ.get("TERM", "dumb") != "dumb":
        from autoreproduce.cli.console.live import LiveView

        return LiveView(stream, title=_live_title(task))
    from autoreproduce.runner.views import PlainView

    return PlainView(stream)


def _live_title(task: Task | None) -> str:
    if task is None:
        return "Trial"
    what = task.experiment or task.method or task.id
    return " · ".join(filter(None, (what, task.dataset, f"{task.profile} profile")))


COLOURS = {"good": "green", "mixed": "yellow", "bad": "red", "open": "cyan"}
PLACES = ("report", "result")
WIDEST_LABEL = 28
# what a script asks of the end most often; the whole is beside it
JSON_FIELDS = (
    "status",
    "reason",
    "verdict",
    "metric",
    "gap",
    "integrity",
    "recomputed",
    "warnings",
)


def write_closing(
    outcome: Result | None,
    trial_folder: Path,
    stream: TextIO,
    json: bool = False,
    task: Task | None = None,
    earlier: bool = False,
) -> None:
    """Write the closing lines, or one JSON object; a closed stream is no error.

    The rest as `runner.summary.summary`.
    """
    judged, facts = summary(outcome, trial_folder, task, earlier)
    with contextlib.suppress(OSError, ValueError):
        if json:
            event = {"event": "result", "sentence": judged.sentence, "level": judged.level}
            content = {**event, "earlier": earlier, **_json_fields(outcome, trial_folder)}
            stream.write(json_module.dumps(content, default=str) + "\n")
        else:
            _write_lines(stream, judged, [*facts, *places(trial_folder)])
        stream.flush()


def _json_fields(outcome: Result | None, trial_folder: Path) -> dict[str, Any]:
    report, program = trial_folder / "report.html", trial_folder / "result"
    return {
        **{name: getattr(outcome, name, None) for name in JSON_FIELDS},
        "result": outcome.model_dump(mode="json") if outcome is not None else None,
        "folder": str(trial_folder),
        "report": str(report) if report.is_file() else None,
        "program": str(program) if program.is_dir() else None,
    }


def _write_lines(stream: TextIO, judged: Headline, facts: Facts) -> None:
    """In colour where the stream is a terminal that takes it."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    if plain or not stream.isatty():
        stream.write(f"\n{labelled(judged, facts)}\n")
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = Console(file=stream)
    console.print()
    console.print(Text(clean(judged.sentence), style=f"bold {COLOURS[judged.level]}"))
    table = Table.grid(padding=(0, 2, 0, 0))
    table.add_column(max_width=WIDEST_LABEL)
    table.add_column(overflow="fold")
    for label, value in facts:
        if label not in PLACES:
            table.add_row(Text(f"{label}:", style="dim"), Text(clean(value)))
    console.print(Padding(table, (0, 0, 0, 2)))
    for label, value in facts:  # a path is in one piece, to be copied
        if label in PLACES:
            console.print(Text.assemble((f"  {label}:  ", "dim"), clean(value)), soft_wrap=True)


def command_line() -> str:
    """What the user typed, to be typed again; it's written down, so without --notify, whose
    address is often its own key.
    """
    given = list(sys.argv[1:])
    while "--notify" in given:
        at = given.index("--notify")
        del given[at : at + 2]
    given = [word for word in given if not word.startswith("--notify=")]
    return shlex.join(["python", "-m", "autoreproduce", *given])


def options_of_plan(paper: str) -> list[str]:
    """What the user typed after `plan` beside the paper, as another command takes it too."""
    given = sys.argv[1:]
    if "plan" not in given or paper not in given:
        return []
    rest = given[given.index("plan") + 1 :]
    rest.remove(paper)
    return [word for word in rest if word not in ("--json", "--dry-run", "--")]


def another_trial(job: Job) -> str:
    """The flag that makes a further trial of the same."""
    return f"--trial {job.number + 1}" if job.out is None else "another --out"


def terminal_view(json: bool, runs: Path | None = None, solver: str = "autoreproduce") -> OpenView:
    """What opens the view of an attempt; with `runs` it says what may be left by trials there."""
    return partial(_view_of, json, runs, solver)


def _view_of(json: bool, runs: Path | None, solver: str, task: Task) -> View:
    view = open_view(json, sys.stdout, task)
    if runs is not None:
        from autoreproduce.runner.remaining_time import RemainingTime, earlier_outcomes

        view.progress.remaining = RemainingTime(earlier_outcomes(runs, task, solver))
    return view


def write_end(done: Reproduction, json: bool, another: str) -> None:
    """The closing lines. `another`: the flag that makes another attempt of the same."""
    if done.earlier and not json:
        print(f"This trial ended earlier and was not run again ({another} makes another attempt).")
    write_closing(
        done.result, done.path, sys.stdout, json, task=done.task, earlier=json and done.earlier
    )


def notify_end(done: Reproduction, to: str | None) -> None:
    """What `--notify` asks for at the end of a trial."""
    from autoreproduce.cli.console.notify import notify, trial_event
    from autoreproduce.runner.api_results import note_to_stderr

    notify(to, trial_event(done), note_to_stderr)


def unmet_requirement(done: Reproduction, require: RequireWord | None) -> str:
    """Why the verdict is less than `--require` asks for; "" if it is not."""
    return unmet(done.verdict, require) if require else ""


def unmet(found: TrialVerdict | None, require: RequireWord) -> str:
    """Why a verdict is less than `require` asks for; "" if it is not."""
    if found is not None and found.overall.meets(require):
        return ""
    word = found.overall.title if found is not None else "no verdict"
    if found is not None and found.overall.word == "reproduced":
        failed = found.overall.failed_after
        why = "program failed afterwards" if failed else found.overall.method.text
        word += f", but the {why}"
    return f"--require {require} is not met: {word}"


def exit_code(done: Reproduction) -> int:
    """0 measured, 1 failed, else what stopped it: 130 for the user."""
    ended = {"measured": 0, "failed": 1}.get(done.result.status)
    return ended if ended is not None else int(done.result.details.get("exit_code", 130))

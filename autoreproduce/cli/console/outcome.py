"""The lines that close a trial: the verdict, the number beside what it is compared with, cost, and
where to look.
"""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from autoreproduce.evaluation.report.headline import Headline
from autoreproduce.evaluation.report.wording import clean
from autoreproduce.runner.summary import Facts, places, summary

if TYPE_CHECKING:
    from autoreproduce.task import Task
    from autoreproduce.trials.trial import Outcome

COLOURS = {"good": "green", "mixed": "yellow", "bad": "red", "open": "cyan"}


def write_outcome(
    outcome: Outcome | None,
    trial_folder: Path,
    stream: TextIO,
    kind: Literal["auto", "live", "plain", "json"] = "auto",
    task: Task | None = None,
    earlier: bool = False,
) -> None:
    """Write the closing lines, or one JSON object; a closed stream is no error.

    The rest as `runner.summary.summary`.
    """
    judged, facts = summary(outcome, trial_folder, task, earlier)
    with contextlib.suppress(OSError, ValueError):
        if kind == "json":
            event = {"event": "outcome", "verdict": judged.sentence, "level": judged.level}
            content = {**event, "earlier": earlier, **_json_fields(outcome, trial_folder)}
            stream.write(json.dumps(content, default=str) + "\n")
        else:
            colour = _takes_colour(stream, kind)
            _write_lines(stream, judged, [*facts, *places(trial_folder)], colour)
        stream.flush()


def _json_fields(outcome: Outcome | None, trial_folder: Path) -> dict[str, Any]:
    report, result = trial_folder / "report.html", trial_folder / "result"
    return {
        "outcome": outcome.model_dump(mode="json") if outcome is not None else None,
        "folder": str(trial_folder),
        "report": str(report) if report.is_file() else None,
        "result": str(result) if result.is_dir() else None,
    }


def _takes_colour(stream: TextIO, kind: str) -> bool:
    return (
        kind != "plain"
        and stream.isatty()
        and not os.environ.get("NO_COLOR")
        and os.environ.get("TERM") != "dumb"
    )


def _write_lines(stream: TextIO, judged: Headline, facts: Facts, colour: bool) -> None:
    sentence = clean(judged.sentence)
    if not colour:
        text = [sentence, *(f"  {label}  {clean(value)}" for label, value in _aligned(facts))]
        stream.write("\n" + "\n".join(text) + "\n")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, soft_wrap=True)
    console.print()
    console.print(Text(sentence, style=f"bold {COLOURS[judged.level]}"))
    for label, value in _aligned(facts):
        console.print(Text.assemble(("  " + label + "  ", "dim"), clean(value)))


def _aligned(facts: Facts) -> Facts:
    width = max(len(label) for label, _ in facts)
    return [(f"{label}:".ljust(width + 1), value) for label, value in facts]

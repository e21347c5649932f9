"""The lines that close a trial: the verdict, the number beside what it is compared with, cost, and where to look."""

from __future__ import annotations

import contextlib
import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, TextIO

from autoreproduce.eval.report.timeline import lines, total
from autoreproduce.eval.report.verdict import Verdict, metric_name, verdict
from autoreproduce.eval.report.wording import clean, duration, money, plural, short_count

if TYPE_CHECKING:
    from autoreproduce.eval.report.evidence import Evidence
    from autoreproduce.task import Task
    from autoreproduce.trial import Outcome

COLOURS = {"good": "green", "mixed": "yellow", "bad": "red", "open": "cyan"}


def say_outcome(
    outcome: Outcome | None,
    trial_folder: Path,
    stream: TextIO,
    kind: Literal["auto", "live", "plain", "json"] = "auto",
    task: Task | None = None,
    earlier: bool = False,
) -> None:
    """Write the closing lines, or one JSON object; a stream that is gone is no error.

    `task` brings the references, else the one that the trial's record keeps. `outcome` is None for a trial
    that did not come to one. `earlier` says that the trial had ended before and nothing was done now.
    """
    from autoreproduce.eval.report.evidence import gather

    found = gather(trial_folder)
    task = task or found.task()
    judged = verdict(outcome, task, found.last_phase)
    with contextlib.suppress(OSError, ValueError):
        if kind == "json":
            head = {"event": "outcome", "verdict": judged.sentence, "level": judged.level, "earlier": earlier}
            stream.write(json.dumps({**head, **_machine(outcome, trial_folder)}, default=str) + "\n")
        else:
            facts = [*_facts(outcome, task, found, earlier), *_places(trial_folder)]
            _write(stream, judged, facts, colour=_colourful(stream, kind))
        stream.flush()


def _facts(outcome: Outcome | None, task: Task | None, found: Evidence, earlier: bool) -> list[tuple[str, str]]:
    """(label, value) for each line."""
    from autoreproduce.eval.report.comparison import rows
    from autoreproduce.eval.report.page import replay_words

    said = []
    if earlier:
        said.append(("ended earlier", "nothing was run now; --out names another folder for a new trial"))
    if found.record is not None and found.record.replayed is not None:
        said.append(("replayed", replay_words(found.record.replayed)))
    if task is not None and task.stand_in:
        said.append(("data", task.stand_in))
    for row in rows(outcome, task):
        span = f" ({row.span_text})" if row.span_text else ""
        note = f", {row.note}" if row.note and row.kind in ("trial", "claimed") else ""
        name = metric_name(outcome, task) if row.kind == "trial" else row.label[0].lower() + row.label[1:]
        said.append((name, f"{row.text}{span}{note}"))
    sums = total(lines(found.steps))
    spent = f"{plural(sums.calls, 'model call')}, {plural(sums.executions, 'execution')}, {_tokens(sums.usage)}"
    cost = sums.cost_text if sums.calls else money(0.0)
    if found.record is not None and found.record.replayed is not None:
        cost += " when recorded"
    said.append(("cost", f"{cost} for {spent}, {duration(outcome.seconds if outcome else sums.seconds)}"))
    warnings = len(outcome.warnings) if outcome else 0
    if warnings:
        said.append(("warnings", f"{warnings}, in the report"))
    return said


def _tokens(usage: dict[str, int]) -> str:
    taken, cached, given = (short_count(usage[key]) for key in ("input", "cached", "output"))
    return f"{taken} tokens in ({cached} cached) and {given} out"


def _places(trial_folder: Path) -> list[tuple[str, str]]:
    """Where the report and the result lie; what is not there is not promised."""
    report, result = trial_folder / "report.html", trial_folder / "result"
    said = [("report", str(report) if report.is_file() else "not written")]
    return said + ([("result", str(result))] if result.is_dir() else [])


def _machine(outcome: Outcome | None, trial_folder: Path) -> dict[str, Any]:
    report, result = trial_folder / "report.html", trial_folder / "result"
    return {
        "outcome": outcome.model_dump(mode="json") if outcome is not None else None,
        "folder": str(trial_folder),
        "report": str(report) if report.is_file() else None,
        "result": str(result) if result.is_dir() else None,
    }


def _colourful(stream: TextIO, kind: str) -> bool:
    return kind != "plain" and stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def _write(stream: TextIO, judged: Verdict, facts: list[tuple[str, str]], colour: bool) -> None:
    sentence = clean(judged.sentence)
    if not colour:
        text = [sentence, *(f"  {label}  {clean(value)}" for label, value in _padded(facts))]
        stream.write("\n" + "\n".join(text) + "\n")
        return
    from rich.console import Console
    from rich.text import Text

    console = Console(file=stream, soft_wrap=True)
    console.print()
    console.print(Text(sentence, style=f"bold {COLOURS[judged.level]}"))
    for label, value in _padded(facts):
        console.print(Text.assemble(("  " + label + "  ", "dim"), clean(value)))


def _padded(facts: list[tuple[str, str]]) -> list[tuple[str, str]]:
    width = max(len(label) for label, _ in facts)
    return [(f"{label}:".ljust(width + 1), value) for label, value in facts]

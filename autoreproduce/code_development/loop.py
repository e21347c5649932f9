"""The loop of a phase: write, run on a mini-batch, mend until it runs, check against the paper, improve.

After an error an analysis comes first and the EDIT is a step of its own (the paper found two steps to work
better than one, section 3.3). A version that runs and that the research agent submits goes on at once.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Literal

from autoreproduce.commands import Bash, Edit, Update
from autoreproduce.errors import CommandError, ReplyError
from autoreproduce.listing import file_lines

if TYPE_CHECKING:
    from autoreproduce.code_development.bench import Bench, Run

Status = Literal["matched", "ran", "failed"]


@dataclass(frozen=True)
class Phase:
    """What one phase makes and how it is tried. `passes` says what is wrong with a run, "" where nothing is."""

    name: str
    file: str
    command: str
    stage: str  # the summary that the file is checked against
    passes: Callable[[Run], str]
    reviewed: bool = True
    limit: int | None = None  # minutes that a full run of the file may take; None where it is not run in full
    others: tuple[str, ...] = ()  # files under work beside it: always shown


@dataclass
class Ended:
    """How a phase ended: matched (runs, and the research agent submitted it), ran (runs, not submitted), failed."""

    status: Status
    reason: str
    tries: int
    run: Run | None = None
    history: list[str] = field(default_factory=list)


def exit_code(run: Run) -> str:
    """The plainest test of a run: its exit code decides, whatever it printed to stderr."""
    return "" if run.execution.ok else f"it ended with {run.report.splitlines()[0]}"


def develop(bench: Bench, phase: Phase, first: str, **variables: object) -> Ended:
    """Write `phase.file` by the prompt `first`, then mend and improve it."""
    parsed = bench.code.command(first, {"EDIT"}, bench=bench, phase=phase.name, **variables)
    assert isinstance(parsed.command, Edit)
    there = len(file_lines(bench.files.get(phase.file, "")))
    whole = Edit(1, there, parsed.command.replacement)  # it was asked for whole
    bench.edit(whole, phase.file, parsed.thought)
    return mend(bench, phase)


def mend(bench: Bench, phase: Phase, most: int | None = None) -> Ended:
    """Run, and edit until a run passes and (where asked for) the research agent submits; at most `max_debug` edits."""
    most = bench.settings.max_debug if most is None else most
    history: list[str] = []
    asked_for: list[str] = []
    ended = Ended("failed", "it was not run", 0)
    good: tuple[Ended, dict[str, str]] | None = None
    for tries in range(most + 1):
        run = bench.run(phase.command, bench.run_seconds, phase.name)
        problem = phase.passes(run)
        asked = len(asked_for)
        ended = _judged(bench, phase, run, problem, asked_for, tries, history)
        if not problem:
            good = (ended, dict(bench.files))
        done = len(asked_for) == asked if not problem else not bench.settings.debug
        if done or tries == most or bench.over():
            break
        if problem:
            mend_once(bench, phase, run, problem, history)
        else:
            _improve(bench, phase, run, asked_for[-1], history)
    if ended.status == "failed" and good is not None:
        return _back_to(bench, good)
    return ended


def _back_to(bench: Bench, good: tuple[Ended, dict[str, str]]) -> Ended:
    """The last version that ran, where the changes after it broke it."""
    ended, files = good
    bench.write(files, "back to the last version that ran", "the changes asked for after it did not run")
    return ended


def _judged(
    bench: Bench, phase: Phase, run: Run, problem: str, asked_for: list[str], tries: int, history: list[str]
) -> Ended:
    """What this run means; a run that passes is checked by the research agent where the phase asks for it."""
    if problem:
        return Ended("failed", problem, tries, run, history)
    if not (phase.reviewed and bench.settings.refine):
        return Ended("matched", "it runs; it was not to be checked against the paper", tries, run, history)
    try:
        feedback = _review(bench, phase, run, asked_for)
    except ReplyError as error:
        return Ended("ran", f"it runs, but could not be checked against the paper: {error}", tries, run, history)
    if feedback is None:
        return Ended("matched", "it runs, and the research agent found nothing that differs", tries, run, history)
    asked_for.append(feedback)
    return Ended("ran", f"it runs, but the research agent still asks: {feedback[:300]}", tries, run, history)


def _review(bench: Bench, phase: Phase, run: Run, asked_for: list[str]) -> str | None:
    """The research agent's feedback on a version that runs, None where it submits; a corrected summary is stored."""
    parsed = bench.research.command(
        "debug/review", {"UPDATE", "SUBMIT"}, bench=bench, phase=phase.name, file=phase.file, others=phase.others,
        execution=run, stage=phase.stage, earlier=asked_for, limit=phase.limit,
    )  # fmt: skip
    if not isinstance(parsed.command, Update):
        return None
    if parsed.command.summary:
        bench.summaries.put(phase.stage, parsed.command.summary)
    return parsed.command.feedback


def mend_once(bench: Bench, phase: Phase, run: Run, problem: str, history: list[str]) -> None:
    """Two steps: an analysis, then the command that carries it out. Without a usable reply the try is lost."""
    shown = _shown(bench, phase, run, _named(bench, phase, run))
    try:
        analysis = bench.code.ask("debug/analyse", problem=problem, history=history, **shown)
    except ReplyError as error:
        history.append(str(error))
        return
    told = {**shown, "analysis": analysis, "install": True}
    history.append(_change(bench, phase.file, "debug/edit", {"EDIT", "BASH"}, analysis, told))


def _improve(bench: Bench, phase: Phase, run: Run, feedback: str, history: list[str]) -> None:
    told = {**_shown(bench, phase, run, list(phase.others)), "feedback": feedback}
    history.append(_change(bench, phase.file, "debug/improve", {"EDIT"}, feedback, told))


def _shown(bench: Bench, phase: Phase, run: Run, others: list[str]) -> dict[str, Any]:
    """What every prompt about a run shows."""
    return {"bench": bench, "phase": phase.name, "file": phase.file, "others": others, "execution": run}


def _change(bench: Bench, file: str, prompt: str, allowed: set[str], why: str, told: dict[str, Any]) -> str:
    """Ask for a command and carry it out. One that cannot be carried out costs the try, and the next is told."""
    try:
        command = bench.code.command(prompt, allowed, **told).command
        if isinstance(command, Bash):
            return bench.install(command)
        assert isinstance(command, Edit)
        bench.edit(command, file, why)
        return f"EDIT {command.first} {command.last} {command.path or file}: {_gist(why)}"
    except CommandError as error:
        return f"a command was refused: {error}"
    except ReplyError as error:
        return str(error)


def _named(bench: Bench, phase: Phase, run: Run) -> list[str]:
    """Other files under work, and those that the error names: their numbered listings are shown too."""
    said = set(re.findall(r"([\w.-]+\.py)\b", run.execution.stderr))
    passed = (phase.file, "preprocess.py")
    return [name for name in bench.files if (name in said or name in phase.others) and name not in passed]


def _gist(text: str) -> str:
    """The first 200 characters, on one line."""
    line = " ".join(text.split())
    return line if len(line) <= 200 else line[:199] + "…"

"""Refactoring: the program that works becomes the one that a person would keep.

The mini-batch checks at the end of data.py and method.py go by the syntax tree; main.py is written anew by the
code agent. It is taken only if no number was lost or added, the dry run is gone, and it runs with its loops cut
from outside (`short_run.py`). Otherwise the version that works stays, and the report says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.code_development import clean
from autoreproduce.code_development.loop import Ended
from autoreproduce.code_development.phases import results_of
from autoreproduce.commands import Edit
from autoreproduce.errors import ReplyError
from autoreproduce.listing import file_lines

if TYPE_CHECKING:
    from autoreproduce.code_development.bench import Bench, Run

TRIES = 3
SCRIPT = "short_run.py"


def refactor(bench: Bench) -> Ended:
    """A clean main.py that passed its checks; else the program as it was, status «ran»."""
    worked = dict(bench.files)
    problem, candidate = "", ""
    for tries in range(1, TRIES + 1):
        try:
            candidate, why = _rewrite(bench, problem, candidate)
        except ReplyError as error:
            return Ended("ran", f"kept as it was before refactoring: {error}", tries)
        problem = clean.problem(worked["main.py"], candidate)
        if not problem:
            run = _try(bench, {**_without_checks(worked), "main.py": candidate}, why)
            problem = _passes(bench, run)
            if not problem:
                return Ended("matched", _said(run), tries, run)
            bench.write(worked, "back to the version before refactoring", problem)
    return Ended("ran", f"kept as it was before refactoring: {problem.splitlines()[0]}", TRIES)


def _rewrite(bench: Bench, problem: str, refused: str) -> tuple[str, str]:
    lines = len(file_lines(bench.files["main.py"]))
    parsed = bench.code.command(
        "refactoring/write", {"EDIT"}, bench=bench, phase="refactoring", problem=problem, refused=refused, lines=lines
    )
    assert isinstance(parsed.command, Edit)
    text = parsed.command.replacement
    return (text if text.endswith("\n") else text + "\n"), parsed.thought


def _without_checks(files: dict[str, str]) -> dict[str, str]:
    return {name: clean.without_check(files[name]) for name in ("data.py", "method.py")}


def _try(bench: Bench, files: dict[str, str], why: str) -> Run:
    """Dry-run the clean program with its loops cut from outside."""
    bench.write(files, "refactored", why)
    script = bench.workspace.folder / SCRIPT
    if not bench.trial.replaying:
        script.write_text(Path(__file__).with_name(SCRIPT).read_text())
    try:
        return bench.run(f"python {SCRIPT} main.py", bench.settings.dry_run_seconds, "refactoring")
    finally:
        script.unlink(missing_ok=True)


def _passes(bench: Bench, run: Run) -> str:
    """A run that was still going well at its limit passes too: the loops it is in could not be cut."""
    problem = "" if run.execution.stopped == "timeout" else results_of(bench, run)
    return f"{problem}. `{run.command}`, which runs it with its loops cut, gave:\n{run.report}" if problem else ""


def _said(run: Run) -> str:
    if run.execution.stopped == "timeout":
        return "clean; its dry run was still going without error at the limit, so its evaluation was not reached"
    return "clean, settings unchanged; its dry run reached the end"

"""Refactoring (the paper's section 3.3): a program that works becomes one to read.

The mini-batch checks at the end of data.py and method.py are removed by the syntax tree; main.py is
rewritten by the code agent. The new version is accepted only if no number was lost or added, the
dry run is gone, it runs with its loops cut from outside (`short_run.py`), and is seen to use the
settings that the dry run used. Otherwise the version that works stays, and the report says so.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.agents.listing import apply_edits, file_lines
from autoreproduce.agents.loose import WHOLE_FILE
from autoreproduce.errors import CommandError, ReplyError
from autoreproduce.method.choices import changed_settings, choice_lines, open_lines
from autoreproduce.method.phase import PhaseResult
from autoreproduce.method.refactoring_checks import rewrite_problem, without_check
from autoreproduce.method.results import results_problem

if TYPE_CHECKING:
    from autoreproduce.agents.commands import Parsed
    from autoreproduce.method.results import Run
    from autoreproduce.method.workbench import Workbench

MAX_ATTEMPTS = 3
SCRIPT = "short_run.py"


def refactor(bench: Workbench) -> PhaseResult:
    """A clean main.py that passed its checks; else the program as it was, status "ran"."""
    working = dict(bench.files)
    problem, candidate = "", ""
    for attempt in range(1, MAX_ATTEMPTS + 1):
        try:
            candidate, why = _rewrite(bench, problem, candidate)
        except ReplyError as error:
            return PhaseResult("ran", f"left as it was before refactoring: {error}", attempt)
        problem = rewrite_problem(working["main.py"], candidate)
        if problem:
            continue
        run = _short_run(bench, {**_without_checks(working), "main.py": candidate}, why)
        problem = _run_problem(bench, run)
        if not problem:
            return PhaseResult("matched", _success_reason(run), attempt, run)
        bench.write(working, "back to the version before refactoring", problem)
    reason = f"left as it was before refactoring: {problem.splitlines()[0]}"
    return PhaseResult("ran", reason, MAX_ATTEMPTS)


def _rewrite(bench: Workbench, problem: str, refused: str) -> tuple[str, str]:
    """The code agent's new main.py, and its reason; `refused` is its last one, with its problem."""
    main = bench.files["main.py"]

    def edited(parsed: Parsed) -> tuple[str, str]:
        if any(edit.path not in (None, "main.py") for edit in parsed.edits):
            raise CommandError("main.py alone is to be changed")
        alone = parsed.edits[0] if len(parsed.edits) == 1 else None
        added = len(file_lines(alone.replacement)) if alone and alone.last == 0 else 0
        whole = 2 * added > len(file_lines(main))  # not a docstring put before it
        return parsed.whole_file() if whole else apply_edits(main, parsed.edits), parsed.thought

    text, why = bench.code.ask_and_apply(
        "refactoring/write",
        {"EDIT", WHOLE_FILE},
        edited,
        bench=bench,
        phase="refactoring",
        file="main.py",
        decisions=choice_lines(bench),
        open_choices=open_lines(bench),
        problem=problem,
        refused=refused,
    )
    return (text if text.endswith("\n") else text + "\n"), why


def _without_checks(files: dict[str, str]) -> dict[str, str]:
    """data.py and method.py without their mini-batch checks."""
    return {name: without_check(files[name]) for name in ("data.py", "method.py")}


def _short_run(bench: Workbench, files: dict[str, str], why: str) -> Run:
    """Dry-run the clean program with its loops cut from outside."""
    bench.write(files, "refactored", why)
    tree = bench.workspace.tree
    if not bench.trial.replaying:
        tree.write(SCRIPT, Path(__file__).with_name(SCRIPT).read_text())
    try:
        return bench.run(
            f"python {SCRIPT} main.py",
            bench.settings.method.dry_run_seconds,
            "refactoring",
            watched=True,
        )
    finally:
        tree.remove(SCRIPT)


def _run_problem(bench: Workbench, run: Run) -> str:
    """What is wrong with the short run, "" if it passes; a run that was still working at its limit
    passes too, for the loops it is in could not be cut.
    """
    problem = "" if run.timed_out else results_problem(bench.task, run, cut=True)
    if not problem:
        return changed_settings(bench, run)
    return f"{problem}. `{run.command}`, which runs it with its loops cut, gave:\n{run.report}"


def _success_reason(run: Run) -> str:
    if run.timed_out:
        return (
            "clean; its dry run was still going without error at the limit, so its evaluation was "
            "not reached"
        )
    return "clean, settings unchanged; its dry run reached the end"

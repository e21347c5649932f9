"""An attempt in the terminal: watched while it runs, closed by its lines and its exit code."""

from __future__ import annotations

import shlex
import sys
from functools import partial
from typing import TYPE_CHECKING

from autoreproduce.cli.console import Kind, View, open_view, write_outcome
from autoreproduce.cli.options import RequireWord

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from autoreproduce.claims.verdicts.trial_verdict import TrialVerdict
    from autoreproduce.runner.api import OpenView
    from autoreproduce.runner.api_results import Reproduction
    from autoreproduce.runner.suite.finished import EndedTrial
    from autoreproduce.runner.suite.plan import Planned
    from autoreproduce.runner.suite.run import SuiteSummary
    from autoreproduce.task import Task


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


def view_kind(json: bool) -> Kind:
    """Objects for machines, else what fits where the output goes."""
    return "json" if json else "auto"


def terminal_view(json: bool, runs: Path | None = None, solver: str = "autoreproduce") -> OpenView:
    """What opens the view of an attempt; with `runs` it says what may be left by trials there."""
    return partial(_view_of, view_kind(json), runs, solver)


def _view_of(kind: Kind, runs: Path | None, solver: str, task: Task) -> View:
    view = open_view(kind, sys.stdout, task)
    if runs is not None:
        from autoreproduce.runner.past_trials import RemainingTime, earlier_outcomes

        view.progress.remaining = RemainingTime(earlier_outcomes(runs, task, solver))
    return view


def write_end(done: Reproduction, json: bool, another: str) -> None:
    """The closing lines. `another`: the flag that makes another attempt of the same."""
    if done.earlier and not json:
        print(f"This trial ended earlier and was not run again ({another} makes another attempt).")
    write_outcome(
        done.outcome,
        done.path,
        sys.stdout,
        view_kind(json),
        task=done.task,
        earlier=json and done.earlier,
    )


def notify_end(done: Reproduction, to: str | None) -> None:
    """What `--notify` asks for at the end of a trial."""
    from autoreproduce.cli.console.notify import notify, trial_event
    from autoreproduce.runner.api_results import note_to_stderr

    notify(to, trial_event(done), note_to_stderr)


def notify_suite_end(summary: SuiteSummary, name: str, to: str | None) -> None:
    """The same at the end of a suite."""
    from autoreproduce.cli.console.notify import notify, suite_event
    from autoreproduce.runner.api_results import note_to_stderr

    notify(to, suite_event(summary, name), note_to_stderr)


def unmet_requirement(done: Reproduction, require: RequireWord | None) -> str:
    """Why the verdict is less than `--require` asks for; "" if it is not."""
    return _unmet(done.verdict, require) if require else ""


def unmet_in_suite(
    folder: Path, ended: Mapping[Planned, EndedTrial], require: RequireWord | None
) -> list[str]:
    """A line for each trial of a suite that ended with less than `--require` asks for."""
    if require is None:
        return []
    from autoreproduce.claims.verdicts.trial_verdict import verdict_of

    done = [planned for planned, end in ended.items() if end.status in ("measured", "failed")]
    found = [(each, _unmet(verdict_of(each.folder(folder)), require)) for each in done]
    return [f"{each.key}: {text}" for each, text in found if text]


def _unmet(found: TrialVerdict | None, require: RequireWord) -> str:
    if found is not None and found.overall.meets(require):
        return ""
    word = found.overall.title if found is not None else "no verdict"
    if found is not None and found.overall.word == "reproduced":
        word += f", but the {found.overall.method.text}"
    return f"--require {require} is not met: {word}"


def exit_code(done: Reproduction) -> int:
    """0 measured, 1 failed, else what stopped it: 130 for the user."""
    ended = {"measured": 0, "failed": 1}.get(done.outcome.status)
    return ended if ended is not None else int(done.outcome.details.get("exit_code", 130))

"""Watches a suite that runs elsewhere, from its folder's `state.json`; changes nothing."""

import time
from pathlib import Path
from typing import TextIO

from autoreproduce.errors import UsageError
from autoreproduce.files.owner import stale
from autoreproduce.runner.suite.progress import STATE
from autoreproduce.runner.suite.view import (
    LiveSuite,
    Snapshot,
    SuiteView,
    first_line,
    open_suite_view,
    sums,
)
from autoreproduce.trials.summary import read_json


def watch(folder: Path, stream: TextIO, once: bool = False, pause: float = 1.0) -> bool:
    """Show the progress of the suite in `folder` until it ends; True if it came to its end.

    False if its runner was killed. `once` shows it as it is now and returns. Raises UsageError if
    no suite was begun there.
    """
    view = open_suite_view("auto", stream)
    state = _state_in(folder)
    view.begin(state)
    shown = ""
    try:
        while True:
            shown = _show(view, state, shown)
            if once or state["ended"] or stale(state["owner"]):
                break
            time.sleep(pause)
            state = _state_in(folder)
    finally:
        view.close(state)
    view.write_line(_last_line(folder, state))
    return bool(state["ended"])


def _state_in(folder: Path) -> Snapshot:
    state = read_json(folder / STATE)
    if state is None or "counts" not in state:
        raise UsageError(
            f"{folder} has no {STATE} of a suite", fix="name the folder of a suite that was begun"
        )
    return state


def _show(view: SuiteView, state: Snapshot, before: str) -> str:
    """Redraw, or write a line if the counts changed; the counts as shown."""
    if isinstance(view, LiveSuite):
        view.tick(state)
        return before
    counts = state["counts"]
    shown = ", ".join(f"{counts[key]} {key}" for key in counts if key != "total" and counts[key])
    if shown != before:
        view.write_line(f"{state['at']} {shown}; {sums(state)}")
    return shown


def _last_line(folder: Path, state: Snapshot) -> str:
    if state["ended"]:
        return f"{first_line(state)}: ended: {state['ended']}"
    if stale(state["owner"]):
        return (
            f"{first_line(state)}: its runner is gone; the same `suite` command resumes it in "
            f"{folder}"
        )
    return first_line(state)

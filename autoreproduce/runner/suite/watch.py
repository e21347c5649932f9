"""Watches a suite that runs elsewhere, from its folder's `state.json`; starts and changes nothing."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TextIO

from autoreproduce.errors import UsageError
from autoreproduce.runner.suite.kept import read_json
from autoreproduce.runner.suite.progress import STATE
from autoreproduce.runner.suite.view import LiveSuite, Snapshot, SuiteView, first_line, open_suite_view, sums
from autoreproduce.sandboxes.owners import stale


def watch(folder: Path, stream: TextIO, once: bool = False, pause: float = 1.0) -> bool:
    """Show how the suite in `folder` stands until it ends; True where it came to its end.

    False where its runner was killed. `once` shows it as it is now and returns. Raises UsageError where no suite
    was begun there.
    """
    view = open_suite_view("auto", stream)
    state = _read(folder)
    view.begin(state)
    told = ""
    try:
        while True:
            told = _show(view, state, told)
            if once or state["ended"] or stale(state["owner"]):
                break
            time.sleep(pause)
            state = _read(folder)
    finally:
        view.close(state)
    view.say(_last(folder, state))
    return bool(state["ended"])


def _read(folder: Path) -> Snapshot:
    state = read_json(folder / STATE)
    if state is None or "counts" not in state:
        raise UsageError(f"{folder} has no {STATE} of a suite: name the folder of a suite that was begun")
    return state


def _show(view: SuiteView, state: Snapshot, told: str) -> str:
    """Redraw, or a line where something changed; what was told."""
    if isinstance(view, LiveSuite):
        view.tick(state)
        return told
    counts = state["counts"]
    shown = ", ".join(f"{counts[key]} {key}" for key in counts if key != "total" and counts[key])
    if shown != told:
        view.say(f"{state['at']} {shown}; {sums(state)}")
    return shown


def _last(folder: Path, state: Snapshot) -> str:
    if state["ended"]:
        return f"{first_line(state)}: ended: {state['ended']}"
    if stale(state["owner"]):
        return f"{first_line(state)}: its runner is gone; the same `suite` command goes on from {folder}"
    return first_line(state)

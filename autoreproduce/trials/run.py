"""One execution of a program: what it is run with, and what came of it.

A dry run, the full run, a run with another seed or alternative, the run that counts, a program
from outside, and the reference: each is a `Run`, goes through `run_program`, and is one kind of
step in the journal.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING

from autoreproduce.contracts import RunInterruptedError
from autoreproduce.errors import SandboxError
from autoreproduce.files.kinds import REMADE
from autoreproduce.sandboxes.counted_run import execute_counted
from autoreproduce.trials.steps import ExecutionResult

if TYPE_CHECKING:
    from autoreproduce.contracts import Sandbox
    from autoreproduce.files.tree import Tree

METRICS = "metrics.json"
PREDICTIONS = "predictions.npz"
LARGEST_METRICS = 5_000_000  # bytes
LARGEST_PREDICTIONS = 4 * 2**30

CHECKPOINT = "checkpoint.pt"  # of a full run, to continue from


@dataclass(frozen=True)
class Run:
    """A program's command as the journal has it, and all that the execution takes.

    `seconds`: its limit. `before`: shell words ahead of the command that are no part of it.
    `files`: name -> text, written into the workspace first. `results`: files of an earlier run that
    are removed first, and read afterwards. `counted`: its result is measured, so it sees a draw of
    the data with decoys for the test targets: `draw`, or a new one. `data_at`: an absolute path at
    which the data lie too. `read`: files in which numbers are looked for afterwards, or patterns of
    files; those that lay there before and were not written are `unwritten` in the result.
    `keeps_part`: if the user interrupts it, what it did until then is its result.
    """

    command: str
    seconds: float
    before: str = ""
    files: Mapping[str, str] = field(default_factory=dict)
    results: Sequence[str] = (METRICS, PREDICTIONS)
    counted: bool = False
    draw: str = ""
    data_at: str = ""
    read: Sequence[str] = ()
    keeps_part: bool = False


def run_program(
    sandbox: Sandbox, tree: Tree, run: Run, on_output: Callable[[str], None] | None = None
) -> ExecutionResult:
    """Run a program in a sandbox over the workspace `tree`; how it ended and what it left.

    Raises RunInterruptedError where the user interrupted it and no part is kept, SandboxError if
    the sandbox failed.
    """
    for name, text in run.files.items():
        tree.write(name, text)
    for name in run.results:
        tree.remove(name)
    before = {name: stamp for name in _fitting(tree, run.read) if (stamp := _stamp(tree, name))}
    load, line = _machine_load(), run.before + run.command
    try:
        if run.counted:
            done = execute_counted(
                sandbox, line, run.seconds, on_output=on_output, data_at=run.data_at, draw=run.draw
            )
        else:
            done = sandbox.execute(line, run.seconds, on_output=on_output)
    except RunInterruptedError as stop:
        if not run.keeps_part:
            raise
        done = stop.execution
    unread: dict[str, str] = {}

    def left(name: str, read: Callable[[], str]) -> str | None:
        """None if the program left no such file, or what is no plain file: `unread` says why."""
        if name not in run.results:
            return None
        try:
            return read()
        except FileNotFoundError:
            return None
        except SandboxError as error:
            unread[name] = str(error)
            return None

    found = {
        "command": run.command,
        "allowed": run.seconds,
        "checkpoint": tree.kind(CHECKPOINT) == "file",
        "metrics_json": left(METRICS, lambda: tree.read_text(METRICS, LARGEST_METRICS)),
        "predictions": left(PREDICTIONS, lambda: tree.sha256(PREDICTIONS, LARGEST_PREDICTIONS)),
        "unread": unread,
        "unwritten": tuple(name for name in before if _stamp(tree, name) == before[name]),
        "load": load,
        "machine_cores": os.cpu_count(),
    }
    return ExecutionResult.of(done).model_copy(update=found)


def _fitting(tree: Tree, names: Sequence[str]) -> list[str]:
    """The files that these names and patterns mean."""
    patterns = [name for name in names if set(name) & set("*?[")]
    there = (e.name for e in tree.walk(REMADE) if e.kind == "file") if patterns else ()
    fits = [name for name in there if any(fnmatchcase(name, each) for each in patterns)]
    return list(dict.fromkeys([*names, *fits]))


def _stamp(tree: Tree, name: str) -> tuple[int, ...]:
    """What changes with every write to a file, even one that keeps its time; () without a file."""
    try:
        with tree.opened(name) as file:
            known = os.fstat(file.fileno())
    except (FileNotFoundError, SandboxError):
        return ()
    return known.st_ino, known.st_ctime_ns, known.st_mtime_ns, known.st_size


def _machine_load() -> float | None:
    """Processes that ran or waited to run in the last minute; None if the system does not say."""
    try:
        return round(os.getloadavg()[0], 1)
    except (AttributeError, OSError):  # Windows has none
        return None

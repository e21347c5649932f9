"""A run of a program from which nothing of an earlier run can be taken for its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from autoreproduce.contracts import Execution
from autoreproduce.errors import SandboxError
from autoreproduce.method.results import METRICS, PREDICTIONS
from autoreproduce.trials.interrupted import CHECKPOINT
from autoreproduce.trials.steps import ExecutionResult

if TYPE_CHECKING:
    from autoreproduce.files.tree import Tree

LARGEST_METRICS = 5_000_000  # bytes
LARGEST_PREDICTIONS = 4 * 2**30


def run_afresh(
    execute: Callable[..., Execution],
    tree: Tree,
    command: str,
    seconds: float,
    on_output: Callable[[str], None],
    results: Sequence[str] = (METRICS, PREDICTIONS),
) -> ExecutionResult:
    """Run a program without the result files of an earlier run; what it then left beside.

    `execute` is a sandbox's, or one that sees more of the run.
    """
    for name in results:
        tree.remove(name)
    load = _machine_load()
    execution = execute(command, seconds, on_output=on_output)
    unread: dict[str, str] = {}
    return ExecutionResult(
        **vars(execution),
        allowed=seconds,
        checkpoint=tree.kind(CHECKPOINT) == "file",
        metrics_json=_text_or_none(
            lambda: tree.read_text(METRICS, LARGEST_METRICS), METRICS, unread
        ),
        predictions=_text_or_none(
            lambda: tree.sha256(PREDICTIONS, LARGEST_PREDICTIONS), PREDICTIONS, unread
        ),
        unread=unread,
        load=load,
        machine_cores=os.cpu_count(),
    )


def _machine_load() -> float | None:
    """Processes that ran or waited to run in the last minute; None if the system does not say."""
    try:
        return round(os.getloadavg()[0], 1)
    except (AttributeError, OSError):  # Windows has none
        return None


def _text_or_none(read: Callable[[], str], name: str, unread: dict[str, str]) -> str | None:
    """What `read` gives; None if the program left no such file, or what is no plain file: `unread`
    then holds why.
    """
    try:
        return read()
    except FileNotFoundError:
        return None
    except SandboxError as error:
        unread[name] = str(error)
        return None

"""What is wrong with a run, in words.

A program of the method leaves `metrics.json` and, if the task recomputes its metric,
`predictions.npz`. A run without them did not pass, whatever its exit code is: the code agent then
reads the problem in words. What it still doesn't pass for is measured as far as it goes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoreproduce.errors import CommandError
from autoreproduce.trials.metrics_file import check_form, parse_metrics, usable_numbers
from autoreproduce.trials.run import METRICS, PREDICTIONS

if TYPE_CHECKING:
    from autoreproduce.task import Task
    from autoreproduce.trials.steps import ExecutionResult


def exit_problem(run: ExecutionResult) -> str:
    """What is wrong with a run by its exit code alone; "" if it ended with 0."""
    return "" if run.execution.ok else f"it ended with {run.report.splitlines()[0]}"


def results_problem(task: Task, run: ExecutionResult, *, cut: bool = False) -> str:
    """What is wrong with a run that should have left results; "" if nothing is.

    `cut`: its loops were cut short, so a metric may be missing or not finite.
    """
    if problem := exit_problem(run):
        return problem
    if run.metrics_json is None:
        return f"it ended with exit code 0 but wrote no metrics.json{_why_unread(run, METRICS)}"
    try:
        if cut:
            check_form(run.metrics_json)
        for metric in () if cut else task.metrics:
            parse_metrics(run.metrics_json, needs=metric.name)
    except CommandError as error:
        return str(error)
    if run.predictions is None and task.recomputes:
        why = _why_unread(run, PREDICTIONS)
        return f"it wrote no predictions.npz, which the task asks for{why}"
    return ""


def discards(task: Task, run: ExecutionResult, problem: str) -> str:
    """The problem, if it leaves nothing of a run to be measured; "" where only some numbers are
    missing, for the others count without them.
    """
    if not problem or exit_problem(run) or run.metrics_json is None or task.recomputes:
        return problem
    try:
        usable_numbers(run.metrics_json)
    except CommandError:
        return problem
    return ""


def _why_unread(run: ExecutionResult, name: str) -> str:
    return f" ({run.unread[name]})" if name in run.unread else ""

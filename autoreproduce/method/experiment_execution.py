"""Experiment execution (the paper's section 3.3, third phase): main.py, the whole pipeline.

Dry-run from end to end with early exits, so that it is known to leave its results before hours are
spent on it, and reviewed against the experiment summary: the full run must also fit into its time.
"""

from __future__ import annotations

import ast
import re
from typing import TYPE_CHECKING

from autoreproduce.claims.readings import arguments, label, single_readings
from autoreproduce.config import digest
from autoreproduce.files.bounded import parse_python
from autoreproduce.method.data_acquisition import refresh_facts
from autoreproduce.method.phase import Phase, full_run_values
from autoreproduce.method.results import results_problem
from autoreproduce.method.time_prediction import PARALLEL, PLANNED, STEP_SECONDS
from autoreproduce.trials.metrics_file import schema_text
from autoreproduce.trials.run import CHECKPOINT

if TYPE_CHECKING:
    from autoreproduce.method.phase import PhaseResult
    from autoreproduce.method.workbench import Workbench
    from autoreproduce.trials.steps import ExecutionResult
    from autoreproduce.trials.trial import Trial

STEPS_TEXT = (
    f"`{PLANNED}` (below) is the most that there can be if training may stop early, and 0 if "
    "nothing is trained by an optimiser."
)
OFTEN_FROM = 90.0  # seconds of a run: below, a checkpoint a minute would save next to nothing
DRY_READING = "reading "  # begins the name of such a step
DRY_SHARE = 0.5  # of the minutes for readings: dry runs find what is wrong, and measure nothing
NOT_MET = (
    "an expectation does not hold. Find the mistake; if there is none and the dry run is too short "
    "to show it, let it print `open` there:"
)
EXPECTED = re.compile(r"^expected (E\d): (yes|no|open)\b[\s:;,.(]*(.*)$", re.MULTILINE)
NOTHING_CHANGED = (
    "left the same numbers as the default. See that each value reaches the computation. If a dry "
    "run cannot show what one changes, say so in a comment beside it"
)


class ExperimentExecution(Phase):
    """The file whose run must leave results, and whose full run has a time limit."""

    def prompt_values(self, bench: Workbench) -> dict[str, object]:
        """How metrics.json is to look, and the minutes of the full run."""
        names = [metric.name for metric in bench.task.metrics]
        schema = schema_text(names, evidence=not bench.task.recomputes)
        if not bench.task.recomputes:
            schema += f" {STEPS_TEXT}"
        keys = {
            "planned": PLANNED,
            "parallel": PARALLEL,
            "step_seconds": STEP_SECONDS,
            "checkpoint": CHECKPOINT,
        }
        measured = bench.task.measured.seconds if bench.task.measured else None
        often = {"often": (measured or bench.planned_minutes * 60) > OFTEN_FROM}
        return {"schema": schema, **keys, **often, **full_run_values(bench)}

    def before_run(self, bench: Workbench) -> None:
        """The dry run is read beside what data.py finds now."""
        refresh_facts(bench)

    def problem(self, bench: Workbench, run: ExecutionResult) -> str:
        """What is wrong with the results of a dry run and of its readings; "" if nothing is."""
        return (
            results_problem(bench.task, run, cut=True)
            or expectations_problem(bench, run)
            or readings_problem(bench, run)
        )

    def ran(self, bench: Workbench, run: ExecutionResult) -> None:
        """The latest dry run is held against the choices."""
        bench.dry_run = run

    def full_run_minutes(self, bench: Workbench) -> int:
        """Whole minutes that the full run may take."""
        return max(1, round(bench.planned_minutes))

    def end(self, bench: Workbench, result: PhaseResult) -> None:
        """The dry run of the version that stays."""
        bench.dry_run = result.run


def unmet(bench: Workbench, run: ExecutionResult) -> list[str]:
    """The expectations that a run says do not hold, with its numbers."""
    said = {found[1]: found for found in EXPECTED.finditer(run.execution.stdout)}
    return [
        f"{expectation} (the run: {found[3].strip() or 'no'})"
        for expectation in bench.expectations
        if (found := said.get(expectation[:2])) and found[2] == "no"
    ]


def expectations_problem(bench: Workbench, run: ExecutionResult) -> str:
    """The expectations that a dry run says do not hold, as a problem, "" if there are none. Each is
    asked about once: it may be the expectation that is wrong.
    """
    new = [text for text in unmet(bench, run) if text[:2] not in bench.questioned]
    bench.questioned |= {text[:2] for text in new}
    return f"{NOT_MET} {'; '.join(new)}" if new else ""


def readings_problem(bench: Workbench, default: ExecutionResult) -> str:
    """What is wrong with the dry run of the first reading that fails, else which readings change
    nothing, "" if none. Each open choice is asked about once: a dry run does not reach everything.
    """
    unchanged: dict[str, str] = {}  # the first command of each open choice
    for reading in single_readings(bench.open_choices):
        (choice,) = reading
        command = f"{default.command} {arguments(reading)}"
        run = _dry_run(bench, command, f"{DRY_READING}{label(reading)}")
        if run is None:
            continue
        if problem := results_problem(bench.task, run, cut=True):
            return f"`{command}`: {problem}\n{run.report}"
        if _same(run, default) and choice not in bench.questioned:
            unchanged.setdefault(choice, f"`{command}`")
    bench.questioned |= set(unchanged)
    return f"{', '.join(unchanged.values())} {NOTHING_CHANGED}" if unchanged else ""


def _dry_run(bench: Workbench, command: str, name: str) -> ExecutionResult | None:
    """A reading's dry run, or the one that the same code had; None where half of the minutes that
    all readings have went into dry runs. A resumed trial does as its journal did.
    """
    key = digest([command, sorted((file, _code(text)) for file, text in bench.files.items())])
    following, given = bench.trial.next_step, bench.settings.readings_minutes
    if following is not None:
        due = following.name == name
    else:
        spent = given is not None and dry_seconds(bench.trial) >= DRY_SHARE * given * 60
        due = key not in bench.dry_readings and not spent
    if due:
        bench.dry_readings[key] = bench.run(command, bench.run_seconds, name)
    return bench.dry_readings.get(key)


def dry_seconds(trial: Trial) -> float:
    """What dry runs of readings have taken."""
    return sum(step.seconds for step in trial.steps if step.name.startswith(DRY_READING))


def _code(text: str) -> str:
    """A source text without its comments and layout, where it is Python."""
    try:
        return ast.dump(parse_python(text))
    except SyntaxError:
        return text


def _same(run: ExecutionResult, other: ExecutionResult) -> bool:
    """Whether two dry runs that left results gave equal numbers and predictions."""
    return run.predictions == other.predictions and _numbers(run) == _numbers(other)


def _numbers(run: ExecutionResult) -> dict[str, float] | str | None:
    """The metrics that a run wrote; its text as it is if a number of a dry run isn't finite."""
    return run.written.metrics if run.written else run.metrics_json


EXPERIMENT_EXECUTION = ExperimentExecution(
    name="experiment_execution",
    file="main.py",
    command="python main.py --dry-run",
    stage="experiment",
    prompt="experiment_execution/write",
)

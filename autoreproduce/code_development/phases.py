"""The three phases that write the program: data acquisition, method replication, experiment execution."""

from __future__ import annotations

from typing import TYPE_CHECKING

from autoreproduce.code_development.loop import Ended, Phase, develop, exit_code
from autoreproduce.errors import CommandError
from autoreproduce.metrics_file import SCHEMA_TEXT, parse_metrics

if TYPE_CHECKING:
    from autoreproduce.code_development.bench import Bench, Run

FACTS = 4_000  # characters of data.py's output that later prompts hold


def acquire_data(bench: Bench) -> Ended:
    """data.py and what it found in the data: shapes, types, ranges and counts, facts for all later prompts."""
    if bench.task.preprocess and "preprocess.py" not in bench.files:
        bench.write({"preprocess.py": bench.task.preprocess}, "preprocess.py as the task gives it")
    phase = Phase("data_acquisition", "data.py", "python data.py", "experiment", exit_code, reviewed=False)
    ended = develop(bench, phase, "data_acquisition/write", seconds=round(bench.settings.dry_run_seconds))
    if ended.run is not None and ended.status != "failed":
        bench.facts = ended.run.execution.stdout.strip()[:FACTS]
        bench.trial.write("facts.md", bench.facts + "\n")
    return ended


def replicate_method(bench: Bench) -> Ended:
    """method.py, checked against the method summary."""
    phase = Phase("method_replication", "method.py", "python method.py", "method", exit_code)
    return develop(bench, phase, "method_replication/write", seconds=round(bench.settings.dry_run_seconds))


def prepare_experiment(bench: Bench) -> Ended:
    """main.py, dry-run end to end and checked against the experiment summary."""
    limit = round(limit_minutes(bench))
    phase = Phase(
        "experiment_execution", "main.py", "python main.py --dry-run", "experiment",
        lambda run: results_of(bench, run), limit=limit,
    )  # fmt: skip
    return develop(
        bench, phase, "experiment_execution/write",
        schema=SCHEMA_TEXT.replace("NAME", bench.task.metric.name), limit=limit,
    )  # fmt: skip


def results_of(bench: Bench, run: Run) -> str:
    """What is wrong with a run that should have left results; "" where nothing is."""
    if problem := exit_code(run):
        return problem
    if run.metrics_json is None:
        return "it ended with exit code 0 but wrote no metrics.json"
    try:
        parse_metrics(run.metrics_json, needs=bench.task.metric.name)
    except CommandError as error:
        return str(error)
    if run.predictions is None and wants_predictions(bench):
        return "it wrote no predictions.npz, which the task asks for"
    return ""


def wants_predictions(bench: Bench) -> bool:
    """True where the task recomputes the metric from saved predictions."""
    folder = bench.task.folder
    return folder is not None and (folder / "metric.py").exists()


def limit_minutes(bench: Bench) -> float:
    """Minutes that the full run may take: the user's limit, else the task's."""
    return bench.settings.time_limit_minutes or bench.task.time_limit_minutes

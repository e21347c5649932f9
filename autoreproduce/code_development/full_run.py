"""The run in full: the clean program under the task's time limit, and the number that counts."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoreproduce.benchmarks.reproducebench import recompute
from autoreproduce.code_development.loop import Ended, Phase, mend_once
from autoreproduce.code_development.phases import limit_minutes, results_of, wants_predictions
from autoreproduce.metrics_file import parse_metrics

if TYPE_CHECKING:
    from autoreproduce.code_development.bench import Bench, Run

COMMAND = "python main.py"
TRIES = 3  # full runs; a failed one costs its whole time
DISAGREE = 1e-3  # relative difference between the claimed and the recomputed metric that is reported


@dataclass
class Measured:
    """The metric: recomputed from the predictions where the task can, else as the program wrote it."""

    metrics: dict[str, float]
    claimed: float
    recomputed: float | None
    warning: str = ""

    @property
    def value(self) -> float:
        """The number that counts."""
        return self.claimed if self.recomputed is None else self.recomputed


def run_in_full(bench: Bench) -> Ended:
    """Run until a full run passes; an error is mended as in every phase, a time-out is not tried again."""
    phase = Phase("full_run", "main.py", COMMAND, "experiment", lambda run: results_of(bench, run), reviewed=False)
    history: list[str] = []
    for tries in range(TRIES):
        run = bench.run(COMMAND, limit_minutes(bench) * 60, "full_run")
        problem = results_of(bench, run)
        if not problem:
            return Ended("matched", "it ran in full", tries, run)
        if run.execution.stopped == "timeout" or not bench.settings.debug or tries == TRIES - 1:
            break
        mend_once(bench, phase, run, problem, history)
    return Ended("failed", problem, tries, run)


def measure(bench: Bench, run: Run) -> Measured:
    """The metric of a run in full."""
    metrics = parse_metrics(run.metrics_json or "").metrics
    claimed = metrics[bench.task.metric.name]
    if not wants_predictions(bench):
        return Measured(metrics, claimed, None)
    found = recompute(bench.task, bench.workspace.folder)
    if found.value is None:
        return Measured(metrics, claimed, None, f"the metric could not be recomputed: {found.reason}")
    warning = ""
    if abs(found.value - claimed) > DISAGREE * max(abs(found.value), abs(claimed)):
        warning = f"the program claims {claimed:.6g}, but its predictions give {found.value:.6g}, which counts"
    return Measured(metrics, claimed, found.value, warning)

"""From finished runs of a reference to task.yaml's result: numbers, machine, versions, command."""

from collections.abc import Sequence
from pathlib import Path

from autoreproduce.benchmarks.reproducebench.measured import measured
from autoreproduce.task import Result, Task
from autoreproduce.trials.trial import Trial

PACKAGES = ("python", "torch", "numpy", "scipy")


def measured_of(task: Task, folders: Sequence[Path]) -> Result:
    """The result over the trials in `folders`: the least seconds, the largest memory of a run."""
    trials = [Trial.read(folder) for folder in folders]
    ended = [
        (trial, outcome)
        for trial in trials
        if (outcome := trial.outcome) and outcome.metric is not None
    ]
    first = trials[0].record
    hardware = first.hardware
    seeds = [trial.record.seed for trial, _ in ended]
    return measured(
        [outcome.metric for _, outcome in ended if outcome.metric is not None],
        seeds,
        seconds=min(float(outcome.details.get("seconds", outcome.seconds)) for _, outcome in ended),
        memory_mb=max(float(outcome.details.get("memory_mb", 0)) for _, outcome in ended) or None,
        date=first.created[:10],
        machine=", ".join(f"{key} {value}" for key, value in hardware.items() if value),
        versions=", ".join(
            f"{name} {first.versions[name]}" for name in PACKAGES if name in first.versions
        ),
        command=f"autoreproduce bench reference {task.id} --profile {task.profile} "
        f"--seed {min(seeds)} --seeds {len(seeds)}",
    )

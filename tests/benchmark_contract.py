"""The contract of every benchmark: what its own test calls with the options that it needs."""

from pathlib import Path
from typing import Any

import pytest

from autoreproduce import Submission
from autoreproduce.benchmarks import benchmark_of, open_benchmark
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.runner.request import resumed, task_digest
from autoreproduce.sandboxes.setup import SandboxSetup
from autoreproduce.trials.trial import Trial, TrialRecord, now


def trial_of(task, folder: Path) -> Trial:
    record = TrialRecord(
        task=task.id,
        profile=task.profile,
        solver="lineage",
        model="x",
        settings=Settings(sandbox="process").identity(),
        task_digest=task_digest(task),
        created=now(),
        task_json=task.model_dump(mode="json", exclude={"digest"}),
    )
    return Trial.open(folder, record)


def check_loaded_again(name: str, options: dict[str, Any], folder: Path) -> None:
    """A task is loaded again by what it says of its benchmark."""
    benchmark = open_benchmark(name, options)
    task = benchmark.load(benchmark.names()[0], "small")
    assert task.benchmark == name
    assert benchmark_of(task).load(task.id, task.profile) == task
    trial_of(task, folder).close()
    assert resumed(folder, Settings()).task == task  # its paper's text too
    with pytest.raises(UsageError):
        benchmark.load("nowhere", "small")


def check_failed_is_not_measured(name: str, options: dict[str, Any], folder: Path) -> None:
    """Nothing is measured of a failed submission."""
    benchmark = open_benchmark(name, options)
    task = benchmark.load(benchmark.names()[0], "small")
    trial = trial_of(task, folder / "trial")
    sandboxes = SandboxSetup(Settings(sandbox="process"), folder / "packages")
    made = benchmark.measure(task, Submission("failed", "no", "x"), trial, sandboxes)
    assert (made.value, made.reason, made.wanted) == (None, "no", True)
    assert not trial.steps
    trial.close()

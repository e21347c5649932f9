"""Runs a task's own reference implementation as any trial: how its measured results are made and checked."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.benchmarks.reproducebench import lay_out_reference, recompute
from autoreproduce.errors import CommandError
from autoreproduce.metrics_file import parse_metrics
from autoreproduce.trial import Outcome

if TYPE_CHECKING:
    from autoreproduce import Sandbox
    from autoreproduce.task import Task
    from autoreproduce.trial import Trial


# runs what follows and writes down the most memory that it held, in KiB
WATCHED = (
    "python -c 'import resource, subprocess, sys; code = subprocess.call([sys.executable, *sys.argv[1:]]); "
    'open("memory_kb", "w").write(str(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)); sys.exit(code)\''
)


class Reference:
    """No model: copies the reference into the workspace and runs it in full with the trial's seed."""

    def __init__(self, **_: Any) -> None:
        """Takes what every solver is given and needs none of it."""

    def solve(self, task: Task, model: Any, sandbox: Sandbox, trial: Trial) -> None:
        """Run `python main.py --profile P --seed S`, recompute the metric, write the outcome."""
        trial.phase("full_run")
        if not trial.replaying:
            _empty(trial.workspace)  # the folder itself stays: the sandbox has it mounted
            lay_out_reference(task, trial.workspace)
        command = f"{WATCHED} main.py --profile {shlex.quote(task.profile)} --seed {trial.record.seed}"
        step = trial.step(
            "execute", "sandbox", "reference", [command, trial.record.task_digest],
            lambda: asdict(sandbox.execute(command, task.time_limit_minutes * 60, on_output=trial.output)),
        )  # fmt: skip
        trial.write("outcome.json", _outcome(task, trial, step.result).model_dump_json(indent=1))


def _empty(folder: Path) -> None:
    for path in folder.iterdir():
        shutil.rmtree(path) if path.is_dir() and not path.is_symlink() else path.unlink()


def _outcome(task: Task, trial: Trial, result: dict[str, Any]) -> Outcome:
    if result["exit_code"] != 0:
        why = result["stopped"] or result["stderr"].strip()[-300:] or f"exit code {result['exit_code']}"
        return Outcome(status="failed", reason=why, phase="full_run")
    try:
        metrics = parse_metrics((trial.workspace / "metrics.json").read_text(), needs=task.metric.name).metrics
    except (OSError, CommandError) as error:
        return Outcome(status="failed", reason=str(error), phase="full_run")
    found = recompute(task, trial.workspace)
    memory = trial.workspace / "memory_kb"
    kilobytes = int(memory.read_text()) if memory.is_file() else 0
    value = metrics[task.metric.name] if found.value is None else found.value
    return Outcome(
        status="succeeded", reason="it ran in full", phase="full_run", metrics=metrics, metric=value,
        claimed=metrics[task.metric.name], recomputed=found.value is not None,
        details={"seconds": result["seconds"], "memory_mb": round(kilobytes / 1024)},
    )  # fmt: skip

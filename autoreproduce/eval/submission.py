"""A trial's folder around a program that someone else wrote, so that it is scored as any trial is."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.benchmarks.reproducebench import recompute
from autoreproduce.config import digest
from autoreproduce.errors import CommandError, UsageError
from autoreproduce.eval.judging.program import Program, is_safe
from autoreproduce.metrics_file import read_metrics
from autoreproduce.sandboxes import open_sandbox
from autoreproduce.trial import Outcome, Trial, TrialRecord, now
from autoreproduce.workspace import Workspace

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from autoreproduce import Observer
    from autoreproduce.config import Settings
    from autoreproduce.task import Task

NOT_RUN = "not run"


def submission_folder(program: Program, task: Task, runs: Path, command: str | None) -> Path:
    """Where the trial of a program lies: the same program, task and command have the same folder."""
    what = digest([program.files, task.id, task.profile, task.instruction, command])
    return runs / f"{task.id}-{task.profile}-external-{what[:8]}"


def lay_out(folder: Path, program: Program, task: Task, observers: Sequence[Observer] = ()) -> Trial:
    """Make the trial's folder with the program as its one commit, or open the one that is there.

    Raises UsageError where the folder holds another program: its scores would be told as this one's.
    """
    program_digest = digest(program.files)
    record = TrialRecord(
        task=task.id, profile=task.profile, solver="external", model="unknown", settings={}, created=now(),
        task_digest=digest(task.instruction), task_json=task.model_dump(mode="json", exclude={"digest"}),
        inputs={"origin": program.origin, "program": program_digest},
    )  # fmt: skip
    unsafe = [name for name in program.files if not is_safe(name)]
    if unsafe:
        raise UsageError(f"{unsafe[0]} would lie outside the workspace: name its folder instead")
    trial = Trial.open(folder, record, observers)
    if trial.record.inputs.get("program", program_digest) != program_digest:
        trial.close()
        raise UsageError(f"{folder} holds another program, or an earlier version of it: name a new folder by --out")
    if trial.outcome is None:
        space = Workspace(folder)
        space.open()
        given = {"preprocess.py": task.preprocess} if task.preprocess else {}
        space.commit({**given, **program.files}, "the program as it was handed in")
        outcome = Outcome(status="failed", reason="it was handed in and not run", phase=NOT_RUN)
        trial.write("outcome.json", outcome.model_dump_json(indent=1))
    return trial


def run_submission(trial: Trial, task: Task, settings: Settings, command: str, note: Callable[[str], None]) -> Outcome:
    """Run the program in the sandbox by `command`, once: what a folder holds of it is not run again."""
    sandbox = open_sandbox(
        settings, trial.workspace.resolve(), data_dir=task.data_dir, packages=trial.folder.resolve() / "packages",
        label=digest(str(trial.folder.resolve())), trusted=False, note=note,
    )  # fmt: skip
    try:
        trial.phase("full_run")
        limit = (settings.time_limit_minutes or task.time_limit_minutes) * 60
        step = trial.step(
            "execute", "sandbox", "submission", [command],
            lambda: asdict(sandbox.execute(command, limit, on_output=trial.output)),
        )  # fmt: skip
    finally:
        sandbox.close()
    outcome = _outcome(trial, task, step.result)
    trial.write("outcome.json", outcome.model_dump_json(indent=1))
    return outcome


def _outcome(trial: Trial, task: Task, result: dict[str, object]) -> Outcome:
    """Succeeded where it ended well and its number can be had: recomputed, or as it wrote it."""
    if result["exit_code"] != 0:
        why = result["stopped"] or f"exit code {result['exit_code']}"
        return Outcome(status="failed", reason=f"the run failed: {why}", phase="full_run")
    found = recompute(task, trial.workspace) if task.folder else None
    claimed: dict[str, float] = {}
    try:
        claimed = read_metrics(trial.workspace / "metrics.json", needs=task.metric.name).metrics
    except CommandError as error:
        if found is None or found.value is None:
            return Outcome(status="failed", reason=f"it ran and left no number: {error}", phase="full_run")
    value = found.value if found and found.value is not None else claimed[task.metric.name]
    return Outcome(
        status="succeeded", reason="it ran in full", phase="full_run", metrics=claimed, metric=value,
        claimed=claimed.get(task.metric.name), recomputed=bool(found and found.value is not None),
    )  # fmt: skip

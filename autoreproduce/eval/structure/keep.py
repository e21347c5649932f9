"""Measures the structure of a trial's program and of the reference, once each, and keeps both in the trial's folder."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.config import digest
from autoreproduce.errors import CommandError, SandboxError
from autoreproduce.eval.judging.material import program_of
from autoreproduce.eval.judging.program import Program
from autoreproduce.eval.scorers.execution import last_run
from autoreproduce.eval.scorers.structure import FILE
from autoreproduce.eval.structure.measure import PROBE, entry_point, measure
from autoreproduce.journal import write_whole
from autoreproduce.metrics_file import read_metrics
from autoreproduce.trial import Trial

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.task import Task


def measure_both(folder: Path, task: Task, reference: Program, settings: Settings, note: Callable[[str], None]) -> None:
    """Write `structure.json`. Where no sandbox works nothing is written, and syntax trees alone will serve."""
    trial = Trial.read(folder)
    program = program_of(folder, task)
    path = folder / FILE
    asked = digest([program.files, reference.files, task.profile, _probe_text()])
    if path.exists() and json.loads(path.read_text(encoding="utf-8")).get("asked") == asked:
        return
    run = last_run(trial)
    command = str(run.result["command"]) if run else entry_point(program.files)
    try:
        ours = _reference(reference, task, settings, note)
        theirs = _with_epochs(measure(_files(program, task), command, task, settings, note), trial)
    except SandboxError as error:
        note(f"structure: only the programs' text is read, since no sandbox works here ({error})")
        return
    if not theirs["source"]:
        asked = "to be measured again"
    write_whole(path, json.dumps({"asked": asked, "reference": ours, "generated": theirs}, indent=1) + "\n")


def _reference(reference: Program, task: Task, settings: Settings, note: Callable[[str], None]) -> dict[str, Any]:
    """The reference's structure, measured once a machine; under the profile where the reference is our own."""
    files = _files(reference, task)
    kept = settings.cache_dir / "structure" / f"{digest([files, task.id, task.profile, _probe_text()])}.json"
    if kept.exists():
        found: dict[str, Any] = json.loads(kept.read_text(encoding="utf-8"))
        return found
    own = task.folder is not None and "--profile" in files.get("main.py", "")
    command = f"python main.py --profile {task.profile} --seed 0" if own else entry_point(files)
    found = measure(files, command, task, settings, note)
    if found["source"]:
        kept.parent.mkdir(parents=True, exist_ok=True)
        write_whole(kept, json.dumps(found, indent=1) + "\n")
    return found


def _files(program: Program, task: Task) -> dict[str, str]:
    return {**({"preprocess.py": task.preprocess} if task.preprocess else {}), **program.files}


def _with_epochs(found: dict[str, Any], trial: Trial) -> dict[str, Any]:
    """The epochs of the run in full, as the program wrote them, stand above what its text says."""
    try:
        written = read_metrics(trial.workspace / "metrics.json")
    except CommandError:
        return found
    for key in ("epochs", "n_epochs", "num_epochs"):
        if isinstance(written.settings.get(key), int):
            return {**found, "epochs": written.settings[key]}
    return found


def _probe_text() -> str:
    return Path(__file__).with_name("probe.py").read_text(encoding="utf-8") + PROBE

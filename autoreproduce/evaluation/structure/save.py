"""Measures the structure of a trial's program and of the reference, once each, and saves both."""

import json
import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from autoreproduce.config import Settings, digest
from autoreproduce.errors import SandboxError, TrialError, UsageError
from autoreproduce.evaluation.judging.material import program_of
from autoreproduce.evaluation.judging.submitted_code import Program
from autoreproduce.evaluation.outside_run import read_outside_run
from autoreproduce.evaluation.scorers.execution import last_run
from autoreproduce.evaluation.scorers.structure import FILE
from autoreproduce.evaluation.structure.measure import entry_point, measure
from autoreproduce.files.bounded import LARGEST_JSON, parse_json
from autoreproduce.files.shared import read_plain
from autoreproduce.task import Task
from autoreproduce.trials.journal import write_whole
from autoreproduce.trials.measurement import read_measurement
from autoreproduce.trials.probe import probe_files
from autoreproduce.trials.probe.observation import structure_of
from autoreproduce.trials.trial import Trial

NEARLY = 0.1  # epochs


def measure_both(
    folder: Path, task: Task, reference: Program, settings: Settings, note: Callable[[str], None]
) -> None:
    """Write `structure.json`, unless no sandbox works: then the syntax trees alone serve.

    Raises TrialError if there is such a file already, and it cannot be read.
    """
    trial = Trial.read(folder)
    program = program_of(folder, task)
    path, run = folder / FILE, last_run(trial)
    command = run.result.command if run else entry_point(program.files)
    needs = read_outside_run(folder)
    what: list[Any] = [program.files, reference.files, task.profile, probe_files(whole_run=False)]
    handed = _handed_in(folder)
    what += [handed] if handed else []
    asked = digest([*what, *([needs.places] if needs else [])])
    if _is_measured(path, asked):
        return
    try:
        ours = _reference_structure(reference, task, settings, note)
        theirs = with_watched_run(
            measure(_files_with_data_code(program, task), command, task, settings, note, needs),
            run.result.observed if run else None,
            note,
        )
    except SandboxError as error:
        note(f"structure: only the programs' text is read, since no sandbox works here ({error})")
        return
    if handed:
        ours, theirs = (of_weights(*pair) for pair in zip((ours, theirs), handed, strict=True))
    if not theirs["source"]:
        asked = "to be measured again"
    write_whole(
        path, json.dumps({"asked": asked, "reference": ours, "generated": theirs}, indent=1) + "\n"
    )


def _handed_in(folder: Path) -> list[dict[str, int]]:
    """Shapes of the weights from which the reference and the program predict; [] without either."""
    measurement = read_measurement(folder)
    served = measurement.served if measurement else None
    if served is None or served.value is None or not served.tensors or not served.reference:
        return []
    return [served.reference, served.tensors]


def of_weights(found: dict[str, Any], tensors: Mapping[str, int]) -> dict[str, Any]:
    """A structure whose model is the one that predicts: its parameters are the weights."""
    sizes = {shape: math.prod(map(int, shape.split("x"))) for shape in tensors}
    parameters = sum(sizes[shape] * count for shape, count in tensors.items())
    model = {**found.get("model", {}), "parameters": parameters, "tensors": dict(tensors)}
    return {**found, "model": model} if "class" in model else found


def _is_measured(path: Path, asked: str) -> bool:
    try:
        saved = parse_json(read_plain(path, LARGEST_JSON))
        if not isinstance(saved, dict):
            raise ValueError("it isn't an object {...}")
        return saved.get("asked") == asked
    except FileNotFoundError:
        return False
    except (UsageError, ValueError) as error:
        raise TrialError(
            f"{path} cannot be read ({' '.join(str(error).split())[:200]})",
            fix="remove it, and the same command makes it anew",
        ) from None


def _reference_structure(
    reference: Program, task: Task, settings: Settings, note: Callable[[str], None]
) -> dict[str, Any]:
    """The reference's structure, measured once a machine; our own reference runs at the profile."""
    files = _files_with_data_code(reference, task)
    saved = (
        settings.cache_dir
        / "structure"
        / f"{digest([files, task.id, task.profile, probe_files(whole_run=False)])}.json"
    )
    if saved.exists():
        found: dict[str, Any] = json.loads(saved.read_text(encoding="utf-8"))
        return found
    own = task.folder is not None and "--profile" in files.get("main.py", "")
    command = f"python main.py --profile {task.profile} --seed 0" if own else entry_point(files)
    found = measure(files, command, task, settings, note)
    if found["source"]:
        saved.parent.mkdir(parents=True, exist_ok=True)
        write_whole(saved, json.dumps(found, indent=1) + "\n")
    return found


def _files_with_data_code(program: Program, task: Task) -> dict[str, str]:
    return {**({"preprocess.py": task.preprocess} if task.preprocess else {}), **program.files}


def with_watched_run(
    found: dict[str, Any], recorded: Any, note: Callable[[str], None]
) -> dict[str, Any]:
    """Epochs and steps as they were watched in the run in full take precedence over the text's.

    What the program wrote of itself counts for nothing, and a record that cannot be used neither.
    """
    if recorded is None:
        return found
    try:
        observed = structure_of(recorded)
    except ValueError as error:
        note(f"structure: what the run in full did is not known ({error})")
        return found
    watched = {} if observed.steps is None else {"steps_watched": observed.steps}
    epochs = observed.epochs
    if epochs is None:
        return {**found, **watched}
    whole = round(epochs)  # a batch that was taken to look at its shape is no epoch
    return {**found, **watched, "epochs": whole if abs(epochs - whole) < NEARLY else epochs}

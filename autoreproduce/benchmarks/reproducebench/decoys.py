"""The data as the run that counts sees them: decoys in the place of the test targets.

A task's `decoys.py` has `decoys(data, target, rng)`: it reads the prepared `data`, draws decoys of
the same shapes, types and statistics, and writes into `target` each file that holds test targets,
under its name and with all else in it as it was. Decoys are drawn from what a program may know
anyway (the training targets), for an own rearrangement of the test's would give away their values.
The other files that task.yaml lists are links to the prepared ones.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from autoreproduce.benchmarks.reproducebench.prepared_data import made_once, stamp_of, without_times
from autoreproduce.benchmarks.reproducebench.task_code import load_module, text_of
from autoreproduce.benchmarks.reproducebench.tasks import task_file, task_folder
from autoreproduce.config import digest
from autoreproduce.files.shared import link_files

CODE = "decoys.py"
SEED = 20505662


def decoy_folder(
    task_id: str, profile: str, data: Path, cache: Path, note: Callable[[str], None]
) -> Path | None:
    """The folder with decoys for the prepared `data`, made once; None if nothing is withheld.

    Its name holds a digest of the code and of the stamp of the data, so that it is never changed
    once it is there, and a trial that runs over it is not disturbed. What `decoys` raises as
    OSError or ValueError is a UsageError here.
    """
    folder = task_folder(task_id)
    targets = task_file(folder).targets
    if targets.withheld in ("none", "drawn"):
        return None
    code = text_of(folder, CODE) or ""
    stamp = stamp_of(data).read_text(encoding="utf-8")
    made = cache / "decoys" / task_id / f"{profile}-{digest([code, targets.files, stamp])[:12]}"
    what = f"make the decoys of {task_id}"
    return made_once(made, what, note, lambda part: write_decoys(task_id, data, part, SEED))


def write_decoys(task_id: str, data: Path, target: Path, seed: int) -> None:
    """What the run that counts sees of `data`, in `target`: decoys, and all else that it reads."""
    folder = task_folder(task_id)
    targets = task_file(folder).targets
    if targets.withheld != "none":
        load_module(folder / CODE).decoys(data, target, np.random.default_rng(seed))
    link_files(data, target, targets.files)
    without_times(target)

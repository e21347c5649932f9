"""Data that did not exist when a program was written: a task's, made anew from a secret seed.

The run that counts sees a draw of its own. Its seed has 128 bits from the operating system and is
chosen when the program starts, so that no number, table or weight in it can be about these data;
decoys lie in place of the test targets, drawn from the same seed. The seed is kept with the
measurement: whoever has it makes the same data again.

Where a task's data are generated, a draw hides a part of their law too (`law_stream`): a forcing, a
frequency, what nobody can know by heart and only the training data show.

A task's `decoys.py` has `decoys(data, target, rng)`: it reads the prepared `data`, draws decoys of
the same shapes, types and statistics, and writes into `target` each file that holds test targets,
under its name and with all else in it as it was. Decoys are drawn from what a program may know
anyway (the training targets), for an own rearrangement of the test's would give away their values.
The other files that task.yaml lists are links to the prepared ones.
"""

import secrets
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from autoreproduce.benchmarks.reproducebench.prepared_data import made_by, made_once, stamp_of
from autoreproduce.benchmarks.reproducebench.task_code import load_module, text_of
from autoreproduce.benchmarks.reproducebench.tasks import task_file, task_folder
from autoreproduce.config import digest
from autoreproduce.files.shared import link_files, without_times
from autoreproduce.task import Task

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
    if targets.withheld in ("none", "samples", "drawn"):
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
    if targets.withheld not in ("none", "samples"):
        load_module(folder / CODE).decoys(data, target, np.random.default_rng(seed))
    link_files(data, target, targets.files)
    without_times(target)


BITS = 128
LAW = 0x6C6177  # no sample's number: a stream apart from theirs
KEPT_DAYS = 7.0  # a draw that is gone is made again from its seed


@dataclass(frozen=True)
class Draw:
    """One draw. `truth` holds the test targets, `shown` what a run sees: decoys in their place.

    `reference` is where the reference's run on it lies, if there was one.
    """

    seed: str  # hexadecimal
    truth: Path
    shown: Path
    reference: Path


def new_seed() -> str:
    """128 bits from the operating system, in hexadecimal."""
    return f"{secrets.randbits(BITS):0{BITS // 4}x}"


def draw_of(task: Task, cache: Path, seed: str, note: Callable[[str], None]) -> Draw:
    """The draw of the task's data from `seed`, made below `cache`/draws where it is not there.

    Only this user may read it. Raises UsageError if it cannot be made.
    """
    place = cache / "draws" / digest([task.id, task.profile, seed])[:24]
    found = Draw(seed, place / "truth", place / "data", place / "reference")

    def write(part: Path) -> None:
        part.parent.chmod(0o700)
        truth, shown = part / found.truth.name, part / found.shown.name
        truth.mkdir()
        shown.mkdir()
        number = number_of(seed)
        # what was fetched lies in the prepared data
        made_by(task.id, truth, task.profile, _silent, task.data_dir, number)
        write_decoys(task.id, truth, shown, number)
        for each in place.parent.iterdir():
            if each.is_dir() and time.time() - each.stat().st_mtime > KEPT_DAYS * 86400:
                shutil.rmtree(each, ignore_errors=True)

    made_once(place, f"draw data of {task.id}", note, write)
    return found


def number_of(seed: str) -> int:
    """The seed of a draw as prepare.py has it: never as short as a published one."""
    return int(seed, 16) | 1 << BITS


def law_stream(seed: int) -> np.random.Generator | None:
    """The random numbers that choose the hidden law of a draw, by prepare.py's SEED; None where
    that is a published one, whose law is published too.
    """
    return np.random.default_rng([seed, LAW]) if seed >> BITS else None


def _silent(text: str) -> None:
    """What `prepare` says while it draws tells a user nothing new."""

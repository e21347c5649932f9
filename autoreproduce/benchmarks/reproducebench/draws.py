"""Data that did not exist when a program was written: a task's, made anew from a secret seed.

The run that counts sees a draw of its own. Its seed has 128 bits from the operating system and is
chosen when the program starts, so that no number, table or weight in it can be about these data;
decoys lie in place of the test targets, drawn from the same seed. The seed is kept with the
measurement: whoever has it makes the same data again.
"""

import secrets
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from autoreproduce.benchmarks.reproducebench.decoys import write_decoys
from autoreproduce.benchmarks.reproducebench.prepared_data import made_by, made_once
from autoreproduce.config import digest
from autoreproduce.task import Task

BITS = 128
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


def _silent(text: str) -> None:
    """What `prepare` says while it draws tells a user nothing new."""

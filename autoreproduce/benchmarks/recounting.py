"""Numbers of a user's own task, again from what its program saved.

`predictions.npz` holds a metric's predictions under its key, and their targets under KEY.targets.
If the user names where the targets lie (`--targets`), the run that counts sees them shuffled, and
the truth decides.
"""

from __future__ import annotations

import csv
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from autoreproduce.benchmarks.known_metrics import computed_as
from autoreproduce.content import install_command
from autoreproduce.errors import ReaderError, SandboxError, UsageError
from autoreproduce.files.confined import confined
from autoreproduce.files.owner import private_copy
from autoreproduce.trials.measurement import Recount
from autoreproduce.trials.predictions_file import LARGEST, NAME

MEMORY_GB = 8.0
SECONDS = 600.0  # of processor
TARGETS = ".targets"  # after a metric's key


def recounts(
    workspace: Path, names: Mapping[str, str], place: str, data: Path | None, shown: Path | None
) -> dict[str, Recount]:
    """What the predictions in `workspace` give, by the key of each metric in `names` (key to name).

    `place`: of the targets in `data`, and in `shown` as the run saw them; "" if they aren't named.
    """
    try:
        with private_copy(workspace, NAME, LARGEST) as file:
            return confined(
                recounted,
                file,
                dict(names),
                place,
                data,
                shown,
                what=NAME,
                seconds=SECONDS,
                memory_gb=MEMORY_GB,
            )
    except (FileNotFoundError, SandboxError):
        return {}
    except ReaderError as error:
        return {key: Recount(reason=str(error)) for key in names}


def recounted(
    path: Path, names: dict[str, str], place: str, data: Path | None, shown: Path | None
) -> dict[str, Recount]:
    """As `recounts`, of one file (in a child process)."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(item.file_size for item in archive.infolist()) > LARGEST:
                return {}
        saved = np.load(path, allow_pickle=False)
    except (OSError, ValueError, zipfile.BadZipFile, NotImplementedError):
        return {}
    truth, decoys = (read_targets(folder, place) if folder else None for folder in (data, shown))
    found = {}
    for key, name in names.items():
        if key in saved.files and computed_as(name) is not None:
            found[key] = _recount(saved, key, name, truth, decoys)
    return found


def _recount(saved: Any, key: str, name: str, truth: Any, decoys: Any) -> Recount:
    """One metric, against what the program saved and against the truth where the rows fit."""
    compute = computed_as(name)
    assert compute is not None
    try:
        predicted = saved[key]
        own = saved[key + TARGETS] if key + TARGETS in saved.files else None
        withheld = truth is not None and len(truth) == len(predicted)
        if withheld:
            return Recount(
                truth=compute(predicted, truth),
                saved={} if decoys is None else compute(predicted, decoys),
            )
        return Recount(saved=compute(predicted, own)) if own is not None else Recount()
    except ImportError as error:
        return Recount(reason=f"it needs {error.name}: {install_command('metrics')}")
    except (ValueError, TypeError, IndexError, KeyError, MemoryError) as error:
        return Recount(reason=" ".join(str(error).split())[:300])


def read_targets(folder: Path, place: str) -> np.ndarray[Any, Any] | None:
    """The targets at `place` (FILE, or FILE:COLUMN) below `folder`; None if `place` is "".

    Raises UsageError if there are none.
    """
    if not place:
        return None
    name, _, column = place.partition(":")
    path = folder / name
    try:
        if path.suffix == ".npy":
            return np.asarray(np.load(path, allow_pickle=False))
        if path.suffix == ".npz":
            return np.asarray(np.load(path, allow_pickle=False)[column])
        head, rows = _rows(path)
        return _typed([row[head.index(column)] for row in rows])
    except (OSError, ValueError, KeyError, IndexError) as error:
        raise UsageError(
            f"--targets {place}: {' '.join(str(error).split())[:200]}",
            fix="name a file below --data: labels.npy, test.npz:ARRAY or test.csv:COLUMN",
        ) from None


def write_shuffled(data: Path, target: Path, place: str, rng: np.random.Generator) -> None:
    """The file at `place` in `data`, below `target`, with its targets in another order."""
    name, _, column = place.partition(":")
    source, made = data / name, target / name
    made.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix == ".npy":
        np.save(made, rng.permutation(np.load(source, allow_pickle=False)))
    elif source.suffix == ".npz":
        arrays = dict(np.load(source, allow_pickle=False))
        np.savez(made, **{**arrays, column: rng.permutation(arrays[column])})
    else:
        head, rows = _rows(source)
        at, order = head.index(column), rng.permutation(len(rows))
        moved = [
            [*row[:at], rows[o][at], *row[at + 1 :]] for row, o in zip(rows, order, strict=True)
        ]
        with made.open("w", newline="", encoding="utf-8") as file:
            csv.writer(file, delimiter=_delimiter(source)).writerows([head, *moved])


def _rows(path: Path) -> tuple[list[str], list[list[str]]]:
    with path.open(newline="", encoding="utf-8-sig") as file:
        head, *rows = list(csv.reader(file, delimiter=_delimiter(path)))
    return head, [row for row in rows if row]


def _delimiter(path: Path) -> str:
    return "\t" if path.suffix == ".tsv" else ","


def _typed(texts: list[str]) -> np.ndarray[Any, Any]:
    """Whole numbers, numbers, or the texts themselves."""
    for kind in (int, float):
        try:
            return np.asarray([kind(text) for text in texts])
        except ValueError:
            continue
    return np.asarray(texts)

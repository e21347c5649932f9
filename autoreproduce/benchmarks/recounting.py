"""Numbers of a user's own task, again from what its program saved.

`predictions.npz` holds a metric's predictions under its key, and their targets under KEY.targets;
of a mean over runs each run's under KEY.1, KEY.2 and so on. Arrays of other names are found by what
they give: the metric, computed of them, is the number that the program wrote. If the user names
where the targets lie (`--targets`), the run that counts sees them shuffled, and the truth decides.
"""

from __future__ import annotations

import csv
import re
import zipfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import permutations
from math import isclose
from pathlib import Path
from typing import TYPE_CHECKING, Any
from zipfile import BadZipFile

import numpy as np

from autoreproduce.benchmarks.known_metrics import SHOWN, computed_as
from autoreproduce.content import install_command
from autoreproduce.errors import ReaderError, SandboxError, UsageError
from autoreproduce.files.confined import confined
from autoreproduce.files.owner import private_copy
from autoreproduce.trials.integrity import ROUNDING as FITS
from autoreproduce.trials.measurement import MEDIAN, Recount
from autoreproduce.trials.predictions_file import LARGEST, NAME, first_dimensions

if TYPE_CHECKING:
    from collections.abc import Callable

    Values = dict[str, float]
    Compute = Callable[[Any, Any], Values]

MEMORY_GB = 8.0
SECONDS = 600.0  # of processor
TARGETS = ".targets"  # after a metric's key
FEWEST = 5  # entries of an array that is found by its number, which fewer give by chance
MOST = 12  # arrays that are tried so
LONGEST_HEAD = 4_000  # characters
_IS_TEST = re.compile(r"(?<![a-z])(?:test|eval|evaluation|held[-_ ]?out)(?![a-z])")
_IS_TARGET = re.compile(r"true|truth|target|label|gold|actual|(?<![a-z])y(?:_?test)?(?![a-z])")


@dataclass(frozen=True)
class Withheld:
    """The targets that the user named, and what the run that counts saw in their place."""

    truth: np.ndarray[Any, Any] | None = None
    decoys: np.ndarray[Any, Any] | None = None


def recounts(
    workspace: Path,
    names: Mapping[str, str],
    written: Mapping[str, Sequence[float]],
    place: str = "",
    data: Path | None = None,
    shown: Path | None = None,
) -> dict[str, Recount]:
    """What the predictions in `workspace` give, by the key of each metric in `names` (key to name).

    `written`: what the program wrote by key, the number and after it those of the runs behind it.
    `place`: of the targets in `data`, and in `shown` as the run saw them; "" if they aren't named.
    What can't be recomputed has a `reason` with the step that would change it.
    """
    unknown = {
        key: Recount(
            reason=f"no metric called {name} is known here. Known are {SHOWN}: name one of these "
            "with --metric, or write a task with metric code"
        )
        for key, name in names.items()
        if computed_as(name) is None
    }
    known = {key: name for key, name in names.items() if key not in unknown}
    try:
        with private_copy(workspace, NAME, LARGEST) as file:
            return unknown | confined(
                recounted,
                file,
                known,
                {key: list(values) for key, values in written.items()},
                place,
                data,
                shown,
                what=NAME,
                seconds=SECONDS,
                memory_gb=MEMORY_GB,
            )
    except FileNotFoundError:
        none = f"no {NAME} was written"
        return unknown | {key: Recount(reason=f"{none}: {_step(key)}") for key in known}
    except (SandboxError, ReaderError) as error:
        return unknown | {key: Recount(reason=str(error)) for key in known}


def recounted(
    path: Path,
    names: dict[str, str],
    written: dict[str, list[float]],
    place: str,
    data: Path | None,
    shown: Path | None,
) -> dict[str, Recount]:
    """As `recounts`, of one file (in a child process)."""
    try:
        with zipfile.ZipFile(path) as archive:
            if sum(item.file_size for item in archive.infolist()) > LARGEST:
                return {key: Recount(reason=f"{NAME} is too large") for key in names}
        saved = np.load(path, allow_pickle=False)
    except (OSError, ValueError, BadZipFile, NotImplementedError):
        return {key: Recount(reason=f"{NAME} is no .npz file: {_step(key)}") for key in names}
    withheld = Withheld(*(read_targets(each, place) if each else None for each in (data, shown)))
    found = {}
    for key, name in names.items():
        compute = computed_as(name)
        assert compute is not None
        try:
            found[key] = _recount(saved, key, compute, written.get(key, []), withheld)
        except ImportError as error:
            found[key] = Recount(reason=f"it needs {error.name}: {install_command('metrics')}")
        except (ValueError, TypeError, IndexError, KeyError, MemoryError, BadZipFile) as error:
            found[key] = Recount(reason=" ".join(str(error).split())[:300])
    return found


def _recount(
    saved: Any, key: str, compute: Compute, written: Sequence[float], withheld: Withheld
) -> Recount:
    """One metric: of each run where the file holds each run's own predictions, else of the one."""
    each = [name for n in range(1, len(saved.files) + 1) if (name := f"{key}.{n}") in saved.files]
    if each and each[-1] == f"{key}.{len(each)}":
        shared = saved[key + TARGETS] if key + TARGETS in saved.files else None
        targets = [saved[n + TARGETS] if n + TARGETS in saved.files else shared for n in each]
        pairs = zip((saved[name] for name in each), targets, strict=True)
        return _over([_one(*pair, compute, withheld, key) for pair in pairs])
    if key not in saved.files:
        return _by_number(saved, key, compute, written, withheld)
    predicted = saved[key]
    own = saved[key + TARGETS] if key + TARGETS in saved.files else None
    true = withheld.truth if own is None else own
    runs = len(written) - 1
    if true is not None and runs > 1 and len(predicted) == runs:
        stacked = true.shape == predicted.shape or true.shape == predicted.shape[1 : true.ndim + 1]
        if stacked:
            rows = own if own is not None and own.shape == predicted.shape else [own] * runs
            pairs = zip(predicted, rows, strict=True)
            return _over([_one(*pair, compute, withheld, key) for pair in pairs])
    return _one(predicted, own, compute, withheld, key)


def _one(predicted: Any, own: Any, compute: Compute, withheld: Withheld, key: str) -> Recount:
    """One run's, against the truth where the rows fit, else against what the program saved."""
    truth, decoys, unfit = withheld.truth, withheld.decoys, ""
    if truth is not None:
        if len(truth) == len(predicted):
            return Recount(
                truth=compute(predicted, truth),
                saved={} if decoys is None else compute(predicted, decoys),
            )
        unfit = (
            f"{len(predicted)} predictions don't fit the {len(truth)} targets that --targets names:"
            f' save one for each under "{key}", in their order'
        )
    if own is None:
        return Recount(reason=unfit or f"the true values aren't in {NAME}: {_step(key)}")
    return Recount(saved=compute(predicted, own), reason=unfit)


def _over(runs: Sequence[Recount]) -> Recount:
    """The mean and the median over runs, by each definition that all of them have: a paper may
    state either.
    """
    if lacks := next((run.reason for run in runs if not (run.saved or run.truth)), ""):
        return Recount(reason=lacks)
    saved = _mean_and_median([run.saved for run in runs])
    truth = _mean_and_median([run.truth for run in runs])
    return Recount(saved, truth, runs[0].reason, runs=tuple(runs))


def _mean_and_median(parts: Sequence[Values]) -> dict[str, float]:
    """Over the values of all runs, by the definitions that all have; means first."""
    names = [name for name in parts[0] if all(name in values for values in parts)]
    shared = {name: [values[name] for values in parts] for name in names}
    means = {name: float(np.mean(values)) for name, values in shared.items()}
    return means | {MEDIAN + name: float(np.median(values)) for name, values in shared.items()}


def _by_number(
    saved: Any, key: str, compute: Compute, written: Sequence[float], withheld: Withheld
) -> Recount:
    """Arrays that no name leads to: those of which the metric gives what the program wrote, of each
    run if it wrote their values.

    Nothing is taken where two pairs fit, which would be a guess.
    """
    arrays = {name: array for name in saved.files if len(array := saved[name]) >= FEWEST}
    names = list(arrays)[:MOST]
    seen = withheld.truth if withheld.decoys is None else withheld.decoys
    pairs: list[tuple[str, str]] = list(permutations(names, 2))
    if seen is not None:
        pairs = [(name, "") for name in names if len(arrays[name]) == len(seen)]
    values: dict[tuple[str, str], Values] = {}
    for predicted, true in pairs:
        against = seen if seen is not None else arrays[true]
        with suppress(ValueError, TypeError, IndexError):
            values[predicted, true] = compute(arrays[predicted], against)
    chosen: list[tuple[str, str]] = []
    wanted = list(written[1:] or written)
    for value in wanted:
        fits = [
            pair
            for pair, found in values.items()
            if pair not in chosen and _are_near(found.values(), value)
        ]
        many = len({frozenset(pair) for pair in fits})
        if not fits or many > _are_near(wanted, value):
            why = "several pairs of arrays give" if fits else "no pair of its arrays gives"
            return Recount(reason=f"{why} {value:.6g}: {_step(key)}")
        chosen.append(max(fits, key=lambda pair: bool(_IS_TARGET.search(pair[1].casefold()))))
    if not chosen:
        return Recount(reason=f"{NAME} has no array {key!r}: {_step(key)}")
    runs = [
        _one(arrays[predicted], arrays.get(true), compute, withheld, key)
        for predicted, true in chosen
    ]
    how = ", ".join(f"{one} beside {true}" if true else one for one, true in chosen)
    whole = _over(runs) if len(runs) > 1 else runs[0]
    return replace(whole, arrays=how)


def _are_near(values: Iterable[float], value: float) -> int:
    """How many of them are `value` but for rounding."""
    return sum(isclose(one, value, rel_tol=FITS) for one in values)


def _step(key: str) -> str:
    return f'save in {NAME} the predictions under "{key}", the true values under "{key}{TARGETS}"'


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


def no_test_targets(folder: Path, place: str) -> str:
    """Why what lies at `place` below `folder` can't be withheld as test targets; "" if it can.

    What is trained on must stay as it is, so the place has to say that it's the test split's.
    """
    name = place.partition(":")[0]
    if not (folder / name).resolve().is_relative_to(folder.resolve()):
        return "it leads out of the data"
    try:
        found = read_targets(folder, place)
    except UsageError as error:
        return str(error)
    if found is None or len(found) < FEWEST or len(np.unique(found)) < 2:
        return f"it holds fewer than {FEWEST} values, or the same one everywhere"
    if not _IS_TEST.search(place.casefold()):
        return "nothing in its name says that it's the test split's alone (add --targets if it is)"
    return ""


def content_words(folder: Path, names: Sequence[str]) -> list[str]:
    """Each of the files `names` below `folder`, with its columns or arrays where it has any."""
    return [f"{name} ({held})" if (held := _holds(folder / name)) else name for name in names]


def _holds(path: Path) -> str:
    if path.suffix == ".npz":
        found = [f"{name}: {rows} rows" for name, rows in first_dimensions(path).items()]
        return f"arrays {', '.join(found[:MOST])}" if found else ""
    if path.suffix not in (".csv", ".tsv") or not path.is_file():
        return ""
    with path.open(encoding="utf-8-sig", errors="replace") as file:
        head = next(csv.reader([file.readline(LONGEST_HEAD)], delimiter=_delimiter(path)), [])
    return f"columns {', '.join(head[:30])}" if head else ""


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

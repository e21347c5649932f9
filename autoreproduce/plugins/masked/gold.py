"""Gold values from several runs, with tolerances from their spread, and files that contain them.

A number that a correct function reproduces must pass, whatever the seed: so its tolerance is the
half width of the interval in which one more run falls 99 times of 100, all leaves together, and
never less than a floor. What fits no tolerance, a time or text that changes, is left out and
named.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoreproduce.errors import UsageError
from autoreproduce.plugins.masked.compare import Tolerance, paths_of

FLOOR = 0.01  # relative: another order of the same sums, another precision
WIDEST = 0.3  # of the number: a wider tolerance judges nothing, more seeds make it narrower
UNSTEADY = 0.5  # a number whose runs lie further apart than this share of it is left out
FALSE_ALARM = 0.01  # for all leaves of an experiment together
DIGITS = 6
LARGEST = 20_000_000  # bytes of a file that is searched for gold numbers
_NUMBER = re.compile(rb"(?<![\w.])[-+]?\d+\.\d{4,}(?:[eE][-+]?\d+)?")


@dataclass(frozen=True)
class Gold:
    """The value to reach, the tolerance of each leaf by its path, and notes on the rest."""

    value: Any
    tolerances: dict[str, Tolerance]
    notes: tuple[str, ...] = ()


def gold_of(runs: Sequence[Any], floor: float = FLOOR) -> Gold:
    """Mean and tolerances of several runs' results. Raises UsageError if none can be judged."""
    value, notes = runs[0], []
    dropped = _dropped(runs)
    if dropped and isinstance(value, dict):
        value = {key: each for key, each in value.items() if key not in dropped}
        notes = [f"left out: {reason}" for reason in dropped.values()]
        runs = [{key: run.get(key) for key in value} for run in runs]
    tables = [paths_of(run) for run in runs]
    if not paths_of(value) or value in ({}, []) or (dropped and not isinstance(value, dict)):
        why = "; ".join(dropped.values()) or "the results are empty"
        raise UsageError(
            f"the command's results cannot be judged ({why})",
            fix="let it report numbers that can be reproduced",
        )
    columns = {path: [float(table[path]) for table in tables] for path in tables[0]}
    tolerances = {path: _tolerance(column, len(columns), floor) for path, column in columns.items()}
    wide = [
        path
        for path, column in columns.items()
        if _half_width(column, len(columns)) > WIDEST * abs(_mean(column))
    ]
    if wide:
        notes.append(
            f"{', '.join(wide)}: the runs spread widely, so a number within {WIDEST:.0%} passes: "
            "run more seeds"
        )
    means = {path: _mean(column) for path, column in columns.items()}
    return Gold(_filled(value, means, ""), tolerances, tuple(notes))


def gold_on_disk(folder: Path, golds: Iterable[Any]) -> list[str]:
    """The text files below `folder` with a gold number of six digits or more, one line each.

    A file of many numbers has some by chance; it is named only if chance is no explanation (under
    5 %).
    """
    wanted = {
        _rounded(value): value
        for gold in golds
        for value in paths_of(gold).values()
        if _has_many_digits(value)
    }
    found = []
    for path in sorted(folder.rglob("*")) if wanted else ():
        if not path.is_file() or path.is_symlink() or path.stat().st_size > LARGEST:
            continue
        numbers = {_rounded(float(text)) for text in _NUMBER.findall(path.read_bytes())}
        hits = numbers & set(wanted)
        if hits and len(numbers) * len(wanted) / (9 * 10 ** (DIGITS - 1)) < 0.05 * len(hits):
            values = ", ".join(f"{wanted[hit]:.6g}" for hit in sorted(hits)[:3])
            found.append(
                f"{path.relative_to(folder)} contains {len(hits)} of the gold numbers ({values})"
            )
    return found


def _dropped(runs: Sequence[Any]) -> dict[str, str]:
    """The keys of a result that cannot be judged, with the reason; "" for a result without keys.

    A key may contain a path's separator (`train/loss`), so it is never taken from a path.
    """
    keyed = all(isinstance(run, dict) for run in runs)
    whole = [run if keyed else {"": run} for run in runs]
    dropped = {}
    for key in dict.fromkeys(key for run in whole for key in run):
        tables = [paths_of(run[key], key) if key in run else {} for run in whole]
        for path in dict.fromkeys(name for table in tables for name in table):
            if reason := _unusable([table.get(path) for table in tables]):
                dropped[key] = f"{path} {reason}"
    return dropped


def _unusable(values: Sequence[Any]) -> str:
    if any(value is None for value in values):
        return "is missing in some runs"
    if any(isinstance(value, bool) or not isinstance(value, int | float) for value in values):
        return "is no number"
    if not all(map(math.isfinite, values)):
        return "is not finite"
    mean = _mean(values)
    if max(values) - min(values) > UNSTEADY * abs(mean):
        return f"varies too much between runs (from {min(values):.4g} to {max(values):.4g})"
    return ""


def _tolerance(values: Sequence[float], leaves: int, floor: float) -> Tolerance:
    half = min(_half_width(values, leaves), WIDEST * abs(_mean(values)))
    return Tolerance(relative=floor, absolute=max(half, 1e-12), zero=max(half, 1e-6))


def _half_width(values: Sequence[float], leaves: int) -> float:
    """Half the width of the interval of one more value, by Student's t; 0 if all are the same."""
    count, mean = len(values), _mean(values)
    squares = sum((value - mean) ** 2 for value in values)
    if count < 2 or squares == 0:
        return 0.0
    from scipy.special import stdtrit

    quantile = float(stdtrit(count - 1, 1 - FALSE_ALARM / leaves / 2))
    return quantile * math.sqrt(squares / (count - 1)) * math.sqrt(1 + 1 / count)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _filled(value: Any, means: dict[str, float], path: str) -> Any:
    """`value` with the mean in the place of each leaf."""
    if isinstance(value, dict):
        return {
            key: _filled(each, means, f"{path}/{key}" if path else str(key))
            for key, each in value.items()
        }
    if isinstance(value, list):
        return [
            _filled(each, means, f"{path}/{n}" if path else str(n)) for n, each in enumerate(value)
        ]
    return means[path]


def _has_many_digits(value: Any) -> bool:
    """True for a number with so many digits that it is hardly anywhere by chance."""
    if not isinstance(value, float) or not math.isfinite(value) or value == 0:
        return False
    return len(f"{value:.6e}".partition("e")[0].replace(".", "").lstrip("-").rstrip("0")) >= DIGITS


def _rounded(value: float) -> str:
    return f"{value:.{DIGITS - 1}e}"

"""Scores that people gave, and how judges agree with them.

The scale is 10 + 5 + 5: method, hyperparameters, training.

Source of the scale: AutoReproduce (arXiv 2505.20662), the human evaluation of its Table 8. A CSV
file has the columns `trial` (the trial's folder, or as much of the end of its path as names one),
`rater`, `method`, `hyperparameters` and `training`; several raters of one trial are kept apart.
"""

import csv
import math
import posixpath
from bisect import bisect_left, bisect_right
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import correlation, fmean

from autoreproduce.errors import UsageError

MOST_POINTS = {"method": 10.0, "hyperparameters": 5.0, "training": 5.0}


def read_human(path: Path) -> dict[str, list[float]]:
    """What each rater gave each trial in all, 0 to 100 (five times the sum of 20).

    Raises UsageError naming line and column.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read ({error}): give a CSV file in UTF-8") from None
    totals: dict[str, list[float]] = defaultdict(list)
    for line, row in rows:
        totals[_trial_name(row, path, line)].append(
            5 * sum(_part_score(row, name, path, line) for name in MOST_POINTS)
        )
    if not totals:
        raise UsageError(
            f"{path} holds no scores: give the columns trial, rater, {', '.join(MOST_POINTS)}"
        )
    return dict(totals)


@dataclass(frozen=True)
class Correlation:
    """A coefficient with its 95 % interval.

    None if undefined: under three pairs, or one side constant.
    """

    value: float | None
    low: float | None
    high: float | None
    count: int


def pearson(one: Sequence[float], other: Sequence[float]) -> Correlation:
    """Pearson's r with Fisher's interval."""
    return _correlation(one, other, lambda value: 1.0)


def spearman(one: Sequence[float], other: Sequence[float]) -> Correlation:
    """Spearman's ρ; its interval by Fisher's transformation with variance (1 + ρ²/2) / (n − 3).

    Source of the variance: Bonett and Wright, Psychometrika 65 (2000), 23-28.
    """
    return _correlation(_ranks(one), _ranks(other), lambda value: 1 + value**2 / 2)


def _correlation(
    one: Sequence[float], other: Sequence[float], variance: Callable[[float], float]
) -> Correlation:
    """With Fisher's interval, which there is of four pairs or more that don't lie on a line.

    Of n pairs `variance` / (n − 3) is the transformed value's variance.
    """
    count = len(one)
    if not _is_defined(one, other):
        return Correlation(None, None, None, count)
    value = max(-1.0, min(1.0, correlation(one, other)))
    if count <= 3 or abs(value) >= 1:
        return Correlation(value, None, None, count)
    half = 1.959964 * math.sqrt(variance(value) / (count - 3))
    middle = math.atanh(value)
    return Correlation(value, math.tanh(middle - half), math.tanh(middle + half), count)


def _ranks(values: Sequence[float]) -> list[float]:
    """From 1; equal values share the mean of their ranks."""
    ordered = sorted(values)
    return [
        (bisect_left(ordered, value) + bisect_right(ordered, value) + 1) / 2 for value in values
    ]


def _is_defined(one: Sequence[float], other: Sequence[float]) -> bool:
    if len(one) != len(other):
        raise ValueError(f"{len(one)} values against {len(other)}")
    return len(one) >= 3 and len(set(one)) > 1 and len(set(other)) > 1


def correlations(
    human: Mapping[str, Sequence[float]], level: Mapping[str, float]
) -> dict[str, Correlation]:
    """Pearson and Spearman of the raters' means over the trials that have both. Keys: trial."""
    both = sorted(human.keys() & level.keys())
    one, other = [fmean(human[trial]) for trial in both], [level[trial] for trial in both]
    return {"pearson": pearson(one, other), "spearman": spearman(one, other)}


def matched(
    human: Mapping[str, list[float]],
    trials: Sequence[str],
    suite: Path = Path(),
    note: Callable[[str], None] = print,
) -> dict[str, list[float]]:
    """The scores by trial.

    `trials`: paths below the folder `suite`; `note` gets each name that matches none of them.

    Raises UsageError for a name that fits more than one, for a trial under two names, and if no
    name fits.
    """
    found: dict[str, list[float]] = {}
    for name, score in human.items():
        fitting = _fitting_trials(name, trials, suite)
        if set(fitting) & found.keys():
            raise UsageError(
                f"the trial {fitting[0]} has two names in the human scores: give it one, so all "
                "raters count"
            )
        if not fitting:
            note(f"human scores: {name} isn't a finished trial below {suite}; it is left out")
        found |= dict.fromkeys(fitting, score)
    if not found:
        raise UsageError(
            f"no trial of the human scores lies below {suite}: give their folders' names there"
        )
    return found


def _fitting_trials(name: str, trials: Sequence[str], suite: Path) -> list[str]:
    """The trial whose path ends with `name`, or none. Raises UsageError for more than one."""
    paths = {trial: f"/{(suite / trial).resolve().as_posix()}" for trial in trials}
    fitting = [trial for trial, path in paths.items() if path.endswith(f"/{name}")]
    if len(fitting) > 1:
        raise UsageError(
            f"the trial {name} in the human scores may be {' or '.join(fitting)}: give more of "
            "its path"
        )
    return fitting


def _trial_name(row: Mapping[str, str | None], path: Path, line: int) -> str:
    name = (row.get("trial") or "").strip()
    if not name:
        raise UsageError(
            f"{path}, line {line}: the column trial is missing or empty: name the trial's folder"
        )
    return posixpath.normpath(name).strip("/")


def _part_score(row: Mapping[str, str | None], name: str, path: Path, line: int) -> float:
    try:
        value = float(row.get(name) or "")
    except ValueError:
        value = math.nan
    if not 0 <= value <= MOST_POINTS[name]:
        raise UsageError(
            f"{path}, line {line}: {name} is {row.get(name)!r}: give a number from 0 to "
            f"{MOST_POINTS[name]:g}"
        )
    return value

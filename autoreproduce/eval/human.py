"""Scores that people gave, on the scale 10 + 5 + 5 (method, hyperparameters, training), and how judges agree with them.

Source of the scale: AutoReproduce (arXiv 2505.20662), the human evaluation of its Table 8. A CSV file has the
columns `trial` (the trial's folder, or as much of the end of its path as names one), `rater`, `method`,
`hyperparameters` and `training`; several raters of one trial are averaged.
"""

from __future__ import annotations

import csv
import math
import posixpath
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean

from autoreproduce.errors import UsageError
from autoreproduce.eval.statistics import Correlation, pearson, spearman

WORTH = {"method": 10.0, "hyperparameters": 5.0, "training": 5.0}


def read_human(path: Path) -> dict[str, float]:
    """The mean total of each trial, 0 to 100 (five times the sum of 20). Raises UsageError naming line and column."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.DictReader(file)
            rows = [(reader.line_num, row) for row in reader]
    except (OSError, UnicodeDecodeError, csv.Error) as error:
        raise UsageError(f"{path} cannot be read ({error}): give a CSV file in UTF-8") from None
    totals: dict[str, list[float]] = defaultdict(list)
    for line, row in rows:
        totals[_trial(row, path, line)].append(5 * sum(_part(row, name, path, line) for name in WORTH))
    if not totals:
        raise UsageError(f"{path} holds no scores: give the columns trial, rater, {', '.join(WORTH)}")
    return {trial: fmean(values) for trial, values in totals.items()}


def correlations(human: Mapping[str, float], level: Mapping[str, float]) -> dict[str, Correlation]:
    """Pearson and Spearman over the trials that have both. Keys of both mappings: trial."""
    both = sorted(human.keys() & level.keys())
    one, other = [human[trial] for trial in both], [level[trial] for trial in both]
    return {"pearson": pearson(one, other), "spearman": spearman(one, other)}


def matched(
    human: Mapping[str, float], trials: Sequence[str], suite: Path = Path(), note: Callable[[str], None] = print
) -> dict[str, float]:
    """The scores by trial. `trials`: paths below the folder `suite`; `note` is told of each name that fits none.

    Raises UsageError for a name that fits more than one, for a trial under two names, and where no name fits.
    """
    found: dict[str, float] = {}
    for name, score in human.items():
        fitting = [trial for trial in trials if f"/{(suite / trial).resolve().as_posix()}".endswith(f"/{name}")]
        if len(fitting) > 1:
            raise UsageError(
                f"the trial {name} in the human scores may be {' or '.join(fitting)}: give more of its path"
            )
        if set(fitting) & found.keys():
            raise UsageError(
                f"the trial {fitting[0]} has two names in the human scores: give it one, so all raters count"
            )
        if not fitting:
            note(f"human scores: {name} is no finished trial below {suite}; it is left out")
        found |= dict.fromkeys(fitting, score)
    if not found:
        raise UsageError(f"no trial of the human scores lies below {suite}: give their folders' names there")
    return found


def _trial(row: Mapping[str, str | None], path: Path, line: int) -> str:
    name = (row.get("trial") or "").strip()
    if not name:
        raise UsageError(f"{path}, line {line}: the column trial is missing or empty: name the trial's folder")
    return posixpath.normpath(name).strip("/")


def _part(row: Mapping[str, str | None], name: str, path: Path, line: int) -> float:
    try:
        value = float(row.get(name) or "")
    except ValueError:
        value = math.nan
    if not 0 <= value <= WORTH[name]:
        raise UsageError(f"{path}, line {line}: {name} is {row.get(name)!r}: give a number from 0 to {WORTH[name]:g}")
    return value

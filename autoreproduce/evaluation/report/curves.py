"""A training history as curves: one for each run in it, such as a seed, over what it counts by.

A program writes one flat list of rows, whatever it trained: several seeds, folds or variants one
after another or in turns. Drawn as one line that would zigzag.
"""

import re
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from autoreproduce.evaluation.report.wording import number
from autoreproduce.trials.printed import COUNTERS, Row

RUN_NAMES = {"seed", "randomseed", "run", "fold", "trial", "repeat", "replicate", "rep", "row"}
CLOCKS_AND_RATES = {"lr", "learningrate", "rate", "second", "time", "elapsed", "duration", "minute"}
MOST_RUNS = 20  # that a column of whole numbers may tell apart


@dataclass(frozen=True)
class Curves:
    """The rows of each run with their places on the x axis, and what the rows measure.

    `counter`: the column on the x axis, "" if it is the rows' order. `told_by`: the columns that
    tell the runs apart, "" if there is one.
    """

    runs: dict[str, list[tuple[float, Row]]]
    counter: str
    told_by: str
    quantities: list[str]


def curves(rows: Sequence[Row]) -> Curves:
    """The runs of a history, told apart by their names, else by a column of whole numbers, else by
    a counter that starts again.
    """
    columns = list(dict.fromkeys(key for row in rows for key in row))
    counters = [key for key in columns if _is_one_of(key, COUNTERS)]
    names = [key for key in columns if _is_one_of(key, RUN_NAMES)]
    dull = {key for key in columns if _is_one_of(key, CLOCKS_AND_RATES)}
    rest = [key for key in columns if key not in {*counters, *names, *dull}]
    for told_by in ([], *([key] for key in rest if counters and _whole_numbers(rows, key))):
        quantities = [key for key in rest if key not in told_by]
        runs = _grouped(rows, _label_of([*names, *told_by]))
        for counter in counters:
            if _advances(runs.values(), counter, quantities):
                told = ", ".join([*names, *told_by]) if len(runs) > 1 else ""
                return _placed(runs, counter, told, quantities)
    runs = _grouped(rows, _label_of(names))
    told = ", ".join(names) if len(runs) > 1 else ""
    for counter in counters:
        restarted = _split_at_restarts(runs, counter)
        if len(restarted) <= MOST_RUNS and _advances(restarted.values(), counter, rest):
            return _placed(restarted, counter, told or "run", rest)
    return _placed(runs, "", told, rest)


def _is_one_of(column: str, names: set[str]) -> bool:
    plain = re.sub(r"[^a-z]", "", column.lower())
    return plain.removeprefix("global").removeprefix("train").removesuffix("s") in names


def _whole_numbers(rows: Sequence[Row], key: str) -> bool:
    values = {row.get(key) for row in rows}
    whole = all(value is not None and float(value).is_integer() for value in values)
    return whole and 1 < len(values) <= MOST_RUNS


def _label_of(keys: Sequence[str]) -> Callable[[Row], str]:
    """The name of the run that a row belongs to: "seed 0, fold 1"."""

    def label(row: Row) -> str:
        held = ((key, row.get(key)) for key in keys)
        return ", ".join(f"{key} {number(value)}" for key, value in held if value is not None)

    return label


def _grouped(rows: Sequence[Row], label: Callable[[Row], str]) -> dict[str, list[Row]]:
    runs: dict[str, list[Row]] = {}
    for row in rows:
        runs.setdefault(label(row), []).append(row)
    return runs


def _advances(runs: Iterable[Sequence[Row]], counter: str, quantities: Sequence[str]) -> bool:
    """True if the counter rises from row to row of each run, for every quantity by itself."""
    for rows in runs:
        last: dict[Hashable, float] = {}
        for row in rows:
            x = row.get(counter)
            for key in quantities:
                if key not in row:
                    continue
                if x is None or x <= last.get(key, float("-inf")):
                    return False
                last[key] = x
    return True


def _split_at_restarts(runs: dict[str, list[Row]], counter: str) -> dict[str, list[Row]]:
    """The runs cut where the counter falls back."""
    cut: dict[str, list[Row]] = {}
    for label, rows in runs.items():
        falls = [
            place
            for place, (row, following) in enumerate(pairwise(rows), 1)
            if (following.get(counter) or 0.0) < (row.get(counter) or 0.0)
        ]
        for number_, (start, end) in enumerate(pairwise([0, *falls, len(rows)]), 1):
            name = f"run {number_}" if falls else ""
            cut[", ".join(part for part in (label, name) if part)] = rows[start:end]
    return cut


def _placed(
    runs: dict[str, list[Row]], counter: str, told_by: str, quantities: list[str]
) -> Curves:
    placed: dict[str, list[tuple[float, Row]]] = {}
    for label, rows in runs.items():
        xs = [row.get(counter) if counter else None for row in rows]
        placed[label] = [
            (float(place) if x is None else x, row)
            for place, (x, row) in enumerate(zip(xs, rows, strict=True), 1)
        ]
    return Curves(placed, counter, told_by, quantities)

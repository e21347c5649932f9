"""Two sets of trials against each other: paired by task, and refused if they are not comparable.

A difference between means over different tasks, profiles, variants or judges means nothing, so
trials are paired by task, profile and variant, the mean of each side's pairs of a task is one
value, and the interval resamples tasks. Sets that share no variant (two suites of one each, under
other names) are paired by task and profile.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Literal

from autoreproduce.claims.verdicts.readings import ReadingResult, in_order
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.scorers import TABLED
from autoreproduce.evaluation.statistics import MeanEstimate, estimate
from autoreproduce.evaluation.tables.model import Cell
from autoreproduce.evaluation.tables.rows import TrialRow, one_machine
from autoreproduce.plugins.tables.judging import require_one_judging
from autoreproduce.trials.result import read_result

Key = tuple[str, str, str]
Better = Literal["lower", "higher"]
MEASURES: dict[str, tuple[Callable[[TrialRow], float | None], Better]] = {
    "gap": (lambda row: row.gap, "lower"),
    "executed": (lambda row: row.executed, "higher"),
    **{
        level: (lambda row, level=level: row.scores.get(level), "higher")  # type: ignore[misc]
        for level in TABLED
    },
    "dollars": (lambda row: row.dollars, "lower"),
    "tokens": (lambda row: float(row.tokens), "lower"),
    "seconds": (lambda row: row.seconds, "lower"),
}
TIE = 1e-9


@dataclass(frozen=True)
class Compared:
    """One measure: the difference B − A over tasks with its interval, and the ratio B / A.

    `wins`, `ties` and `losses` count the tasks from B's side.
    """

    measure: str
    tasks: int
    first: float
    second: float
    difference: MeanEstimate
    wins: int
    ties: int
    losses: int
    ratio: float | None


def compare(first: Sequence[TrialRow], second: Sequence[TrialRow]) -> list[Compared]:
    """Every measure that both sides have; seconds only if all of their trials ran on one kind of
    machine. Raises UsageError if the trials are not comparable.
    """
    first, second = _of_shared_variants(first, second)
    shared = {_pairing_key(row) for row in first} & {_pairing_key(row) for row in second}
    if not shared:
        raise _nothing_shared(first, second)
    require_one_judging([row for row in (*first, *second) if _pairing_key(row) in shared])
    found = []
    for name, (value, better) in MEASURES.items():
        if name == "seconds" and not one_machine([*first, *second]):
            continue
        one, other = _means_by_key(first, value, shared), _means_by_key(second, value, shared)
        both = sorted(one.keys() & other.keys())
        if both:
            found.append(
                _comparison(name, _task_means(one, both), _task_means(other, both), better)
            )
    return found


def of_variants(
    first: Sequence[TrialRow], second: Sequence[TrialRow], names: Sequence[str]
) -> tuple[Sequence[TrialRow], Sequence[TrialRow], list[str]]:
    """The rows to compare, and notes on their variants.

    `names`: of A and of B, none for those that both have. Raises UsageError for an unknown name.
    """
    if names:
        one, other = names[0], names[-1]
        return (
            _rows_of_variant("A", first, one),
            _rows_of_variant("B", second, other),
            [f"Variant {one} of A against {other} of B."],
        )
    ours, theirs = ({row.variant for row in rows} for rows in (first, second))
    if len(ours) < 2 and len(theirs) < 2:
        return first, second, []
    both = f"A has the variants {_comma_list(ours)}, B {_comma_list(theirs)}"
    if not ours & theirs:
        return (
            first,
            second,
            [f"{both}: all are taken together, --variants X,Y compares one with another."],
        )
    return *_of_shared_variants(first, second), [
        f"{both}; compared: {_comma_list(ours & theirs)}, each with itself."
    ]


def _rows_of_variant(side: str, rows: Sequence[TrialRow], name: str) -> list[TrialRow]:
    found = [row for row in rows if row.variant == name]
    if not found:
        raise UsageError(
            f"--variants: {side} has no variant {name!r}",
            fix=f"it has {_comma_list({row.variant for row in rows})}",
        )
    return found


def _of_shared_variants(
    first: Sequence[TrialRow], second: Sequence[TrialRow]
) -> tuple[list[TrialRow], list[TrialRow]]:
    """The rows of the variants that both have; if they share none, all rows as of one variant."""
    both = {row.variant for row in first} & {row.variant for row in second}
    one, other = (
        (
            [row for row in rows if row.variant in both]
            if both
            else [replace(row, variant="") for row in rows]
        )
        for rows in (first, second)
    )
    return one, other


def _comma_list(names: set[str]) -> str:
    return ", ".join(sorted(names))


def _comparison(name: str, one: list[float], other: list[float], better: Better) -> Compared:
    differences = [b - a for a, b in zip(one, other, strict=True)]
    sign = -1 if better == "lower" else 1
    difference = estimate(differences)
    assert difference is not None, "there is at least one task"
    first, second = fmean(one), fmean(other)
    return Compared(
        name,
        len(one),
        first,
        second,
        difference,
        wins=sum(sign * d > TIE for d in differences),
        ties=sum(abs(d) <= TIE for d in differences),
        losses=sum(sign * d < -TIE for d in differences),
        ratio=second / first if first else None,
    )


def _task_means(means: dict[Key, float], both: Sequence[Key]) -> list[float]:
    """The mean of each task over its variants: those of one task are no independent values."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for key in both:
        found[key[:2]].append(means[key])
    return [fmean(values) for values in found.values()]


def readings_of(side: str, folder: Path, rows: Sequence[TrialRow]) -> list[list[Cell]]:
    """A row for each reading that ran in a side's trials: task, side, reading, experiment, how many
    of its claims it reaches, seeds.
    """
    results = [(row.task, read_result(folder / row.trial)) for row in rows]
    return [
        [task, side, one.label, name, _reached(one, name), one.seeds]
        for task, result in results
        if result and result.claims and (readings := result.claims.readings)
        for name in readings.experiments
        for one in in_order(readings.results, name)
    ]


def _reached(result: ReadingResult, experiment: str) -> str:
    own = [name for name, one in result.claims.items() if one.experiment == experiment]
    words = [result.of_claim(name) for name in own]
    return f"{words.count('reproduced')} of {len(own)}" if own else "no claim"


def _means_by_key(
    rows: Sequence[TrialRow], value: Callable[[TrialRow], float | None], shared: set[Key]
) -> dict[Key, float]:
    found: dict[Key, list[float]] = defaultdict(list)
    for row in rows:
        measured = value(row)
        if _pairing_key(row) in shared and measured is not None:
            found[_pairing_key(row)].append(measured)
    return {key: fmean(values) for key, values in found.items()}


def _pairing_key(row: TrialRow) -> Key:
    return row.task, row.profile, row.variant


def _nothing_shared(first: Sequence[TrialRow], second: Sequence[TrialRow]) -> UsageError:
    """The error of two sides that cannot be compared, with the reason."""
    tasks = {row.task for row in first} & {row.task for row in second}
    if {(row.task, row.profile) for row in first} & {(row.task, row.profile) for row in second}:
        return UsageError(
            "no task has trials of one variant on both sides",
            fix="name those to compare with --variants X,Y",
        )
    if tasks:
        profiles = [", ".join(sorted({row.profile for row in rows})) for rows in (first, second)]
        return UsageError(
            f"the trials are of other profiles ({profiles[0]} against {profiles[1]})",
            fix="compare those of one profile",
        )
    names = [", ".join(sorted({row.task for row in rows})) for rows in (first, second)]
    return UsageError(
        f"the trials share no task ({names[0]} against {names[1]})",
        fix="run both on the same tasks",
    )

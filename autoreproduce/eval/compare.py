"""Two sets of trials against each other: paired by task, and refused where they are not comparable.

A difference between means over different tasks, profiles, variants or judges says nothing, so trials are paired by
task, profile and variant, the mean of each side's pairs of a task is one value, and the interval resamples tasks. Sets
that share no variant (two suites of one each, under other names) are paired by task and profile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean
from typing import Literal

from autoreproduce.errors import UsageError
from autoreproduce.eval.statistics import Estimate, estimate
from autoreproduce.eval.tables.rows import LEVELS, Row

Key = tuple[str, str, str]
Better = Literal["lower", "higher"]
MEASURES: dict[str, tuple[Callable[[Row], float | None], Better]] = {
    "gap": (lambda row: row.gap, "lower"),
    "executed": (lambda row: row.executed, "higher"),
    **{level: (lambda row, level=level: row.scores.get(level), "higher") for level in LEVELS},  # type: ignore[misc]
    "dollars": (lambda row: row.dollars, "lower"),
    "tokens": (lambda row: float(row.tokens), "lower"),
    "seconds": (lambda row: row.seconds, "lower"),
}
TIE = 1e-9


@dataclass(frozen=True)
class Compared:
    """One measure: B − A over tasks with its interval, tasks that B wins, ties and loses, and B / A of the means."""

    measure: str
    tasks: int
    first: float
    second: float
    difference: Estimate
    wins: int
    ties: int
    losses: int
    ratio: float | None


def compare(first: Sequence[Row], second: Sequence[Row], hardware: tuple[str, str] = ("", "")) -> list[Compared]:
    """Every measure that both sides have. Raises UsageError where the trials are not comparable, saying why.

    `hardware` names both machines: seconds are compared only where they are the same.
    """
    first, second = _alike(first, second)
    shared = {_key(row) for row in first} & {_key(row) for row in second}
    if not shared:
        raise UsageError(_nothing_shared(first, second))
    _same_judges(*([row for row in rows if _key(row) in shared] for rows in (first, second)))
    found = []
    for name, (value, better) in MEASURES.items():
        if name == "seconds" and hardware[0] != hardware[1]:
            continue
        one, other = _means(first, value, shared), _means(second, value, shared)
        both = sorted(one.keys() & other.keys())
        if both:
            found.append(_compared(name, _by_task(one, both), _by_task(other, both), better))
    return found


def of_variants(
    first: Sequence[Row], second: Sequence[Row], names: Sequence[str]
) -> tuple[Sequence[Row], Sequence[Row], list[str]]:
    """The rows to compare, and what must be said of their variants.

    `names`: of A and of B, none for those that both have. Raises UsageError for a name that there is not.
    """
    if names:
        one, other = names[0], names[-1]
        return _of("A", first, one), _of("B", second, other), [f"Variant {one} of A against {other} of B."]
    ours, theirs = ({row.variant for row in rows} for rows in (first, second))
    if len(ours) < 2 and len(theirs) < 2:
        return first, second, []
    told = f"A has the variants {_list(ours)}, B {_list(theirs)}"
    if not ours & theirs:
        return first, second, [f"{told}: all are taken together, --variants X,Y compares one with another."]
    return *_alike(first, second), [f"{told}; compared: {_list(ours & theirs)}, each with itself."]


def _of(side: str, rows: Sequence[Row], name: str) -> list[Row]:
    found = [row for row in rows if row.variant == name]
    if not found:
        raise UsageError(f"--variants: {side} has no variant {name!r}: it has {_list({row.variant for row in rows})}")
    return found


def _alike(first: Sequence[Row], second: Sequence[Row]) -> tuple[list[Row], list[Row]]:
    """The rows of the variants that both have; where they share none, all of them as of one variant."""
    both = {row.variant for row in first} & {row.variant for row in second}
    one, other = (
        [row for row in rows if row.variant in both] if both else [replace(row, variant="") for row in rows]
        for rows in (first, second)
    )  # fmt: skip
    return one, other


def _list(names: set[str]) -> str:
    return ", ".join(sorted(names))


def _compared(name: str, one: list[float], other: list[float], better: Better) -> Compared:
    differences = [b - a for a, b in zip(one, other, strict=True)]
    sign = -1 if better == "lower" else 1
    difference = estimate(differences)
    assert difference is not None, "there is at least one task"
    first, second = fmean(one), fmean(other)
    return Compared(
        name, len(one), first, second, difference,
        wins=sum(sign * d > TIE for d in differences), ties=sum(abs(d) <= TIE for d in differences),
        losses=sum(sign * d < -TIE for d in differences), ratio=second / first if first else None,
    )  # fmt: skip


def _by_task(means: dict[Key, float], both: Sequence[Key]) -> list[float]:
    """The mean of each task over its variants: those of one task are no independent values."""
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for key in both:
        found[key[:2]].append(means[key])
    return [fmean(values) for values in found.values()]


def _means(rows: Sequence[Row], value: Callable[[Row], float | None], shared: set[Key]) -> dict[Key, float]:
    found: dict[Key, list[float]] = defaultdict(list)
    for row in rows:
        measured = value(row)
        if _key(row) in shared and measured is not None:
            found[_key(row)].append(measured)
    return {key: fmean(values) for key, values in found.items()}


def _key(row: Row) -> Key:
    return row.task, row.profile, row.variant


def _nothing_shared(first: Sequence[Row], second: Sequence[Row]) -> str:
    tasks = {row.task for row in first} & {row.task for row in second}
    if {(row.task, row.profile) for row in first} & {(row.task, row.profile) for row in second}:
        return "no task has trials of one variant on both sides: name those to compare by --variants X,Y"
    if tasks:
        profiles = [", ".join(sorted({row.profile for row in rows})) for rows in (first, second)]
        return f"the trials are of other profiles ({profiles[0]} against {profiles[1]}): compare those of one profile"
    names = [", ".join(sorted({row.task for row in rows})) for rows in (first, second)]
    return f"the trials share no task ({names[0]} against {names[1]}): run both on the same tasks"


def _same_judges(first: Sequence[Row], second: Sequence[Row]) -> None:
    for level in LEVELS[:3]:
        one, other = ({row.judges[level] for row in rows if level in row.judges} for rows in (first, second))
        if one and other and one != other:
            raise UsageError(
                f"the {level} level has other judges ({', '.join(sorted(one))} against {', '.join(sorted(other))}): "
                f"score both by the same, autoreproduce score DIR --levels {level} --judge NAME"
            )

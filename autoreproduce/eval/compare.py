"""Two sets of trials against each other: paired by task, and refused where they are not comparable.

A difference between means over different tasks, profiles or judges says nothing, so trials are paired by task and
profile, the mean of each side's trials of a task is one value, and the interval resamples tasks.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from autoreproduce.errors import UsageError
from autoreproduce.eval.statistics import Estimate, estimate
from autoreproduce.eval.tables.rows import LEVELS, Row

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
    shared = {_key(row) for row in first} & {_key(row) for row in second}
    if not shared:
        raise UsageError(_nothing_shared(first, second))
    _same_judges(*([row for row in rows if _key(row) in shared] for rows in (first, second)))
    found = []
    for name, (value, better) in MEASURES.items():
        if name == "seconds" and hardware[0] != hardware[1]:
            continue
        one, other = _by_task(first, value, shared), _by_task(second, value, shared)
        both = sorted(one.keys() & other.keys())
        if both:
            found.append(_compared(name, [one[key] for key in both], [other[key] for key in both], better))
    return found


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


def _by_task(
    rows: Sequence[Row], value: Callable[[Row], float | None], shared: set[tuple[str, str]]
) -> dict[tuple[str, str], float]:
    found: dict[tuple[str, str], list[float]] = defaultdict(list)
    for row in rows:
        measured = value(row)
        if _key(row) in shared and measured is not None:
            found[_key(row)].append(measured)
    return {key: fmean(values) for key, values in found.items()}


def _key(row: Row) -> tuple[str, str]:
    return row.task, row.profile


def _nothing_shared(first: Sequence[Row], second: Sequence[Row]) -> str:
    tasks = {row.task for row in first} & {row.task for row in second}
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

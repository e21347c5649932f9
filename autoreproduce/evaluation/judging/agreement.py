"""Several readings of one program as one score: mean, spread, and how far they agree."""

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean, stdev
from typing import Any

from autoreproduce.evaluation.judging.verdicts import band_of
from autoreproduce.evaluation.statistics import krippendorff_alpha


def together(totals: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """Mean and spread (standard deviation, None for one) of readings, and each judge's own mean.

    `totals`: (judge, total) of each reading.
    """
    values = [value for _, value in totals]
    judges = sorted({judge for judge, _ in totals})
    return {
        "mean": fmean(values),
        "spread": stdev(values) if len(values) > 1 else None,
        "lowest": min(values),
        "highest": max(values),
        "judges": {
            judge: fmean(value for name, value in totals if name == judge) for judge in judges
        },
    }


def chance_corrected(
    judges: Sequence[str], parts: Sequence[Sequence[int]]
) -> dict[str, dict[str, float | int | None]]:
    """Krippendorff's α over a program's parts, with the number of parts and of raters: between the
    judges (each its mean over repeats), and between the repeats of each judge.

    `judges`: of each reading; `parts`: the scores of each reading, (readings, parts).
    """
    by_judge = {
        name: [row for judge, row in zip(judges, parts, strict=True) if judge == name]
        for name in sorted(set(judges))
    }
    means = [[fmean(column) for column in zip(*rows, strict=True)] for rows in by_judge.values()]
    groups: dict[str, Sequence[Sequence[float]]] = {"between judges": means, **by_judge}
    return {name: _alpha_entry(rows) for name, rows in groups.items() if len(rows) > 1}


def _alpha_entry(rows: Sequence[Sequence[float]]) -> dict[str, float | int | None]:
    units = list(zip(*rows, strict=True))
    return {"alpha": krippendorff_alpha(units), "n": len(units), "raters": len(rows)}


def agreement(
    parts: Sequence[Sequence[int]], bands: tuple[tuple[int, int, str], ...]
) -> float | None:
    """The share of pairs of readings that put a part into the same band; None for one reading.

    `parts`: the scores of each reading, in one order: (readings, parts).
    """
    pairs = [
        band_of(one, bands) == band_of(other, bands)
        for first, second in combinations(parts, 2)
        for one, other in zip(first, second, strict=True)
    ]
    return sum(pairs) / len(pairs) if pairs else None

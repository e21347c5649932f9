"""Several readings of one program as one score: mean, spread, and how far they agree."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from statistics import fmean, stdev
from typing import Any

from autoreproduce.eval.judging.verdicts import band_of


def together(totals: Sequence[tuple[str, float]]) -> dict[str, Any]:
    """`totals`: (judge, total) of each reading -> mean, spread (standard deviation, None for one), each judge's."""
    values = [value for _, value in totals]
    judges = sorted({judge for judge, _ in totals})
    return {
        "mean": fmean(values),
        "spread": stdev(values) if len(values) > 1 else None,
        "lowest": min(values),
        "highest": max(values),
        "judges": {judge: fmean(value for name, value in totals if name == judge) for judge in judges},
    }


def agreement(parts: Sequence[Sequence[int]], bands: tuple[tuple[int, int, str], ...]) -> float | None:
    """The share of pairs of readings that put a part into the same band, over all parts; None for one reading.

    `parts`: the scores of each reading, in one order: (readings, parts).
    """
    pairs = [
        band_of(one, bands) == band_of(other, bands)
        for first, second in combinations(parts, 2)
        for one, other in zip(first, second, strict=True)
    ]
    return sum(pairs) / len(pairs) if pairs else None

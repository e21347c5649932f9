"""Means with intervals, and agreement, with the rules for few values in one place."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev


@dataclass(frozen=True)
class MeanEstimate:
    """A mean of `count` values, their standard deviation and a 95 % bootstrap interval.

    The latter are None for one value.
    """

    mean: float
    count: int
    spread: float | None = None
    low: float | None = None
    high: float | None = None


def estimate(values: Sequence[float], seed: int = 0, resamples: int = 9999) -> MeanEstimate | None:
    """The mean with a percentile bootstrap interval; None for no values.

    Raises ValueError for a value that is not finite.
    """
    if any(not math.isfinite(value) for value in values):
        raise ValueError("a value is not finite")
    if not values:
        return None
    if len(values) == 1:
        return MeanEstimate(values[0], 1)
    low, high = _bootstrap(values, seed, resamples)
    return MeanEstimate(fmean(values), len(values), stdev(values), low, high)


def krippendorff_alpha(units: Sequence[Sequence[float]]) -> float | None:
    """Krippendorff's α for interval data: 1 is perfect agreement, 0 what chance gives.

    `units`: the values that raters gave each unit, of any number; a unit with one value does not
    count. None if no unit has two values or all values are equal.
    Source: Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).
    """
    paired = [values for values in units if len(values) > 1]
    every = [value for values in paired for value in values]
    expected = _squared_differences(every) / (len(every) - 1) if every else 0.0
    if not expected:
        return None
    observed = sum(_squared_differences(values) / (len(values) - 1) for values in paired)
    return 1 - observed / expected


def _squared_differences(values: Sequence[float]) -> float:
    """The sum over all ordered pairs, without a loop over them."""
    middle = fmean(values)
    return 2 * len(values) * math.fsum((value - middle) ** 2 for value in values)


def _bootstrap(values: Sequence[float], seed: int, resamples: int) -> tuple[float, float]:
    import numpy as np

    drawn = np.random.default_rng(seed).choice(np.asarray(values, float), (resamples, len(values)))
    low, high = np.percentile(drawn.mean(1), [2.5, 97.5])
    return float(low), float(high)

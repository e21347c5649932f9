"""Means with intervals, and correlations, with the rules for few values in one place."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import correlation, fmean, stdev


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


@dataclass(frozen=True)
class Correlation:
    """A coefficient with its 95 % interval.

    None if undefined: under three pairs, or one side constant.
    """

    value: float | None
    low: float | None
    high: float | None
    count: int


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


def _is_defined(one: Sequence[float], other: Sequence[float]) -> bool:
    if len(one) != len(other):
        raise ValueError(f"{len(one)} values against {len(other)}")
    return len(one) >= 3 and len(set(one)) > 1 and len(set(other)) > 1

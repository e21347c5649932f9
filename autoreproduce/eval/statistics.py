"""Means with intervals, and correlations: SciPy's, with the rules for few values said once."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, stdev


@dataclass(frozen=True)
class Estimate:
    """A mean over `count` values with its standard deviation and 95 % bootstrap interval (None for one value)."""

    mean: float
    count: int
    spread: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Correlation:
    """A coefficient with its 95 % interval; None where it is not defined (under three pairs, or one side constant)."""

    value: float | None
    low: float | None
    high: float | None
    count: int


def estimate(values: Sequence[float], seed: int = 0, resamples: int = 9999) -> Estimate | None:
    """The mean with a percentile bootstrap interval; None for no values. Raises ValueError for one not finite."""
    if any(not math.isfinite(value) for value in values):
        raise ValueError("a value is not finite")
    if not values:
        return None
    if len(values) == 1:
        return Estimate(values[0], 1)
    low, high = _bootstrap(values, seed, resamples)
    return Estimate(fmean(values), len(values), stdev(values), low, high)


def pearson(one: Sequence[float], other: Sequence[float]) -> Correlation:
    """Pearson's r with Fisher's interval (SciPy's `pearsonr`)."""
    if not _defined(one, other):
        return Correlation(None, None, None, len(one))
    from scipy import stats

    found = stats.pearsonr(one, other)
    interval = found.confidence_interval(0.95) if len(one) > 3 else None
    return _correlation(float(found.statistic), interval, len(one))


def spearman(one: Sequence[float], other: Sequence[float]) -> Correlation:
    """Spearman's ρ; its interval by Fisher's transformation with variance (1 + ρ²/2) / (n − 3).

    Source of the variance: Bonett and Wright, Psychometrika 65 (2000), 23-28.
    """
    if not _defined(one, other):
        return Correlation(None, None, None, len(one))
    from scipy import stats

    value = float(stats.spearmanr(one, other).statistic)
    if len(one) <= 3 or abs(value) >= 1:
        return Correlation(value, None, None, len(one))
    half = 1.959964 * math.sqrt((1 + value**2 / 2) / (len(one) - 3))
    middle = math.atanh(value)
    return Correlation(value, math.tanh(middle - half), math.tanh(middle + half), len(one))


def _bootstrap(values: Sequence[float], seed: int, resamples: int) -> tuple[float, float]:
    import numpy as np

    drawn = np.random.default_rng(seed).choice(np.asarray(values, float), (resamples, len(values)))
    low, high = np.percentile(drawn.mean(1), [2.5, 97.5])
    return float(low), float(high)


def _defined(one: Sequence[float], other: Sequence[float]) -> bool:
    if len(one) != len(other):
        raise ValueError(f"{len(one)} values against {len(other)}")
    return len(one) >= 3 and len(set(one)) > 1 and len(set(other)) > 1


def _correlation(value: float, interval: tuple[float, float] | None, count: int) -> Correlation:
    if interval is None or any(math.isnan(end) for end in interval):
        return Correlation(value, None, None, count)
    return Correlation(value, float(interval[0]), float(interval[1]), count)

"""Quantiles of Student's t and of the beta distribution, by the incomplete beta function.

Source: Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.5.2 and 26.7.1.
"""

from collections.abc import Callable
from functools import lru_cache
from typing import Any

CLOSE = 1e-24  # of the squared difference, at which a root is found


@lru_cache(maxsize=10_000)  # the same few for every claim
def t_quantile(confidence: float, freedom: int) -> float:
    """The two-sided quantile of Student's t: 4.303 for 0.95 and 2 degrees of freedom."""
    from mpmath import betainc, mpf

    outside = 1 - mpf(confidence)

    def surplus(t: Any) -> Any:
        within = freedom / (freedom + t * t)
        return betainc(mpf(freedom) / 2, mpf(0.5), 0, within, regularized=True) - outside

    high = 1.0
    while surplus(high) > 0:
        high *= 4
    return _root(surplus, high)


@lru_cache(maxsize=10_000)
def beta_quantile(a: float, b: float, probability: float) -> float:
    """Where the distribution function of Beta(a, b) is `probability`, which is neither 0 nor 1."""
    from mpmath import betainc

    return _root(lambda x: betainc(a, b, 0, x, regularized=True) - probability, 1.0)


def _root(function: Callable[[Any], Any], high: float) -> float:
    """Where a monotonic function crosses 0 between 0 and `high`."""
    from mpmath import findroot

    return float(findroot(function, (0.0, high), solver="anderson", tol=CLOSE, maxsteps=500))

"""How far a repeated measurement may lie from a printed number: prediction intervals and margins.

An interval must be one for prediction. A 95 % confidence interval of one experiment holds the
mean of a second one of the same size in 83 % of cases only (Cumming, Williams and Fidler,
"Replication and researchers' understanding of confidence intervals", Understanding Statistics 3,
2004); so a good reproduction would fail one time in six. Patil, Peng and Leek ("What should
researchers expect when they replicate studies?", Perspectives on Psychological Science 11, 2016)
take prediction intervals for that reason, and so does CORE-Bench.

(a) The paper gives mean x̄ ± s over n runs, here ȳ is the mean of m: |ȳ − x̄| ≤ t(.975,
    n−1)·s·√(1/n + 1/m). In units of s: n=3: 4.97, 3.51, 3.14 for m = 1, 3, 5; n=5: 3.04, 2.03,
    1.76; n=10: 2.37, 1.49, 1.24.
(b) The paper gives one number x, here are m ≥ 2 runs with deviation s: |x − ȳ| ≤ t(.975,
    m−1)·s·√(1 + 1/m). In units of s: 4.97 for m=3, 3.04 for m=5. Where the paper prints "± 0",
    its number doesn't scatter, whatever the ± is, and ours alone does: s·√(1/m).
(c) One run against one number: there is no interval, only a declared margin.

Both intervals assume normal values and, in (a), that our runs scatter as the paper's do.

Quantiles of Student's t and of the beta distribution come by the incomplete beta function. Source:
Abramowitz and Stegun, Handbook of Mathematical Functions (1964), 26.5.2 and 26.7.1.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from statistics import fmean, stdev
from typing import Any, Literal

from autoreproduce.claims.claim import Claim, Rules

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


@dataclass(frozen=True)
class Interval:
    """Half the width of the prediction interval, the rule that gave it, and the rule in words."""

    half: float
    rule: Literal["a", "b"]
    why: str


def paper_deviation(claim: Claim, runs: int | None = None) -> float | None:
    """The standard deviation of the paper's runs, `runs` if it doesn't say of how many; None if
    spread, its kind or their number is not known.
    """
    n = claim.n or runs
    if claim.spread is None or n is None or n < 2:
        return None
    match claim.spread.kind:
        case "std":
            return claim.spread.value
        case "sem":
            return claim.spread.value * math.sqrt(n)
        case "ci95":
            return claim.spread.value * math.sqrt(n) / t_quantile(0.95, n - 1)
        case _:  # a range, or ± without a word: no deviation follows from it
            return None


def prediction_interval(claim: Claim, values: Sequence[float], rules: Rules) -> Interval | None:
    """Rule (a), else (b), else None. Never narrower than half the last printed digit."""
    m, s = len(values), paper_deviation(claim)
    if s is not None and claim.n is not None:
        n = claim.n
        half = t_quantile(rules.confidence, n - 1) * s * math.sqrt(1 / n + 1 / m)
        return Interval(
            max(half / rules.tested, claim.half_step),
            "a",
            f"the paper's ± over {n} runs and ours over {m}",
        )
    if m >= 2:
        theirs = 0 if claim.spread and claim.spread.value == 0 else 1
        half = t_quantile(rules.confidence, m - 1) * stdev(values) * math.sqrt(theirs + 1 / m)
        scatter = f"the scatter of our {m} runs{' and of its own' if theirs else ''}"
        return Interval(max(half / rules.tested, claim.half_step), "b", scatter)
    return None


def own_spread(claim: Claim, value: float) -> float:
    """What the paper prints after ±, on the side of it on which `value` is; 0 without any.

    Whatever the ± means, a number within it is no further from the paper's than the paper's own
    uncertainty: a deviation, a standard error and a 95 % interval are each narrower than the
    interval (a) that follows from it, and a range holds the paper's own runs.
    """
    if claim.spread is None:
        return 0.0
    side = claim.spread.plus if value > claim.value else claim.spread.minus
    return claim.spread.value if side is None else side


def mean_interval(values: Sequence[float], rules: Rules) -> tuple[float, float] | None:
    """The confidence interval of our own mean, for the reader; None for one run."""
    if len(values) < 2:
        return None
    half = t_quantile(rules.confidence, len(values) - 1) * standard_error(values)
    return fmean(values) - half, fmean(values) + half


def standard_error(values: Sequence[float]) -> float:
    """Of the mean; 0 for one run, of which nothing is known."""
    return stdev(values) / math.sqrt(len(values)) if len(values) > 1 else 0.0


def cap(claim: Claim, gain: float | None, rules: Rules) -> float:
    """What a reproduction may be off at most, however wide its interval is.

    The least of: 10 % of the value; 2 % of the scale of a percentage or fraction (10 % of 94 %
    would be nine points); half of the paper's gain over its baseline. At least half a unit of the
    last printed digit. Of a number that the paper's own ± doesn't tell from zero (a bias of -0.008
    ± 0.010), the ± stands in place of the 10 %, which would be far less than its uncertainty.
    """
    own = claim.spread.value if claim.spread else 0.0
    limits = [own if own >= abs(claim.value) else rules.cap * abs(claim.value)]
    if claim.scale in ("percent", "fraction"):
        limits.append(rules.cap_of_scale * (100 if claim.scale == "percent" else 1))
    if gain is not None:
        limits.append(rules.cap_of_gain * abs(gain))
    return max(claim.half_step, min(limits) / rules.tested)


def margin(claim: Claim, items: int | None, rules: Rules) -> float:
    """Within it a number is close: 2 % of the value, or chance in a share of `items` items.

    The latter is 1.96·√(2p(1−p)/N), the 95 % width of the difference of two such shares, and
    counts as far as the cap. At least half a unit of the last printed digit. Close is no success,
    so it isn't narrower where several alternatives were tried.
    """
    limit = rules.margin * abs(claim.value)
    whole = {"percent": 100.0, "fraction": 1.0}.get(claim.scale)
    if items and whole and 0 <= claim.value <= whole:
        share = claim.value / whole
        chance = whole * 1.96 * math.sqrt(2 * share * (1 - share) / items)
        limit = max(limit, min(chance, cap(claim, None, rules)))
    return max(limit, claim.half_step)

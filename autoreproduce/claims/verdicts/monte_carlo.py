"""The error of a number that is itself a mean over simulated data sets.

A bias, coverage, power or RMSE over N replicates scatters by its Monte Carlo error, however exactly
it is printed, and that is another thing than how a result varies from run to run. Two studies of N
and M replicates with the deviation s of a single one differ by s·√(1/N + 1/M), so 1.96 times that
is what chance alone allows. Here s comes from the program's own replicates, else from the number:
√(p(1 − p)) of a share, value/√2 of a root mean square or a deviation, and the deviation beside it
in the table of a bias; else the errors are how our seeds scatter. (Morris, White and Crowther,
"Using simulation studies to evaluate statistical methods", Statistics in Medicine 38, 2019, table
6, has these errors.)

Where the paper doesn't say how many replicates it has, they are as many as the program's. Of a run
that was shortened both counts are known (`shortened`).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean, median, stdev

from autoreproduce.claims.claim import Claim
from autoreproduce.claims.verdicts.comparable import MeasuredAs
from autoreproduce.claims.verdicts.intervals import paper_deviation, t_quantile
from autoreproduce.claims.verdicts.shortened import FAR, SURE
from autoreproduce.papers.plain import plain, words

FEWEST = (
    30  # values behind one number that are replicates and no runs, if nobody says what they are
)
SEEDS_KNOWN = 5  # from whose scatter an error is known
MANY_RUNS = 100  # no paper trains so often: where n is that large, they are replicates
NORMAL = 1.959964  # two-sided, 95 %
SAME = 1e-3  # relative difference of a number and what its values give, rounded
FEWER = 4  # times fewer replicates than the paper's, that still say as much as the paper's number
_BIAS = {"bias", "biases", "biased"}
_SHARES = {"coverage", "power", "rejection", "rejections", "size", "level", "cover", "covers"}
_ROOTS = {"rmse", "root", "sd", "std", "deviation", "se", "ese", "empse"}
_STUDY = {"simulation", "simulations", "simulated", "monte", "replicates", "replications"}


@dataclass(frozen=True)
class DrawError:
    """Standard errors of the paper's number and of ours, in the claim's unit."""

    paper: float
    ours: float
    replicates: int  # behind ours; 0: not known
    of_paper: int
    quantile: float = NORMAL
    seeds: int = 0  # from whose scatter they are; 0: from replicates

    @property
    def together(self) -> float:
        """Of the difference of the two."""
        return math.hypot(self.paper, self.ours)

    @property
    def half(self) -> float:
        """How far the two may differ by chance alone."""
        return self.quantile * self.together

    @property
    def most(self) -> float:
        """How far they may differ by chance alone once in very many numbers."""
        sure = t_quantile(SURE, self.seeds - 1) if self.seeds else 0.0
        return max(FAR, sure) * self.together

    @property
    def known(self) -> bool:
        """Whether ours is known about as well as the paper's, and the errors themselves."""
        if self.seeds and self.seeds < SEEDS_KNOWN:
            return False
        return self.ours <= self.paper * math.sqrt(FEWER) * (1 + 1e-9)

    @property
    def why(self) -> str:
        """Of how many replicates the two are, or of how many seeds."""
        if self.seeds:
            return f"by the scatter of {self.seeds} seeds"
        ours = f" and {self.replicates:,} here" if self.replicates else ""
        return f"{self.of_paper:,} replicates in the paper{ours}"


def over_replicates(claim: Claim) -> bool:
    """Whether the paper's number is one over replicates, by what it says of it."""
    if claim.replicates is not None or (claim.n or 0) >= MANY_RUNS:
        return True
    named = _named(claim)
    return bool(named & (_BIAS | _STUDY | {"coverage"}) or {"type", "error"} <= named)


def draw_error(
    claim: Claim, measured: MeasuredAs, factor: float = 1.0, deviation: float | None = None
) -> DrawError | None:
    """The errors of a number over replicates; None if it is none, or if none is known.

    `factor` takes the program's numbers to the paper's scale. `deviation`: of the estimator, as the
    paper's table has it beside a bias.
    """
    numbers, short = measured.values, measured.shortened
    count = claim.replicates or claim.n or (short.paper if short else 0)
    shifted = bool(_named(claim) & _BIAS)
    errors = [
        error_behind(values, number, shifted=shifted)
        for number, values in zip(numbers, measured.replicates, strict=False)
    ]
    known = [error for error in errors if error is not None]
    if known:  # of runs that list none it's no other
        each = len(next(filter(None, measured.replicates)))
        one = math.sqrt(fmean([error * error for error in known])) * factor  # of one run's number
        paper = one * math.sqrt(each / count) if count > 1 else one
        ours = one / math.sqrt(len(numbers))
        return DrawError(paper, ours, each * len(numbers), count if count > 1 else each)
    drawn = over_replicates(claim) or (short is not None and short.replicates)
    if not (drawn or short):
        return None
    single = (_deviation_by_name(claim) or (deviation if shifted else None)) if drawn else None
    if single and count >= FEWEST:
        paper = single / math.sqrt(count)
        ours = (short.run if short else count) * len(numbers)
        return DrawError(paper, single / math.sqrt(ours), ours if short else 0, count)
    said = short is not None and claim.n in (None, short.paper) and len(numbers) < 2
    if short and said and (single := paper_deviation(claim, short.paper)):
        ours = single / math.sqrt(short.run)
        return DrawError(single / math.sqrt(short.paper), ours, short.run, short.paper)
    if len(numbers) < 2 or not (scatter := stdev(numbers) * factor):
        return None
    quantile = t_quantile(0.95, len(numbers) - 1)
    # each seed's number is one as the paper's, or of fewer draws; what one run lists are draws
    of_each = (short.run if measured.seeds else 1) / short.paper if short else 1.0
    paper = scatter * math.sqrt(of_each)
    return DrawError(paper, scatter / math.sqrt(len(numbers)), 0, 0, quantile, len(numbers))


def error_behind(values: Sequence[float], number: float, *, shifted: bool = False) -> float | None:
    """The standard error of `number`, a mean, share in percent, root mean square, deviation or
    median of `values`; None if it is none of these. `shifted`: it may be a mean less the truth.
    """
    if len(values) < 2:
        return None
    root_m, mean, spread = math.sqrt(len(values)), fmean(values), stdev(values)
    of_mean = spread / root_m
    squares = [value * value for value in values]
    square, of_square = fmean(squares), stdev(squares) / root_m
    fourth = fmean([(value - mean) ** 4 for value in values])
    of_spread = math.sqrt(max(0.0, fourth - spread**4)) / root_m / (2 * spread or 1.0)
    shares = all(0 <= value <= 1 for value in values)
    statistics = [  # each with its error, of roots by the first order
        (mean, of_mean),
        (100 * mean if shares else math.nan, 100 * of_mean),
        (math.sqrt(square), of_square / (2 * math.sqrt(square) or 1.0)),
        (math.sqrt(max(mean, 0.0)), of_mean / (2 * math.sqrt(max(mean, 0.0)) or 1.0)),
        (spread, of_spread),
        (spread * math.sqrt(1 - 1 / len(values)), of_spread),
        (square, of_square),
        (median(values), math.sqrt(math.pi / 2) * of_mean),  # of normal values
    ]
    found = next((error for value, error in statistics if _same(value, number)), None)
    return of_mean if found is None and shifted else found


def are_replicates(claim: Claim, values: Sequence[float], number: float) -> bool:
    """Whether the values that a program wrote behind a number are replicates of it, and no runs."""
    few = len(values) < (2 if claim.replicates else FEWEST)
    if few or error_behind(values, number, shifted=bool(_named(claim) & _BIAS)) is None:
        return False
    if over_replicates(claim):
        return True
    # of a mean over a few runs the program may have made more; all else is no run's own number
    return not _same(fmean(values), number) or set(values) <= {0.0, 1.0}


def deviation_beside(claim: Claim, claims: Sequence[Claim]) -> float | None:
    """The deviation (or, without one, the RMSE) of the estimator that the same row of the table
    states beside a bias.
    """
    beside = [
        other
        for other in claims
        if other.id != claim.id
        and (other.table, other.row, other.experiment) == (claim.table, claim.row, claim.experiment)
        and other.column[:-1] == claim.column[:-1]
        and other.scale == claim.scale
        and other.value > 0
        and _named(other) & _ROOTS
    ]
    beside.sort(key=lambda other: "rmse" in _named(other))
    return beside[0].value if beside else None


def _deviation_by_name(claim: Claim) -> float | None:
    """What a share's or a root mean square's value says of a single replicate."""
    named, whole = _named(claim), {"percent": 100.0, "fraction": 1.0}.get(claim.scale)
    if named & _SHARES or {"type", "error"} <= named:
        if whole is None and 0 <= claim.value <= 1:
            whole = 1.0
        if whole and 0 <= claim.value <= whole:
            share = claim.value / whole
            return whole * math.sqrt(share * (1 - share)) or None
        return None
    return abs(claim.value) / math.sqrt(2) if named & _ROOTS and claim.value else None


def _named(claim: Claim) -> set[str]:
    return set(words(" ".join((plain(claim.metric), *claim.column[-1:]))))


def _same(one: float, other: float) -> bool:
    return math.isclose(one, other, rel_tol=SAME, abs_tol=1e-12)

"""A number over fewer draws than the paper's: what chance alone may have moved.

Where the paper's run takes too long, whoever plans it takes 50 repetitions for 1,000. A mean over M
draws, of which one has the deviation s, is then s·√(1/M + 1/N) from the paper's by chance. Such a
number is a miss only where it lies beyond all that chance allows: `FAR` standard errors, where the
Monte Carlo error is known (`monte_carlo`), else the least of

- `FAR` of the largest that a share can have, √(p(1 − p)) each;
- what the paper's own ± allows in its widest meaning;
- how the same run moves with a half, a quarter and an eighth of its draws. Where these are the
  first of the M draws, the means over k and M differ with the variance s²·(1/k − 1/M), which has no
  part in the error of the mean over M; where they are others, they differ by more.

A number that those shorter runs leave as it is, the shortening doesn't touch.
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from statistics import fmean

from pydantic import Field

from autoreproduce.claims.claim import Claim, Frozen
from autoreproduce.claims.verdicts.intervals import t_quantile
from autoreproduce.papers.numbers import number_of
from autoreproduce.papers.plain import plain, words

FAR = 4.0  # standard errors: chance alone goes so far once in 16,000 numbers
SURE = 0.998  # of the interval from shorter runs, of which there are three at most
FEWEST_DIGITS = 3  # in which shorter runs agree that a number doesn't depend on the draws
SAME = 1e-9  # relative
_SHARES = {"accuracy", "share", "proportion", "rate", "coverage", "power", "auc", "precision"}
_SHARES |= {"recall", "probability", "acc", "sensitivity", "specificity", "f1", "size", "level"}


class Shortened(Frozen):
    """Of how many draws the paper's number is (`paper`), and of how many ours (`run`).

    `replicates`: each draw is a simulated data set or the like, and no run of its own. `shorter`:
    what runs of still fewer gave, with their counts.
    """

    what: str
    paper: int
    run: int
    replicates: bool = False
    shorter: tuple[tuple[int, float], ...] = Field((), description="count and number, ascending")

    @property
    def words(self) -> str:
        """ "from 1,000 to 50 repetitions"."""
        return f"from {self.paper:,} to {self.run:,} {self.what}"

    @property
    def noise(self) -> str:
        """ "the noise of 50 repetitions"."""
        return f"the noise of {self.run:,} {self.what}"

    def root(self, runs: int = 1) -> float:
        """The deviation of the two numbers' difference, by that of a single draw; ours is the mean
        of so many runs.
        """
        return math.sqrt(1 / (self.run * runs) + 1 / self.paper)


MaybeShortened = Shortened | None


def untouched(number: float, shorter: Sequence[float]) -> bool:
    """Whether runs with fewer draws gave the very same number, in digits enough to tell."""
    if not shorter or digits_shown(number) < FEWEST_DIGITS:
        return False
    return all(math.isclose(one, number, rel_tol=SAME) for one in shorter)


def digits_shown(number: float) -> int:
    """How many digits a program's number has, without zeros around them."""
    return len(f"{abs(number):.15e}".partition("e")[0].replace(".", "").strip("0"))


def allowed_by_chance(
    claim: Claim,
    values: Sequence[float],
    short: Shortened,
    factor: float = 1.0,
    known: float | None = None,
) -> float | None:
    """How far ours may be from the paper's before chance can't explain it; None if nobody knows.

    `values`: our runs, in the claim's scale, to which `factor` takes those of shorter runs.
    `known`: the same by their Monte Carlo errors, where these are known.
    """
    root = short.root(len(values))
    if known is not None:
        return known
    limits = list[float]()
    if (share := _deviation_of_share(claim, fmean(values))) is not None:
        limits.append(FAR * share * root)
    if claim.spread and claim.spread.value:
        limits.append(FAR * claim.spread.value * math.sqrt(short.paper) * root)
    if (moved := allowed_by_shorter(values, short, factor)) is not None:
        limits.append(moved)
    return min(limits, default=None)


def allowed_by_shorter(
    values: Sequence[float], short: Shortened, factor: float = 1.0
) -> float | None:
    """The same by how shorter runs moved alone; None without any. A move is taken for no less than
    a unit of the last digit that the program shows.
    """
    mean = fmean(values)
    given = [(count, value * factor) for count, value in short.shorter if count < short.run]
    if not given:
        return None
    shown = number_of(repr(mean / factor))
    unit = shown.step * factor if shown else 0.0
    squares = [
        max(abs(more - less), unit) ** 2 / (1 / few - 1 / many)
        for (few, less), (many, more) in pairwise([*sorted(given), (short.run, mean)])
    ]
    deviation = math.sqrt(fmean(squares))
    return t_quantile(SURE, len(squares)) * deviation * short.root(len(values))


def of_difference(ours: MaybeShortened, theirs: MaybeShortened) -> MaybeShortened:
    """How a difference of two numbers was shortened, of which one at least was."""
    if ours is None or theirs is None or ours.run != theirs.run:
        short = ours or theirs
        return short and short.model_copy(update={"shorter": ()})
    other = dict(theirs.shorter)
    pairs = ((count, one - other[count]) for count, one in ours.shorter if count in other)
    return ours.model_copy(update={"shorter": tuple(pairs)})


def _deviation_of_share(claim: Claim, mean: float) -> float | None:
    """The largest that a single value can have whose mean is the paper's or ours."""
    whole = {"percent": 100.0, "fraction": 1.0}.get(claim.scale)
    named = set(words(" ".join((plain(claim.metric), *claim.column[-1:]))))
    if whole is None or not named & _SHARES or not 0 <= claim.value <= whole:
        return None
    shares = [min(max(value / whole, 0.0), 1.0) for value in (claim.value, mean)]
    return whole * math.sqrt(max(share * (1 - share) for share in shares)) or None

"""The verdict on each claim, computed here and never by a model.

The rules are frozen with the claims, before anything is measured. Runs that gave one and the same
number are one run. The first that applies decides:

- not measured: the program gave no finite number of at most 1e100 for it;
- not comparable: another split, epoch, unit or scale, or a choice was scaled down;
- untestable: the run was shortened, and chance alone may have moved the number so far
  (`shortened`); this rule stands before "opposite" and "off", and close comes before it;
- untestable: some runs gave no number;
- a bound, rank, order or equality: as `statements` says;
- close: different seeds gave one number, and the paper's varies from run to run, as one over
  simulated data sets does;
- reproduced: every run rounds to all printed digits, or is zero as the paper's number is, within a
  solver's tolerance (an estimate printed in three digits or more, as p = 3.784e-10, is no zero);
- reproduced: the mean is within the paper's own ± and the cap, whatever the ± is; but one run isn't
  by the standard error of a single estimate, which says nothing of a run on the same data, and
  not one that was shortened;
- reproduced: a number over simulated data sets is within the Monte Carlo error of the paper's and
  of ours; close, where ours is known far less well than the paper's;
- reproduced: the number lies within 95 % of what 20 seeds or more gave;
- reproduced: the mean of our runs within the prediction interval and within the cap, and known to
  within the cap; one run for which this holds is close, and so are two of whose scatter alone the
  interval is: it holds nearly anything;
- close or untestable: the number is further off than the margin, but between two of our runs: in
  the tail of many, or among few that scatter too widely to tell;
- opposite: the gain over the baseline has the other sign, by more than our mean is uncertain;
- close: within the margin;
- untestable: one run, and what the paper's ± means is not stated, and it may mean so much, or it is
  within the standard error of a single estimate;
- untestable: three runs or more whose mean's 95 % interval holds the paper's number;
- off: anything else.

A run that gives most other numbers digit for digit is the paper's own run (`judge_all`): there
chance explains nothing, no ± counts, and what differs by more than ten units of the last printed
digit, and by a thousandth, isn't close.

A number far better than the paper's is "off (better)" and no success: a leak, another split or an
easier metric are likelier than a better method, and the paper's number was not found again.

A program whose numbers become the paper's to every printed digit if they are multiplied or divided
by 100 prints fractions for percentages (`comparable.scale_factors`): then `factor` is that number,
and what is compared is the product.

More seeds sharpen a verdict. They never make a miss of a number that a run of them gave; and fewer
than 20 make none of what the first few of them reproduced: that's close. From 20 on their
distribution decides.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean, stdev
from typing import Literal, NamedTuple

from pydantic import Field

from autoreproduce.claims.claim import Claim, Frozen, Rules
from autoreproduce.claims.verdicts.comparable import (
    MISSED,
    MeasuredAs,
    Word,
    at_most,
    digits,
    half_digit,
    other_setting,
    repeats,
    rescaled,
    rounds_to,
    scale_slip,
)
from autoreproduce.claims.verdicts.distribution import FEWEST_SEEDS, Distribution, over_seeds
from autoreproduce.claims.verdicts.intervals import (
    Interval,
    cap,
    margin,
    mean_interval,
    own_spread,
    prediction_interval,
    standard_error,
)
from autoreproduce.claims.verdicts.monte_carlo import DrawError, draw_error, over_replicates
from autoreproduce.claims.verdicts.shortened import Shortened, allowed_by_chance
from autoreproduce.claims.verdicts.statements import ONCE, judge_statement
from autoreproduce.files.bounded import is_usable
from autoreproduce.papers.plain import words

WIDEST = 15.6  # deviations that a ± may mean: rule (a) for n = 2 and one run
# The square root of the rounding error of a double: where MINPACK and SciPy's solvers stop unless
# told otherwise, and how far apart R's `all.equal` lets two numbers be that count as equal.
SOLVER = 1.5e-8
LAST_DIGIT = 20  # half units of a number's last digit, within which another number is close to it
THOUSANDTH = 0.001  # of a number printed in many digits: another version of a library moves as much
FEWEST_RUNS = 3  # whose mean's interval says something
GRADIENT = 1e-6  # what solvers stop at, by default or below
RESIDUALS = {"residual", "violation", "infeasibility", "gap", "imbalance", "tolerance", "objective"}


class Verdict(Frozen):
    """One claim's outcome. `difference` is positive if ours is better, in the claim's unit."""

    claim: str
    word: Word
    why: str
    paper: float
    values: tuple[float, ...] = ()
    mean: float | None = None
    interval: tuple[float, float] | None = Field(
        None, description="95 % confidence interval of our mean"
    )
    difference: float | None = None
    relative: float | None = Field(None, description="difference / |paper|")
    gain: float | None = Field(
        None, description="share of the paper's gain over its baseline; below 0: a loss"
    )
    rule: Literal["", "a", "b", "c"] = ""
    percentile: float | None = Field(
        None,
        description="of the paper's number among what our seeds gave, 0 to 100; None of too few",
        exclude_if=lambda value: value is None,
    )
    inside: tuple[float, float] | None = Field(
        None,
        description="between these 95 % of the seeds lie",
        exclude_if=lambda ends: ends is None,
    )
    distance: float | None = Field(
        None,
        description="from the paper's number in standard errors of the difference, by Monte Carlo "
        "error or many seeds",
        exclude_if=lambda errors: errors is None,
    )
    factor: float = Field(
        1.0,
        description="by which the program's numbers were multiplied to be on the paper's scale",
        exclude_if=lambda factor: factor == 1,
    )
    repeats: int = Field(
        1,
        description="runs that gave one and the same number, and count as one",
        exclude_if=lambda runs: runs == 1,
    )
    exact: int = Field(
        0,
        description="digits that agree, all that are printed; 0 if that is not the reason",
        exclude_if=lambda digits: not digits,
    )
    shortened: str = Field(
        "",
        description="what ours has fewer of than the paper: from 1,000 to 50 repetitions",
        exclude_if=lambda what: not what,
    )
    better: bool = Field(
        False,
        description="the gap is in the metric's better direction",
        exclude_if=lambda better: not better,
    )

    @property
    def text(self) -> str:
        """The word, with the direction of a gap."""
        return "off (better)" if self.word == "off" and self.better else self.word


class Baseline(NamedTuple):
    """What a claim's gain is over: the paper's number, and ours if it was measured."""

    paper: float
    ours: float | None = None


def judge(
    claim: Claim,
    measured: MeasuredAs | None,
    *,
    baseline: Baseline | None = None,
    incomparable: str = "",
    rules: Rules | None = None,
    factor: float = 1.0,
    deviation: float | None = None,
    own_run: bool = False,
) -> Verdict:
    """The verdict on one claim.

    `incomparable` is the reason why it cannot be compared, if there is one. `factor`: takes the
    program's numbers to the paper's scale. `deviation`: what the paper's table says of a single
    replicate's, beside a bias. `own_run`: the run is the one that the paper's numbers are of.
    """

    def by(runs: MeasuredAs | None) -> Verdict:
        return _judged(
            claim, runs, baseline, incomparable, rules or Rules(), factor, deviation, own_run
        )

    found = by(measured)
    if measured is None or found.word not in MISSED or len(measured.seeds) >= FEWEST_SEEDS:
        return found
    for count in range(len(measured.seeds) - 1, 0, -1):
        if by(measured.first(count)).word == "reproduced":
            which = "the first run" if count == 1 else f"the first {count} runs"
            why = f"{found.why}; but {which} reproduced it, and {FEWEST_SEEDS} would tell"
            return found.model_copy(update={"word": "close", "why": why})
    return found


def _judged(
    claim: Claim,
    measured: MeasuredAs | None,
    baseline: Baseline | None,
    incomparable: str,
    rules: Rules,
    factor: float,
    deviation: float | None,
    own_run: bool,
) -> Verdict:
    """The verdict by all runs, without a look at fewer."""
    if measured is None or not any(map(is_usable, measured.values)):
        why = (
            "the program gave no finite number of at most 1e100 for it"
            if measured and measured.values
            else f"no number was given, neither as {claim.id} nor for both rows"
            if claim.than
            else "no number was given"
        )
        return _without_comparison(claim, "not measured", why)
    reason = incomparable or other_setting(claim, measured)
    if reason:
        return _without_comparison(claim, "not comparable", reason, measured.values)
    claim = claim.meant
    if factor == 1 and not all(rounds_to(claim, value) for value in measured.values):
        factor = rescaled(claim, measured)
    values = tuple(value * factor for value in measured.values)
    usable = [value for value in values if is_usable(value)]
    if len(usable) < len(values):
        why = f"{len(values) - len(usable)} of {len(values)} runs gave no finite number"
        return _without_comparison(claim, "untestable", why, usable)
    # ranks are few and whole: equal ones are one run only if the runs' other numbers are equal too
    alike = repeats(values) if claim.kind != "rank" or measured.alike else 1
    if alike > 1:
        values, measured = values[:1], measured.first(1)
    short = measured.shortened
    if claim.kind != "number":
        bound = claim.kind in ("at_least", "at_most")
        draws = draw_error(claim, measured, factor, deviation) if bound else None
        word, why = judge_statement(claim, values, rules, draws)
        if short and word in MISSED:
            known = draws.most if draws else None
            limit = allowed_by_chance(claim, values, short, factor, known)
            gap = abs(fmean(values) - (claim.value if bound else 0.0))
            if limit is None or at_most(gap, limit) or claim.kind == "rank":
                word, why = "untestable", f"{why}; the run was shortened {short.words}"
        found = _without_comparison(claim, word, why, values)
    elif slip := scale_slip(claim, fmean(values)):
        found = _without_comparison(claim, "not comparable", slip, values)
    else:
        own_run = own_run and not short  # the paper's own run isn't shorter than itself
        draws = None if own_run else draw_error(claim, measured, factor, deviation)
        claim = claim.model_copy(update={"spread": None, "n": None}) if own_run else claim
        ignored = (alike > 1 or measured.alike) and measured.seeded
        # a number of each seed is as much a mean as the paper's; what one run lists are single runs
        listed = not measured.seeds and not over_replicates(claim)
        of_mean = claim.n or 1 if listed else 1
        found = _Comparison(
            claim, values, measured.items, baseline, rules, draws, of_mean, ignored, own_run,
            unsaid=listed and not claim.n, short=short, factor=factor,
        ).verdict()  # fmt: skip
    if short:
        known = "shortened" in found.why
        told = found.why if known else f"{found.why}; the run was shortened {short.words}"
        found = found.model_copy(update={"why": told, "shortened": short.words})
    if factor == 1 and alike == 1:
        return found
    times = f"{'times' if factor > 1 else 'divided by'} 100: " if factor != 1 else ""
    one = f"; {alike} runs gave this very number and count as one" if alike > 1 else ""
    update = {"why": f"{times}{found.why}{one}", "factor": factor, "repeats": alike}
    return found.model_copy(update=update)


def _without_comparison(
    claim: Claim, word: Word, why: str, values: Sequence[float] = ()
) -> Verdict:
    usable = tuple(value for value in values if is_usable(value))
    mean = fmean(usable) if usable else None
    return Verdict(claim=claim.id, word=word, why=why, paper=claim.value, values=usable, mean=mean)


@dataclass(frozen=True)
class _Comparison:
    """Our finite values, in the claim's scale, beside the paper's number."""

    claim: Claim
    values: tuple[float, ...]
    items: int | None
    baseline: Baseline | None
    rules: Rules
    draws: DrawError | None = None
    of_mean: int = 1  # of so many of our values the paper's number is the mean
    same_for_seeds: bool = False  # runs that were given different seeds gave one number
    own_run: bool = False  # the run's other numbers are the paper's, digit for digit
    unsaid: bool = False  # one run lists our values, and the paper doesn't say of how many its is
    short: Shortened | None = None  # ours are of fewer draws than the paper's
    factor: float = 1.0  # by which the program's numbers were multiplied

    @cached_property
    def mean(self) -> float:
        return fmean(self.values)

    @cached_property
    def gap(self) -> float:
        return abs(self.mean - self.claim.value)

    @cached_property
    def interval(self) -> Interval | None:
        return prediction_interval(self.claim, self.values, self.rules)

    @cached_property
    def paper_gain(self) -> float | None:
        """The paper's number less its baseline, in the metric's direction."""
        return self.claim.sign * (self.claim.value - self.baseline.paper) if self.baseline else None

    @cached_property
    def our_gain(self) -> float | None:
        """Our mean less the baseline as we measured it, else as the paper gives it."""
        if self.baseline is None:
            return None
        base = self.baseline.paper if self.baseline.ours is None else self.baseline.ours
        return self.claim.sign * (self.mean - base)

    @cached_property
    def cap(self) -> float:
        return cap(self.claim, self.paper_gain, self.rules)

    @cached_property
    def margin(self) -> float:
        """How far a close number may be: in the paper's own run, as far as its last digit goes."""
        usual = margin(self.claim, self.items, self.rules)
        digits_away = max(LAST_DIGIT * half_digit(self.claim), THOUSANDTH * abs(self.claim.value))
        return min(usual, digits_away) if self.own_run else usual

    @cached_property
    def seeds(self) -> Distribution | None:
        """What many seeds gave; None of few."""
        return over_seeds(self.claim, self.values, self.of_mean)

    @property
    def own(self) -> float:
        """The paper's own ± on our side; 0 without any."""
        return own_spread(self.claim, self.mean)

    @property
    def of_one_estimate(self) -> bool:
        """True for one run beside the standard error or interval of a single estimate."""
        spread = self.claim.spread
        return len(self.values) == 1 and spread is not None and spread.is_of_estimate(self.claim.n)

    @property
    def inside(self) -> bool:
        """Within the prediction interval."""
        return self.interval is not None and at_most(self.gap, self.interval.half)

    @cached_property
    def distance(self) -> float | None:
        """The gap in standard errors of the difference; None if nothing tells these."""
        error = self.draws.together if self.draws else 0.0
        if self.seeds and not self.draws:
            theirs = stdev(self.values) / math.sqrt(self.of_mean)
            error = math.hypot(theirs, standard_error(self.values))
        return self.gap / error if error else None

    @cached_property
    def own_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of our mean; None of one or two runs, whose interval holds anything."""
        return mean_interval(self.values, self.rules) if len(self.values) >= FEWEST_RUNS else None

    @property
    def among(self) -> bool:
        """Whether the printed number lies between two of our runs, or is one of them."""
        half = half_digit(self.claim)
        return min(self.values) - half <= self.claim.value <= max(self.values) + half

    def word(self) -> tuple[Word, str]:
        """The verdict and why."""
        return self._word_reached() or self._word_missed()

    def _word_reached(self) -> tuple[Word, str] | None:
        """The verdict on a number that is the paper's, or that chance alone may have moved."""
        # of a shorter run the noise is known better, or by nobody
        own = 0.0 if self.of_one_estimate or self.short else self.own
        why = self.equal
        if not why and self.mean_equal:
            why = f"our mean is equal in all {digits(self.claim)} printed digits"
        elif not why and own and at_most(self.gap, min(own, self.cap)):
            why = f"{self.gap:.4g} away, within the paper's own ± {own:g}"
        if why:
            return self._unless_unmoved(*self._if_known(why))
        if self.draws and at_most(self.gap, self.draws.half):
            return self._unless_unmoved(*self._word_by_draws(self.draws))
        if self.seeds and self.seeds.inside:
            return self._word_among_seeds(self.seeds)
        if self.inside and at_most(self.gap, self.cap):
            return self._word_inside()
        return None

    def _word_by_draws(self, draws: DrawError) -> tuple[Word, str]:
        """The verdict on a number within the Monte Carlo error of the two."""
        within = f", within {self.short.noise}" if self.short else ""
        chance = f"Monte Carlo error alone allows {draws.half:.4g} ({draws.why})"
        why = f"{self.gap:.4g} away{within}; {chance}"
        return ("reproduced", why) if draws.known else ("close", f"{why}; ours are few")

    def _word_among_seeds(self, seeds: Distribution) -> tuple[Word, str]:
        """The verdict on a number inside what many gave: reproduced, unless they are one run's own
        list, of which the mean is meant, and only single ones reach so far.
        """
        means = over_seeds(self.claim, self.values, len(self.values)) if self.unsaid else None
        if means is None or means.inside:
            return "reproduced", seeds.why
        return "untestable", (
            f"{seeds.why}, but as the mean of as many at percentile {means.percentile:.3g}; the "
            "paper doesn't say of how many its number is"
        )

    def _word_missed(self) -> tuple[Word, str]:
        """The verdict on a number that chance and rounding don't explain."""
        if self.short and (told := self._word_shortened(self.short)):
            return told
        if len(self.values) > 1 and self.among and not at_most(self.gap, self.margin):
            return self._word_among()
        if not self.among and self._gain_reversed():
            gains = f"{self.paper_gain:.4g} in the paper and {self.our_gain:.4g} here"
            return "opposite", f"the gain over the baseline is {gains}"
        if at_most(self.gap, self.margin):
            return "close", f"{self.gap:.4g} away; the margin is {self.margin:.4g}"
        if why := self._untestable():
            return "untestable", f"{self.gap:.4g} away{why}"
        within = min(self.cap, self.interval.half) if self.interval else 0.0
        limits = f"at most {max(within, self.margin):.4g} counts"
        if self.inside and self.interval:
            limits += f"; chance alone ({self.interval.half:.4g}) is too wide to make it a success"
        if self.draws and self.distance is not None:
            limits += f"; that is {self.distance:.2g} times what simulating anew moves it by"
        if self.short and self.allowed is not None:
            limits += f"; {self.short.noise} can't move it by more than {self.allowed:.4g}"
        return "off", f"{self.gap:.4g} {self._side}; {limits}"

    def _word_shortened(self, short: Shortened) -> tuple[Word, str] | None:
        """The verdict where a shorter run alone may have moved the number so far."""
        limit = self.allowed
        if limit is not None and not at_most(self.gap, limit):
            return None
        if at_most(self.gap, self.margin):
            return "close", f"{self.gap:.4g} away; the margin is {self.margin:.4g}"
        known = f", which may move it by {limit:.4g}" if limit is not None else ""
        return "untestable", (
            f"couldn't tell: {self.gap:.4g} away, and the run was shortened {short.words}{known}"
        )

    @cached_property
    def allowed(self) -> float | None:
        """How far chance in a shorter run may move the number; None if nobody knows."""
        known = self.draws.most if self.draws else None
        if self.short is None:
            return None
        return allowed_by_chance(self.claim, self.values, self.short, self.factor, known)

    def _untestable(self) -> str:
        """Why nobody can say whether it's a miss; "" if one can."""
        if self.of_one_estimate and at_most(self.gap, self.own):
            return (
                f", within the estimate's own ± {self.own:g}: one run cannot say whether its data "
                "were drawn anew"
            )
        if self._spread_unexplained():
            return "; what the paper's ± means is not stated"
        if (ours := self.own_interval) and ours[0] <= self.claim.value <= ours[1]:
            return (
                f"; our mean of {len(self.values)} runs is known no better than {ours[0]:.4g} to "
                f"{ours[1]:.4g}, and the paper's number lies within"
            )
        return ""

    def _word_among(self) -> tuple[Word, str]:
        """The verdict on a number that our runs straddle, though their mean is not near it."""
        if self.seeds:
            return "close", self.seeds.why
        low, high = min(self.values), max(self.values)
        return "untestable", (
            f"{self.gap:.4g} away; it lies among our {len(self.values)} runs ({low:.4g} to "
            f"{high:.4g}), which scatter too widely to tell"
        )

    @property
    def _side(self) -> str:
        """Where our mean lies beside the paper's."""
        if self.claim.direction == "match":
            return "away"
        return "better" if self.claim.sign * (self.mean - self.claim.value) > 0 else "worse"

    @cached_property
    def equal(self) -> str:
        """In which way every run's number is the paper's; "" if one isn't."""
        claim, printed = self.claim, digits(self.claim)
        if all(rounds_to(claim, value) for value in self.values):
            if claim.value == 0 and not half_digit(claim):
                return "zero, as printed"
            return f"equal in all {printed} printed digits" if printed > 1 else "equal as printed"
        if all(at_most(abs(v - claim.value), SOLVER * abs(claim.value)) for v in self.values):
            return f"{self.gap:.4g} away, less than a solver's tolerance ({SOLVER:g} of the value)"
        named = {word.removesuffix("s") for word in words(claim.metric)}
        few = claim.direction == "match" and printed < 3  # not p = 3.784e-10
        zero = GRADIENT if "gradient" in named else SOLVER if few or named & RESIDUALS else 0.0
        if max(abs(claim.value), *map(abs, self.values)) <= zero:
            return f"zero here and in the paper, within a solver's tolerance ({zero:g})"
        return ""

    @property
    def mean_equal(self) -> bool:
        """True if the mean over runs meets three or more printed digits, all there are: a mean that
        scatters does so too seldom by chance.
        """
        several = len(self.values) > 1 and digits(self.claim) > 2
        return several and rounds_to(self.claim, self.mean)

    @property
    def seed_ignored(self) -> bool:
        """True if the paper's number varies from run to run and ours doesn't with the seed."""
        return self.same_for_seeds and bool(self._varies())

    def _unless_unmoved(self, word: Word, why: str) -> tuple[Word, str]:
        """The verdict, close at most where the paper's number varies and ours doesn't."""
        if not self.seed_ignored:
            return word, why
        return "close", f"{why}, but {self._varies()}, and no seed moves ours"

    def _varies(self) -> str:
        """What says that the paper's number varies from run to run; "" if nothing does."""
        claim = self.claim
        if claim.spread is not None and claim.spread.value:
            return f"the paper's number varies by ± {claim.spread.value:g}"
        if (claim.n or 0) > 1:
            return f"the paper's number is of {claim.n} runs"
        count = claim.replicates
        return f"the paper's number is over {count:,} replicates" if count else ""

    def _word_inside(self) -> tuple[Word, str]:
        chance = f"{self.interval.half:.4g}, by {self.interval.why}" if self.interval else ""
        why = f"{self.gap:.4g} away; chance alone allows {chance}, and the cap {self.cap:.4g}"
        if len(self.values) == 1:
            return "close", f"{why}; {ONCE}"
        if len(self.values) < FEWEST_RUNS and self.interval and self.interval.rule == "b":
            return "close", f"{why}; two runs cannot say more"
        return self._if_known(why)

    def _if_known(self, why: str) -> tuple[Word, str]:
        """Reproduced, unless our own mean is known to less than the cap."""
        error = standard_error(self.values)
        if not (self.seeds or self.draws or self.mean_equal or at_most(error, self.cap)):
            return "close", f"{why}; but our runs scatter too widely (standard error {error:.4g})"
        return "reproduced", why

    def _gain_reversed(self) -> bool:
        """True if the paper's gain has become a loss that is not our own uncertainty."""
        if self.our_gain is None or not self.paper_gain or self.paper_gain < 0:
            return False
        ours = mean_interval(self.values, self.rules)
        unsure = (ours[1] - ours[0]) / 2 if ours else 0.0
        return -self.our_gain > max(unsure, self.draws.half if self.draws else 0.0)

    def _spread_unexplained(self) -> bool:
        """True if one run lies within what a ± of unknown meaning may allow."""
        spread = self.claim.spread
        known = spread and (
            spread.is_of_estimate(self.claim.n)
            or (self.claim.n is not None and spread.kind not in ("unstated", "range"))
        )
        return bool(
            spread and not known and len(self.values) == 1 and self.gap <= WIDEST * spread.value
        )

    def verdict(self) -> Verdict:
        """With all that a table shows."""
        word, why = self.word()
        if self.seeds and not self.equal and self.seeds.why not in why:
            why = f"{why}; {self.seeds.why}"
        difference = self.claim.sign * (self.mean - self.claim.value)
        rule: Literal["a", "b", "c"] = self.interval.rule if self.interval else "c"
        better = difference > 0 and self.claim.direction != "match"
        return Verdict(
            claim=self.claim.id,
            word=word,
            why=why,
            paper=self.claim.value,
            values=self.values,
            mean=self.mean,
            interval=mean_interval(self.values, self.rules),
            difference=difference,
            relative=difference / abs(self.claim.value) if self.claim.value else None,
            gain=self.our_gain / self.paper_gain
            if self.our_gain is not None and self.paper_gain
            else None,
            rule=rule,
            exact=digits(self.claim) if word == "reproduced" and self.equal else 0,
            better=better,
            percentile=self.seeds.percentile if self.seeds else None,
            inside=(self.seeds.low, self.seeds.high) if self.seeds else None,
            distance=self.distance,
        )

"""The verdict on each claim, computed here and never by a model.

The rules are frozen with the claims, before anything is measured. The first that applies decides:

- not measured: the program gave no finite number of at most 1e100 for it;
- not comparable: another split, epoch, unit or scale, or a choice was scaled down;
- untestable: some runs gave no number;
- a bound, rank, order or equality: as `statements` says;
- reproduced: at least two runs, their mean within the prediction interval and within the cap, and
  known to within the cap; one run for which this holds is close, unless it and others agree with
  the paper's numbers in every printed digit (`exact`);
- opposite: the gain over the baseline has the other sign, by more than our mean is uncertain;
- close: within the margin;
- untestable: one run, and what the paper's ± means is not stated, and it may mean so much;
- off: anything else.

A number far better than the paper's is "off (better)" and no success: a leak, another split or an
easier metric are likelier than a better method, and the paper's number was not found again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from statistics import fmean
from typing import Literal, NamedTuple

from pydantic import Field

from autoreproduce.claims.claim import Claim, Frozen, Rules
from autoreproduce.claims.verdicts.comparable import (
    MeasuredAs,
    Word,
    other_setting,
    rescaled,
    scale_slip,
)
from autoreproduce.claims.verdicts.intervals import (
    Interval,
    at_most,
    cap,
    margin,
    mean_interval,
    prediction_interval,
    standard_error,
)
from autoreproduce.claims.verdicts.statements import judge_statement
from autoreproduce.trials.metrics_file import is_usable

WIDEST = 15.6  # deviations that a ± may mean: rule (a) for n = 2 and one run


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
    exact: int = Field(
        0,
        description="digits that agree, all that are printed; 0 if that is not the reason",
        exclude_if=lambda digits: not digits,
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
) -> Verdict:
    """The verdict on one claim.

    `incomparable` is the reason why it cannot be compared, if there is one.
    """
    rules = rules or Rules()
    if measured is None or not any(map(is_usable, measured.values)):
        why = (
            "the program gave no finite number of at most 1e100 for it"
            if measured and measured.values
            else "no number was given"
        )
        return _without_comparison(claim, "not measured", why)
    reason = incomparable or other_setting(claim, measured)
    if reason:
        return _without_comparison(claim, "not comparable", reason, measured.values)
    claim = claim.meant
    values = tuple(value * rescaled(claim, measured) for value in measured.values)
    usable = [value for value in values if is_usable(value)]
    if len(usable) < len(values):
        why = f"{len(values) - len(usable)} of {len(values)} runs gave no finite number"
        return _without_comparison(claim, "untestable", why, usable)
    if claim.kind != "number":
        word, why = judge_statement(claim, values, rules)
        return _without_comparison(claim, word, why, values)
    if slip := scale_slip(claim, fmean(values)):
        return _without_comparison(claim, "not comparable", slip, values)
    return _Comparison(claim, values, measured.items, baseline, rules).verdict()


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
        return margin(self.claim, self.items, self.rules)

    @property
    def inside(self) -> bool:
        """Within the prediction interval."""
        return self.interval is not None and at_most(self.gap, self.interval.half)

    def word(self) -> tuple[Word, str]:
        """The verdict and why."""
        if self.inside and at_most(self.gap, self.cap):
            return self._word_inside()
        if self._gain_reversed():
            gains = f"{self.paper_gain:.4g} in the paper and {self.our_gain:.4g} here"
            return "opposite", f"the gain over the baseline is {gains}"
        if at_most(self.gap, self.margin):
            return "close", f"{self.gap:.4g} away; the margin is {self.margin:.4g}"
        if self._spread_unexplained():
            return "untestable", f"{self.gap:.4g} away; what the paper's ± means is not stated"
        within = min(self.cap, self.interval.half) if self.interval else 0.0
        limits = f"at most {max(within, self.margin):.4g} counts"
        if self.inside and self.interval:
            limits += f"; chance alone ({self.interval.half:.4g}) is too wide to make it a success"
        return "off", f"{self.gap:.4g} {self._side}; {limits}"

    @property
    def _side(self) -> str:
        """Where our mean lies beside the paper's."""
        if self.claim.direction == "match":
            return "away"
        return "better" if self.claim.sign * (self.mean - self.claim.value) > 0 else "worse"

    def _word_inside(self) -> tuple[Word, str]:
        chance = f"{self.interval.half:.4g}, by {self.interval.why}" if self.interval else ""
        why = f"{self.gap:.4g} away; chance alone allows {chance}, and the cap {self.cap:.4g}"
        error = standard_error(self.values)
        if len(self.values) == 1:
            return "close", f"{why}; one run cannot say more"
        if not at_most(error, self.cap):
            return "close", f"{why}; but our runs scatter too widely (standard error {error:.4g})"
        return "reproduced", why

    def _gain_reversed(self) -> bool:
        """True if the paper's gain has become a loss that is not our own uncertainty."""
        if self.our_gain is None or not self.paper_gain or self.paper_gain < 0:
            return False
        ours = mean_interval(self.values, self.rules)
        return -self.our_gain > ((ours[1] - ours[0]) / 2 if ours else 0.0)

    def _spread_unexplained(self) -> bool:
        """True if one run lies within what a ± of unknown meaning may allow."""
        spread = self.claim.spread
        known = self.claim.n is not None and spread and spread.kind not in ("unstated", "range")
        return bool(
            spread and not known and len(self.values) == 1 and self.gap <= WIDEST * spread.value
        )

    def verdict(self) -> Verdict:
        """With all that a table shows."""
        word, why = self.word()
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
            better=better,
        )

"""Whether two numbers are of one kind (split, epoch, unit, scale) before they are subtracted, and
whether several runs are several observations.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

from pydantic import Field

from autoreproduce.claims.claim import Claim, Frozen, Scale, finite
from autoreproduce.claims.verdicts.shortened import Shortened
from autoreproduce.papers.numbers import number_of
from autoreproduce.papers.plain import words

Word = Literal[
    "reproduced", "close", "off", "opposite", "untestable", "not comparable", "not measured"
]
MISSED = ("off", "opposite")
SCALE_SLIP = (
    3.0  # a percentage read as a fraction is off by 100, give or take the result's own difference
)
# A metric of these words, in one of these units, is how long a machine took.
TIMES = {"time", "runtime", "latency", "duration"}
TIME_UNITS = {"s", "sec", "secs", "second", "seconds", "ms", "min", "mins", "minutes", "h", "hours"}
EXACT_SLIP = 1.02  # for numbers without such a scale only a factor of almost exactly 100 is one
FEWEST_DIGITS = {"percent": 2, "fraction": 2, "raw": 3}  # that show a scale, if they agree
MOST_DIGITS = 10  # that count: the last of sixteen differ between machines
SAME = 1e-9  # relative: sums of the same terms in another order differ by less


class MeasuredAs(Frozen):
    """What our runs gave for one claim: a value for each seed.

    The values are in the claim's scale unless `scale` says another. `seeded`: each run was given
    a seed of its own, so that equal values are a finding. `alike`: the runs gave the same numbers
    throughout, or another seed that was tried did.
    """

    values: tuple[float, ...]
    seeds: tuple[int, ...] = ()
    seeded: bool = False
    alike: bool = False
    scale: Scale | None = None
    replicates: tuple[tuple[float, ...], ...] = Field(
        (), description="of each value, those of the simulated data sets behind it"
    )
    items: int | None = Field(
        None, description="how many items the metric is the share of, if it is such a share"
    )
    shortened: Shortened | None = Field(
        None, description="of fewer draws than the paper's, since the run was shortened"
    )
    split: Literal["validation", "test", "train", "unstated"] = "unstated"
    epoch: Literal["best", "last", "unstated"] = "unstated"
    per: Literal["item", "batch", "dataset", "unstated"] = "unstated"

    def first(self, runs: int) -> MeasuredAs:
        """What so many of the runs gave."""
        kept = {name: getattr(self, name)[:runs] for name in ("values", "seeds", "replicates")}
        return self.model_copy(update=kept)


def other_setting(claim: Claim, measured: MeasuredAs) -> str:
    """Why what was measured is not what the claim speaks of; "" if nothing stated differs."""
    for name in ("split", "epoch", "per"):
        theirs, ours = getattr(claim, name), getattr(measured, name)
        if "unstated" not in (theirs, ours) and theirs != ours:
            return f"{name}: the paper's number is {theirs}, ours is {ours}"
    if (
        measured.scale is not None
        and measured.scale != claim.scale
        and "raw" in (measured.scale, claim.scale)
    ):
        return f"scale: the paper's number is {claim.scale}, ours is {measured.scale}"
    if TIMES & set(words(claim.metric)) and claim.unit.strip(" .[]()").lower() in TIME_UNITS:
        return "time: the paper's was taken on another machine"
    return ""


def repeats(values: Sequence[float]) -> int:
    """How many runs gave one and the same number; 1 if they differ, or if there is one alone.

    Such runs are one observation: a program that doesn't use its seed, or has no randomness, says
    nothing about scatter however often it runs.
    """
    if len(values) < 2 or not finite(tuple(values)):
        return 1
    same = max(values) - min(values) <= SAME * max(map(abs, values))
    return len(values) if same else 1


def digits(claim: Claim) -> int:
    """How many digits the number is printed with: 3 of 0.0312, 2 of 1200; 0 if not known, and at
    most `MOST_DIGITS`.
    """
    step = 2 * half_digit(claim)
    whole = str(round(abs(claim.value) / step)) if step else ""
    found = len((whole if "." in claim.printed else whole.rstrip("0")).lstrip("0"))
    return min(found, MOST_DIGITS)


def half_digit(claim: Claim) -> float:
    """Half a unit of the last printed digit; of a number whose printed form isn't known, of the
    last digit of its shortest decimal form, so that 90.0 isn't taken for a rounded 90.
    """
    if claim.printed:
        return claim.half_step
    shown = number_of(repr(claim.value))
    return min(claim.half_step, shown.step / 2) if shown else claim.half_step


def rounds_to(claim: Claim, value: float) -> bool:
    """Whether `value`, rounded as the paper prints its number, is that number."""
    return at_most(abs(value - claim.value), half_digit(claim))


def at_most(gap: float, limit: float) -> bool:
    """gap ≤ limit, where 0.1 + 0.2 is at most 0.3."""
    return gap <= limit * (1 + 1e-9) + 1e-300


def rescaled(claim: Claim, measured: MeasuredAs) -> float:
    """The factor for our values, if both sides say percent or fraction; else 1."""
    if (measured.scale, claim.scale) == ("fraction", "percent"):
        return 100.0
    return 0.01 if (measured.scale, claim.scale) == ("percent", "fraction") else 1.0


def scale_slip(claim: Claim, mean: float) -> str:
    """Why ours seems to be a fraction of a percentage or the other way; "" if it does not."""
    if not _slipped_by(claim, mean):
        return ""
    numbers = f"ours ({mean:.4g}) and the paper's ({claim.value:g})"
    return f"scale: {numbers} differ by a factor of about 100"


def _slipped_by(claim: Claim, mean: float) -> float:
    """The factor, 100 or 0.01, that takes ours to about the paper's; 0 if neither does."""
    if not claim.value or not mean or (mean < 0) != (claim.value < 0):
        return 0.0
    most = EXACT_SLIP if claim.scale == "raw" else SCALE_SLIP
    ratio = claim.value / mean
    return next((f for f in (0.01, 100.0) if f / most < ratio < f * most), 0.0)


def scale_factors(claims: Sequence[Claim], measured: Mapping[str, MeasuredAs]) -> dict[str, float]:
    """The factor, 100 or 0.01, by which the program's numbers become the paper's, by claim.

    A program may print fractions where the paper prints percentages. A factor is taken for true
    where it makes at least half of the numbers of one scale and unit that are off by about it
    equal in every printed digit; then it holds for the others of that scale and unit too, but for
    those that are nearer to the paper's as they are.
    """
    means: dict[str, float] = {}
    groups: dict[tuple[str, str], list[Claim]] = {}
    for stated in claims:
        claim, ours = stated.meant, measured.get(stated.id)
        if claim.kind != "number" or ours is None:
            continue
        if ours.values and finite(ours.values):
            means[claim.id] = fmean(ours.values)
            groups.setdefault((claim.scale, claim.unit), []).append(claim)
    found: dict[str, float] = {}
    for group in groups.values():
        for factor in (100.0, 0.01):
            slipped = [one for one in group if _slipped_by(one, means[one.id]) == factor]
            equal = [
                one
                for one in slipped
                if rounds_to(one, means[one.id] * factor)
                and digits(one) >= FEWEST_DIGITS[one.scale]
            ]
            if equal and 2 * len(equal) >= len(slipped):
                found |= {one.id: factor for one in group if _nearer(one, means[one.id], factor)}
    return found


def _nearer(claim: Claim, mean: float, factor: float) -> bool:
    return abs(mean * factor - claim.value) < abs(mean - claim.value)


def beside(claim: Claim, other: Claim) -> bool:
    """True if `other` is a baseline for this claim: same metric, split, scale, and the same data.

    In a table that is the same column or row, and one heading alone tells the two apart, the
    method's. Of "clean labels, distilled" and "clean features, privileged" two things do.
    """
    same = ("experiment", "metric", "direction", "kind", "scale", "split", "per")
    if not other.is_baseline or any(getattr(claim, name) != getattr(other, name) for name in same):
        return False
    if claim.kind != "number" or claim.direction == "match":
        return False
    if claim.column == other.column:
        return _one_differs(claim.row, other.row, unequal=bool(claim.column))
    rows = claim.row == other.row
    return rows and _one_differs(claim.column, other.column, unequal=False)


def _one_differs(ours: Sequence[str], theirs: Sequence[str], *, unequal: bool) -> bool:
    """Whether one part of the headings differs; of another number of parts the answer is
    `unequal`.
    """
    if len(ours) != len(theirs):
        return unequal
    differing = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    if len(differing) != 1:
        return False
    parts: list[list[str]] = [re.split(r",\s+", heading) for heading in differing[0]]
    if len(parts[0]) != len(parts[1]):
        return True
    return [one != other for one, other in zip(parts[0], parts[1], strict=True)].count(True) == 1

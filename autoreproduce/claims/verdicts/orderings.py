"""Whether "A is better than B" holds in our runs, paired by seed.

Chance alone puts all of m paired runs in the right order with probability 2⁻ᵐ: 1/8 for three
seeds, 1/32 for five. So an ordering holds where our means agree with it and a sign test says p ≤
0.05, which takes five seeds at least; with fewer there is the direction only. Over many seeds a
sign test calls 53 % of them significant, so then the share itself decides: three of four, as
Bouthillier et al. ask ("Accounting for variance in machine learning benchmarks", MLSys 2021). The
share is always told.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Literal

from pydantic import Field

from autoreproduce.claims.claim import Claim, ClaimsFile, Frozen, finite
from autoreproduce.claims.verdicts.comparable import MeasuredAs, beside, repeats
from autoreproduce.claims.verdicts.distribution import FEWEST_SEEDS
from autoreproduce.claims.verdicts.shortened import allowed_by_shorter, of_difference

OrderWord = Literal["holds", "same direction only", "does not hold", "not measured"]
LEVEL = 0.05
MOSTLY = 0.75  # of many seeds


class OrderVerdict(Frozen):
    """The outcome of one ordering: the paper says that claim `better` beats claim `worse`."""

    better: str
    worse: str
    word: OrderWord
    why: str
    share: float | None = Field(
        None, description="of the seeds in which it holds", exclude_if=lambda share: share is None
    )
    seeds: int = Field(0, description="paired runs", exclude_if=lambda seeds: not seeds)


def orderings(file: ClaimsFile) -> list[tuple[Claim, Claim]]:
    """(better, worse) for each claim and each baseline beside it that differ in the paper."""
    pairs = []
    for claim in file.claims:
        for other in file.claims:
            if not claim.is_baseline and beside(claim, other):
                gain = claim.sign * (claim.value - other.value)
                if gain:
                    pairs.append((claim, other) if gain > 0 else (other, claim))
    return pairs


def judge_orderings(file: ClaimsFile, measured: Mapping[str, MeasuredAs]) -> list[OrderVerdict]:
    """The outcome of every ordering of the file."""
    return [
        judge_ordering(better, worse, measured.get(better.id), measured.get(worse.id))
        for better, worse in orderings(file)
    ]


def judge_ordering(
    better: Claim, worse: Claim, ours: MeasuredAs | None, theirs: MeasuredAs | None
) -> OrderVerdict:
    """Whether our runs of the two claims are in the paper's order."""
    named = {"better": better.id, "worse": worse.id}
    if reason := _unmeasured(better, worse, ours, theirs):
        return OrderVerdict(**named, word="not measured", why=reason)
    assert ours is not None and theirs is not None
    gap = better.sign * (fmean(ours.values) - fmean(theirs.values))
    pairs = paired_values(ours, theirs)
    alike = min(repeats(ours.values), repeats(theirs.values))
    if alike > 1:
        pairs = pairs[:1]  # runs that gave the same numbers are one
    wins, losses = wins_and_losses(better.sign, pairs)
    share = wins / len(pairs) if pairs else None
    if gap <= 0:
        word: OrderWord = "does not hold"
        why = f"the mean is {-gap:.4g} on the other side" if gap else "the means are equal"
        why += f"; {in_seeds(wins, len(pairs))}" if len(pairs) > 1 else ""
        if short := of_difference(ours.shortened, theirs.shortened):
            limit = allowed_by_shorter([better.sign * gap], short)
            told = f"couldn't tell, since the run was shortened {short.words}: {why}"
            word, why = ("does not hold", why) if limit and -gap > limit else ("not measured", told)
    elif not pairs:
        word = "same direction only"
        why = f"the mean is {gap:.4g} better; the runs are not paired by seed"
    else:
        chance = sign_test(wins, losses)
        why = f"{in_seeds(wins, len(pairs))}; by chance as often with p = {chance:.2g}"
        if len(pairs) == 1:
            tell = "more seeds would tell"
            if alike > 1 or (ours.alike and theirs.alike):
                tell = f"{alike} runs were the same" if alike > 1 else "any seed gives the same"
            why = f"{gap:.4g} better in the one run; {tell}"
        word = "holds" if holds_mostly(wins, len(pairs), chance) else "same direction only"
    return OrderVerdict(**named, word=word, why=why, share=share, seeds=len(pairs))


def _unmeasured(
    better: Claim, worse: Claim, ours: MeasuredAs | None, theirs: MeasuredAs | None
) -> str:
    """Why the two can't be held against each other; "" if they can."""
    if ours is None or theirs is None or not (ours.values and theirs.values):
        missing = [
            f"{one.title} has no number"
            for one, found in ((better, ours), (worse, theirs))
            if found is None or not found.values
        ]
        return " and ".join(missing)
    if not (finite(ours.values) and finite(theirs.values)):
        return "a run gave no finite number"
    if ours.scale != theirs.scale:
        return f"the two are on other scales ({ours.scale}, {theirs.scale})"
    return ""


def in_seeds(wins: int, seeds: int) -> str:
    """ "right in 138 of 200 seeds (69 %)"."""
    share = f" ({100 * wins / seeds:.3g} %)" if seeds >= FEWEST_SEEDS else ""
    return f"right in {wins} of {seeds} {'seed' if seeds == 1 else 'seeds'}{share}"


def holds_mostly(wins: int, seeds: int, chance: float) -> bool:
    """Whether an order is no chance, and over many seeds what one would mostly see."""
    return chance <= LEVEL and (seeds < FEWEST_SEEDS or wins >= MOSTLY * seeds)


def paired_values(ours: MeasuredAs, theirs: MeasuredAs) -> list[tuple[float, float]]:
    """Values of the same seed; if no seeds are known, by position of as many runs."""
    if ours.seeds and theirs.seeds:
        other = dict(zip(theirs.seeds, theirs.values, strict=False))
        return [(v, other[s]) for s, v in zip(ours.seeds, ours.values, strict=False) if s in other]
    if len(ours.values) != len(theirs.values):
        return []
    return list(zip(ours.values, theirs.values, strict=True))


def wins_and_losses(sign: int, pairs: Sequence[tuple[float, float]]) -> tuple[int, int]:
    """How many pairs are in the right order and how many in the other; equal ones are neither."""
    gaps = [sign * (one - other) for one, other in pairs]
    return sum(gap > 0 for gap in gaps), sum(gap < 0 for gap in gaps)


def sign_test(wins: int, losses: int) -> float:
    """The probability of at least `wins` of wins + losses by fair chance; 2⁻ᵐ if all are won."""
    n = wins + losses
    return sum(math.comb(n, k) for k in range(wins, n + 1)) * 0.5**n

"""Claims that are no number to meet: bounds, ranks, orders, and rows that are as good as others.

"Significant at 5 %" is an upper bound of a p-value, "covers at least 90 %" a lower one. An order or
an equality is judged by the difference of its two rows: the program writes it under the claim's
key, or it is taken from the two rows' own numbers, seed by seed.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean

from autoreproduce.claims.claim import Claim, Rules
from autoreproduce.claims.verdicts.comparable import MeasuredAs, Word, at_most, rounds_to
from autoreproduce.claims.verdicts.distribution import FEWEST_SEEDS, TAIL
from autoreproduce.claims.verdicts.intervals import mean_interval
from autoreproduce.claims.verdicts.monte_carlo import NORMAL, DrawError
from autoreproduce.claims.verdicts.orderings import (
    holds_mostly,
    paired_values,
    sign_test,
    wins_and_losses,
)
from autoreproduce.claims.verdicts.shortened import of_difference
from autoreproduce.papers.plain import name_of

ONCE = "one run cannot say more"


def judge_statement(
    claim: Claim, values: Sequence[float], rules: Rules, draws: DrawError | None = None
) -> tuple[Word, str]:
    """The word and why; `values` are finite and in the claim's scale. `draws`: the errors of a
    bound on a number over replicates, of which one run has as many as the paper.
    """
    if claim.kind == "order":
        return _order(claim, values)
    if claim.kind == "equal":
        return _equal(claim, values, rules)
    held, runs = sum(_holds(claim, value) for value in values), len(values)
    shown = f"{claim.kind.replace('_', ' ')} {claim.value:g}"
    if runs == 1 and draws is not None and draws.known:
        half = NORMAL * draws.ours
        why = f"{shown}; {values[0]:.4g} ± {half:.2g} by Monte Carlo error, {draws.why}"
        near = at_most(abs(values[0] - claim.value), half)
        return ("reproduced" if held else "close" if near else "off"), why
    if held == runs:
        once = f"{shown}; {ONCE}" if runs == 1 else ""
        return ("close", once) if once else ("reproduced", f"{shown} in all {runs} runs")
    shown = f"{shown} in {_share(held, runs)}"
    if runs >= FEWEST_SEEDS and held >= (1 - 2 * TAIL) * runs:
        return "reproduced", shown
    return ("close" if 2 * held > runs else "off"), shown


def _share(held: int, runs: int) -> str:
    """ "138 of 200 runs (69 %)"."""
    share = f" ({100 * held / runs:.3g} %)" if runs >= FEWEST_SEEDS else ""
    return f"{held} of {runs} runs{share}"


def _holds(claim: Claim, value: float) -> bool:
    if claim.kind == "rank":
        return round(value) == round(claim.value)
    if rounds_to(claim, value):
        return True  # "at least 90" is met by what a paper would print as 90
    bounds = (claim.value, value)
    return at_most(*(bounds if claim.kind == "at_least" else reversed(bounds)))


def _order(claim: Claim, values: Sequence[float]) -> tuple[Word, str]:
    gap = claim.sign * fmean(values)
    wins, losses = wins_and_losses(claim.sign, [(value, 0.0) for value in values])
    if gap <= 0:
        share = f"; in this order in {_share(wins, len(values))}" if len(values) > 1 else ""
        return "opposite", f"the difference is {gap:.4g}{share}"
    chance = sign_test(wins, losses)
    why = f"in this order in {_share(wins, len(values))}; by chance as often with p = {chance:.2g}"
    return ("reproduced" if holds_mostly(wins, len(values), chance) else "close"), why


def _equal(claim: Claim, values: Sequence[float], rules: Rules) -> tuple[Word, str]:
    """Equal are means at most the claim's value apart, else two points of a share."""
    scale = {"percent": 100.0, "fraction": 1.0}.get(claim.scale)
    allowed = abs(claim.value) or (rules.cap_of_scale * scale if scale else 0.0)
    if not allowed:
        return "untestable", "the paper does not say which difference still counts as equal"
    mean, interval = fmean(values), mean_interval(values, rules)
    shown = f"{abs(mean):.4g} apart, where {allowed:.4g} counts as equal"
    if not at_most(abs(mean), allowed):
        return "off", shown
    if interval is None:
        return "close", f"{shown}; {ONCE}"
    sure = at_most(max(map(abs, interval)), allowed)
    return ("reproduced", shown) if sure else ("close", f"{shown}; our runs scatter more widely")


def with_differences(
    claims: Sequence[Claim], measured: Mapping[str, MeasuredAs], factors: Mapping[str, float]
) -> dict[str, MeasuredAs]:
    """What was measured, with the differences that the rows' own numbers give, if one factor takes
    both to the paper's scale.
    """
    found = dict(measured)
    for claim in claims:
        rows = compared_rows(claim, claims)
        if rows is None or claim.id in found:
            continue
        ours, theirs = (measured.get(row.id) for row in rows)
        if ours is None or theirs is None or ours.scale != theirs.scale:
            continue
        one_factor = len({factors.get(row.id, 1.0) for row in rows}) == 1
        if one_factor and (pairs := paired_values(ours, theirs)):
            found[claim.id] = MeasuredAs(
                values=tuple(one - other for one, other in pairs),
                scale=ours.scale,
                shortened=of_difference(ours.shortened, theirs.shortened),
            )
    return found


def compared_rows(claim: Claim, claims: Sequence[Claim]) -> tuple[Claim, Claim] | None:
    """The numbers of the two rows that an order or equality compares; None if one isn't claimed."""
    if not claim.than:
        return None
    ours, theirs = (_of_row(row, claim, claims) for row in (claim.row, claim.than))
    return (ours, theirs) if ours and theirs and ours.scale == theirs.scale else None


def _of_row(row: Sequence[str], claim: Claim, claims: Sequence[Claim]) -> Claim | None:
    """The one claim of this row's number under the claim's metric; of several on different scales
    that on the claim's.
    """
    wanted = (*map(name_of, row),), name_of(claim.metric)
    numbers = [
        other
        for other in claims
        if other.kind == "number"
        and ((*map(name_of, other.row),), name_of(other.metric)) == wanted
        and (not claim.column or other.column == claim.column)
    ]
    if len(numbers) > 1:
        numbers = [other for other in numbers if other.scale == claim.scale]
    return numbers[0] if len(numbers) == 1 else None

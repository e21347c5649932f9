"""The verdicts on all claims of a file, each beside its baseline, and all beside one another."""

from collections.abc import Mapping, Sequence
from statistics import fmean

from autoreproduce.claims.claim import Claim, ClaimsFile, finite
from autoreproduce.claims.verdicts.comparable import (
    MeasuredAs,
    beside,
    other_setting,
    rescaled,
    scale_factors,
    scale_slip,
)
from autoreproduce.claims.verdicts.monte_carlo import deviation_beside
from autoreproduce.claims.verdicts.one_claim import Baseline, Verdict, judge
from autoreproduce.claims.verdicts.statements import compared_rows, with_differences

FEWEST_OF_RUN = 3  # such numbers that show the whole run to be the paper's
FEWEST_EXACT = 3  # digits of a number that shows the program to be the one that gave the paper's


def _with_statements(claims: Sequence[Claim], verdicts: Sequence[Verdict]) -> list[Verdict]:
    """The verdicts, where a statement that holds in the one run (a bound, a rank, an order) is
    reproduced if the numbers beside it equal the paper's, all or most (`_exact_in_own_run`): the
    program then is one that gives these, and one run says as much as many.
    """
    by_id = {claim.id: claim for claim in claims}
    compared = [one for one in verdicts if one.rule and by_id[one.claim].kind == "number"]
    equal = bool(compared) and all(one.exact for one in compared)
    equal = equal and max(one.exact for one in compared) >= FEWEST_EXACT
    if not equal and not _exact_in_own_run(verdicts):
        return list(verdicts)
    return [
        one
        if by_id[one.claim].kind == "number" or one.word != "close" or len(one.values) != 1
        else one.model_copy(
            update={
                "word": "reproduced",
                "why": f"{one.why}, and it gives the paper's numbers digit for digit",
            }
        )
        for one in verdicts
    ]


def _exact_in_own_run(verdicts: Sequence[Verdict]) -> int:
    """How many numbers of one run equal the paper's in three digits or more, if these are three or
    more and most of what was compared: that run is the paper's own, and chance moved none of it.
    """
    compared = [one for one in verdicts if one.rule]
    exact = sum(one.exact >= FEWEST_EXACT for one in compared)
    once = all(len(one.values) == 1 for one in compared)
    return exact if once and exact >= FEWEST_OF_RUN and 2 * exact > len(compared) else 0


def judge_all(
    file: ClaimsFile,
    measured: Mapping[str, MeasuredAs],
    incomparable: Mapping[str, str] | None = None,
) -> list[Verdict]:
    """The verdicts on all claims, in their order. Both mappings are by the claim's id."""
    reasons, factors = incomparable or {}, scale_factors(file.claims, measured)
    measured = with_differences(file.claims, measured, factors)

    def judged(claim: Claim, own_run: bool = False) -> Verdict:
        if rows := compared_rows(claim, file.claims):  # a difference is on their scale
            claim = claim.model_copy(update={"scale": rows[0].scale})
        return judge(
            claim,
            measured.get(claim.id),
            baseline=baseline_of(claim, file.claims, measured),
            incomparable=reasons.get(claim.id, ""),
            rules=file.rules,
            factor=factors.get(rows[0].id if rows else claim.id, 1.0),
            deviation=deviation_beside(claim, file.claims),
            own_run=own_run,
        )

    verdicts = [judged(claim) for claim in file.claims]
    if equal := _exact_in_own_run(verdicts):
        why = f"{equal} other numbers of the run are the paper's digit for digit, this one isn't"
        verdicts = [
            again.model_copy(update={"why": f"{again.why}; {why}"})
            if not one.exact and (again := judged(claim, own_run=True)).word != one.word
            else one
            for claim, one in zip(file.claims, verdicts, strict=True)
        ]
    verdicts = _with_statements(file.claims, verdicts)
    return [_with_misprint(*pair) for pair in zip(file.claims, verdicts, strict=True)]


def _with_misprint(claim: Claim, verdict: Verdict) -> Verdict:
    """The verdict, with a word on the value that it is held against if that is ours."""
    if claim.corrected is None:
        return verdict
    printed = claim.printed or f"{claim.value:g}"
    why = f"{verdict.why}; held against {claim.corrected:g}, ours: the paper prints {printed}"
    return verdict.model_copy(update={"why": why})


def baseline_of(
    claim: Claim, claims: Sequence[Claim], measured: Mapping[str, MeasuredAs] | None = None
) -> Baseline | None:
    """The strongest baseline that the paper's number beats, beside the claim in its table."""
    if claim.is_baseline:
        return None
    beaten = [
        other
        for other in claims
        if beside(claim, other) and claim.sign * (claim.value - other.value) > 0
    ]
    if not beaten:
        return None
    best = max(beaten, key=lambda other: claim.sign * other.value)
    ours = (measured or {}).get(best.id)
    if ours is None or not ours.values or not finite(ours.values) or other_setting(best, ours):
        return Baseline(best.value)
    mean = fmean(ours.values) * rescaled(best, ours)
    return Baseline(best.value, None if scale_slip(best, mean) else mean)

"""The verdicts on all claims of a file, each beside its baseline, and all beside one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

from autoreproduce.claims.claim import Claim, ClaimsFile, finite
from autoreproduce.claims.verdicts.comparable import (
    MeasuredAs,
    beside,
    other_setting,
    rescaled,
    scale_slip,
)
from autoreproduce.claims.verdicts.exact import with_exact
from autoreproduce.claims.verdicts.statements import with_differences
from autoreproduce.claims.verdicts.verdict import Baseline, Verdict, judge


def judge_all(
    file: ClaimsFile,
    measured: Mapping[str, MeasuredAs],
    incomparable: Mapping[str, str] | None = None,
) -> list[Verdict]:
    """The verdicts on all claims, in their order. Both mappings are by the claim's id."""
    reasons, measured = incomparable or {}, with_differences(file.claims, measured)
    verdicts = [
        judge(
            claim,
            measured.get(claim.id),
            baseline=baseline_of(claim, file.claims, measured),
            incomparable=reasons.get(claim.id, ""),
            rules=file.rules,
        )
        for claim in file.claims
    ]
    verdicts = with_exact(file.claims, verdicts, file.rules)
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

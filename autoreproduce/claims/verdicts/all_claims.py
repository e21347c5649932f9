"""The verdicts on all claims of a file, each beside its baseline, and all beside one another.

Whether numbers agree with the paper's in every printed digit, and whether that can be chance.

A program that is deterministic gives the paper's own digits; one run then says as much as many. How
often would another program do so? A number within the margin has the printed last digit by chance
in half a step of the margin's width; and since runs of one stochastic program may lie closer than
that, the first two digits say nothing, and each further one is right in one case of ten. So of four
numbers at four digits all are right by chance once in 10⁸, and of ten numbers at two digits nothing
is known. What counts is how likely so many agreements are among all that were as exactly printed.
"""

from collections.abc import Mapping, Sequence
from statistics import fmean

from autoreproduce.claims.claim import Claim, ClaimsFile, Rules, finite
from autoreproduce.claims.verdicts.comparable import (
    MeasuredAs,
    beside,
    other_setting,
    rescaled,
    scale_slip,
)
from autoreproduce.claims.verdicts.intervals import at_most, margin
from autoreproduce.claims.verdicts.one_claim import Baseline, Verdict, judge
from autoreproduce.claims.verdicts.statements import with_differences

CHANCE = 1e-3  # at most, of as many exact agreements
FREE_DIGITS = 2  # that say nothing, since numbers within the margin share them
MOST_DIGITS = 10  # that count: the last of sixteen differ between machines
SINGLE = ("close", "untestable")  # words of one run that exact agreement betters


def digits(claim: Claim) -> int:
    """How many digits the number is printed with: 3 of 0.0312, 2 of 1200; 0 if not known, and at
    most `MOST_DIGITS`.
    """
    step = 2 * claim.half_step
    whole = str(round(abs(claim.value) / step)) if step else ""
    found = len((whole if "." in claim.printed else whole.rstrip("0")).lstrip("0"))
    return min(found, MOST_DIGITS)


def is_exact(claim: Claim, values: Sequence[float]) -> bool:
    """True if every run gave the printed number, rounded as it is printed."""
    half = max(claim.half_step, abs(claim.value) * 10.0**-MOST_DIGITS if claim.half_step else 0.0)
    return bool(values and half) and all(at_most(abs(v - claim.value), half) for v in values)


def with_exact(claims: Sequence[Claim], verdicts: Sequence[Verdict], rules: Rules) -> list[Verdict]:
    """The verdicts, where numbers that agree exactly and by no chance are reproduced.

    A statement that holds in the one run (a bound, a rank, an order) is reproduced with them, if
    all numbers together agree so: the program then is one that gives the paper's.
    """
    by_id = {claim.id: claim.meant for claim in claims}
    judged = [one for one in verdicts if one.rule and by_id[one.claim].kind == "number"]
    chances = {one.claim: _chance(by_id[one.claim], rules) for one in judged}
    exact = [one.claim for one in judged if is_exact(by_id[one.claim], one.values)]
    whole = at_most(_tail(list(chances.values()), len(exact)), CHANCE / rules.tested)
    return [_upgraded(one, by_id[one.claim], chances, exact, rules, whole) for one in verdicts]


def _upgraded(
    verdict: Verdict,
    claim: Claim,
    chances: Mapping[str, float],
    exact: Sequence[str],
    rules: Rules,
    whole: bool,
) -> Verdict:
    if verdict.word not in SINGLE:
        return verdict
    if claim.kind != "number":
        why = f"{verdict.why}, and it gives the paper's numbers digit for digit"
        holds = whole and verdict.word == "close"
        return verdict.model_copy(update={"word": "reproduced", "why": why}) if holds else verdict
    if verdict.claim not in exact:
        return verdict
    chance, agreeing, among = min(
        _agreement(level, chances, exact)
        for level in chances.values()
        if level >= chances[verdict.claim]
    )
    if not at_most(chance, CHANCE / rules.tested):
        return verdict
    printed = digits(claim)
    why = f"equal in all {printed} printed digits" if printed > 1 else "equal as printed"
    why += f", as {agreeing} of {among} numbers so exact are" * (among > 1)
    why += f": by chance in {chance:.1g} of cases"
    return verdict.model_copy(update={"word": "reproduced", "why": why, "exact": printed})


def _agreement(
    level: float, chances: Mapping[str, float], exact: Sequence[str]
) -> tuple[float, int, int]:
    """Of the numbers with at most this chance: how likely so many agree, how many, of how many."""
    among = [name for name, chance in chances.items() if chance <= level]
    agreeing = len(set(among) & set(exact))
    return _tail([chances[name] for name in among], agreeing), agreeing, len(among)


def _chance(claim: Claim, rules: Rules) -> float:
    """How often another program's number, if it is within the margin, has all printed digits."""
    whole = {"percent": 100.0, "fraction": 1.0}.get(claim.scale)
    if abs(claim.value) in (0.0, whole):  # where whatever works ends
        return 1.0
    width = margin(claim, None, rules)
    share = claim.half_step / width if width else 1.0
    return min(1.0, max(share, 10.0 ** (FREE_DIGITS - digits(claim))))


def _tail(chances: Sequence[float], agreeing: int) -> float:
    """The probability that at least so many agree, each with its own chance; 1 of none."""
    counts = [1.0]
    for chance in chances:
        counts = [
            (counts[n] * (1 - chance) if n < len(counts) else 0.0)
            + (counts[n - 1] * chance if n else 0.0)
            for n in range(len(counts) + 1)
        ]
    return min(1.0, sum(counts[agreeing:]))


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

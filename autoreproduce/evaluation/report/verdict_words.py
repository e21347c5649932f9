"""What became of a trial, in one sentence: how many of the paper's numbers were reached, else how
the program's own number lies beside the task's reference.

It is made once, when the trial is judged, and kept in result.json. A trial without one (it
failed, was stopped, isn't finished) has its sentence made here.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoreproduce.claims.verdicts.comparable import MISSED
from autoreproduce.evaluation.report.claims_table import measured_text, own_claims, printed_text
from autoreproduce.evaluation.report.wording import band, metric_words, number, percent, phase_words

if TYPE_CHECKING:
    from autoreproduce.claims.verdicts.overall import Overall
    from autoreproduce.claims.verdicts.trial_verdict import JudgedClaim, Level, TrialVerdict
    from autoreproduce.task import Task
    from autoreproduce.trials.result import Result

# in remarks that are reasons too: how one run is repeated, and that several are one
FAILED_AFTER = "The program failed after it had written these numbers"
OWN_WORD = "their numbers are the program's own word"  # of further seeds
ONE_RUN, COUNT_AS_ONE = "One run:", "so they count as one"
ALIKE = 1.05  # ratio of ratios that are one for the reader
UNLIKE = ("not comparable", "untestable")
UNITS = (10, 60, 100, 1000, 1024, 3600, 1e6)  # factors between units and their kin
CLAIM_TOLERANCE = 1e-3  # relative: a program that prints four digits does not disagree with itself


@dataclass(frozen=True)
class Headline:
    """What comes first: `level` picks the colour and the mark, `sentence` is the whole verdict;
    `number` is shown large, "" for none, and `caption` says of what it is.
    """

    level: Level
    sentence: str
    reasons: tuple[str, ...] = ()
    number: str = ""
    caption: str = ""


def verdict(outcome: Result | None, task: Task | None, last_phase: str = "") -> Headline:
    """What became of the trial. `last_phase` is where an unfinished one was last seen."""
    if outcome is None:
        where = f"last seen in {_lower(last_phase)}" if last_phase else "no step was finished"
        return Headline("open", f"Not finished: {where}; the same command resumes there.")
    if outcome.status == "stopped":
        return Headline("open", _stopped_sentence(outcome))
    if outcome.status == "failed":
        told = _ran(outcome) and outcome.integrity != "void" and not _is_other(outcome)
        return Headline("open" if told else "bad", _failed_sentence(outcome))
    if outcome.sentence and outcome.level:
        return Headline(outcome.level, outcome.sentence)
    return Headline(number_level(outcome, task), trial_sentence(outcome, task, None))


def disagreement(outcome: Result) -> float | None:
    """What the program claimed, if that is not the number that counts; None if they agree.

    Of a run that saw decoys it should be the number against these.
    """
    if outcome.metric is None or outcome.claimed is None:
        return None
    own = outcome.metric if outcome.decoys is None else outcome.decoys
    same = math.isclose(own, outcome.claimed, rel_tol=CLAIM_TOLERANCE)
    return None if same else outcome.claimed


def metric_name(outcome: Result | None, task: Task | None) -> str:
    """The metric's true name in words; "the metric" if nothing names it."""
    if task is not None:
        return metric_words(task.metric.name)
    if outcome is not None:
        for name, value in outcome.metrics.items():
            if value in (outcome.metric, outcome.claimed):
                return metric_words(name)
    return "the metric"


def beyond(value: float, low: float, high: float, direction: str) -> tuple[bool, float]:
    """For a value outside a band: whether it is better, and its distance to the nearer end.

    The distance is a share of that end. One number is a band with `low` = `high`.
    """
    end = low if value < low else high
    better = (value < low) == (direction == "lower")
    return better, abs(value - end) / abs(end) if end else math.inf


AFTER = ("seeds", "readings", "last_look")  # phases of what ran in full


def _stopped_sentence(outcome: Result) -> str:
    if outcome.phase == "full_run":
        where = "Stopped during the full run"
    elif outcome.phase in AFTER:
        where = f"Stopped after the full run, in {_lower(outcome.phase)}"
    elif outcome.phase:
        where = f"Stopped before the full run, in {_lower(outcome.phase)}"
    else:
        where = "Stopped before the full run"
    reason = _clause(outcome.reason).removesuffix(": the same command resumes it")
    end = "" if reason.endswith("?") else "."
    return f"{where}: {reason}{end}" + (
        "" if "same command" in reason else " The same command resumes it."
    )


def _ran(outcome: Result) -> bool:
    """Whether a program that gave no number ran in full."""
    return outcome.details.get("ran") is True


def _is_other(outcome: Result) -> bool:
    """Whether the benchmark's own verdict is that what ran isn't the original."""
    return outcome.number is not None and outcome.number.passed is False


def _failed_sentence(outcome: Result) -> str:
    if outcome.integrity == "void":
        return f"Ran in full, but {_clause(outcome.reason)}."
    if _ran(outcome) and _is_other(outcome):
        return f"Ran in full, but not as the original does: {_clause(outcome.reason)}."
    if _ran(outcome):
        return f"Couldn't tell: it ran in full and gave no number: {_clause(outcome.reason)}."
    if outcome.phase == "full_run":
        return f"Did not run in full: {_clause(outcome.reason)}."
    if outcome.phase:
        return f"Did not run: {_lower(outcome.phase)} failed, {_clause(outcome.reason)}."
    return f"Did not run: {_clause(outcome.reason)}."


def trial_sentence(outcome: Result, task: Task | None, judged: TrialVerdict | None) -> str:
    """The one sentence on a trial that ran in full: of the paper's numbers, else of its own."""
    said = _sentence_on_numbers(outcome, task, judged)
    if outcome.number is not None and outcome.number.failed_after:
        how = outcome.number.failed_after.partition(":")[0]
        return f"{said[:-1]}; but the program failed after writing its numbers ({how})."
    return said


def _sentence_on_numbers(outcome: Result, task: Task | None, judged: TrialVerdict | None) -> str:
    if judged is not None and judged.overall.word != "not comparable":
        return _claims_sentence(judged)
    if outcome.metric is None or not math.isfinite(outcome.metric):
        return f"Ran in full, but no number was measured: {_clause(outcome.reason)}."
    own = own_claims(judged)
    if own and outcome.reference_of(task) is None:
        return _untold_sentence(own)
    return _reference_sentence(outcome, outcome.metric, task, own)


def number_level(outcome: Result, task: Task | None) -> Level:
    """Good within the reference's band, if the number was recomputed and nothing disputes it; open
    where there is nothing to hold it against.
    """
    value, reference = outcome.metric, outcome.reference_of(task) if task is not None else None
    if value is None or not math.isfinite(value):
        return "bad"
    if reference is None:
        return "open"
    if reference.band is None:
        return "mixed"
    trusted = (
        outcome.recomputed and outcome.integrity != "doubtful" and disagreement(outcome) is None
    )
    low, high = reference.band
    return "good" if trusted and low <= value <= high else "mixed"


def _claims_sentence(judged: TrialVerdict) -> str:
    """Under which reading more of the paper's numbers are reached, and how many were."""
    readings = judged.readings
    deciding = readings.deciding() if readings is not None else []
    if readings is None or not deciding:
        counted = _count_sentence(judged)[:-1] + _of_other_readings(judged) + "."
        return led_by(_explained_by_readings(judged), counted)
    text = readings.said_of(deciding)
    if len(readings.experiments) == 1:
        return f"{text[0].upper()}{text[1:]}."
    return led_by(text, _count_sentence(judged))


def led_by(explained: str, sentence: str) -> str:
    """The sentence on what was missed, with what explains it in front."""
    if not explained:
        return sentence
    return f"{explained}; {sentence[0].lower()}{sentence[1:]}"


def _explained_by_readings(judged: TrialVerdict) -> str:
    """Single numbers that another reading alone reproduces, where none reaches all; "" without."""
    readings, own = judged.readings, own_claims(judged)
    missed = {one.claim.id: one for one in own if one.verdict.word != "reproduced"}
    parts = []
    for how, names in (readings.explaining() if readings is not None else {}).items():
        found = [missed[name] for name in names if name in missed]
        if found:
            which = f"{len(found)} of {len(missed)} missed numbers"
            if len(found) == 1:
                which = f"{found[0].claim.title} ({printed_text(found[0].claim)})"
            parts.append(f"{which}: reproduced only {how}")
    return "; ".join(parts)


def _of_other_readings(judged: TrialVerdict) -> str:
    """What the other readings of one experiment that ran and moved a number make of it; "" if there
    are none.
    """
    readings, whole = judged.readings, judged.overall
    if readings is None or not readings.alternatives or len(readings.experiments) > 1:
        return ""
    still = sum(one.same for one in readings.alternatives)
    others = len(readings.alternatives) - still
    if not others:
        which = "the one other reading changes no" if still == 1 else "no other reading changes a"
        return f"; {which} number"
    agree = readings.agreeing() - still if whole.word == "reproduced" else 0
    reached = "it" if whole.counted == 1 else "them all"
    which = (
        f"{agree or 'none'} of {others} other readings" if others > 1 else "the one other reading"
    )
    verb = "reach" if agree > 1 else "reaches" if agree or others > 1 else "doesn't reach"
    said = f"; {which} {verb} {reached}"
    if whole.word == "reproduced":
        said += " too" if agree else f", {readings.default_named} does"
    return said


def so_far(judged: TrialVerdict, follows: str) -> str:
    """The result before what may take long, as a note."""
    return f"so far: {judged.sentence} {follows}"


def _untold_sentence(own: Sequence[JudgedClaim]) -> str:
    """Of numbers none of which could be compared: why not."""
    if len(own) == 1:
        paper, why = printed_text(own[0].claim), own[0].verdict.why
        return f"Couldn't tell: the paper's {paper} could not be compared ({_clause(why)})."
    reasons = list(dict.fromkeys(_clause(one.verdict.why) for one in own))
    shown = "; ".join(reasons[:2]) + f"; and {len(reasons) - 2} other reasons" * (len(reasons) > 2)
    return f"Couldn't tell: none of the paper's {len(own)} numbers could be compared ({shown})."


def _count_sentence(judged: TrialVerdict) -> str:
    """How many of the paper's numbers were reached: the most telling fact first, else the worst."""
    whole, own = judged.overall, own_claims(judged)
    if whole.counted == 1 and own:
        return _sentence_on_one(whole.word, own[0])
    count = whole.counted
    scaled = [one for one in own if one.verdict.factor != 1]
    if whole.word == "reproduced":
        if len(scaled) == whole.exact == count:
            return f"Reproduced: {_scale_words(scaled)} all {count} are equal."
        return f"Reproduced: all {count} numbers of the paper were reached{_rescaled(scaled, own)}."
    if whole.word == "partly":
        said = f"of the paper's {count} numbers, {_counts(whole, own)}"
        if whole.close == count:
            said = f"all {count} numbers came close to the paper's"
        elif whole.missed == 1 and whole.reproduced == count - 1 and not whole.broken:
            missed = next(one for one in own if one.verdict.word in MISSED)
            held = "the other holds" if count == 2 else f"the other {count - 1} hold"
            said = f"{_how_far(missed)}; {held}"
        return f"Partly reproduced: {said}{_rescaled(scaled, own)}{_shortened(own)}."
    if whole.word == "not reproduced":
        by = _one_direction(own) + _rescaled(scaled, own) + _shortened(own)
        return f"Not reproduced: {_missed(whole, own)}{by}."
    return f"Couldn't tell: the program gave none of the paper's {count} numbers."


def _sentence_on_one(word: str, one: JudgedClaim) -> str:
    """The sentence on an experiment with one claim."""
    paper, measured = printed_text(one.claim), measured_text(one)
    measured = f"a difference of {measured}" if one.claim.than else measured
    both, why = f"the paper says {paper}, the program measured {measured}", _clause(one.verdict.why)
    both += f", the same in all {one.verdict.repeats} runs" if one.verdict.repeats > 1 else ""
    if word == "not measured":
        return f"Couldn't tell: the program gave no number for the paper's {paper}."
    if word == "reproduced":
        scale = f"{_scale_words([one])} it is equal: " if one.verdict.factor != 1 else ""
        return f"Reproduced: {scale}{both}."
    if word == "partly":
        return f"Partly reproduced, for it is close: {both}."
    return f"Not reproduced: {both} ({why})."


def _scale_words(scaled: Sequence[JudgedClaim]) -> str:
    """ "the code prints fractions; times 100": how ours became the paper's."""
    if scaled[0].verdict.factor > 1:
        return "the code prints fractions; times 100"
    return "the code prints percentages; divided by 100"


def _rescaled(scaled: Sequence[JudgedClaim], own: Sequence[JudgedClaim]) -> str:
    """ "the code prints 2 of them as fractions", at a sentence's end; "" if none was rescaled."""
    if not scaled:
        return ""
    form = "fraction" if scaled[0].verdict.factor > 1 else "percentage"
    if len(scaled) == len(own):
        return f" (the code prints {form}s)"
    as_what = f"1 of them as a {form}" if len(scaled) == 1 else f"{len(scaled)} of them as {form}s"
    return f" (the code prints {as_what})"


def _shortened(own: Sequence[JudgedClaim]) -> str:
    """ "in a run that was shortened from 1,000 to 50 repetitions", where a number that wasn't
    reached is of one.
    """
    found = [one.verdict.shortened for one in own if one.verdict.word != "reproduced"]
    short = list(dict.fromkeys(filter(None, found)))
    if not short:
        return ""
    return f", in a run that was shortened {' and '.join(short[:2])}"


def _how_far(one: JudgedClaim) -> str:
    """A missed number in a few words: "LQR / cost is 22 % above the paper"."""
    gap, verdict = one.claim.sign * (one.verdict.difference or 0.0), one.verdict
    if one.claim.kind != "number" or not gap:
        return f"{one.claim.title} doesn't hold ({_clause(verdict.why)})"
    by = percent(abs(verdict.relative)) if verdict.relative else number(abs(gap))
    return f"{one.claim.title} is {by} {'above' if gap > 0 else 'below'} the paper"


def _missed(whole: Overall, own: Sequence[JudgedClaim]) -> str:
    """ "5 of 6 missed, 1 came close"; what could not be compared is no miss."""
    compared = whole.missed + whole.close + whole.reproduced
    share = "all" if whole.missed == compared else f"{whole.missed} of"
    parts = [f"{share} {compared} missed" if compared > 1 else "the one that was compared missed"]
    parts += [f"{whole.close} came close"] if whole.close else []
    return ", ".join([*parts, *_untold(own)])


def _one_direction(own: Sequence[JudgedClaim]) -> str:
    """If all missed numbers lie on one side of the paper's, by which ratio; "" if not."""
    missed = [one for one in own if one.verdict.word in MISSED and one.claim.kind == "number"]
    ratios = [
        one.verdict.mean / one.verdict.paper
        for one in missed
        if one.verdict.mean and one.verdict.paper and one.verdict.mean * one.verdict.paper > 0
    ]
    if len(missed) < 2 or len(ratios) < len(missed):
        return ""
    low, high = min(ratios), max(ratios)
    if low <= 1 <= high:
        return ""
    if high > ALIKE * low:
        return f", each {'above' if low > 1 else 'below'} the paper's: {band(low, high)} times it"
    middle = math.sqrt(low * high)
    unit = any(abs(math.log(middle * f)) < math.log(ALIKE) for u in UNITS for f in (u, 1 / u))
    hint = "is the unit or the split another?" if unit else "is it another split or setting?"
    return f", each about {number(float(f'{middle:.2g}'))} times the paper's ({hint})"


def _counts(whole: Overall, own: Sequence[JudgedClaim]) -> str:
    """The worst first."""

    def were(count: int, word: str) -> list[str]:
        return [f"{count} {'was' if count == 1 else 'were'} {word}"] if count else []

    close = [f"{whole.close} came close"] if whole.close else []
    missed, reached = were(whole.missed, "missed"), were(whole.reproduced, "reached")
    return ", ".join([*missed, *_untold(own), *close, *reached])


def _untold(own: Sequence[JudgedClaim]) -> list[str]:
    """How many could not be compared, and how many the program gave no number for."""
    words = [one.verdict.word for one in own]
    unlike, none = sum(word in UNLIKE for word in words), words.count("not measured")
    told = [f"{unlike} couldn't be compared"] if unlike else []
    return [*told, f"{none} {'wasn' if none == 1 else 'weren'}'t measured"] if none else told


def _reference_sentence(
    outcome: Result, value: float, task: Task | None, claims: Sequence[JudgedClaim]
) -> str:
    """Of a number that only our own reference can be held against; `claims` cannot be compared."""
    reference = outcome.reference_of(task)
    named = f"{metric_name(outcome, task)} {number(value)}"
    small = task is not None and (task.profile != "full" or bool(task.stand_in))
    untested = "; its number is not comparable with the paper's" if small or claims else ""
    if task is None or reference is None:
        return f"Ran in full: {named}, with nothing here to hold it against{untested}."
    low, high = reference.band or (reference.value, reference.value)
    where = " on a small version of the experiment" if small else ""
    own = "our reference" if task.measured is not None or outcome.reference else "the published one"
    if low <= value <= high:
        return f"The program does as well as {own}{where}{untested}."
    better, share = beyond(value, low, high, task.metric.direction)
    by = percent(share) if math.isfinite(share) else "far"
    return (
        f"The program does {'better' if better else 'worse'} than {own}, by {by}{where}{untested}."
    )


def _lower(phase: str) -> str:
    words = phase_words(phase)
    return words[0].lower() + words[1:]


def _clause(reason: str) -> str:
    return " ".join(reason.split()).rstrip(".") or "no reason was recorded"

"""What comes first on a report: one sentence, one number, at most three reasons.

The sentence is the one in result.json; the reasons say to someone who has read nothing else why
it is so, the last whether the program was seen to be the paper's method.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from autoreproduce.evaluation.report.audit_page import audit_sentence
from autoreproduce.evaluation.report.claims_table import own_claims, printed_text
from autoreproduce.evaluation.report.verdict_words import (
    COUNT_AS_ONE,
    FAILED_AFTER,
    ONE_RUN,
    OWN_WORD,
    Headline,
    disagreement,
    metric_name,
    verdict,
)
from autoreproduce.evaluation.report.wording import band, number

if TYPE_CHECKING:
    from autoreproduce.claims.claim import Claim
    from autoreproduce.claims.verdicts.overall import Overall
    from autoreproduce.claims.verdicts.trial_verdict import TrialVerdict
    from autoreproduce.evaluation.report.evidence import Evidence
    from autoreproduce.task import Task
    from autoreproduce.trials.result import Result

MOST_REASONS = 3
FRESH = (
    "The number was measured on data drawn after the program was written, so the program cannot "
    "have known the answers."
)


def headline(found: Evidence, task: Task | None) -> Headline:
    """The first words on a trial."""
    outcome, judged = found.result, found.verdict
    known = verdict(outcome, task, found.last_phase)
    counted = judged is not None and judged.overall.word != "not comparable"
    if outcome is None or outcome.status != "measured" or (outcome.sentence and judged is None):
        return known
    has_number = outcome.metric is not None and math.isfinite(outcome.metric)
    if not counted and not has_number:
        return known
    of_method = _method_reasons(outcome, task, judged)
    found_late = judged.confirmed if judged is not None else ()
    confirmed = [one for one in found_late if one.rstrip(".") not in known.sentence]
    reasons = [*_doubts(outcome, judged), *confirmed, *_number_reasons(outcome, task, judged)]
    reasons = [*reasons[: MOST_REASONS - len(of_method)], *of_method]
    several = judged is not None and counted and judged.overall.counted > 1
    if judged is not None and several:
        shown, caption = _count(judged.overall)
    else:
        shown, caption = _single_number(found, outcome, task, judged if counted else None)
    if not has_number and not several:
        shown, caption = "", ""
    return replace(known, reasons=tuple(reasons), number=shown, caption=caption)


def _count(whole: Overall) -> tuple[str, str]:
    """How many of the paper's numbers were reached, or what became of most where none was."""
    many, word = whole.reproduced, "reached"
    if not many and whole.word == "not reproduced":
        many, word = whole.missed, "missed"
    elif not many and whole.close:
        many, word = whole.close, "came close"
    return f"{many} of {whole.counted}", f"of the paper's numbers {word}"


def number_name(found: Evidence, task: Task | None) -> str:
    """What the trial's number is of: the metric, or of code that is verified the claim."""
    claim = claim_of_program(found)
    return claim.title if claim else metric_name(found.result, task)


def claim_of_program(found: Evidence) -> Claim | None:
    """The claim whose number a verified program's number is; it has no metric of its own."""
    if found.record is None or found.record.job.program is None or found.verdict is None:
        return None
    outcome = found.result
    numbers = outcome.metrics if outcome else {}
    same = (
        c.claim
        for c in found.verdict.claims
        if outcome and numbers.get(c.claim.id) == outcome.metric
    )
    return next(same, None)


def _single_number(
    found: Evidence, outcome: Result, task: Task | None, judged: TrialVerdict | None
) -> tuple[str, str]:
    """The trial's number and of what it is; the mean where the claim was judged by several runs."""
    caption, claim = number_name(found, task), claim_of_program(found)
    direction = claim.direction if claim else task.metric.direction if task else "match"
    caption += f", {direction} is better" if direction != "match" else ""
    of_metric = [
        one.verdict for one in own_claims(judged) if one.claim.is_of_metric or one.claim == claim
    ]
    if of_metric and of_metric[0].mean is not None and len(of_metric[0].values) > 1:
        return number(of_metric[0].mean), f"{caption}; mean of {len(of_metric[0].values)} runs"
    return number(outcome.metric or 0.0), caption


def _doubts(outcome: Result, judged: TrialVerdict | None) -> list[str]:
    """What takes trust from the number, first."""
    remarks = judged.remarks if judged is not None else ()
    found = [one for one in remarks if one.startswith(FAILED_AFTER)]
    if outcome.integrity == "doubtful":
        found.append("The number's integrity is doubtful: see the warnings.")
    if (claimed := disagreement(outcome)) is not None:
        own = outcome.metric if outcome.decoys is None else outcome.decoys
        found.append(
            f"The program claimed {number(claimed, own or 0.0)} but its predictions give "
            f"{number(own or 0.0, claimed)}: the recomputed number counts."
        )
    unchecked = outcome.integrity == "unchecked"
    if not outcome.recomputed and (unchecked or judged is None):
        several = judged is not None and len(judged.claims) > 1
        told = ("The numbers are", "them") if several else ("The number is", "it")
        reasons = outcome.number.not_recomputed.values() if outcome.number is not None else ()
        looked = outcome.number is not None and outcome.number.integrity is not None
        word = "unchecked, the program's own word" if looked else "the program's own word"
        why = f"nothing recomputed {told[1]}"
        if len(set(reasons)) == 1:  # the fine print has all of it
            why = next(iter(reasons)).partition(". ")[0]
        found.append(f"{told[0]} {word}: {why}.")
    if outcome.recomputed:
        found += [one for one in remarks if OWN_WORD in one]
    return found


def _number_reasons(outcome: Result, task: Task | None, judged: TrialVerdict | None) -> list[str]:
    """What the number was held against, and what it could not be held against."""
    found = []
    whole = judged.overall if judged is not None else None
    if judged is not None and whole is not None and whole.word != "not comparable":
        if whole.exact:
            found.append(f"{whole.exact} of {whole.counted} agree in every printed digit.")
        if whole.broken:
            found.append(f"Of the paper's orderings, {whole.broken} do not hold.")
        found += [one for one in judged.remarks if ONE_RUN in one or COUNT_AS_ONE in one]
        own = own_claims(judged)
        if whole.counted == 1 and own and not found and whole.word != "not reproduced":
            found.append(f"By the rule for it: {own[0].verdict.why.rstrip('.')}.")
        return found
    reference = outcome.reference_of(task)
    if reference is not None and outcome.metric is not None:
        span = band(*reference.band) if reference.band else ""
        where = " on the same fresh data" if outcome.reference is not None else ""
        value = number(outcome.metric, reference.value)
        found.append(
            f"The program gives {value}, the reference {span or number(reference.value)}{where}."
        )
    if why := _why_not_comparable(task, judged):
        found.append(why)
    return found


def _why_not_comparable(task: Task | None, judged: TrialVerdict | None) -> str:
    own = own_claims(judged)
    if task is not None and task.stand_in:
        what = task.stand_in[0].lower() + task.stand_in[1:].rstrip(". ")
        return f"The paper's own number is not tested, since the data are a stand-in: {what}."
    if own:
        paper = f"{printed_text(own[0].claim)} is" if len(own) == 1 else "numbers are"
        return f"The paper's {paper} not tested: {own[0].verdict.why.rstrip('.')}."
    return ""


def _method_reasons(outcome: Result, task: Task | None, judged: TrialVerdict | None) -> list[str]:
    """Whether the program is the paper's method, which no number says."""
    if judged is None:
        return []
    if said := audit_sentence(outcome.audit):
        return [said]
    method = judged.overall.method
    if task is not None and task.number_cannot_tell:
        return [f"Another method could reach this number: {task.number_cannot_tell.rstrip('.')}."]
    if method.score is not None:
        return [f"A judge gave the program {method.score:.3g} of 100 for following the paper."]
    return ["Whether the program follows the paper's method was not checked."]

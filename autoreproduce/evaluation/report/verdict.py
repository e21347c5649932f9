"""What became of a trial, in one sentence: its verdict, else what is in its place.

A trial that was judged by the paper's claims carries its sentence. For any other, and beside claims
that cannot be compared, the number is held against the task's reference: `number_words`. A single
reference number has no band, so the distance is stated and no judgement made; a number better than
the band is a deviation too. The band is compared here, with the numbers themselves, whatever flag
the outcome carries.
"""

import math
from dataclasses import dataclass
from typing import Literal

from autoreproduce.evaluation.report.wording import band, metric_words, number, percent, phase_words
from autoreproduce.task import Result, Task
from autoreproduce.trials.trial import Outcome

Level = Literal["good", "mixed", "bad", "open"]
CLAIM_TOLERANCE = 1e-3  # relative: a program that prints four digits does not disagree with itself


@dataclass(frozen=True)
class ReportVerdict:
    """`level` picks the colour and the mark; `sentence` is the whole verdict."""

    level: Level
    sentence: str


def verdict(outcome: Outcome | None, task: Task | None, last_phase: str = "") -> ReportVerdict:
    """What became of the trial. `last_phase` is where an unfinished one was last seen."""
    if outcome is None:
        where = f"last seen in {_lower(last_phase)}" if last_phase else "no step was finished"
        return ReportVerdict("open", f"Not finished: {where}; the same command resumes there.")
    if outcome.status == "stopped":
        return ReportVerdict("open", _stopped_sentence(outcome))
    if outcome.status == "failed":
        return ReportVerdict("bad", _failed_sentence(outcome))
    if outcome.sentence and outcome.level:
        return ReportVerdict(outcome.level, outcome.sentence)
    level, words = number_words(outcome, task)
    return ReportVerdict(level, words + ".")


def disagreement(outcome: Outcome) -> float | None:
    """What the program claimed, if that is not the number that counts; None if they agree.

    Of a run that saw decoys it should be the number against these.
    """
    if outcome.metric is None or outcome.claimed is None:
        return None
    own = outcome.metric if outcome.decoys is None else outcome.decoys
    same = math.isclose(own, outcome.claimed, rel_tol=CLAIM_TOLERANCE)
    return None if same else outcome.claimed


def metric_name(outcome: Outcome | None, task: Task | None) -> str:
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


def _stopped_sentence(outcome: Outcome) -> str:
    if outcome.phase == "full_run":
        where = "Stopped during the full run"
    elif outcome.phase:
        where = f"Stopped before the full run, in {_lower(outcome.phase)}"
    else:
        where = "Stopped before the full run"
    return f"{where}: {_clause(outcome.reason)}. It can be resumed."


def _failed_sentence(outcome: Outcome) -> str:
    if outcome.integrity == "void":
        return f"Ran in full, but {_clause(outcome.reason)}."
    if outcome.details.get("ran") is True:
        return f"Ran in full and gave no number: {_clause(outcome.reason)}."
    if outcome.phase == "full_run":
        return f"Did not run in full: {_clause(outcome.reason)}."
    if outcome.phase:
        return f"Did not run: {_lower(outcome.phase)} failed, {_clause(outcome.reason)}."
    return f"Did not run: {_clause(outcome.reason)}."


def number_words(outcome: Outcome, task: Task | None) -> tuple[Level, str]:
    """Level and words for the number of a program that ran in full, beside the reference's."""
    if outcome.metric is None or not math.isfinite(outcome.metric):
        why = _clause(outcome.reason)
        return "bad", f"Ran in full, but no number was measured: {why}"
    level, words = _against_reference(outcome, outcome.metric, task)
    if task is not None and task.profile != "full":
        words += f" ({task.profile} profile)"
    claimed = disagreement(outcome)
    if claimed is not None:  # a disputed number is never a clean success
        level = "mixed"
        words += f"; the program itself claimed {number(claimed, outcome.metric)}"
    if outcome.integrity == "doubtful":
        level = "mixed"
        words += "; its integrity is doubtful, see the warnings"
    return level, words


def _against_reference(outcome: Outcome, value: float, task: Task | None) -> tuple[Level, str]:
    """Level and sentence for a number, by what there is to compare it with."""
    reference = outcome.reference_of(task)
    if task is not None and reference is not None:
        if reference.low is not None and reference.high is not None:
            return _against_band(outcome, value, task, (reference.low, reference.high))
        return "mixed", f"Ran in full: {_against_number(outcome, value, task, reference)}"
    missing = "reference" if task is not None else "task"
    named = f"{metric_name(outcome, task)} {number(value)}"
    return "mixed", f"Ran in full: {named}; there is no {missing} to compare it with"


def _against_band(
    outcome: Outcome, value: float, task: Task, ends: tuple[float, float]
) -> tuple[Level, str]:
    low, high = ends
    name = f"{metric_name(outcome, task)} {number(value, low, high)}"
    place = f"the {_reference_words(task)} band {band(low, high)}"
    if outcome.reference is not None:
        place = f"what the reference gives on the same fresh data, {band(low, high)}"
    own_word = "" if outcome.recomputed else " by the program's own word"
    if low <= value <= high:  # a claim that nothing bears out is no clean success
        return "mixed" if own_word else "good", f"Within {place}: {name}{own_word}"
    better, distance = beyond(value, low, high, task.metric.direction)
    # better is a deviation too, and sometimes a sign of test data in training
    side = "better" if better else "worse"
    return "mixed", f"Outside {place}: {name}{own_word} is {side} by {percent(distance)}"


def _against_number(outcome: Outcome, value: float, task: Task, reference: Result) -> str:
    other = reference.value
    name = f"{metric_name(outcome, task)} {number(value, other)}"
    words = f"the {_reference_words(task)} {number(other, value)}, one number without a band"
    if value == other:
        return f"{name}, equal to {words}"
    better, share = beyond(value, other, other, task.metric.direction)
    distance = percent(share) if math.isfinite(share) else "infinitely"
    return f"{name}, {distance} {'better' if better else 'worse'} than {words}"


def _reference_words(task: Task) -> str:
    if task.measured is not None:
        return "reference"
    return "published reference" if task.profile == "full" else "published full-scale reference"


def _lower(phase: str) -> str:
    words = phase_words(phase)
    return words[0].lower() + words[1:]


def _clause(reason: str) -> str:
    return " ".join(reason.split()).rstrip(".") or "no reason was recorded"

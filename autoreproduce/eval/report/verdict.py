"""The verdict on a trial, in one sentence: a pure function of the outcome and the task.

Only a number that was recomputed and lies inside a band measured over seeds is called «Reproduced». A single
reference number has no band, so the distance is said and no judgement made; a number better than the band is
a deviation too. The band is compared here, with the numbers at hand, whatever flag the outcome carries.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from autoreproduce.eval.report.wording import band, metric_words, number, percent, phase_words
from autoreproduce.task import Result, Task
from autoreproduce.trial import Outcome

Level = Literal["good", "mixed", "bad", "open"]
CLAIM_TOLERANCE = 1e-3  # relative: a program that prints four digits does not disagree with itself


@dataclass(frozen=True)
class Verdict:
    """`level` picks the colour and the mark; `sentence` says it all."""

    level: Level
    sentence: str


def verdict(outcome: Outcome | None, task: Task | None, last_phase: str = "") -> Verdict:
    """What became of the trial. `last_phase` is where an unfinished one was last seen."""
    if outcome is None:
        where = f"last seen in {_lower(last_phase)}" if last_phase else "no step was finished"
        return Verdict("open", f"Not finished: {where}; the same command goes on from there.")
    if outcome.status == "stopped":
        return Verdict("open", _stopped(outcome))
    if outcome.status == "failed":
        return Verdict("bad", _failed(outcome))
    return _finished(outcome, task)


def disagreement(outcome: Outcome) -> float | None:
    """What the program claimed, where that is not the number that counts; None where they agree."""
    if outcome.metric is None or outcome.claimed is None:
        return None
    same = math.isclose(outcome.metric, outcome.claimed, rel_tol=CLAIM_TOLERANCE)
    return None if same else outcome.claimed


def metric_name(outcome: Outcome | None, task: Task | None) -> str:
    """The metric's true name in words; «the metric» where nothing tells it."""
    if task is not None:
        return metric_words(task.metric.name)
    if outcome is not None:
        for name, value in outcome.metrics.items():
            if value in (outcome.metric, outcome.claimed):
                return metric_words(name)
    return "the metric"


def beyond(value: float, low: float, high: float, direction: str) -> tuple[bool, float]:
    """For a value outside a band: is it better, and its distance to the nearer end as a share of that."""
    end = low if value < low else high
    better = (value < low) == (direction == "lower")
    return better, abs(value - end) / abs(end) if end else math.inf


def _stopped(outcome: Outcome) -> str:
    if outcome.phase == "full_run":
        where = "Stopped during the full run"
    elif outcome.phase:
        where = f"Stopped before the full run, in {_lower(outcome.phase)}"
    else:
        where = "Stopped before the full run"
    return f"{where}: {_clause(outcome.reason)}. It can be resumed."


def _failed(outcome: Outcome) -> str:
    if outcome.phase == "full_run":
        return f"Did not run in full: {_clause(outcome.reason)}."
    if outcome.phase:
        return f"Did not run: {_lower(outcome.phase)} failed, {_clause(outcome.reason)}."
    return f"Did not run: {_clause(outcome.reason)}."


def _finished(outcome: Outcome, task: Task | None) -> Verdict:
    """The sentence for a program that ran in full."""
    if outcome.metric is None or not math.isfinite(outcome.metric):
        return Verdict("bad", f"Ran in full, but no number was measured: {_clause(outcome.reason)}.")
    if task is None:
        return _against_flag(outcome)
    reference = task.reference
    if reference is None:
        name = f"{metric_name(outcome, task)} {number(outcome.metric)}"
        said = f"Ran in full: {name}; there is no reference to compare it with"
        return _closed("mixed", said, outcome, task)
    if reference.low is not None and reference.high is not None:
        return _against_band(outcome, task, reference, reference.low, reference.high)
    return _against_number(outcome, task, reference)


def _against_band(outcome: Outcome, task: Task, reference: Result, low: float, high: float) -> Verdict:
    value = outcome.metric or 0.0
    name = f"{metric_name(outcome, task)} {number(value, low, high)}"
    where = f"{_reference_words(task)} band {band(low, high)}"
    if low <= value <= high and not outcome.recomputed:  # a claim that nothing bears out
        return _closed("mixed", f"Ran in full: {name} by the program's own word, within the {where}", outcome, task)
    if low <= value <= high:
        return _closed("good", f"Reproduced: {name}, within the {where}", outcome, task)
    better, distance = beyond(value, low, high, task.metric.direction)
    if better:  # a deviation too, and sometimes a sign of test data in training
        said = f"Ran in full, and {name} is better than the {where} by {percent(distance)}"
    else:
        said = f"Ran in full, but {name} is worse than the {where} by {percent(distance)}"
    return _closed("mixed", said, outcome, task)


def _against_number(outcome: Outcome, task: Task, reference: Result) -> Verdict:
    value, other = outcome.metric or 0.0, reference.value
    name = f"{metric_name(outcome, task)} {number(value, other)}"
    where = f"the {_reference_words(task)} {number(other, value)}, one number without a band"
    better = (value < other) == (task.metric.direction == "lower")
    if value == other:
        said = f"{name}, equal to {where}"
    else:
        distance = percent(abs(value - other) / abs(other)) if other else "infinitely"
        said = f"{name}, {distance} {'better' if better else 'worse'} than {where}"
    return _closed("mixed", f"Ran in full: {said}", outcome, task)


def _against_flag(outcome: Outcome) -> Verdict:
    """Without the task only the outcome's own flag is left."""
    name = f"{metric_name(outcome, None)} {number(outcome.metric or 0.0)}"
    if outcome.within_band is None:
        return _closed("mixed", f"Ran in full: {name}; the task is not at hand to compare it", outcome, None)
    if outcome.within_band:
        return _closed("good", f"Reproduced: {name}, within the reference band", outcome, None)
    return _closed("mixed", f"Ran in full, but {name} is outside the reference band", outcome, None)


def _closed(level: Level, said: str, outcome: Outcome, task: Task | None) -> Verdict:
    """Add the profile and a disputed claim; a disputed number is never a clean success."""
    if task is not None and task.profile != "full":
        said += f" ({task.profile} profile)"
    claimed = disagreement(outcome)
    if claimed is not None:
        said += f"; the program itself claimed {number(claimed, outcome.metric or 0.0)}"
        level = "mixed"
    return Verdict(level, said + ".")


def _reference_words(task: Task) -> str:
    if task.measured is not None:
        return "reference"
    return "published reference" if task.profile == "full" else "published full-scale reference"


def _lower(phase: str) -> str:
    words = phase_words(phase)
    return words[0].lower() + words[1:]


def _clause(reason: str) -> str:
    return " ".join(reason.split()).rstrip(".") or "no reason was recorded"

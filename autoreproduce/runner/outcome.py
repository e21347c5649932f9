"""How a trial ended, what it cost and what its number means: all that outcome.json says.

The outcome is made once, from the submission, the measurement and the journal, when a trial ends.
"""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from autoreproduce.benchmarks import benchmark_of
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.scorers.gap import signed_gap
from autoreproduce.sandboxes.setup import NO_ISOLATION
from autoreproduce.trials.measurement import FILE
from autoreproduce.trials.steps import by_phase, dollars_of, model_results, sums_of, usage_of
from autoreproduce.trials.trial import Outcome

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoreproduce.contracts import Submission
    from autoreproduce.sandboxes.setup import SandboxSetup
    from autoreproduce.task import Task
    from autoreproduce.trials.integrity import Integrity
    from autoreproduce.trials.measurement import Measurement
    from autoreproduce.trials.trial import Trial


def outcome_of(submission: Submission, measurement: Measurement, task: Task) -> Outcome:
    """How the trial ended, from what the solver submitted and what the harness measured of it."""
    missing = measurement.wanted and measurement.value is None
    integrity = measurement.integrity
    void = integrity is not None and integrity.word == "void"
    failed = submission.status == "failed" or missing or void or measurement.passed is False
    outcome = Outcome(
        status="failed" if failed else "measured",
        reason=measurement.reason or (_void_reason(integrity) if void else submission.reason),
        phase=measurement.phase or submission.phase,
        metrics=measurement.metrics,
        metric=None if void else measurement.value,
        integrity=integrity.word if integrity else "",
        decoys=measurement.decoys,
        reference=measurement.pair.result if measurement.pair else None,
        claimed=measurement.claimed,
        recomputed=measurement.recomputed,
        warnings=[*submission.warnings, *measurement.warnings],
        not_reproduced=list(submission.not_reproduced),
        notes=[*task.notes, *measurement.notes],
        phases=dict(submission.phases),
        lineage=list(submission.lineage),
        edits=dict(submission.edits),
        details={**measurement.summary, **submission.details},
    )
    if submission.run is not None:
        outcome.details["ran"] = submission.run.ok and not void
    if failed and measurement.wanted:
        outcome.not_reproduced[:0] = [f"the metric {task.metric.name}: {outcome.reason}"]
    return outcome


def _void_reason(integrity: Integrity | None) -> str:
    """A fabricated result counts as none: what shows that it is one."""
    findings = integrity.findings if integrity else []
    return "the result is void: " + "; ".join(each.text for each in findings if each.void)


def measured(
    trial: Trial, task: Task, submission: Submission, sandboxes: SandboxSetup
) -> tuple[Outcome, Measurement]:
    """What the task's benchmark makes of a submission, written down, and the outcome so far."""
    measurement = benchmark_of(task).measure(task, submission, trial, sandboxes)
    trial.write(FILE, measurement.model_dump_json(indent=1))
    return outcome_of(submission, measurement, task), measurement


def write_end(
    outcome: Outcome,
    trial: Trial,
    task: Task,
    sandboxes: SandboxSetup,
    seconds: float = 0.0,
    warnings: Sequence[str] = (),
) -> None:
    """Close the accounts and write the outcome, with what comes first."""
    _close_accounts(outcome, trial, task, seconds)
    outcome.warnings += warnings
    if sandboxes.unisolated or not outcome.isolated:
        outcome.isolated = False
        outcome.warnings = list(dict.fromkeys([NO_ISOLATION, *outcome.warnings]))
    trial.write_outcome(outcome)


def _close_accounts(outcome: Outcome, trial: Trial, task: Task, seconds: float) -> None:
    """Fill in usage, cost, seconds and, where there is a metric, its distance from the
    reference.
    """
    calls = model_results(trial.steps)
    outcome.usage = usage_of(calls)
    outcome.details["models"] = sorted({call.model for call in calls})
    outcome.cost = dollars_of(calls)
    outcome.seconds = round(max(seconds, sum(step.seconds for step in trial.steps)), 1)
    for name, steps in by_phase(trial.steps).items():
        sums = sums_of(steps)
        sums["cost"] = sums.pop("dollars")
        outcome.phases.setdefault(name, {}).update(sums)
    if outcome.metric is not None:
        _compare(outcome, task)


def _compare(outcome: Outcome, task: Task) -> None:
    """The signed gap to the reference (above 0 is worse) and whether the number lies in its band.

    A number for which the gap is not defined has none.
    """
    reference = outcome.reference_of(task)
    if reference is None or outcome.metric is None:
        return
    with suppress(UsageError):
        outcome.gap = signed_gap(reference.value, outcome.metric, task.metric.direction)
    if reference.band is not None:
        outcome.within_band = reference.band[0] <= outcome.metric <= reference.band[1]

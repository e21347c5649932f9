"""A trial's result, made when it ends: from the submission, the measurement and the journal."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

from autoreproduce.errors import AutoReproduceError, UsageError
from autoreproduce.evaluation.scorers.gap import signed_gap
from autoreproduce.sandboxes.setup import NO_ISOLATION
from autoreproduce.trials.result import Result
from autoreproduce.trials.steps import by_phase, dollars_of, model_results, sums_of, usage_of

if TYPE_CHECKING:
    from autoreproduce.contracts import Submission
    from autoreproduce.sandboxes.setup import SandboxSetup
    from autoreproduce.task import Task
    from autoreproduce.trials.integrity import Integrity
    from autoreproduce.trials.measurement import Measurement
    from autoreproduce.trials.trial import Trial


def result_of(submission: Submission, measurement: Measurement, task: Task) -> Result:
    """How the trial ended, from what the solver submitted and what the harness measured of it."""
    missing = measurement.wanted and measurement.value is None
    integrity = measurement.integrity
    void = integrity is not None and integrity.word == "void"
    failed = submission.status == "failed" or missing or void or measurement.passed is False
    result = Result(
        status="failed" if failed else "measured",
        reason=measurement.reason or (_void_reason(integrity) if void else submission.reason),
        phase=measurement.phase or submission.phase,
        # what a reader of the whole must know stands there once, and not with the number too
        number=measurement.model_copy(update={"warnings": [], "notes": [], "summary": {}}),
        warnings=[*submission.warnings, *measurement.warnings],
        not_reproduced=list(submission.not_reproduced),
        notes=[*task.notes, *measurement.notes],
        lineage=list(submission.lineage),
        audit=submission.audit,
        details={**measurement.summary, **submission.details},
    )
    result.cost.phases, result.cost.edits = dict(submission.phases), dict(submission.edits)
    if submission.run is not None:
        result.details.setdefault("ran", submission.run.ok and not void)
    if failed and measurement.wanted:
        result.not_reproduced[:0] = [f"the metric {task.metric.name}: {result.reason}"]
    return result


def stopped_by(result: Result) -> BaseException:
    """What ended a trial that was stopped, as an error with its exit code."""
    if "exit_code" not in result.details:
        return KeyboardInterrupt()
    facts = result.details
    error = AutoReproduceError(result.reason, retryable=facts["retryable"], kind=facts["error"])
    error.exit_code = facts["exit_code"]
    return error


def _void_reason(integrity: Integrity | None) -> str:
    """A fabricated result counts as none: what shows that it is one."""
    findings = integrity.findings if integrity else []
    return "the result is void: " + "; ".join(each.text for each in findings if each.void)


def write_end(
    result: Result, trial: Trial, task: Task, sandboxes: SandboxSetup, seconds: float = 0.0
) -> None:
    """Close the accounts and write the result, with what comes first."""
    _close_accounts(result, trial, task, seconds)
    if sandboxes.unisolated or not result.isolated:
        result.isolated = False
        result.warnings = list(dict.fromkeys([NO_ISOLATION, *result.warnings]))
    trial.write_result(result)


def _close_accounts(result: Result, trial: Trial, task: Task, seconds: float) -> None:
    """Fill in usage, cost, seconds and, where there is a metric, its distance from the
    reference.
    """
    calls = model_results(trial.steps)
    result.cost.usage = usage_of(calls)
    result.cost.models = sorted({call.model for call in calls})
    result.cost.dollars = dollars_of(calls)
    result.cost.seconds = round(max(seconds, sum(step.seconds for step in trial.steps)), 1)
    for name, steps in by_phase(trial.steps).items():
        sums = sums_of(steps)
        sums["cost"] = sums.pop("dollars")
        result.cost.phases.setdefault(name, {}).update(sums)
    if result.metric is not None:
        _compare(result, task)


def _compare(result: Result, task: Task) -> None:
    """The signed gap to the reference (above 0 is worse) and whether the number lies in its band.

    A number for which the gap is not defined has none.
    """
    reference = result.reference_of(task)
    if reference is None or result.metric is None:
        return
    with suppress(UsageError):
        result.gap = signed_gap(reference.value, result.metric, task.metric.direction)
    if reference.band is not None:
        result.within_band = reference.band[0] <= result.metric <= reference.band[1]

"""A trial's result as flat rows: of the trial, its claims, its differences, its scores.

What a data frame of the Python API holds; a column means the same in every row.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import stdev
from typing import Any

from autoreproduce.claims.differences import NOT_AS_STATED
from autoreproduce.claims.verdicts.trial_verdict import JudgedClaim
from autoreproduce.contracts import Score
from autoreproduce.evaluation.tables.rows import trial_row
from autoreproduce.task import Task
from autoreproduce.trials.result import Result
from autoreproduce.trials.trial import Trial

Rows = list[dict[str, Any]]
COLUMNS = (
    "task", "variant", "profile", "solver", "model", "verdict", "integrity", "metric", "reference",
    "signed_gap", "executed", "dollars", "tokens", "seconds",
)  # fmt: skip


def _of_trial(path: Path, task: Task, result: Result, scores: Sequence[Score]) -> Rows:
    row = trial_row(path.parent, Trial.read(path), task, result)
    audit = result.audit
    return [
        {
            "trial": str(path),
            "status": result.status,
            **{name: getattr(row, name) for name in COLUMNS},
            "claims": len(result.judged),
            "reproduced": sum(one.verdict.word == "reproduced" for one in result.judged),
            "not_as_stated": sum(_undone(one, result) for one in result.judged),
            "differences": len(audit.differences) if audit else None,
            **{f"score_{one.scorer}": one.value for one in scores},
            "sentence": result.sentence or result.reason,
        }
    ]


def _of_claims(path: Path, task: Task, result: Result, scores: Sequence[Score]) -> Rows:
    return [
        {
            "trial": str(path),
            "task": task.id,
            "claim": one.claim.id,
            "experiment": one.claim.experiment or one.claim.table,
            "row": " / ".join(one.claim.row),
            "column": " / ".join(one.claim.column),
            "metric": one.claim.metric,
            "paper": one.claim.value,
            "measured": one.verdict.mean,
            "spread": stdev(one.verdict.values) if len(one.verdict.values) > 1 else None,
            "runs": len(one.verdict.values),
            "difference": one.verdict.difference,
            "relative": one.verdict.relative,
            "verdict": NOT_AS_STATED if _undone(one, result) else one.verdict.text,
            "recomputed": one.recomputed,
            "why": one.verdict.why,
        }
        for one in result.judged
    ]


def _undone(one: JudgedClaim, result: Result) -> bool:
    """Whether its number holds for the wrong reason."""
    audit = result.audit if one.verdict.word == "reproduced" else None
    return bool(audit and audit.undoing(one.claim.id))


def _of_differences(path: Path, task: Task, result: Result, scores: Sequence[Score]) -> Rows:
    audit = result.audit
    return [
        {
            "trial": str(path),
            "task": task.id,
            "difference": one.id,
            "kind": one.kind,
            "says": one.says,
            "does": one.does,
            "file": one.file,
            "first": one.first,
            "last": one.last,
            "can_move": one.can_move,
            "confirmed": one.confirmed,
            "claims": ", ".join(one.claims),
            "paper": one.paper,
            "code": one.code,
        }
        for one in (audit.differences if audit else ())
    ]


def _of_scores(path: Path, task: Task, result: Result, scores: Sequence[Score]) -> Rows:
    about = {"trial": str(path), "task": task.id}
    return [
        {**about, "level": one.scorer, "score": one.value, "reason": one.reason} for one in scores
    ]


ROWS: dict[str, Callable[[Path, Task, Result, Sequence[Score]], Rows]] = {
    "trials": _of_trial,
    "claims": _of_claims,
    "differences": _of_differences,
    "scores": _of_scores,
}

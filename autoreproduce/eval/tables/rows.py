"""One row a trial, read from its folder: what it was, how it ended, what it cost, how it was scored."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from autoreproduce.errors import TrialError, UsageError
from autoreproduce.eval.scorers import Setup
from autoreproduce.eval.scorers.execution import ExecutionScorer
from autoreproduce.eval.scorers.gap import GapScorer
from autoreproduce.eval.scoring import kept_scores, trials_below
from autoreproduce.task import Task
from autoreproduce.trial import Outcome, Trial

LEVELS = ("paper", "code", "mixed", "structure", "lineage")


@dataclass(frozen=True)
class Row:
    """A trial in numbers. None is «not known» or «not scored», never 0."""

    trial: str
    task: str
    profile: str
    variant: str
    solver: str
    model: str
    executed: float | None
    gap: float | None
    signed_gap: float | None
    metric: float | None
    reference: float | None
    dollars: float | None
    tokens: int
    seconds: float
    scores: dict[str, float] = field(default_factory=dict)
    judges: dict[str, str] = field(default_factory=dict)
    edits: dict[str, dict[str, int]] = field(default_factory=dict)
    lineage: dict[str, float] = field(default_factory=dict)


def read_rows(folder: Path) -> list[Row]:
    """Every finished trial below `folder`, by path. Raises UsageError where there is none.

    A trial that was stopped, or has not ended, is none; a damaged one is left out by its own error. One that its own
    budget or the model's context ended is a failure of its solver, as its suite says: without it a table would be of
    those that got through.
    """
    rows = list(_rows(folder))
    if not rows:
        raise UsageError(f"{folder} holds no finished trial: name a suite's folder, or a folder of trials")
    return rows


def machine_of(folder: Path) -> str:
    """The machines that the trials below a folder ran on, as one text: times of others are not comparable."""
    found = set()
    for path in trials_below(folder):
        with suppress(TrialError, ValueError):  # a damaged trial is none of the rows either
            found.add(str(sorted(Trial.read(path).record.hardware.items())))
    return "; ".join(sorted(found))


def _rows(folder: Path) -> Iterator[Row]:
    for path in trials_below(folder):
        try:
            trial = Trial.read(path)
            outcome = trial.outcome
        except (TrialError, ValueError):
            continue
        if outcome is not None and (outcome.status != "stopped" or failed_in_its_suite(path)):
            yield _row(folder, trial, outcome)


def failed_in_its_suite(folder: Path) -> bool:
    """What the runner of a suite wrote down of a trial that was stopped."""
    try:
        return bool(json.loads((folder / "ended.json").read_text(encoding="utf-8"))["status"] == "failed")
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _row(folder: Path, trial: Trial, outcome: Outcome) -> Row:
    task = Task.model_validate(trial.record.task_json)
    task_name, variant = _names(trial)
    executed, gap, signed = _how_it_ran(trial, task, outcome)
    scores, judges, lineage = _scores(trial.folder)
    return Row(
        trial=trial.folder.relative_to(folder).as_posix(), task=task_name, profile=trial.record.profile,
        variant=variant, solver=trial.record.solver, model=trial.record.model, executed=executed, gap=gap,
        signed_gap=signed, metric=outcome.metric,
        reference=task.reference.value if task.reference else None, dollars=outcome.cost,
        tokens=outcome.usage.get("input", 0) + outcome.usage.get("output", 0), seconds=outcome.seconds,
        scores=scores, judges=judges, edits=outcome.edits, lineage=lineage,
    )  # fmt: skip


def _how_it_ran(trial: Trial, task: Task, outcome: Outcome) -> tuple[float | None, float | None, float | None]:
    """Executed, gap and signed gap."""
    if outcome.status == "stopped":  # as for any that left no number
        return 0.0, 1.0 if task.reference and task.reference.value > 0 else None, None
    gap = GapScorer(Setup()).score(trial, task)
    return ExecutionScorer(Setup()).score(trial, task).value, gap.value, gap.details.get("signed")


def _names(trial: Trial) -> tuple[str, str]:
    """Task and variant. A suite keeps trials as trials/TASK/VARIANT/NUMBER; anywhere else the solver is the variant.

    The folder's name is the one in the suite's file: two tasks of the user's own may have the same id.
    """
    parts = trial.folder.resolve().parts
    in_suite = len(parts) > 3 and parts[-4] == "trials"
    return (parts[-3], parts[-2]) if in_suite else (trial.record.task, trial.record.solver)


def _scores(folder: Path) -> tuple[dict[str, float], dict[str, str], dict[str, float]]:
    """The latest score of each level, who judged it, and the lineage's recall and hits."""
    scores: dict[str, float] = {}
    judges: dict[str, str] = {}
    lineage: dict[str, Any] = {}
    for entry in kept_scores(folder):
        if entry.get("scorer") in LEVELS and isinstance(entry.get("value"), int | float):
            scores[entry["scorer"]] = float(entry["value"])
            judges[entry["scorer"]] = ", ".join(entry.get("judges", []))
        if entry.get("scorer") == "lineage":
            lineage = {key: value for key, value in entry.get("details", {}).items() if "@" in key}
    return scores, judges, lineage

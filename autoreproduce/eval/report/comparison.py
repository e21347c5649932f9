"""The number beside what it is compared with, each with where it comes from, on one common scale."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

from autoreproduce.eval.report.chart import Scale
from autoreproduce.eval.report.verdict import disagreement
from autoreproduce.eval.report.wording import band, number, percent, plural
from autoreproduce.task import Result, Task
from autoreproduce.trial import Outcome

STRIP = 200  # the strip's width in its own units
Kind = Literal["trial", "claimed", "measured", "published", "paper"]


@dataclass(frozen=True)
class Row:
    """One number. `span` is its range over seeds; `at` and `bar` are places on the strip, if there is one."""

    kind: Kind
    label: str
    value: float
    span: tuple[float, float] | None
    provenance: str
    note: str = ""
    at: float | None = None
    bar: tuple[float, float] | None = None

    @property
    def text(self) -> str:
        """The value in words."""
        return number(self.value, *(self.span or ()))

    @property
    def span_text(self) -> str:
        """«0.030–0.036», or nothing."""
        return band(*self.span) if self.span else ""


def rows(outcome: Outcome | None, task: Task | None) -> list[Row]:
    """Every number at hand: this trial's first, then our reference, the benchmark's, the paper's."""
    found = _own(outcome, _distance(outcome, task)) if outcome is not None else []
    if task is not None:
        where = "this profile" if task.profile == "full" else f"{task.profile} profile"
        found += _result("measured", f"Our reference, {where}", task.measured)
        found += _result("published", "Benchmark's published reference, full scale", task.published)
        found += _result("paper", "The paper's own number", task.paper_result)
    return _placed(found)


def _own(outcome: Outcome, distance: str) -> list[Row]:
    if outcome.metric is None or not math.isfinite(outcome.metric):
        return []
    if not outcome.recomputed:
        how = "written by the program itself into metrics.json; not recomputed"
        return [Row("trial", "This trial", outcome.metric, None, how, distance)]
    how = "recomputed by the task's own metric code from the saved predictions"
    found = [Row("trial", "This trial", outcome.metric, None, how, distance)]
    if outcome.claimed is not None and math.isfinite(outcome.claimed):
        disputed = disagreement(outcome) is not None
        note = "disagrees with the recomputed number, which counts" if disputed else "agrees with the recomputed number"
        found.append(Row("claimed", "What the program claimed", outcome.claimed, None, "metrics.json", note))
    return found


def _distance(outcome: Outcome, task: Task | None) -> str:
    """How far the number is from the reference's value, as a share of that value."""
    reference = task.reference if task is not None else None
    if task is None or reference is None or outcome.metric is None or not reference.value:
        return ""
    if outcome.metric == reference.value:
        return "equal to the reference's value"
    better = (outcome.metric < reference.value) == (task.metric.direction == "lower")
    share = abs(outcome.metric - reference.value) / abs(reference.value)
    return f"{percent(share)} {'better' if better else 'worse'} than the reference's value"


def _result(kind: Kind, label: str, result: Result | None) -> list[Row]:
    if result is None:
        return []
    span = (result.low, result.high) if result.low is not None and result.high is not None else None
    parts = [result.source or "no source was recorded", result.date, result.machine, result.versions]
    seeds = len(result.seeds) or len(result.values)
    note = f"range over {plural(seeds, 'seed')}" if span and seeds else ""
    return [Row(kind, label, result.value, span, " · ".join(part for part in parts if part), note)]


def _placed(found: list[Row]) -> list[Row]:
    """Rows with their places on a common scale; one number alone needs none."""
    values = [v for row in found for v in (row.value, *(row.span or ()))]
    if len(values) < 2:
        return found
    low, high = min(values), max(values)
    logarithmic = low > 0 and high / low > 20
    if not logarithmic:
        low = min(low, 0.0) if low > 0 and low < 0.5 * high else low
    scale = Scale(low, high, 8, STRIP - 8, logarithmic)
    return [Row(r.kind, r.label, r.value, r.span, r.provenance, r.note, scale(r.value), _bar(r, scale)) for r in found]


def _bar(row: Row, scale: Scale) -> tuple[float, float] | None:
    return (scale(row.span[0]), round(scale(row.span[1]) - scale(row.span[0]), 1)) if row.span else None

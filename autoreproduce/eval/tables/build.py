"""The tables, as plain data: a heading, columns, rows, and notes that a reader must know.

What the paper shows in its Tables 2 to 8, over one's own trials: systems, tasks, variants (ablations), lineage,
edits, cost, agreement with people. A mean over trials has its 95 % bootstrap interval; a mean over what could
not be scored is no number.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import yaml

from autoreproduce.content import folder
from autoreproduce.eval.human import correlations
from autoreproduce.eval.statistics import Correlation, Estimate, estimate
from autoreproduce.eval.tables.rows import LEVELS, Row

Cell = str | float | int | Estimate | None


@dataclass(frozen=True)
class Table:
    """One table. A cell is text, a number, an Estimate, or None (not known)."""

    name: str
    title: str
    columns: list[str]
    rows: list[list[Cell]]
    notes: list[str] = field(default_factory=list)


def tables(rows: Sequence[Row], human: Mapping[str, float] | None = None) -> list[Table]:
    """Every table that has something to show."""
    made = [systems(rows), by_task(rows), variants(rows), lineage(rows), edits(rows), cost(rows)]
    made += [agreement(rows, human)] if human else []
    return [table for table in made if table.rows]


def systems(rows: Sequence[Row]) -> Table:
    """Align-scores by level, execution rate and performance gap by system and model; published rows below."""
    made: list[list[Cell]] = []
    for (solver, variant, model, profile), group in _grouped(rows, lambda r: (r.solver, r.variant, r.model, r.profile)):
        name = solver if variant == solver else f"{solver}, {variant}"
        made.append([f"{name} ({profile})", model, len(group), *_levels(group), *_execution(group)])
    published = [_published(row) for row in published_rows()]
    columns = ["system", "model", "trials", "paper", "code", "mixed", "executed", "gap", "gap, executed"]
    notes = [f"{row['system']}: not measured here; {row['source']}" for row in published_rows()]
    return Table("systems", "Systems", columns, made + published if made else [], [*_judged_by(rows), *notes])


def _published(row: dict[str, Any]) -> list[Cell]:
    measured = [row.get(key) for key in ("execution", "gap", "gap_executed")]
    return [row["system"], row["model"], "published", None, None, None, *measured]


def by_task(rows: Sequence[Row]) -> Table:
    """Metric, reference and gap by task."""
    made: list[list[Cell]] = []
    for (task, profile, variant), group in _grouped(rows, lambda r: (r.task, r.profile, r.variant)):
        metric = estimate([r.metric for r in group if r.metric is not None and abs(r.metric) < float("inf")])
        made.append([f"{task} ({profile})", variant, len(group), group[0].reference, metric, *_execution(group)[:2],
                     _mean(r.signed_gap for r in group), _mean(r.scores.get("mixed") for r in group)])  # fmt: skip
    columns = ["task", "variant", "trials", "reference", "metric", "executed", "gap", "signed gap", "mixed"]
    return Table("tasks", "Tasks", columns, made, ["The signed gap is above 0 where the number is worse."])


def variants(rows: Sequence[Row]) -> Table:
    """An ablation: one row a variant, over the tasks that all of them attempted."""
    names = list(dict.fromkeys(row.variant for row in rows))
    shared = set.intersection(*({r.task for r in rows if r.variant == name} for name in names)) if names else set()
    made: list[list[Cell]] = []
    for name in names if len(names) > 1 else []:
        group = [row for row in rows if row.variant == name and row.task in shared]
        if group:
            made.append([name, len(group), *_levels(group), *_execution(group), _mean(r.tokens for r in group)])
    columns = ["variant", "trials", "paper", "code", "mixed", "executed", "gap", "gap, executed", "tokens"]
    return Table(
        "variants", "Variants", columns, made, [f"Over the tasks of all variants: {', '.join(sorted(shared))}."]
    )


def lineage(rows: Sequence[Row]) -> Table:
    """Top-1 recall and hits of the chosen papers against the curated ones."""
    keys = list(dict.fromkeys(key for row in rows for key in row.lineage))
    made: list[list[Cell]] = []
    for (variant,), group in _grouped([row for row in rows if row.lineage], lambda r: (r.variant,)):
        made.append([variant, len(group), *(_mean(row.lineage.get(key) for row in group) for key in keys)])
    return Table("lineage", "Lineage", ["variant", "trials", *keys], made)


def edits(rows: Sequence[Row]) -> Table:
    """Turns and lines by phase."""
    found: dict[tuple[str, str], list[dict[str, int]]] = defaultdict(list)
    for row in rows:
        for phase, counts in row.edits.items():
            found[row.variant, phase].append(counts)
    keys = list(dict.fromkeys(key for counts in found.values() for one in counts for key in one))
    made: list[list[Cell]] = [
        [variant, phase.replace("_", " "), len(counts), *(_mean(one.get(key) for one in counts) for key in keys)]
        for (variant, phase), counts in found.items()
    ]
    return Table("edits", "Edits by phase", ["variant", "phase", "trials", *keys], made)


def cost(rows: Sequence[Row]) -> Table:
    """Dollars, tokens and time a trial."""
    made: list[list[Cell]] = []
    for (variant, model), group in _grouped(rows, lambda r: (r.variant, r.model)):
        dollars = [row.dollars for row in group]
        known = _mean(dollars) if None not in dollars else "unknown"
        made.append(
            [variant, model, len(group), known, _mean(r.tokens for r in group), _mean(r.seconds for r in group)]
        )
    return Table("cost", "Cost a trial", ["variant", "model", "trials", "dollars", "tokens", "seconds"], made)


def agreement(rows: Sequence[Row], human: Mapping[str, float]) -> Table:
    """Pearson and Spearman of each level with people's scores, over the trials that have both."""
    made: list[list[Cell]] = []
    for level in LEVELS[:4]:
        scores = {row.trial: row.scores[level] for row in rows if level in row.scores}
        found = correlations(human, scores)
        if found["pearson"].count:
            made.append(
                [level, found["pearson"].count, *(_coefficient(found[kind]) for kind in ("pearson", "spearman"))]
            )
    return Table("human", "Agreement with people", ["level", "trials", "Pearson", "Spearman"], made)


def published_rows() -> list[dict[str, Any]]:
    """What others printed, with its source."""
    found: list[dict[str, Any]] = []
    for path in sorted((folder("eval") / "published").glob("*.yaml")):
        found += yaml.safe_load(path.read_text(encoding="utf-8")).get("rows", [])
    return found


def published_passes() -> tuple[str, dict[str, list[float]]]:
    """What others printed of masked functions: the source, and per cent by agent for n = 1, 2, ..."""
    text = (folder("eval") / "published" / "autoexperiment.yaml").read_text(encoding="utf-8")
    found = yaml.safe_load(text)["passes"]
    return str(found["source"]), dict(found["rows"])


def _grouped(rows: Iterable[Row], key: Callable[[Row], tuple[str, ...]]) -> list[tuple[tuple[str, ...], list[Row]]]:
    groups: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in rows:
        groups[key(row)].append(row)
    return list(groups.items())


def _levels(group: Sequence[Row]) -> list[Cell]:
    return [_mean(row.scores.get(level) for row in group) for level in LEVELS[:3]]


def _execution(group: Sequence[Row]) -> list[Cell]:
    """Execution rate, gap over all, gap over those that ran."""
    ran = [row for row in group if row.executed]
    rate = _mean(row.executed for row in group)
    return [rate.mean if rate else None, _mean(row.gap for row in group), _mean(row.gap for row in ran)]


def _mean(values: Iterable[float | None]) -> Estimate | None:
    return estimate([value for value in values if value is not None])


def _coefficient(found: Correlation) -> str:
    if found.value is None:
        return "not defined"
    interval = f" [{found.low:.2f}, {found.high:.2f}]" if found.low is not None and found.high is not None else ""
    return f"{found.value:.2f}{interval}"


def _judged_by(rows: Sequence[Row]) -> list[str]:
    judges = sorted({judge for row in rows for judge in row.judges.values() if judge})
    return [f"Judged by {'; '.join(judges)}."] if judges else []

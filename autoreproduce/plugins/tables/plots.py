"""What no table shows, drawn: gaps by task, scores against cost, judges against people."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from autoreproduce.evaluation.scorers import JUDGED
from autoreproduce.evaluation.tables.model import can_draw, plot_label
from autoreproduce.evaluation.tables.rows import TrialRow
from autoreproduce.evaluation.tables.write import make_folder, save_figure


def draw(
    rows: Sequence[TrialRow], home: Path, human: Mapping[str, Sequence[float]] | None = None
) -> list[Path]:
    """`gap.svg`, `cost.svg` and, with people's scores, `human.svg`, as far as known; the paths.

    None without matplotlib, an extra.
    """
    make_folder(home)
    if not can_draw():
        return []
    from matplotlib.figure import Figure

    paths = []
    if any(row.gap is not None for row in rows):
        figure = Figure(figsize=(7, 3.2), layout="constrained")
        _draw_gaps(figure.subplots(), rows)
        paths.append(save_figure(figure, home / "gap.svg"))
    priced = [row for row in rows if row.tokens and "mixed" in row.scores]
    if priced:
        figure = Figure(figsize=(5, 3.2), layout="constrained")
        _draw_costs(figure.subplots(), priced)
        paths.append(save_figure(figure, home / "cost.svg"))
    judged = [(row, fmean(human[row.trial])) for row in rows if human and row.trial in human]
    if judged:
        figure = Figure(figsize=(4.2, 4), layout="constrained")
        _draw_against_people(figure.subplots(), judged)
        paths.append(save_figure(figure, home / "human.svg"))
    return paths


def _draw_gaps(axes: Any, rows: Sequence[TrialRow]) -> None:
    tasks = list(dict.fromkeys(row.task for row in rows))
    for variant in dict.fromkeys(row.variant for row in rows):
        points = [
            (tasks.index(r.task), r.gap) for r in rows if r.variant == variant and r.gap is not None
        ]
        axes.plot(
            *zip(*points, strict=True), "o", label=plot_label(variant), alpha=0.7
        ) if points else None
    axes.set_xticks(range(len(tasks)), [plot_label(task) for task in tasks], rotation=30)
    axes.set_ylabel("performance gap")
    axes.set_ylim(-0.02, 1.02)
    axes.legend()


def _draw_costs(axes: Any, rows: Sequence[TrialRow]) -> None:
    """Score at the mixed level against dollars, or tokens if a price is unknown."""
    known = all(row.dollars is not None for row in rows)
    for variant in dict.fromkeys(row.variant for row in rows):
        group = [row for row in rows if row.variant == variant]
        axes.plot(
            [row.dollars if known else row.tokens for row in group],
            [row.scores["mixed"] for row in group],
            "o",
            label=plot_label(variant),
            alpha=0.7,
        )
    axes.set_xlabel("dollars" if known else "tokens")
    axes.set_ylabel("mixed level")
    axes.legend()


def _draw_against_people(axes: Any, judged: Sequence[tuple[TrialRow, float]]) -> None:
    for level in JUDGED:
        points = [(score, row.scores[level]) for row, score in judged if level in row.scores]
        axes.plot(*zip(*points, strict=True), "o", label=level, alpha=0.7) if points else None
    axes.plot([0, 100], [0, 100], color="0.8", zorder=0)
    axes.set_xlabel("people's score")
    axes.set_ylabel("judge's score")
    if axes.get_legend_handles_labels()[1]:
        axes.legend()

"""What each phase of the method costs a trial: as a table, and as a plot."""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from autoreproduce.evaluation.report.wording import PHASES, phase_words
from autoreproduce.evaluation.tables.model import Table, plot_label
from autoreproduce.evaluation.tables.rows import TrialRow

SUMS = {
    "seconds": "seconds",
    "calls": "calls",
    "executions": "runs",
    "input": "tokens in",
    "cached": "cached",
    "output": "tokens out",
    "cost": "dollars",
}


def phase_costs(rows: Sequence[TrialRow]) -> Table:
    """By variant and phase: the mean of each sum over the variant's trials, None if unknown.

    A trial that never came to a phase counts as 0 there: the rows of a variant add up to what a
    trial of it costs.
    """
    made: list[list[Any]] = []
    for variant in dict.fromkeys(row.variant for row in rows):
        group = [row for row in rows if row.variant == variant]
        for phase in _phases_of(group):
            sums = [_mean_of_sums(group, phase, key) for key in SUMS]
            made.append([variant, phase_words(phase), len(group), *sums])
    columns = ["variant", "phase", "trials", *SUMS.values()]
    return Table("phases", "Cost by phase, a trial", columns, made)


def draw_phases(rows: Sequence[TrialRow], path: Path, save: Callable[[Any, Path], Path]) -> Path:
    """The plot: dollars a trial by phase and variant, or tokens where a price is unknown."""
    from matplotlib.figure import Figure

    phases = _phases_of(rows)
    variants = list(dict.fromkeys(row.variant for row in rows))
    priced = all(_mean_of_sums(rows, phase, "cost") is not None for phase in phases) and any(
        _mean_of_sums(rows, phase, "cost") for phase in phases
    )
    figure = Figure(figsize=(6, 1 + 0.35 * max(len(phases), 3)), layout="constrained")
    axes: Any = figure.subplots()
    height = 0.8 / len(variants)
    for place, variant in enumerate(variants):
        group = [row for row in rows if row.variant == variant]
        values = [_phase_price(group, phase, priced) for phase in phases]
        axes.barh(
            [n + place * height for n in range(len(phases))],
            values,
            height,
            label=plot_label(variant),
        )
    names = [plot_label(phase_words(phase)) for phase in phases]
    axes.set_yticks([n + 0.4 - height / 2 for n in range(len(phases))], names)
    axes.invert_yaxis()
    axes.set_xlabel("dollars a trial" if priced else "tokens a trial, in and out")
    if len(variants) > 1:
        axes.legend(fontsize="small")
    return save(figure, path)


def _phase_price(rows: Sequence[TrialRow], phase: str, priced: bool) -> float:
    keys = ("cost",) if priced else ("input", "output")
    return sum(_mean_of_sums(rows, phase, key) or 0 for key in keys)


def _phases_of(rows: Sequence[TrialRow]) -> list[str]:
    """The phases that any trial came to, in the order of the method."""
    found = dict.fromkeys(phase for row in rows for phase in row.phases)
    order = {phase: place for place, phase in enumerate(PHASES)}
    return sorted(found, key=lambda phase: order.get(phase, len(order)))


def _mean_of_sums(rows: Sequence[TrialRow], phase: str, key: str) -> float | None:
    values = [row.phases[phase].get(key) if phase in row.phases else 0 for row in rows]
    known = [float(value) for value in values if isinstance(value, int | float)]
    return sum(known) / len(rows) if len(known) == len(rows) else None

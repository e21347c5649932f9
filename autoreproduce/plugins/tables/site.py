"""What a suite's page shows: tables and plots over its finished trials.

That is how well each was judged, and how far its number lies from the reference; a benchmark whose
trials come to something else says what to show by its `suite_page`.

`index.html` holds everything that it needs; the trials' own reports and score pages are linked by
relative paths, so the folder can be moved or zipped. What a trial wrote is escaped, and scripts run
by their hash alone.
"""

import base64
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

from autoreproduce.benchmarks import benchmark_class
from autoreproduce.claims.verdicts.overall import verdict_title
from autoreproduce.evaluation.report.page import whole_page
from autoreproduce.evaluation.report.wording import PHASES, phase_words
from autoreproduce.evaluation.tables.model import SuitePage, Table, can_draw, plot_label
from autoreproduce.evaluation.tables.rows import TrialRow, read_rows
from autoreproduce.evaluation.tables.write import cell_text, make_folder, save_figure
from autoreproduce.extensions import found_at
from autoreproduce.plugins.tables.build import by_task, systems, variants
from autoreproduce.plugins.tables.judging import require_one_judging
from autoreproduce.plugins.tables.plots import draw
from autoreproduce.plugins.tables.published import published_systems
from autoreproduce.trials.journal import write_whole

_TITLES = {
    "gap": "Performance gap by task",
    "cost": "Cost against score",
    "human": "Judges against people",
    "phases": "Cost by phase",
}


@dataclass(frozen=True)
class SuiteContent:
    """Tables as texts, plots as (what it shows, data: URL), and the columns of the trials.

    `passed` has whether each attempt on masked functions passed, by its trial's name.
    """

    tables: list[dict[str, object]]
    plots: list[tuple[str, str]]
    numbers: tuple[str, ...]
    passed: dict[str, bool] = field(default_factory=dict)


def suite_content(folder: Path, rows: Sequence[TrialRow], plots: Path) -> SuiteContent:
    """What to show of the trials `rows` below `folder`; the plots are written into `plots`."""
    make_folder(plots)
    if (own := _own_page(folder, rows, plots)) is None:
        drawn = [(_TITLES.get(path.stem, path.stem), path) for path in draw(rows, plots)]
        tables = [systems(rows), by_task(rows), variants(rows), published_systems()]
        own = SuitePage(tables, drawn, {})
        numbers: tuple[str, ...] = (*GAP, *COST)
    else:
        numbers = COST
    costs = phase_costs(rows)
    if costs.rows and can_draw():
        phases = draw_phases(rows, plots / "phases.svg", save_figure)
        own.plots.append((_TITLES["phases"], phases))
    return SuiteContent(
        [_table_texts(table) for table in (*own.tables, costs) if table.rows],
        [(title, _data_url(path)) for title, path in own.plots],
        numbers,
        own.passed,
    )


def _own_page(folder: Path, rows: Sequence[TrialRow], plots: Path) -> SuitePage | None:
    """What the one benchmark of all trials shows; None if it has no page or nothing to show."""
    names = {row.benchmark for row in rows} - {""}
    place = getattr(benchmark_class(names.pop()), "suite_page", "") if len(names) == 1 else ""
    page: SuitePage | None = found_at(place)(folder, plots) if place else None
    return page


def _table_texts(table: Table) -> dict[str, object]:
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    return {"title": table.title, "columns": table.columns, "rows": rows, "notes": table.notes}


def _data_url(path: Path) -> str:
    return f"data:image/svg+xml;base64,{base64.b64encode(path.read_bytes()).decode()}"


TEXTS = ("task", "profile", "variant", "solver", "model")
PAGES = ("report.html", "scores.html")


def write_site(folder: Path) -> Path:
    """Write the page of all finished trials below `folder`. Raises UsageError if there is none."""
    rows = read_rows(folder)
    require_one_judging(rows)
    content = suite_content(folder, rows, folder / "tables")
    page = whole_page(
        "site.html.j2",
        ["page.css", "site.css"],
        "site.js",
        title=folder.resolve().name,
        count=len(rows),
        columns=[
            *TEXTS,
            *(["passed"] if content.passed else ["ran", "gave the number", "verdict"]),
            *content.numbers,
        ],
        trials=[_trial_entry(folder, row, content) for row in rows],
        tables=content.tables,
        plots=content.plots,
        tasks=sorted({row.task for row in rows}),
        variants=sorted({row.variant for row in rows}),
    )
    path = folder / "index.html"
    write_whole(path, page)
    return path


def _trial_entry(folder: Path, row: TrialRow, content: SuiteContent) -> dict[str, object]:
    """One row of the big table: (text, number to sort by) by column, and the links to its pages."""
    values = {**vars(row), "mixed": row.scores.get("mixed")}
    pages = [page for page in PAGES if (folder / row.trial / page).is_file()]
    return {
        "cells": [
            *((values[name], "") for name in TEXTS),
            *((word, "") for word in _end_words(row, content)),
            *((cell_text(values[name]), _sort_key(values[name])) for name in content.numbers),
        ],
        "links": [(page.partition(".")[0], f"{quote(row.trial)}/{page}") for page in pages],
        "name": row.trial,
        "task": row.task,
        "variant": row.variant,
    }


def _end_words(row: TrialRow, content: SuiteContent) -> list[str]:
    """Whether the functions pass; of a program whether it ran, gave the number, and its verdict."""
    words: dict[float | bool | None, str] = {None: "–", True: "yes", False: "no"}
    if content.passed:
        return [words[content.passed.get(row.trial)]]
    ran = None if row.executed is None else bool(row.executed)
    return [words[ran], words[row.metric is not None], verdict_title(row.verdict) or "–"]


def _sort_key(value: float | None) -> str:
    return "" if value is None else repr(value)


GAP, COST = ("metric", "gap", "mixed"), ("dollars", "tokens", "seconds")


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

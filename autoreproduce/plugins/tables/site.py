"""What a suite's page shows: tables and plots over its finished trials.

That is how well each was judged, and how far its number lies from the reference; a benchmark whose
trials come to something else says what to show by its `suite_page`.

`index.html` holds everything that it needs; the trials' own reports and score pages are linked by
relative paths, so the folder can be moved or zipped. What a trial wrote is escaped, and scripts run
by their hash alone.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import quote

from autoreproduce.benchmarks import benchmark_class
from autoreproduce.claims.verdicts.overall import verdict_title
from autoreproduce.evaluation.report.page import whole_page
from autoreproduce.evaluation.tables.model import SuitePage, Table, can_draw
from autoreproduce.evaluation.tables.published import published_systems
from autoreproduce.evaluation.tables.rows import TrialRow, read_rows
from autoreproduce.evaluation.tables.write import cell_text, draw, make_folder, save_figure
from autoreproduce.plugins import found_at
from autoreproduce.plugins.tables.build import by_task, systems, variants
from autoreproduce.plugins.tables.judging import require_one_judging
from autoreproduce.plugins.tables.phases import draw_phases, phase_costs
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

"""What a suite's page shows: tables and plots over its finished trials.

That is how well each was judged, and how far its number lies from the reference; a benchmark whose
trials come to something else says what to show by its `suite_page`.
"""

import base64
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autoreproduce.benchmarks import benchmark_class
from autoreproduce.evaluation.tables.build import by_task, systems, variants
from autoreproduce.evaluation.tables.model import Table, can_draw
from autoreproduce.evaluation.tables.phases import draw_phases, phase_costs
from autoreproduce.evaluation.tables.rows import TrialRow
from autoreproduce.evaluation.tables.write import cell_text, draw, make_folder, save_figure
from autoreproduce.plugins import found_at

GAP, COST = ("metric", "gap", "mixed"), ("dollars", "tokens", "seconds")
_TITLES = {
    "gap": "Performance gap by task",
    "cost": "Cost against score",
    "human": "Judges against people",
    "phases": "Cost by phase",
}


@dataclass(frozen=True)
class SuitePage:
    """A benchmark's own part of a page: tables, plots by what they show, and by the trial's name
    whether it passed.
    """

    tables: list[Table]
    plots: list[tuple[str, Path]]
    passed: dict[str, bool]


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
        own = SuitePage([systems(rows), by_task(rows), variants(rows)], drawn, {})
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

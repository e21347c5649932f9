"""Writes `index.html` into a suite's folder: suite → task → trial, from disk, without a server.

The page holds everything that it needs; the trials' own reports and score pages are linked by relative paths, so
the folder can be moved or zipped. What a trial wrote is escaped, and scripts run by their hash alone.
"""

from __future__ import annotations

import base64
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import quote

from autoreproduce.eval.report.page import environment, policy, template_file
from autoreproduce.eval.tables.build import Table, by_task, systems, variants
from autoreproduce.eval.tables.rows import Row, read_rows
from autoreproduce.eval.tables.write import cell_text, draw
from autoreproduce.journal import write_whole

COLUMNS = (
    "task",
    "profile",
    "variant",
    "solver",
    "model",
    "ran",
    "metric",
    "gap",
    "mixed",
    "dollars",
    "tokens",
    "seconds",
)


def write_site(folder: Path) -> Path:
    """Write the page of all finished trials below `folder`; its path. Raises UsageError where there is none."""
    rows = read_rows(folder)
    style = template_file("page.css") + template_file("site.css")
    script = template_file("site.js")
    page = environment().get_template("site.html.j2").render(
        title=folder.resolve().name, count=len(rows), columns=COLUMNS, trials=[_trial(folder, row) for row in rows],
        tables=[_shown(table) for table in (systems(rows), by_task(rows), variants(rows)) if table.rows],
        plots=_plots(rows, folder / "tables"), tasks=sorted({row.task for row in rows}),
        variants=sorted({row.variant for row in rows}), style=style, script=script, policy=policy(style, script),
    )  # fmt: skip
    path = folder / "index.html"
    write_whole(path, page.encode("utf-8", "replace").decode("utf-8"))
    return path


def _trial(folder: Path, row: Row) -> dict[str, object]:
    """One row of the big table: (text, number to sort by) by column, and the links that there are."""
    ran = "–" if row.executed is None else "yes" if row.executed else "no"
    numbers = {
        "metric": row.metric, "gap": row.gap, "mixed": row.scores.get("mixed"), "dollars": row.dollars,
        "tokens": row.tokens, "seconds": row.seconds,
    }  # fmt: skip
    texts = {"task": row.task, "profile": row.profile, "variant": row.variant, "solver": row.solver, "model": row.model}
    cells = [(texts[name], "") for name in COLUMNS[:5]] + [(ran, "")]
    cells += [(cell_text(numbers[name]), "" if numbers[name] is None else repr(numbers[name])) for name in COLUMNS[6:]]
    pages = [page for page in ("report.html", "scores.html") if (folder / row.trial / page).is_file()]
    return {"cells": cells, "links": [(page.partition(".")[0], f"{quote(row.trial)}/{page}") for page in pages],
            "name": row.trial, "task": row.task, "variant": row.variant}  # fmt: skip


def _shown(table: Table) -> dict[str, object]:
    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    return {"title": table.title, "columns": table.columns, "rows": rows, "notes": table.notes}


def _plots(rows: Sequence[Row], home: Path) -> list[tuple[str, str]]:
    """(what it shows, data: URL) of each plot."""
    named = {"gap": "Performance gap by task", "cost": "Cost against score", "human": "Judges against people"}
    paths = draw(rows, home)
    return [
        (named.get(p.stem, p.stem), f"data:image/svg+xml;base64,{base64.b64encode(p.read_bytes()).decode()}")
        for p in paths
    ]

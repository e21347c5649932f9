"""Writes tables as Markdown, LaTeX, CSV and JSON, and draws what a table does not show."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, is_dataclass
from pathlib import Path
from typing import Any

from autoreproduce.errors import TrialError
from autoreproduce.eval.statistics import Estimate
from autoreproduce.eval.tables.build import Cell, Table
from autoreproduce.eval.tables.rows import Row
from autoreproduce.journal import write_whole


def write_tables(made: Sequence[Table], home: Path) -> list[Path]:
    """`NAME.md`, `.tex`, `.csv` and `.json` of each table in `home`; the paths."""
    _make(home)
    paths = []
    for table in made:
        for suffix, text in (
            ("md", markdown(table)),
            ("tex", latex(table)),
            ("csv", comma(table)),
            ("json", data(table)),
        ):
            path = home / f"{table.name}.{suffix}"
            write_whole(path, text)
            paths.append(path)
    return paths


def markdown(table: Table) -> str:
    """A Markdown table with its title and notes."""
    from tabulate import tabulate

    rows = [[cell_text(cell).replace("|", "\\|") for cell in row] for row in table.rows]
    body = tabulate(rows, table.columns, tablefmt="github", disable_numparse=True)
    return "\n".join([f"**{table.title}**", "", body, *(f"\n{note}" for note in table.notes)]) + "\n"


def latex(table: Table) -> str:
    """A LaTeX tabular with booktabs' rules; special characters are escaped."""
    from tabulate import tabulate

    rows = [[cell_text(cell) for cell in row] for row in table.rows]
    body = tabulate(rows, table.columns, tablefmt="latex_booktabs", disable_numparse=True)
    return f"% {table.title}\n{body.replace('±', chr(92) + 'ensuremath{' + chr(92) + 'pm}')}\n"


def comma(table: Table) -> str:
    """CSV: an estimate is four columns (mean, standard deviation, low, high of the 95 % interval)."""
    wide = [n for n in range(len(table.columns)) if any(isinstance(row[n], Estimate) for row in table.rows)]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    heads = [[c, f"{c} sd", f"{c} low", f"{c} high"] if n in wide else [c] for n, c in enumerate(table.columns)]
    writer.writerow([name for head in heads for name in head])
    for row in table.rows:
        writer.writerow([value for n, cell in enumerate(row) for value in (_four(cell) if n in wide else [cell])])
    return out.getvalue()


def data(table: Table) -> str:
    """JSON with numbers as numbers."""
    rows = [{name: _plain(cell) for name, cell in zip(table.columns, row, strict=True)} for row in table.rows]
    return json.dumps({"name": table.name, "title": table.title, "rows": rows, "notes": table.notes}, indent=1) + "\n"


def draw(rows: Sequence[Row], home: Path, human: Mapping[str, float] | None = None) -> list[Path]:
    """`gap.svg` (gap by task) and, with people's scores, `human.svg` (level against them); the paths."""
    from matplotlib.figure import Figure

    _make(home)
    paths = []
    if any(row.gap is not None for row in rows):
        figure = Figure(figsize=(7, 3.2), layout="constrained")
        _gaps(figure.subplots(), rows)
        paths.append(_save(figure, home / "gap.svg"))
    priced = [row for row in rows if row.tokens and "mixed" in row.scores]
    if priced:
        figure = Figure(figsize=(5, 3.2), layout="constrained")
        _costs(figure.subplots(), priced)
        paths.append(_save(figure, home / "cost.svg"))
    judged = [(row, human[row.trial]) for row in rows if human and row.trial in human]
    if judged:
        figure = Figure(figsize=(4.2, 4), layout="constrained")
        _against_people(figure.subplots(), judged)
        paths.append(_save(figure, home / "human.svg"))
    return paths


def _gaps(axes: Any, rows: Sequence[Row]) -> None:
    tasks = list(dict.fromkeys(row.task for row in rows))
    for variant in dict.fromkeys(row.variant for row in rows):
        points = [(tasks.index(r.task), r.gap) for r in rows if r.variant == variant and r.gap is not None]
        axes.plot(*zip(*points, strict=True), "o", label=variant, alpha=0.7) if points else None
    axes.set_xticks(range(len(tasks)), tasks, rotation=30)
    axes.set_ylabel("performance gap")
    axes.set_ylim(-0.02, 1.02)
    axes.legend()


def _costs(axes: Any, rows: Sequence[Row]) -> None:
    """Score at the mixed level against dollars, or tokens where a price is unknown."""
    known = all(row.dollars is not None for row in rows)
    for variant in dict.fromkeys(row.variant for row in rows):
        group = [row for row in rows if row.variant == variant]
        axes.plot([row.dollars if known else row.tokens for row in group], [row.scores["mixed"] for row in group], "o",
                  label=variant, alpha=0.7)  # fmt: skip
    axes.set_xlabel("dollars" if known else "tokens")
    axes.set_ylabel("mixed level")
    axes.legend()


def _against_people(axes: Any, judged: Sequence[tuple[Row, float]]) -> None:
    for level in ("paper", "code", "mixed"):
        points = [(score, row.scores[level]) for row, score in judged if level in row.scores]
        axes.plot(*zip(*points, strict=True), "o", label=level, alpha=0.7) if points else None
    axes.plot([0, 100], [0, 100], color="0.8", zorder=0)
    axes.set_xlabel("people's score")
    axes.set_ylabel("judge's score")
    if axes.get_legend_handles_labels()[1]:
        axes.legend()


def _save(figure: Any, path: Path) -> Path:
    with _writing(path):
        figure.savefig(path, metadata={"Date": None})
    return path


def _make(home: Path) -> None:
    with _writing(home):
        home.mkdir(parents=True, exist_ok=True)


@contextmanager
def _writing(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise TrialError(f"cannot write {path} ({error.strerror}): make it writable, or copy the trials") from error


def cell_text(cell: Cell) -> str:
    """A number as people write it; «–» where there is none."""
    if cell is None:
        return "–"
    if not isinstance(cell, Estimate):
        return _number(cell) if isinstance(cell, float) else str(cell)
    if cell.low is None or cell.high is None:
        return _number(cell.mean)
    spread = _number(cell.spread or 0.0, digits=2)
    return f"{_number(cell.mean)} ± {spread} [{_number(cell.low)}, {_number(cell.high)}]"


def _number(value: float, digits: int = 4) -> str:
    whole = min(1000.0, 10.0**digits - 0.5)  # from here on «g» writes powers of ten
    return f"{value:,.0f}" if abs(value) >= whole else f"{value:.{digits}g}"


def _four(cell: Cell) -> list[Any]:
    return [cell.mean, cell.spread, cell.low, cell.high] if isinstance(cell, Estimate) else [cell, None, None, None]


def _plain(cell: Cell) -> Any:
    return asdict(cell) if is_dataclass(cell) and not isinstance(cell, type) else cell

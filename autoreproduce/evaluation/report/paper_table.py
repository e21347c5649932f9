"""The claims as the paper prints them: its rows and columns, paper and measured in each cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from autoreproduce.claims.plain import names_metric, plain
from autoreproduce.evaluation.report.claims_table import ClaimRow, claim_row

if TYPE_CHECKING:
    from autoreproduce.claims.claim import Claim
    from autoreproduce.claims.verdicts.trial_verdict import JudgedClaim, TrialVerdict

FILLED = 0.5  # share of a grid's cells at which its rows are told apart by their columns


@dataclass(frozen=True)
class ClaimGrid:
    """One table. `rows`: a heading and a cell a column, None where the paper claims nothing."""

    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, tuple[ClaimRow | None, ...]], ...]


def paper_tables(found: TrialVerdict | None) -> list[ClaimGrid]:
    """The claims' tables, in the order of the claims; none for a single claim."""
    claims = found.claims if found is not None else ()
    if found is None or len(claims) < 2:
        return []
    readings = found.readings
    tables: dict[str, list[JudgedClaim]] = {}
    for one in claims:
        tables.setdefault(_title(one.claim), []).append(one)
    made: list[ClaimGrid] = []
    for title, group in tables.items():
        cells: dict[str, dict[str, ClaimRow]] = {}
        for one in group:
            row, column = _place(one.claim, [each.claim for each in group])
            under = readings.claim_text(one.claim.id) if readings else ""
            cells.setdefault(row, {})[column] = claim_row(one, under)
        made += _grids(title, cells)
    return made


def _title(claim: Claim) -> str:
    table = f"Table {claim.table}" if claim.table[:1].isdigit() else claim.table
    return plain(claim.experiment or table)


def _place(claim: Claim, group: Sequence[Claim]) -> tuple[str, str]:
    """Row and column of the cell; the metric is the column, or beside it if there are several."""
    metric = plain(claim.metric)
    row = " / ".join(plain(part) or part for part in claim.row) or claim.title
    row += " (baseline)" * claim.is_baseline
    column = " / ".join(plain(part) or part for part in claim.column)
    several = len({one.metric for one in group}) > 1
    if not column or (several and not names_metric(claim.headings, metric)):
        column = f"{column}: {metric}" if column else metric
    return row, column


def _grids(title: str, cells: dict[str, dict[str, ClaimRow]]) -> list[ClaimGrid]:
    """One grid, or one for each set of columns if most of its cells would be empty."""
    columns = list(dict.fromkeys(name for row in cells.values() for name in row))
    filled = sum(map(len, cells.values())) / (len(columns) * len(cells))
    if filled > FILLED:
        return [_grid(title, columns, cells)]
    alike: dict[frozenset[str], dict[str, dict[str, ClaimRow]]] = {}
    for row, held in cells.items():
        alike.setdefault(frozenset(held), {})[row] = held
    return [
        _grid(title, [name for name in columns if name in names], rows)
        for names, rows in alike.items()
    ]


def _grid(title: str, columns: Sequence[str], cells: dict[str, dict[str, ClaimRow]]) -> ClaimGrid:
    rows = ((row, tuple(map(held.get, columns))) for row, held in cells.items())
    return ClaimGrid(title, tuple(columns), tuple(rows))

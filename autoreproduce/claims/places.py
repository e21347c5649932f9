"""Where a claim is: the cells of a table that its names lead to.

Names lead to a cell if each row name is one of the cell's row headings and each column name
one of its column headings (or all the other way round, for tables with methods in columns). The
nearest senses of the row's and the column's names are taken that any cell has: the heading itself,
marks and citations or not, then the heading without what is in brackets, then words within it.
"""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import product
from typing import Protocol, TypeVar

from autoreproduce.claims.claim import Claim
from autoreproduce.papers.captions import table_number
from autoreproduce.papers.numbers import numbers_in
from autoreproduce.papers.plain import name_of, plain
from autoreproduce.papers.table import Cell, Heading, Table

Alike = Callable[[str, str], bool]


def _same_text(name: str, heading: str) -> bool:
    return _shown(name) == _shown(heading) != ""


@lru_cache(maxsize=50_000)
def _shown(name: str) -> str:
    return plain(name).casefold()


def _same_name(name: str, heading: str) -> bool:
    same = name_of(name) == name_of(heading) != ""
    return same and _below_zero(name) == _below_zero(heading)


@lru_cache(maxsize=4096)
def _below_zero(name: str) -> tuple[float, ...]:
    """The negative numbers in a name, whose signs `name_of` leaves out: τ = −0.5."""
    return tuple(number.value for number in numbers_in(name) if number.value < 0)


def _same_bare_name(name: str, heading: str) -> bool:
    return _same_name(_without_brackets(name), _without_brackets(heading))


def _name_within(name: str, heading: str) -> bool:
    wanted, there = name_of(_without_brackets(name)).split(), name_of(heading).split()
    return bool(wanted) and any(
        there[at : at + len(wanted)] == wanted for at in range(len(there) - len(wanted) + 1)
    )


def _without_brackets(name: str) -> str:
    """Without brackets, units and what follows a comma."""
    return re.sub(r"\([^()]*\)|\[[^\[\]]*\]|[%↑↓]", " ", name).strip() or name


SENSES: tuple[Alike, ...] = (_same_text, _same_name, _same_bare_name, _name_within)
_NEAREST = sorted(product(SENSES, SENSES), key=lambda pair: sum(map(SENSES.index, pair)))


class _Numbered(Protocol):
    @property
    def names(self) -> tuple[str, ...]: ...


AnyTable = TypeVar("AnyTable", bound=_Numbered)


def tables_named(name: str, tables: Iterable[AnyTable]) -> list[AnyTable]:
    """The tables that `name` ("Table 2", "Table II", "tab:main", "Fig. 3") can mean."""
    name = re.sub(r"^\s*fig(?:ure)?\.?\s*(?=\d)", "Figure ", name, flags=re.IGNORECASE)
    bare = re.sub(r"^\s*(?:\w+ )*(table|tab\.?)\s+(?=\S)", "", name, flags=re.IGNORECASE)
    bare = bare.strip("~: .")
    exact = [table for table in tables if name_of(bare) in (name_of(one) for one in table.names)]
    number = table_number(bare)  # 2 of II, 2a and 2(b): a part is found under its number too
    return exact or [t for t in tables if number and number in map(table_number, t.names)]


def cells_of(claim: Claim, table: Table) -> list[Cell]:
    """The cells that the claim's names lead to, by the nearest sense that leads to any."""
    return cells_at(claim.row, claim.column, table)


def cells_at(row: Sequence[str], column: Sequence[str], table: Table) -> list[Cell]:
    """The cells at these headings; own headings go before inherited ones."""
    for senses in _NEAREST:
        found = [cell for cell in table.cells if _leads_to(cell, row, column, *senses)]
        if found:
            own = [cell for cell in found if not any(heading.filled for heading in cell.row)]
            # a value over several columns is one cell of each
            return list({cell.at: cell for cell in reversed(own or found)}.values())[::-1]
    return []


def in_row(names: Sequence[str], table: Table) -> list[Cell]:
    """The cells of the row (or of the column, in a table on its side) that has these names."""
    return _cells_named(names, table, (_row_texts, _column_texts))


def in_column(names: Sequence[str], table: Table) -> list[Cell]:
    """The cells of the column (or of the row, in a table on its side) that has these names."""
    return _cells_named(names, table, (_column_texts, _row_texts))


def _cells_named(
    names: Sequence[str], table: Table, ways: Sequence[Callable[[Cell], list[str]]]
) -> list[Cell]:
    """The cells whose headings, read in one of these ways, have the names."""
    for alike, headings in product(SENSES, ways):
        if found := [c for c in table.cells if _all_named(names, headings(c), alike)]:
            return found
    return []


def _leads_to(
    cell: Cell, row: Sequence[str], column: Sequence[str], as_row: Alike, as_column: Alike
) -> bool:
    rows, columns = _row_texts(cell), _column_texts(cell)
    # a section's name is over columns as well as over rows
    upright = _all_named(row, rows, as_row) and _all_named(column, columns + rows[:1], as_column)
    return upright or (_all_named(row, columns, as_row) and _all_named(column, rows, as_column))


def _all_named(names: Sequence[str], headings: Sequence[str], alike: Alike) -> bool:
    return all(any(alike(name, heading) for heading in headings) for name in names)


def _row_texts(cell: Cell) -> list[str]:
    """The headings of a row, each also with the name of its column, and all together."""
    own = [heading.text for heading in cell.row if heading.own]
    return [
        *own,
        *(text for heading in cell.row for text in _heading_forms(heading)),
        *_neighbours_joined(own),
    ]


def _heading_forms(heading: Heading) -> list[str]:
    alone = [] if heading.own else [heading.text]
    return (
        [*alone, f"{heading.above} {heading.text}", f"{heading.text} {heading.above}"]
        if heading.above
        else alone
    )


def _column_texts(cell: Cell) -> list[str]:
    return [*cell.column, *_neighbours_joined(cell.column)]


def _neighbours_joined(parts: Sequence[str]) -> list[str]:
    """Neighbouring headings as one name."""
    return [
        " ".join(parts[start:end])
        for start in range(len(parts))
        for end in range(start + 2, len(parts) + 1)
    ]

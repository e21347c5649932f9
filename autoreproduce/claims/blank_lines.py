"""Places of results in tables that stand only as lines of text, for blanking.

Where such a table holds a claim, every value of its rows is a result, except under a heading of
settings (parameters, epochs). It holds a claim if a row is the claim's, or if the claim's value
is in it with three digits or more; a table that the claim names and whose row is not found (its
label may be spelt otherwise) goes too. Other tables, of settings, stay as they are.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from autoreproduce.claims.claim import Claim
from autoreproduce.claims.numbers import numbers_in
from autoreproduce.claims.plain import plain
from autoreproduce.claims.settings import is_setting_heading
from autoreproduce.claims.stated_results import digits_of, is_value_of
from autoreproduce.claims.tables.cells import PaperTable
from autoreproduce.claims.tables.places import SENSES, tables_named
from autoreproduce.claims.tables.text_rows import LineField, TextRow, numbers_within
from autoreproduce.claims.tables.text_tables import TextTable, text_tables_in

_ENOUGH_DIGITS = 3  # of a number that is no setting by chance


def places_in_lines(
    text: str, parsed: Sequence[PaperTable], claims: Sequence[Claim]
) -> Iterator[tuple[int, int]]:
    """(start, end) of each result in the tables of lines that hold one of `claims`.

    `parsed`: the tables of `text` that have cells; they are left alone.
    """
    tables = text_tables_in(text, parsed)
    held = [table for claim in claims for table in _tables_with(claim, tables)]
    columns = {name for claim in claims for name in claim.column}
    for table in held:
        for row in table.rows:
            yield from _places_in_row(row, table, columns)
        first = table.rows[0].start
        for line in table.lines:  # values before words, or in lines without an end of numbers
            if line.kind != "blank" and line.start >= first:
                rows = [row for row in table.rows if row.start == line.start]
                label = rows[0].label if rows else line.text
                at = line.start + line.text.index(label)
                yield from ((at + start, at + end) for start, end in numbers_within(label))


def _places_in_row(row: TextRow, table: TextTable, columns: set[str]) -> Iterator[tuple[int, int]]:
    headings = table.columns_of(row)
    for number, field in enumerate(row.fields):
        setting = bool(headings) and is_setting_heading(headings[number])
        if field.is_value and (not setting or headings[number] in columns):
            yield field.start, field.end


def _tables_with(claim: Claim, tables: Sequence[TextTable]) -> list[TextTable]:
    """The tables that hold the claim."""
    own = [table for table in tables if any(_is_row_of(claim, row) for row in table.rows)]
    named = tables_named(claim.table, tables) if claim.table else []
    alone = [table for table in named if len(table.names) == 1]
    repeats = [table for table in tables if any(_repeats(claim, row, table) for row in table.rows)]
    return [*(own or alone or named), *repeats]


def _is_row_of(claim: Claim, row: TextRow) -> bool:
    """True if the row has the claim's name and its value, or one that is withheld."""
    if not claim.row or not any(alike(claim.row[-1], row.label) for alike in SENSES):
        return False
    return any(field.is_withheld or _is_value(claim, field, 1) for field in row.fields)


def _repeats(claim: Claim, row: TextRow, table: TextTable) -> bool:
    headings = table.columns_of(row)
    return any(
        _is_value(claim, field, _ENOUGH_DIGITS)
        for number, field in enumerate(row.fields)
        if not (headings and is_setting_heading(headings[number]))
    )


def _is_value(claim: Claim, field: LineField, digits: int) -> bool:
    numbers = numbers_in(plain(field.text), cell=True)[:1]
    return any(digits_of(one) >= digits and is_value_of(claim, one) for one in numbers)

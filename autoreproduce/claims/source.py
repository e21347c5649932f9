"""What a paper says, prepared for look-ups: its tables and its text in every form that there is."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from autoreproduce.claims.plain import plain
from autoreproduce.claims.tables.cells import PaperTable
from autoreproduce.claims.tables.headings import table_of
from autoreproduce.claims.tables.latex import latex_tables_in
from autoreproduce.claims.tables.markup import markup_tables_in
from autoreproduce.claims.tables.text_tables import TextTable, text_tables_in


@dataclass(frozen=True)
class Source:
    """One paper in each form that there is of it, with the tables of each."""

    raw: tuple[str, ...]
    forms: tuple[tuple[PaperTable, ...], ...]

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Each form without markup. (Seconds for LaTeX source, and only sentences need it.)"""
        return tuple(plain(text) for text in self.raw)

    @cached_property
    def text_tables(self) -> tuple[TextTable, ...]:
        """The tables that are only lines of text in a form."""
        pairs = zip(self.raw, self.forms, strict=True)
        return tuple(table for text, parsed in pairs for table in text_tables_in(text, parsed))


def tables_in(text: str) -> list[PaperTable]:
    """All LaTeX, Markdown and HTML tables with values, with their places in `text`."""
    raw = [*latex_tables_in(text), *markup_tables_in(text)]
    tables = [table_of(one) for one in sorted(raw, key=lambda table: table.start)]
    return [table for table in tables if table.cells]


def read_source(*texts: str) -> Source:
    """The paper as one or several texts: LaTeX first, which loses least, then Markdown."""
    return Source(texts, tuple(tuple(tables_in(text)) for text in texts))


def without_tables(text: str, tables: Iterable[PaperTable]) -> list[tuple[int, int]]:
    """The parts of `text` outside its tables, as (start, end)."""
    parts, at = [], 0
    for table in sorted(tables, key=lambda one: one.start):
        if table.start > at:
            parts.append((at, table.start))
        at = max(at, table.end)
    return [*parts, (at, len(text))]

"""What a paper says, prepared for look-ups: its tables and its text in every form that there is."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property

from autoreproduce.papers.model import Paper
from autoreproduce.papers.plain import plain
from autoreproduce.papers.table import Table
from autoreproduce.papers.table_lines import TextTable, text_tables_in
from autoreproduce.papers.tables import tables_in


@dataclass(frozen=True)
class Source:
    """One paper: its texts as they are, the tables of each form that was read, and the text in
    which the tables of a form have their places. `headings`: whether the columns of a table that's
    only lines are known by the words above them.
    """

    raw: tuple[str, ...]
    forms: tuple[tuple[Table, ...], ...]
    places: tuple[str, ...]
    headings: bool = True

    @cached_property
    def texts(self) -> tuple[str, ...]:
        """Each form without markup. (Seconds for LaTeX source, and only sentences need it.)"""
        return tuple(plain(text) for text in self.raw)

    @cached_property
    def text_tables(self) -> tuple[TextTable, ...]:
        """The tables that are only lines of text in a form."""
        pairs = zip(self.places, self.forms, strict=True)
        return tuple(table for text, parsed in pairs for table in text_tables_in(text, parsed))


def read_source(*papers: Paper | str) -> Source:
    """A paper with its tables, or as one or several texts whose tables are read now: LaTeX first,
    which loses least, then Markdown.
    """
    raw, forms, places = list[str](), list[tuple[Table, ...]](), list[str]()
    for paper in papers:
        texts = [paper] if isinstance(paper, str) else [paper.latex, paper.text]
        texts = [text for text in texts if text.strip()]
        raw += texts
        if isinstance(paper, Paper) and paper.tables:
            forms.append(paper.tables_with_values)
            places.append(paper.text)
        else:
            forms += (tuple(tables_in(text)) for text in texts)
            places += texts
    return Source(tuple(raw), tuple(forms), tuple(places))


def without_tables(text: str, tables: Iterable[Table]) -> list[tuple[int, int]]:
    """The parts of `text` outside its tables, as (start, end)."""
    parts, at = [], 0
    for table in sorted(tables, key=lambda one: one.start):
        if table.start > at:
            parts.append((at, table.start))
        at = max(at, table.end)
    return [*parts, (at, len(text))]

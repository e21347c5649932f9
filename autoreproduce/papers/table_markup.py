"""The tables of Markdown and HTML, as we and PDF parsers write them, each cell with its place."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

from autoreproduce.papers.captions import caption_parts
from autoreproduce.papers.plain import plain
from autoreproduce.papers.table import Entry, Table, flowed

NEAR = 3  # lines with words between a table and its caption
_LINE = re.compile(r"^[^\n]*\|[^\n]*$", re.MULTILINE)
_SEPARATOR = re.compile(r"\s*\|?(\s*:?-+:?\s*\|)+(\s*:?-+:?\s*)?\|?\s*")
_MOST_HEADS = 4  # rows above the line of dashes
_TAG = re.compile(r"<(/?)table\b[^<>]*>", re.IGNORECASE)
_NOTE = re.compile(
    r"\s*(?:<sup>|\^)?\{?([†‡§¶]+|\\?\*(?![*\s])|(?<=[\^{>])[a-z])\}?(?:</sup>)?\s*(\S.*)"
)
_WIDEST = 200  # columns or rows that a cell of HTML may span


def markup_tables_in(text: str) -> list[Table]:
    """The Markdown and HTML tables of `text` in their order."""
    html = [html_table(text[start:end], start) for start, end in _html_places(text)]
    pipes = [t for t in _pipe_tables(text) if not any(h.start <= t.start < h.end for h in html)]
    tables = sorted([*html, *pipes], key=lambda table: table.start)
    return with_captions(text, [t for t in tables if any(entry.row for entry in t.entries)])


def _pipe_tables(text: str) -> Iterator[Table]:
    block: list[re.Match[str]] = []
    for found in [*_LINE.finditer(text), None]:
        if block and (found is None or found.start() != block[-1].end() + 1):
            above = range(1, min(len(block) - 1, _MOST_HEADS + 1))
            at = next((n for n in above if _SEPARATOR.fullmatch(block[n][0])), 0)
            if at:
                rows = [_pipe_row(line) for n, line in enumerate(block) if n != at]
                heads = at if at > 1 else 0
                start, end = block[0].start(), block[-1].end()
                yield Table(flowed(rows), heads=heads, start=start, end=end)
            block = []
        if found is not None:
            block.append(found)


def _pipe_row(line: re.Match[str]) -> list[Entry]:
    text, at = line[0], line.start()
    bars = [found.start() for found in re.finditer(r"(?<!\\)\|", text)]
    if not text.strip().startswith("|"):
        bars.insert(0, -1)
    if not text.strip().endswith("|") or text.strip().endswith(r"\|"):
        bars.append(len(text))
    found = []
    for left, right in pairwise(bars):
        inner = text[left + 1 : right]
        start = at + left + 1 + len(inner) - len(inner.lstrip())
        source = inner.strip()
        found.append(Entry(source.replace(r"\|", "|"), 0, 0, start=start, end=start + len(source)))
    return found


def _html_places(text: str) -> Iterator[tuple[int, int]]:
    """(start, end) of the outermost tables."""
    depth, start = 0, 0
    for found in _TAG.finditer(text):
        if not found[1]:
            start = found.start() if depth == 0 else start
            depth += 1
        elif depth:
            depth -= 1
            if depth == 0:
                yield start, found.end()


class _HtmlTableReader(HTMLParser):
    """Collects rows of cells with their places in a text, where `source` begins `at`; an open tag
    ends where the next one begins. A table within a cell is the cell's text.
    """

    def __init__(self, source: str, at: int) -> None:
        super().__init__(convert_charrefs=True)
        self.source, self.at = source, at
        self.rows, self.caption = list[list[Entry]](), ""
        self.breaks = [0, *(found.end() for found in re.finditer("\n", source))]
        self.open: tuple[int, Entry] | None = None
        self.caption_at: int | None = None
        self.heads = self.depth = 0
        self.feed(source)
        self._close(len(source))

    def _here(self) -> int:
        line, column = self.getpos()
        return self.breaks[line - 1] + column

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A row or a cell begins."""
        self.depth += tag == "table"
        if self.depth > 1:
            return
        inside = self._here() + len(self.get_starttag_text() or "")
        if tag in ("tr", "td", "th", "thead", "tbody"):
            self._close(self._here())
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            spans = {name: _span(value) for name, value in attrs}
            rows, columns = spans.get("rowspan", 1), spans.get("colspan", 1)
            self.open = (inside, Entry("", 0, 0, rows, columns, head=tag == "th"))
        elif tag == "caption":
            self.caption_at = inside

    def handle_endtag(self, tag: str) -> None:
        """A cell, the caption or the head ends."""
        self.depth -= tag == "table"
        if self.depth > 1 or (self.depth == 1 and tag == "table"):
            return
        if tag in ("td", "th", "tr", "table", "thead", "tbody"):
            self._close(self._here())
        if tag == "thead":
            self.heads = len(self.rows)
        if tag == "caption" and self.caption_at is not None:
            self.caption = plain(self.source[self.caption_at : self._here()])

    def _close(self, end: int) -> None:
        if self.open is None:
            return
        start, entry = self.open
        self.open = None
        text = self.source[start:end]
        start += self.at + len(text) - len(text.lstrip())
        text = text.strip()
        if not self.rows:
            self.rows.append([])
        self.rows[-1].append(replace(entry, source=text, start=start, end=start + len(text)))


def _span(value: str | None) -> int:
    return max(1, min(_WIDEST, int(value))) if value and value.strip().isdecimal() else 1


def html_table(source: str, at: int = 0) -> Table:
    """The table of HTML's `<table>…</table>`, which begins `at` this place of a text."""
    reader = _HtmlTableReader(source, at)
    rows = [row for row in reader.rows if row]
    headed = 0
    while headed < len(rows) and all(entry.head for entry in rows[headed]):
        headed += 1
    first = max((min(entry.rows, _MOST_HEADS) for entry in rows[0]), default=1) if rows else 0
    heads = reader.heads or headed or (first if first > 1 else 0)
    names, caption = caption_parts(reader.caption) or ((), reader.caption)
    return Table(
        flowed(rows),
        names,
        caption,
        heads=heads if heads < len(rows) else 0,
        start=at,
        end=at + len(source),
    )


def with_captions(text: str, tables: list[Table]) -> list[Table]:
    """Each table with the caption above it, or below if the one above belongs to another, and with
    the notes below it.

    Where most captions stand above, that of the next table isn't taken from below: one caption that
    nobody reads would move all that follow.
    """
    used: set[int] = set()
    found = []
    ends = [0, *(table.end for table in tables)]
    starts = [*(table.start for table in tables[1:]), len(text)]
    tops = [
        list(_word_lines(text, before, table.start))[::-1][:NEAR]
        for before, table in zip(ends, tables, strict=False)
    ]
    bottoms = [
        list(_word_lines(text, table.end, after))
        for table, after in zip(tables, starts, strict=False)
    ]
    own = [
        None if table.caption else _caption_at(lines)
        for table, lines in zip(tables, tops, strict=True)
    ]
    under = [_caption_at(lines[:NEAR]) for lines in bottoms]
    over = own.count(None) <= under.count(None)
    for number, table in enumerate(tables):
        above, below = tops[number], bottoms[number]
        notes = [
            (note[1].lstrip("\\"), note[2])
            for _, line in below[: NEAR + 2]
            if (note := _NOTE.fullmatch(line))
        ]
        if over and number + 1 < len(tables):  # what is nearer to the next table is that one's
            below = below[: (len(below) + 1) // 2]
            below = [one for one in below if one[0] != own[number + 1]]
        names, caption = table.names, table.caption
        for n, (at, line) in enumerate([*above, *below[:NEAR]]):
            if caption or at in used or (parts := caption_parts(line)) is None:
                continue
            used.add(at)
            names, caption = parts
            if not caption and 0 < n < len(above):  # "TABLE II", and its words in the next line
                caption = plain(above[n - 1][1]).strip("*_ ")
            if not names and n + 1 < len(above) and (numbered := caption_parts(above[n + 1][1])):
                names = numbered[0] if not numbered[1] else ()
            break
        found.append(replace(table, names=names, caption=caption, notes=tuple(notes)))
    return _with_numbers(found)


def _caption_at(lines: Iterable[tuple[int, str]]) -> int | None:
    """Where the first of these lines that is a caption begins."""
    return next((at for at, line in lines if caption_parts(line)), None)


def _with_numbers(tables: list[Table]) -> list[Table]:
    """Tables whose captions name a label only get their number in the order of captions; where none
    has a caption, in that of tables.
    """
    found, count = [], 0
    none = not any(table.caption or table.names for table in tables)
    for table in tables:
        captioned = none or bool(table.caption or table.names)
        count += captioned
        known = any(
            re.fullmatch(r"[A-Za-z.-]*\d+[a-z.\d-]*|[IVXL]+|[A-Z]", name) for name in table.names
        )
        names = table.names if known or not captioned else (str(count), *table.names)
        found.append(replace(table, names=names))
    return found


def _word_lines(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    for found in re.finditer(r"[^\n]+", text[start:end]):
        if found[0].strip():
            yield start + found.start(), found[0]

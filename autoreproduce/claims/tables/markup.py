"""The tables of Markdown and HTML, as we and PDF parsers write them, each cell with its place."""

import re
from collections.abc import Iterator
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise

from autoreproduce.claims.plain import plain
from autoreproduce.claims.tables.cells import CellPiece, RawTable, Row

_LINE = re.compile(r"^[^\n]*\|[^\n]*$", re.MULTILINE)
_SEPARATOR = re.compile(r"\s*\|?(\s*:?-{2,}:?\s*\|)+(\s*:?-{2,}:?\s*)?\|?\s*")
_CAPTION = re.compile(
    r"^[\s*_#>]*(?:Table|Tab\.)\s+"
    r"(?P<name>[A-Za-z]{0,2}\.?\d+[a-z]?(?:\.\d+)?|[\w-]+:[\w:.+-]*?\w(?=\s*:\s|\s*$)|(?=:))"
    r"\s*[:.|\]]?[\s*_]*(?P<caption>.*?)[\s*_]*$",
    re.IGNORECASE,
)
_HTML = re.compile(r"<table\b.*?</table\s*>", re.IGNORECASE | re.DOTALL)
NEAR = 3  # lines with words between a table and its caption


def markup_tables_in(text: str) -> list[RawTable]:
    """The Markdown and HTML tables of `text` in their order."""
    html = [_html_table(found) for found in _HTML.finditer(text)]
    pipes = [t for t in _pipe_tables(text) if not any(h.start <= t.start < h.end for h in html)]
    tables = sorted([*html, *pipes], key=lambda table: table.start)
    return _with_captions(text, [table for table in tables if len(table.rows) > 1])


def _pipe_tables(text: str) -> Iterator[RawTable]:
    block: list[re.Match[str]] = []
    for found in [*_LINE.finditer(text), None]:
        if block and (found is None or found.start() != block[-1].end() + 1):
            if len(block) > 2 and _SEPARATOR.fullmatch(block[1][0]):
                rows = [_pipe_row(line) for n, line in enumerate(block) if n != 1]
                yield RawTable(tuple(rows), block[0].start(), block[-1].end())
            block = []
        if found is not None:
            block.append(found)


def _pipe_row(line: re.Match[str]) -> Row:
    text, at = line[0], line.start()
    bars = [found.start() for found in re.finditer(r"(?<!\\)\|", text)]
    if not text.strip().startswith("|"):
        bars.insert(0, -1)
    if not text.strip().endswith("|") or text.strip().endswith(r"\|"):
        bars.append(len(text))
    pieces = []
    for left, right in pairwise(bars):
        inner = text[left + 1 : right]
        start = left + 1 + len(inner) - len(inner.lstrip())
        pieces.append(
            CellPiece(plain(inner.replace(r"\|", "|")), at + start, at + start + len(inner.strip()))
        )
    return Row(tuple(pieces))


class _HtmlTableReader(HTMLParser):
    """Collects rows of cells with their places in a text, where `source` begins `at`; an open tag
    ends where the next one begins.
    """

    def __init__(self, source: str, at: int) -> None:
        super().__init__(convert_charrefs=True)
        self.source, self.at = source, at
        self.rows, self.caption = list[list[CellPiece]](), ""
        self.breaks = [0, *(found.end() for found in re.finditer("\n", source))]
        self.open: tuple[int, int, int, bool] | None = None
        self.caption_at: int | None = None
        self.heads = 0
        self.feed(source)
        self._close(len(source))

    def _here(self) -> int:
        line, column = self.getpos()
        return self.breaks[line - 1] + column

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A row or a cell begins."""
        if tag in ("tr", "td", "th", "thead", "tbody"):
            self._close(self._here())
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            given = dict(attrs)
            inside = self._here() + len(self.get_starttag_text() or "")
            self.open = (
                inside,
                _covered_count(given.get("colspan")),
                _covered_count(given.get("rowspan")),
                tag == "th",
            )
        elif tag == "caption":
            self.caption_at = self._here() + len(self.get_starttag_text() or "")

    def handle_endtag(self, tag: str) -> None:
        """A cell, the caption or the head ends."""
        if tag in ("td", "th", "tr", "table", "thead", "tbody"):
            self._close(self._here())
        if tag == "thead":
            self.heads = len(self.rows)
        if tag == "caption" and self.caption_at is not None:
            self.caption = plain(self.source[self.caption_at : self._here()])

    def _close(self, end: int) -> None:
        if self.open is None:
            return
        start, columns, rows, head = self.open
        self.open = None
        text = self.source[start:end]
        start += len(text) - len(text.lstrip())
        if not self.rows:
            self.rows.append([])
        begin = self.at + start
        self.rows[-1].append(
            CellPiece(plain(text), begin, begin + len(text.strip()), columns, rows, head)
        )


def _covered_count(value: str | None) -> int:
    return max(1, min(200, int(value))) if value and value.strip().isdigit() else 1


def _html_table(found: re.Match[str]) -> RawTable:
    reader = _HtmlTableReader(found[0], found.start())
    rows = [Row(tuple(row)) for row in reader.rows if row]
    headed = 0
    while headed < len(rows) and all(piece.head for piece in rows[headed].pieces):
        headed += 1
    first = max((min(piece.rows, 4) for piece in rows[0].pieces), default=1) if rows else 0
    heads = reader.heads or headed or (first if first > 1 else 0)
    names, caption = caption_parts(reader.caption) if reader.caption else ((), "")
    return RawTable(
        tuple(rows),
        found.start(),
        found.end(),
        names,
        caption or reader.caption,
        heads if heads < len(rows) else 0,
        False,
    )


def caption_parts(line: str) -> tuple[tuple[str, ...], str]:
    """(names, caption) of a line "Table 2: …"."""
    found = _CAPTION.match(line)
    if found is None:
        return (), ""
    return ((found["name"].strip(".:"),) if found["name"] else ()), plain(found["caption"])


def _with_captions(text: str, tables: list[RawTable]) -> list[RawTable]:
    """Each table with the caption above it, or below if the one above belongs to another."""
    used: set[int] = set()
    found = []
    for number, table in enumerate(tables):
        before = tables[number - 1].end if number else 0
        after = tables[number + 1].start if number + 1 < len(tables) else len(text)
        above = list(_word_lines(text, before, table.start))[::-1][:NEAR]
        below = list(_word_lines(text, table.end, after))
        if number + 1 < len(tables):  # what is nearer to the next table is that one's
            below = below[: (len(below) + 1) // 2]
        lines = [
            (at, line)
            for at, line in [*above, *below[:NEAR]]
            if at not in used and _CAPTION.match(line)
        ]
        names, caption = table.names, table.caption
        if lines and not caption:
            used.add(lines[0][0])
            names, caption = caption_parts(lines[0][1])
        found.append((names, caption, table))
    return _with_numbers(found)


def _with_numbers(found: list[tuple[tuple[str, ...], str, RawTable]]) -> list[RawTable]:
    """Tables whose captions name a label only get their number in the order of captions."""
    tables, count = [], 0
    for names, caption, table in found:
        if caption or names:
            count += 1
        known = any(re.fullmatch(r"[A-Za-z.]*\d+[a-z.\d]*", name) for name in names)
        full = names if known or not (caption or names) else (str(count), *names)
        tables.append(replace(table, names=full, caption=caption))
    return tables


def _word_lines(text: str, start: int, end: int) -> Iterator[tuple[int, str]]:
    for found in re.finditer(r"[^\n]+", text[start:end]):
        if found[0].strip():
            yield start + found.start(), found[0]

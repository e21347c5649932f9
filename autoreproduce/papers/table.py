"""A paper's table as every reader gives it, and its values with all their headings.

A reader (LaTeX, Markdown, HTML, a PDF's layout) gives the entries at their rows and columns, with
what they span. Which rows and columns are headings, and what each value is a value of, is found
here, once for all of them:

- Headings are the rows above the first rule or marked as such, rows under them without a value,
  and such rows further down that begin a new part of the table. A row with one text alone names
  the section below it.
- The columns at the left, up to the first with values, name rows; an empty name takes the one
  above it.
- A value over several columns or rows is a value of each.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import pairwise

from autoreproduce.papers.numbers import Printed, decimal_comma, numbers_in
from autoreproduce.papers.plain import plain

MOST_HEADS = 4
_EMPTY = re.compile(
    r"[-–—/*?.…\[\]()\s]*|n/?a|n/[-–—]+|oom|oot|nan|(?-i:x)|inf|∞|✗|✓|yes|no|tbd|diverged|div\.?|failed",
    re.IGNORECASE,
)
_FOOTNOTE = re.compile(r"\s*\(footnote: (?:[^()]|\([^()]*\))*\)")
_MARKED = re.compile(r"\^\{?([a-z]|[†‡§¶*#]+)\}?$|(?<=[\d%])([†‡§¶*]+)$")
WORDS_BEHIND = re.compile(  # 162 (seeds vary), 0.48 [CI not reported]
    r"(?<=[\d%])\s*[(\[]([^()\[\]]*[^\W\d_]{3}[^()\[\]]*)[)\]]\s*$"
)
_MARKS_BEFORE = re.compile(r"^\^?[*†‡§¶⋆★✓✔↑↓▲▼△▽↗↘]+\s*|^[€£¥]\s?")
_FACTOR = re.compile(
    r"[×x*]\s*10\s*\^\s*([-+]?\d+)|[(\[,]\s*10\s*\^\s*([-+]?\d+)\s*[)\]]|[×x]\s*(1e-?\d+)"
)
_NAMES = re.compile(  # over a column of names, though they be numbers: "0.5B" of "Model"
    r"(?:model|method|data ?set|task|algorithm|variant|architecture|backbone|approach|label|class"
    r"|category|split|seed|fold|name|id)s?",
    re.IGNORECASE,
)
_RUNS = re.compile(r"\bn\s*=\s*(\d[\d,]*)", re.IGNORECASE)
_UNIT = re.compile(r"[(\[]\s*(?:in\s+)?(%|[a-zA-Zµμ°]{1,4}(?:/[a-zA-Z]{1,4})?)\s*[)\]]")


@dataclass(frozen=True)
class Entry:
    """What is printed at one place of a table, in Markdown (or HTML), with what it spans.

    `start` and `end`: its place in the text that was read. `doubt`: why its text may not be what
    is printed, as with a macro that isn't known; it holds no value then.
    """

    source: str
    row: int
    column: int
    rows: int = 1
    columns: int = 1
    head: bool = False
    start: int = 0
    end: int = 0
    doubt: str = ""

    @cached_property
    def text(self) -> str:
        """As a reader sees it, on one line, without the words of a footnote."""
        return _FOOTNOTE.sub("", plain(self.source))

    @cached_property
    def may_be_value(self) -> bool:
        """True for a number with its unit and marks, and for what is in doubt."""
        return bool(self.doubt) or is_value(self.text)


@dataclass(frozen=True)
class Heading:
    """A heading of a row: section or label (`own`), or a setting ("300" under "epochs").

    `above`: the heading over a label. `filled`: taken from a row above, for its own is empty.
    """

    text: str
    above: str = ""
    own: bool = True
    filled: bool = False


@dataclass(frozen=True)
class Cell:
    """A value of a table with the headings that say what it is a value of.

    `at`: row and column of the entry that shows it, which is the same for all cells it spans.
    `comma`: how its table writes decimals (numbers.decimal_comma).
    """

    text: str
    start: int
    end: int
    row: tuple[Heading, ...]
    column: tuple[str, ...]
    at: tuple[int, int] = (0, 0)
    comma: bool | None = None
    doubt: str = ""
    notes: tuple[str, ...] = ()

    @cached_property
    def numbers(self) -> list[Printed]:
        """The numbers that it shows, the main one first; none if it is in doubt."""
        return [] if self.doubt else numbers_in(self.text, cell=True, comma=self.comma)

    @property
    def row_path(self) -> tuple[str, ...]:
        """The headings of its row, without settings."""
        return tuple(heading.text for heading in self.row if heading.own)

    @property
    def place(self) -> str:
        """Row and column in words."""
        return f'row "{" / ".join(self.row_path)}", column "{" / ".join(self.column)}"'

    @property
    def factor(self) -> float:
        """What its headings multiply it by, as in "NLL (×10^-3)"."""
        for text in (*self.column, *self.row_path):
            if found := _FACTOR.search(text):
                return float(found[3]) if found[3] else float(f"1e{found[1] or found[2]}")
        return 1.0

    @property
    def unit(self) -> str:
        """The unit that it, or else a heading, prints: "%", "ms"; "" if none does."""
        if self.numbers and self.numbers[0].percent:
            return "%"
        found = (_UNIT.search(text) for text in (*reversed(self.column), *reversed(self.row_path)))
        return next((unit[1] for unit in found if unit), "")

    @property
    def runs(self) -> int | None:
        """How many runs or items it is a mean of, where it or a heading says "n = 5"."""
        found = (_RUNS.search(text) for text in (self.text, *self.column, *self.row_path))
        return next((int(n[1].replace(",", "")) for n in found if n), None)


@dataclass(frozen=True)
class Table:
    """A table. `names`: its number ("2", or "Figure 2" for what a plot shows) and its label, so far
    as known.

    `heads`: how many rows at the top are marked as headings, 0 if that isn't known. `rules`: rows
    above which a rule runs over the whole width. `notes`: (mark, text) of the notes below it.
    `start` and `end`: its place in the text that was read.
    """

    entries: tuple[Entry, ...] = field(repr=False)
    names: tuple[str, ...] = ()
    caption: str = ""
    notes: tuple[tuple[str, str], ...] = ()
    heads: int = 0
    rules: tuple[int, ...] = ()
    start: int = 0
    end: int = 0

    @property
    def name(self) -> str:
        """What to call it."""
        names = " = ".join(self.names)
        if names.startswith("Figure "):
            return f"{names} (the numbers it is drawn from)"
        return f"Table {names}" if names else "a table without a caption"

    @cached_property
    def cells(self) -> tuple[Cell, ...]:
        """Its values in reading order."""
        matrix = matrix_of(self.entries)
        return tuple(_Layout(self, matrix).cells()) if matrix and matrix[0] else ()

    @cached_property
    def comma(self) -> bool | None:
        """Whether a comma stands before its decimals; None if nothing in it tells."""
        return decimal_comma(entry.text for entry in self.entries)

    def note_of(self, text: str) -> tuple[str, ...]:
        """The notes whose mark is at the end of a cell's text."""
        found = _MARKED.search(text)
        mark = (found[1] or found[2]) if found else ""
        return tuple(note for key, note in self.notes if mark and plain(key).strip("^_{}") == mark)


def flowed(rows: Iterable[Sequence[Entry]]) -> tuple[Entry, ...]:
    """The entries of rows at the places where HTML puts them: each in the first column that none
    of a row above spans.
    """
    lines, found = list(rows), list[Entry]()
    taken: set[tuple[int, int]] = set()
    for y, line in enumerate(lines):
        x = 0
        for entry in line:
            while (y, x) in taken:
                x += 1
            high = min(entry.rows, len(lines) - y)
            found.append(replace(entry, row=y, column=x, rows=high))
            taken |= {(y + dy, x + dx) for dy in range(high) for dx in range(entry.columns)}
            x += entry.columns
    return tuple(found)


Matrix = list[list[Entry]]


def matrix_of(entries: Sequence[Entry]) -> Matrix:
    """The entry at each row and column. An empty one doesn't hide another that spans its place."""
    height = max((entry.row + entry.rows for entry in entries), default=0)
    width = max((entry.column + entry.columns for entry in entries), default=0)
    nothing = [[Entry("", y, x) for x in range(width)] for y in range(height)]
    for entry in sorted(entries, key=lambda one: one.rows == one.columns == 1):  # spans first
        for y in range(entry.row, entry.row + entry.rows):
            for x in range(entry.column, entry.column + entry.columns):
                if entry.source.strip() or not nothing[y][x].source.strip():
                    nothing[y][x] = entry
    return nothing


def is_value(text: str) -> bool:
    """True for a number with its unit and marks; not for a name with a number in it, nor for an
    equation. A remark in brackets may follow it.
    """
    text = _MARKS_BEFORE.sub("", WORDS_BEHIND.sub("", text))
    if (
        not text
        or not re.match(r"[\d.+\-−(\[<>~∼≈≃≲≳±≤≥$]", text)
        or not numbers_in(text, cell=True)
    ):
        return False
    if re.fullmatch(r"\d+\s*[-–]\s*\d+", text):  # from one to another, as rounds or pages
        return False
    if re.search(r"=(?!\s*$)", re.sub(r"\(\s*[nN]\s*=\s*\d+\s*\)", "", text)):
        return False
    return len(re.findall(r"[A-Za-z]", re.sub(r"\d[eE][-+]?\d|\([nN]\s*=", "", text))) <= 4


def is_empty(text: str) -> bool:
    """True for nothing, or a sign for no value."""
    return _EMPTY.fullmatch(text.strip()) is not None


def _is_tick(text: str) -> bool:
    return text == "×" or is_empty(text)


class _Layout:
    """A table's rows and columns, told apart into headings and values."""

    def __init__(self, table: Table, matrix: Matrix) -> None:
        self.table, self.matrix = table, matrix
        self.height, self.width = len(matrix), len(matrix[0])
        self.heads = self._head_count()
        self.labels = self._label_count(self.heads)
        body = matrix[self.heads :]
        self.ticked = {  # columns of ticks, which are no names
            x for x in range(1, self.labels) if all(_is_tick(row[x].text) for row in body)
        }

    def cells(self) -> list[Cell]:
        columns = self._column_headings(range(self.heads))
        section, found = "", list[Cell]()
        latest: list[int] = []  # heading rows inside the table, one after another
        for y in range(self.heads, self.height):
            if self._is_section(y):
                section = next(entry.text for entry in self.matrix[y] if entry.text)
            elif self._begins_part(y, latest) and self._is_heading_row(y, self.labels):
                if not latest and self._texts(y) in map(self._texts, range(self.heads)):
                    continue  # the headings of a table that goes on
                latest.append(y)
                columns = self._column_headings(latest)
                continue
            else:
                top = [Heading(section)] if section else []
                found += self._cells_of(y, [*top, *self._row_headings(y)], columns)
            latest = []
        return found

    def _begins_part(self, y: int, latest: Sequence[int]) -> bool:
        """Whether headings may stand here: below others, at a rule, or where a row is called what
        the rows of headings are.
        """
        name = self.matrix[y][0].text
        named = bool(name) and name in {row[0].text for row in self.matrix[: self.heads]}
        return named or bool(latest) or bool({y, y + 1} & set(self.table.rules))

    def _texts(self, y: int) -> list[str]:
        return [entry.text for entry in self.matrix[y]]

    def _cells_of(
        self, y: int, headings: list[Heading], columns: list[tuple[str, ...]]
    ) -> list[Cell]:
        """The values of a row; the numbers left of each are its settings."""
        found: list[Cell] = []
        settings: list[Heading] = []
        for x, entry in enumerate(self.matrix[y]):
            if x < self.labels or not entry.may_be_value or entry.column < self.labels:
                continue
            place = columns[x]
            at = (entry.row, entry.column)
            if found and found[-1].at == at and found[-1].column == place:
                continue  # the same value over two columns of one heading
            cell = Cell(
                entry.text,
                entry.start,
                entry.end,
                (*headings, *settings),
                place,
                at,
                self.table.comma,
                entry.doubt,
                self.table.note_of(entry.text),
            )
            if not found or found[-1].at != at:
                settings.append(Heading(entry.text, place[-1] if place else "", own=False))
            found.append(cell)
        return found

    def _head_count(self) -> int:
        """How many rows at the top are headings."""
        if self.table.heads:
            count = min(self.table.heads, self.height)
        else:
            ruled = min((y for y in self.table.rules if y > 0), default=0)
            count = ruled if 0 < ruled <= MOST_HEADS else 1
            for y in range(1, count):  # a rule further down than the headings
                grouped = any(one.columns > 1 and one.column for one in self.matrix[y - 1])
                if not grouped and self.matrix[y][0].text and self._has_results(y):
                    count = y
                    break
        labels = self._label_count(count)
        while count < min(MOST_HEADS, self.height - 1) and not self._is_section(count):
            if not (self._is_heading_row(count, labels) or self._parts_groups(count, labels)):
                break
            count += 1
        return count

    def _has_results(self, y: int) -> bool:
        texts = [entry.text for entry in self.matrix[y][1:]]
        return any(is_value(text) and re.search(r"\.\d|±", text) for text in texts)

    def _is_heading_row(self, y: int, labels: int) -> bool:
        """True if there are words here over columns of values, and no value is here."""
        line, below = self.matrix[y], self.matrix[y + 1 :]
        if any(entry.may_be_value for entry in line[labels:]):
            return False
        worded = [x for x in range(labels, self.width) if not is_empty(line[x].text)]
        over = [x for x in worded if any(row[x].may_be_value for row in below)]
        others = {row[x].text for row in below for x in worded if x not in over and row[x].text}
        return bool(over) and all(map(is_empty, others))

    def _parts_groups(self, y: int, labels: int) -> bool:
        """True for numbers under the names of groups, as 10 and 100 under "Rivers" and "Lakes":
        the row names nothing, and says of each column that the heading above leaves untold, or
        tells twice, what it is.
        """
        line, above = self.matrix[y], [entry.text for entry in self.matrix[y - 1]]
        if any(entry.text and entry.row == y for entry in line[:labels]):
            return False
        columns = range(labels, self.width)
        untold = [
            x for x in columns if not above[x] or above[x] in above[labels:x] + above[x + 1 :]
        ]
        texts = [line[x].text for x in columns if line[x].text]
        exact = any(re.search(r"\.\d|±", text) for text in texts)
        repeated = len(set(texts)) * 2 <= len(texts)
        return bool(untold) and all(line[x].text for x in untold) and (repeated or not exact)

    def _is_section(self, y: int) -> bool:
        """True for a row with one text alone: over several columns, before empty ones, or in all
        of them.
        """
        filled = [(x, entry) for x, entry in enumerate(self.matrix[y]) if entry.text]
        if not filled or self.width < 2 or filled[0][1].may_be_value:
            return False
        x, first = filled[0]
        if any(entry.rows > 1 for _, entry in filled):
            return False
        if all(entry is first for _, entry in filled):
            return x == 0 or first.columns > 1
        return len(filled) == self.width and all(e.text == first.text for _, e in filled)

    def _label_count(self, heads: int) -> int:
        """How many columns at the left hold names: the first one, those after it without values,
        and then those that tell rows apart: inequalities ("> 0.5", "≤ 0.5") and keys (n, α).
        """
        body = [y for y in range(heads, self.height) if not self._is_section(y)]
        count = self.width if self.width == 1 else 1
        for x in range(1, self.width):
            values = [self.matrix[y][x].may_be_value for y in body]
            named = _NAMES.fullmatch(self._head_above(x, heads))
            if any(values) and sum(values) * 3 >= len(values) and not named:
                count = x
                break
        while count < self.width - 1 and self._tells_rows_apart(count, body):
            count += 1
        return self._with_keys(count, body)

    def _with_keys(self, count: int, body: Sequence[int]) -> int:
        """How many columns name a row, with the columns of numbers that are needed to tell rows
        apart and of which each number comes again, and one with decimals twice: two results of two
        methods may be alike.
        """
        rows, last = list[list[str]](), [""] * self.width
        for y in body:
            if y in self.table.rules:
                last = [""] * self.width
            last = [entry.text or old for entry, old in zip(self.matrix[y], last, strict=True)]
            rows.append(last)
        for end in range(count, self.width):
            if len({tuple(row[:end]) for row in rows}) == len(rows):
                return end
            if not all(is_value(row[end]) for row in rows):
                break
            keys = Counter(numbers_in(row[end], cell=True)[0].value for row in rows)
            if any(times < (2 if key.is_integer() else 3) for key, times in keys.items()):
                break
        return count

    def _tells_rows_apart(self, x: int, body: Sequence[int]) -> bool:
        texts = [self.matrix[y][x].text for y in body]
        if not texts or not all(re.match(r"[<>≤≥]\s*[\d.]", text) for text in texts):
            return False
        names = [tuple(entry.text for entry in self.matrix[y][:x]) for y in body]
        both = {text[0] in "<≤" for text in texts} == {True, False}
        return both or len(set(names)) < len(names)

    def _column_headings(self, rows: Sequence[int]) -> list[tuple[str, ...]]:
        """The headings of each column, outermost first."""
        lines: list[list[str]] = []
        for y in reversed(rows):  # the name of a group is over what the row below it names
            line = self.matrix[y]
            texts = [entry.text for entry in line]
            if lines and all(entry.columns == 1 for entry in line):
                texts = _with_groups(texts, lines[0], self.labels)
            lines.insert(0, texts)
        # a heading over two rows, or repeated on a second page, counts once
        return [
            tuple(dict.fromkeys(line[x] for line in lines if line[x])) for x in range(self.width)
        ]

    def _row_headings(self, y: int) -> list[Heading]:
        """The labels of a row (an empty one takes the one above), and words further right."""
        line, found = self.matrix[y], list[Heading]()
        for x in range(self.labels):
            text, filled = line[x].text, False
            above = y
            while not text and above > self.heads and above not in self.table.rules:
                above -= 1
                text, filled = self.matrix[above][x].text, True
            sign = x in self.ticked and _is_tick(text)
            if sign and not re.search(r"\w|[×✓✗]", text):
                continue
            if text and (not found or text != found[-1].text):
                head = self._head_above(x, self.heads)
                found.append(Heading(text, head, own=not sign, filled=filled))
        for x in range(self.labels, self.width):
            entry = line[x]
            if is_empty(entry.text) or entry.may_be_value or entry.column < self.labels:
                continue
            if entry.columns == 1 or entry.column == x:
                found.append(
                    Heading(entry.text, self._head_above(x, self.heads, nearest=True), own=False)
                )
        return found

    def _head_above(self, x: int, heads: int, nearest: bool = False) -> str:
        found = [row[x].text for row in self.matrix[:heads] if row[x].text]
        return (found[-1] if nearest else found[0]) if found else ""


def _with_groups(texts: list[str], below: list[str], labels: int) -> list[str]:
    """A row of headings with the name of each group over all its columns, where it stands over one
    of them: the first, or any if the groups are of one size. Where neither holds it stays alone.

    `below`: the next row of headings, which has a text for each column of a group.
    """
    found = list(texts)
    x = labels
    while x < len(texts):
        end = x
        while end < len(texts) and below[end]:
            end += 1
        named = [at for at in range(x, end) if texts[at]]
        if len(named) < end - x:
            size, rest = divmod(end - x, max(1, len(named)))
            groups = [range(at, at + size) for at in range(x, end, max(1, size))]
            equal = not rest and all(sum(at in group for at in named) == 1 for group in groups)
            if len(named) == 1 and named[0] not in (x, (x + end - 1) / 2):
                equal = False  # it may be over some of them
            repeated = equal and len({tuple(below[g.start : g.stop]) for g in groups}) == 1
            if named[:1] == [x] and not repeated:
                edges = [*named, end]
                groups = [range(*pair) for pair in pairwise(edges)]
            elif not equal:
                groups = []
            for group in groups:
                name = next(texts[at] for at in group if texts[at])
                found[group.start : group.stop] = [name] * len(group)
        x = max(end, x + 1)
    return found

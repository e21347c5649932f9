"""Tables of a PDF by where their words stand: below or above a caption, in rows by their baselines,
in columns by what stands over one another.

Nothing is taken that the page doesn't show. Values are in one column where their places overlap;
a row that has two of them there, a heading that is as near to one group of columns as to another,
or a value under no heading leaves the table undecided: its lines stay text, whose columns nobody
knows. Without a model of the page's layout this reads plain tables alone, so most stay text.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from html import escape
from itertools import pairwise

from autoreproduce.papers.captions import caption_parts
from autoreproduce.papers.pdf_lines import TextLine, Word
from autoreproduce.papers.plain import plain
from autoreproduce.papers.table import is_empty, is_value

ROW_GAP = 2.6  # of the print's height from one row's baseline to the next: more ends a table
CELL_GAP = 0.75  # of the print's height between two cells; words of one are nearer
NUMBER_GAP = 0.3  # between two values
MOST_ROWS = 80
Rule = tuple[float, float, float]  # left, right and height of a line that is drawn


@dataclass
class PlacedCell:
    """Words that stand together on one row."""

    text: str
    left: float
    right: float
    columns: range = range(0)

    @property
    def centre(self) -> float:
        """The middle between its edges."""
        return (self.left + self.right) / 2

    @property
    def is_value(self) -> bool:
        """Whether it shows a value, or the sign for none."""
        return is_value(plain(self.text))


@dataclass
class PlacedRow:
    """The cells on one baseline."""

    bottom: float
    size: float
    lines: list[TextLine] = field(default_factory=list)
    cells: list[PlacedCell] = field(default_factory=list)


@dataclass(frozen=True)
class PlacedTable:
    """A table in HTML with its caption, and the lines of the page that it is made of."""

    caption: str
    html: str
    lines: tuple[TextLine, ...]


def placed_tables(lines: Sequence[TextLine], rules: Sequence[Rule] = ()) -> list[PlacedTable]:
    """The tables of one page that its words' places decide. `rules`: the horizontal lines drawn."""
    found: list[PlacedTable] = []
    used: set[int] = set()
    for line in lines:
        if not line.words or caption_parts(line.text) is None:
            continue
        rest = [one for one in lines if id(one) not in used and one.words]
        table = _table_at(line, rest, rules, below=True) or _table_at(
            line, rest, rules, below=False
        )
        if table is not None:
            found.append(table)
            used |= {id(one) for one in table.lines}
    return found


def _table_at(
    caption: TextLine, lines: Sequence[TextLine], rules: Sequence[Rule], below: bool
) -> PlacedTable | None:
    text, taken, rows = _caption_and_rows(caption, lines, below)
    rows = list(_table_rows(rows))
    valued = [n for n, row in enumerate(rows) if sum(c.is_value for c in row.cells) > 0]
    if len(valued) < 2:
        return None
    rows = rows[: valued[-1] + 1]
    first = valued[0]
    if first > 1 and _is_section(rows[first - 1]) and any(map(_is_section, rows[first:])):
        first -= 1  # the first section's name isn't one more heading
    heads, body = rows[:first], rows[first:]
    columns = _columns(body)
    if columns is None or not heads or not _place_headings(heads, columns, rules):
        return None
    lines_of = [line for row in rows for line in row.lines]
    return PlacedTable(text, _html(heads, body), (*taken, *lines_of))


def _is_section(row: PlacedRow) -> bool:
    return len(row.cells) == 1 and not row.cells[0].is_value


def _caption_and_rows(
    caption: TextLine, lines: Sequence[TextLine], below: bool
) -> tuple[str, list[TextLine], list[PlacedRow]]:
    """The whole caption, its lines, and the page's rows from it on, outwards."""
    rows = _rows([line for line in lines if line is not caption])
    level = [one for one in lines if abs(one.bottom - caption.bottom) < 0.35 * caption.size]
    others = [one for one in level if one is not caption and caption_parts(one.text)]
    under = [row for row in rows if row.bottom < caption.bottom - 0.3 * caption.size]
    text, taken, at = caption.text, [caption], caption
    for row in under:
        parts = caption_parts(text)
        near = at.bottom - row.bottom < 1.9 * at.size
        beside = [one for one in row.lines if one.left < at.right + 40 and one.right > at.left - 40]
        if len(beside) != 1 or not near or any(cell.is_value for cell in row.cells):
            break
        line = beside[0]
        ended = text.rstrip().endswith((".", ":")) and parts is not None and bool(parts[1])
        single = len(_cells(line.words, line.size)) == 1
        if not single or (ended and not _is_prose(line)):
            break
        text, at = f"{text} {line.text}", line
        taken.append(line)
    if below:
        chosen = [
            row for row in under if row.bottom < at.bottom - 0.3 * at.size and row.lines != [at]
        ]
    else:
        chosen = [row for row in reversed(rows) if row.bottom > caption.bottom + 0.3 * caption.size]
    return text, taken, _adjoining(at if below else caption, chosen, taken, below, others)


def _rows(lines: Sequence[TextLine]) -> list[PlacedRow]:
    """All lines of a page by their baselines, from the top."""
    rows: list[PlacedRow] = []
    for line in sorted(lines, key=lambda one: -one.bottom):
        if rows and abs(rows[-1].bottom - line.bottom) < 0.35 * min(rows[-1].size, line.size):
            rows[-1].lines.append(line)
        else:
            rows.append(PlacedRow(line.bottom, line.size, [line]))
    return rows


def _adjoining(
    caption: TextLine,
    rows: Sequence[PlacedRow],
    taken: list[TextLine],
    below: bool,
    others: Sequence[TextLine],
) -> list[PlacedRow]:
    """The rows next to a caption without a gap, up to prose, in the caption's column of the page:
    between the sentences and the `others`, captions, that stand beside it.
    """
    prose = [*others, *(line for row in rows for line in row.lines if _is_prose(line))]
    low = max((one.right for one in prose if one.right < caption.left), default=0.0)
    high = min((one.left for one in prose if one.left > caption.right), default=10.0**6)
    found: list[PlacedRow] = []
    at, size = caption.bottom, caption.size
    for row in rows:
        lines = [one for one in row.lines if not any(one is other for other in taken)]
        lines = [one for one in lines if one.left < high and one.right > low]
        if not lines:
            continue
        far = abs(at - row.bottom) > ROW_GAP * max(size, row.size)
        if far or any(_is_prose(one) or caption_parts(one.text) for one in lines):
            break
        at, size = row.bottom, max(one.size for one in lines)
        found.append(PlacedRow(row.bottom, size, lines))
        if len(found) > MOST_ROWS:
            break
    return found if below else found[::-1]


def _is_prose(line: TextLine) -> bool:
    """Whether a line is a sentence's: many small words close together."""
    small = sum(word.text.isalpha() and word.text.islower() for word in line.words)
    return (
        len(line.words) > 5
        and small * 2 >= len(line.words)
        and len(_cells(line.words, line.size)) == 1
    )


def _cells(words: Sequence[Word], size: float) -> list[PlacedCell]:
    """The words of a row as cells."""
    found: list[PlacedCell] = []
    for word in sorted(words, key=lambda one: one.left):
        last = found[-1] if found else None
        gap = word.left - last.right if last else 0.0
        printed_over = gap < -0.3 * size
        near = gap < _gap_between(last.text, word.text) * size if last else False
        if last is not None and near and not printed_over:
            last.text += (" " if gap > 0.12 * size else "") + word.text
            last.right = max(last.right, word.right)
        else:
            found.append(PlacedCell(word.text, word.left, word.right))
    return found


def _gap_between(before: str, after: str) -> float:
    joined = before.endswith(("±", "(", "/", "×")) or after.startswith(("±", "(", ")", "%", "×"))
    if joined:
        return CELL_GAP * 2
    both = all(is_value(plain(text)) or is_empty(text) for text in (before, after))
    return NUMBER_GAP if both else CELL_GAP


def _table_rows(rows: Sequence[PlacedRow]) -> Iterator[PlacedRow]:
    for row in rows:
        row.cells = _cells([word for line in row.lines for word in line.words], row.size)
        yield row


def _columns(body: Sequence[PlacedRow]) -> list[tuple[float, float]] | None:
    """The columns' edges, that of labels first; each cell then knows its column. None if the places
    decide nothing.
    """
    values = [cell for row in body for cell in row.cells if cell.is_value]
    edges = _merged([(cell.left, cell.right) for cell in values])
    first = edges[0][0]
    labels = [c for row in body for c in row.cells if not c.is_value and c.right <= first]
    if not labels:
        return None
    between = [
        c
        for row in body
        for c in row.cells
        if not c.is_value and c.right > first and not any(_over(c, edge) for edge in edges)
    ]
    edges = _merged([*edges, *((cell.left, cell.right) for cell in between)])
    all_columns = [(min(c.left for c in labels), max(c.right for c in labels)), *edges]
    for row in body:
        seen: set[int] = set()
        label = [cell for cell in row.cells if not cell.is_value and cell.right <= first]
        if len(label) > 1:  # several columns of names are one label
            label[0].text = " ".join(cell.text for cell in label)
            label[0].right = label[-1].right
            row.cells = [cell for cell in row.cells if cell not in label[1:]]
        for cell in row.cells:
            under = [n for n, edge in enumerate(all_columns) if n and _over(cell, edge)]
            if cell in label:
                under = [0]
            if len(under) > 1 and not cell.is_value and cell is row.cells[0]:
                cell.columns = range(0, under[-1] + 1)  # a section's name
            elif len(under) != 1 or under[0] in seen:
                return None
            else:
                seen.add(under[0])
                cell.columns = range(under[0], under[0] + 1)
    return all_columns


def _over(cell: PlacedCell, edge: tuple[float, float]) -> bool:
    return cell.left < edge[1] - 0.3 and cell.right > edge[0] + 0.3


def _merged(edges: Sequence[tuple[float, float]]) -> list[tuple[float, float]]:
    """Intervals that overlap as one."""
    found: list[tuple[float, float]] = []
    for left, right in sorted(edges):
        if found and left < found[-1][1] - 0.3:
            found[-1] = (found[-1][0], max(found[-1][1], right))
        else:
            found.append((left, right))
    return found


def _place_headings(
    heads: Sequence[PlacedRow], columns: Sequence[tuple[float, float]], rules: Sequence[Rule]
) -> bool:
    """Give each heading the columns that it is over; False if one can't be decided or a column of
    values has none.
    """
    headed: set[int] = set()
    for number, row in enumerate(heads):
        next_bottom = heads[number + 1].bottom if number + 1 < len(heads) else row.bottom - row.size
        for cell in row.cells:
            columns_over = _columns_over(cell, row, columns, rules, next_bottom)
            if columns_over is None:
                return False
            cell.columns = columns_over
            headed |= set(columns_over)
        places = [n for cell in row.cells for n in cell.columns]
        if len(places) != len(set(places)):
            return False
    return headed >= set(range(1, len(columns)))


def _columns_over(
    cell: PlacedCell,
    row: PlacedRow,
    columns: Sequence[tuple[float, float]],
    rules: Sequence[Rule],
    next_bottom: float,
) -> range | None:
    """The columns that a heading is over: those above which a rule is drawn below it; or the one
    that it is over; or those that it is in the middle of. None if that isn't clear.
    """
    for left, right, height in rules:
        inside = left - 3 <= cell.left and cell.right <= right + 3
        whole = right - left > 0.9 * (columns[-1][1] - columns[0][0])
        if inside and not whole and next_bottom < height < row.bottom + 0.3 * row.size:
            under = [n for n, (a, b) in enumerate(columns) if left - 3 < (a + b) / 2 < right + 3]
            return range(under[0], under[-1] + 1) if under else None
    over = [n for n, edge in enumerate(columns) if _over(cell, edge)]
    others = [other for other in row.cells if other is not cell]
    spans = [
        range(first, last)
        for first in range(len(columns))
        for last in range(first + 1, len(columns) + 1)
        if not over or (first <= over[0] and over[-1] < last)
    ]
    pitch = min((b[0] - a[1] for a, b in pairwise(columns)), default=40.0)

    def free(span: range) -> bool:
        edge = (columns[span[0]][0], columns[span[-1]][1])
        return not any(_over(other, edge) for other in others)

    def aligned(span: range) -> bool:
        left, right = columns[span[0]][0], columns[span[-1]][1]
        centred = abs(cell.centre - (left + right) / 2) < max(2.0, 0.25 * pitch)
        return centred or abs(cell.left - left) < 2.0 or abs(cell.right - right) < 2.0

    if len(over) == 1:
        return range(over[0], over[0] + 1)  # the table's model gives a group's name to all of it
    fitting = [span for span in spans if aligned(span) and free(span)]
    least = [span for span in fitting if len(span) == min(map(len, fitting))]
    return least[0] if len(least) == 1 else None


def _html(heads: Sequence[PlacedRow], body: Sequence[PlacedRow]) -> str:
    width = max(cell.columns.stop for row in body for cell in row.cells)

    def line(row: PlacedRow, tag: str) -> str:
        cells, at = "", 0
        for cell in sorted(row.cells, key=lambda one: one.columns.start):
            cells += f"<{tag}></{tag}>" * (cell.columns.start - at)
            span = f' colspan="{len(cell.columns)}"' if len(cell.columns) > 1 else ""
            cells += f"<{tag}{span}>{escape(cell.text, quote=False)}</{tag}>"
            at = cell.columns.stop
        return f"<tr>{cells}{f'<{tag}></{tag}>' * (width - at)}</tr>"

    lines = ["<table>", "<thead>", *(line(row, "th") for row in heads), "</thead>"]
    return "\n".join([*lines, *(line(row, "td") for row in body), "</table>"])

"""From the pieces of a table to its cells with all their headings.

The pieces are laid out over the columns and rows that they cover. Headings are the rows above the
first rule or marked as such, rows under them without a value, and such rows further down that
begin a new part of the table; a row with one text alone names the section below it. The columns
at the left, up to the first with values, name rows; an empty name takes the one above it.
"""

import re
from collections.abc import Sequence
from dataclasses import replace

from autoreproduce.claims.tables.cells import (
    Cell,
    CellPiece,
    Heading,
    PaperTable,
    RawTable,
    Row,
    is_empty,
    is_value,
)

MOST_HEADS = 4
Matrix = list[list[CellPiece]]
_NOTHING = CellPiece("", 0, 0, filled=True)


def table_of(raw: RawTable) -> PaperTable:
    """The values of a table with their headings."""
    matrix = _matrix_of(raw)
    cells = _value_cells(matrix, [row.rule for row in raw.rows], raw.heads) if matrix else []
    return PaperTable(raw.names, raw.caption, raw.start, raw.end, tuple(cells))


def _matrix_of(raw: RawTable) -> Matrix:
    """A piece for each row and column; those that are covered hold a copy of what covers them."""
    matrix: Matrix = [[] for _ in raw.rows]
    if raw.covered:
        for line, row in zip(matrix, raw.rows, strict=True):
            for piece in row.pieces:
                line += [piece, *[replace(piece, filled=True)] * (piece.columns - 1)]
    else:
        _place_html_rows(matrix, raw.rows)
    width = max(map(len, matrix), default=0)
    for line in matrix:
        line.extend([_NOTHING] * (width - len(line)))
    if raw.covered:
        _fill_covered(matrix)
    return matrix


def _place_html_rows(matrix: Matrix, rows: Sequence[Row]) -> None:
    """HTML: a piece goes to the first column that none of a row above covers."""
    taken: dict[tuple[int, int], CellPiece] = {}
    for y, row in enumerate(rows):
        x = 0
        for piece in row.pieces:
            while (y, x) in taken:
                x += 1
            for dy in range(min(piece.rows, len(rows) - y)):
                for dx in range(piece.columns):
                    taken[y + dy, x + dx] = piece if dx == dy == 0 else replace(piece, filled=True)
            x += piece.columns
    for y, line in enumerate(matrix):
        width = max((x for row, x in taken if row == y), default=-1) + 1
        line += [taken.get((y, x), _NOTHING) for x in range(width)]


def _fill_covered(matrix: Matrix) -> None:
    """LaTeX: copy a piece over several rows into the empty cells below it (above if negative)."""
    spans = [
        (y, x, p) for y, line in enumerate(matrix) for x, p in enumerate(line) if abs(p.rows) > 1
    ]
    for y, x, piece in spans:
        reach = range(y + 1, y + piece.rows) if piece.rows > 0 else range(y + piece.rows + 1, y)
        for below in reach:
            if 0 <= below < len(matrix) and not matrix[below][x].text:
                matrix[below][x] = replace(piece, rows=1)


def _value_cells(matrix: Matrix, rules: list[bool], heads: int) -> list[Cell]:
    count = _heading_row_count(matrix, rules, heads)
    columns, body = _column_headings(matrix[:count]), range(count, len(matrix))
    labels = _label_column_count(matrix, body)
    section, found = "", []
    latest: list[int] = []  # heading rows inside the table, one after another
    for y in body:
        line = matrix[y]
        if _is_section_row(line):
            section = next(piece.text for piece in line if piece.text)
        elif (latest or any(rules[y : y + 2])) and _is_heading_row(line, matrix[y + 1 :], labels):
            latest.append(y)
            columns = _column_headings([matrix[one] for one in latest])
            continue
        else:
            headings = _row_headings(matrix, y, body[0], labels, rules)
            top = [Heading(section)] if section else []
            found += _row_cells(line, [*top, *headings], columns, labels)
        latest = []
    return found


def _row_cells(
    line: list[CellPiece], headings: list[Heading], columns: list[tuple[str, ...]], labels: int
) -> list[Cell]:
    """The cells of a row that hold numbers; the numbers left of each are its settings."""
    found: list[Cell] = []
    settings: list[Heading] = []
    for x, piece in enumerate(line):
        if x < labels or (piece.filled and piece.columns > 1) or not is_value(piece.text):
            continue
        place = tuple(columns[x]) if x < len(columns) else ()
        found.append(Cell(piece.text, piece.start, piece.end, (*headings, *settings), place))
        settings.append(Heading(piece.text, place[-1] if place else "", own=False))
    return found


def _heading_row_count(matrix: Matrix, rules: list[bool], given: int) -> int:
    """How many rows at the top are headings."""
    ruled = next((y for y in range(1, len(matrix)) if rules[y]), 0)
    count = given or (ruled if ruled <= MOST_HEADS else 0) or 1
    for y in range(1, count):  # a rule further down than the headings
        results = [
            p.text for p in matrix[y][1:] if is_value(p.text) and re.search(r"\.\d|±", p.text)
        ]
        if not given and results and matrix[y][0].text:
            count = y
            break
    labels = _label_column_count(matrix, range(count, len(matrix)))
    while count < min(MOST_HEADS, len(matrix) - 1) and _is_heading_row(
        matrix[count], matrix[count + 1 :], labels
    ):
        if _is_section_row(matrix[count]):
            break
        count += 1
    return count


def _is_heading_row(line: list[CellPiece], below: Matrix, labels: int) -> bool:
    """True if columns that hold values further down hold words here, and the row has no value."""
    if any(is_value(piece.text) for piece in line[labels:]):
        return False
    worded = [x for x, p in enumerate(line) if x >= labels and not is_empty(p.text)]
    return bool(worded) and all(any(is_value(row[x].text) for row in below) for x in worded)


def _is_section_row(line: list[CellPiece]) -> bool:
    """True for a row with one text alone, over several columns or before empty ones."""
    texts = [(x, piece) for x, piece in enumerate(line) if piece.text]
    if not texts or len(line) < 2 or len({(p.start, p.text) for _, p in texts}) > 1:
        return False
    x, piece = texts[0]
    return (x == 0 or piece.columns > 1) and not is_value(piece.text)


def _label_column_count(matrix: Matrix, body: range) -> int:
    """How many columns at the left hold names: the first one, and those after it without values."""
    width = len(matrix[0])
    for x in range(1, width):
        texts = [matrix[y][x].text for y in body if not _is_section_row(matrix[y])]
        if any(is_value(text) for text in texts) and sum(map(is_value, texts)) * 3 >= len(texts):
            return x
    return 1


def _column_headings(heads: Matrix) -> list[tuple[str, ...]]:
    """The headings of each column, outermost first."""
    lines: list[list[str]] = []
    for y, line in enumerate(heads):
        texts = [piece.text for piece in line]
        alone = all(piece.columns == 1 for piece in line)
        if alone and y + 1 < len(heads):  # a group is named over its first column only
            for x in range(2, len(texts)):
                if not texts[x] and heads[y + 1][x].text and texts[x - 1]:
                    texts[x] = texts[x - 1]
        lines.append(texts)
    width = len(heads[0]) if heads else 0
    # a heading over two rows, or repeated on a second page, counts once
    return [tuple(dict.fromkeys(line[x] for line in lines if line[x])) for x in range(width)]


def _row_headings(
    matrix: Matrix, y: int, first: int, labels: int, rules: list[bool]
) -> list[Heading]:
    """The names in a row: its labels (an empty one takes the one above), words further right."""
    line = matrix[y]
    found: list[Heading] = []
    for x in range(labels):
        text, filled = line[x].text, False
        above = y
        while not text and above > first and not rules[above]:
            above -= 1
            text, filled = matrix[above][x].text, True
        if text and (not found or text != found[-1].text):
            head = next((row[x].text for row in matrix[:first] if row[x].text), "")
            found.append(Heading(text, head, filled=filled))
    for x in range(labels, len(line)):
        piece = line[x]
        if (
            not is_empty(piece.text)
            and not is_value(piece.text)
            and not (piece.filled and piece.columns > 1)
        ):
            head = next((row[x].text for row in reversed(matrix[:first]) if row[x].text), "")
            found.append(Heading(piece.text, head, own=False))
    return found

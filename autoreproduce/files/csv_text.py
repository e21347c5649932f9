"""CSV as every file of ours is written: a cell that a spreadsheet would run as a formula is text.

Titles, reasons and names come from models and from others' files. A spreadsheet runs a cell that
begins with one of `= + - @`, a tab or a line's end; an apostrophe before it makes it text. Numbers
stay numbers.
"""

import csv
import io
import re
from collections.abc import Iterable, Sequence

_FORMULA = re.compile(r"'*[=+\-@\t\r\n]")
_MARKED = re.compile(r"'+[=+\-@\t\r\n]")
_NUMBER = re.compile(r"[-+]?(\d+\.?\d*|\.\d+)([eE][-+]?\d+)?")


def csv_text(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A CSV file's text: the column names, then the rows; None is an empty cell."""
    return "".join(_csv_line(row) for row in (columns, *rows))


def _csv_line(row: Iterable[object]) -> str:
    out = io.StringIO(newline="")
    # with its own end of a line (CR LF) the writer puts cells with a lone CR into quotes too
    csv.writer(out).writerow([safe_cell(cell) for cell in row])
    return out.getvalue().removesuffix("\r\n") + "\n"


def safe_cell(value: object) -> object:
    """A cell as it is written: of a text that begins as a formula, with an apostrophe before it."""
    if not isinstance(value, str) or _NUMBER.fullmatch(value):
        return value
    return f"'{value}" if _FORMULA.match(value) else value


def plain_cell(text: str) -> str:
    """A cell as it was before `safe_cell`."""
    return text[1:] if _MARKED.match(text) else text

"""Tables as cells, each with its full row headings and column headings.

A reader of one format (`latex_grid`, `markup_grid`) gives a table's pieces as they are
(RawTable); `headings` makes of them the cells that hold values (Table).
"""

import re
from dataclasses import dataclass, field
from functools import cached_property

from autoreproduce.claims.numbers import Printed, numbers_in

_EMPTY = re.compile(
    r"[-–—/*?.…]*|n/?a|oom|oot|nan|x|inf|∞|✗|✓|yes|no|tbd|diverged|div\.?|failed", re.IGNORECASE
)
WORDS_BEHIND = re.compile(r"(?<=[\d%])\s*\(([^()]*[^\W\d_]{3}[^()]*)\)\s*$")  # 162 (seeds vary)
_FACTOR = re.compile(
    r"[×x*]\s*10\s*\^\s*([-+]?\d+)|[(\[,]\s*10\s*\^\s*([-+]?\d+)\s*[)\]]|[×x]\s*(1e-?\d+)"
)


@dataclass(frozen=True)
class CellPiece:
    """What is between two separators. `rows` is negative if it covers rows above."""

    text: str
    start: int
    end: int
    columns: int = 1
    rows: int = 1
    head: bool = False
    filled: bool = False


@dataclass(frozen=True)
class Row:
    """The pieces of a row, and whether a rule over the whole width is above it."""

    pieces: tuple[CellPiece, ...]
    rule: bool = False


@dataclass(frozen=True)
class RawTable:
    """A table as it was read. `names`: its number and label, so far as known.

    `covered`: cells that another one covers are written as empty ones (LaTeX), else they are left
    out (HTML).
    """

    rows: tuple[Row, ...]
    start: int
    end: int
    names: tuple[str, ...] = ()
    caption: str = ""
    heads: int = 0
    covered: bool = True


@dataclass(frozen=True)
class Heading:
    """A heading of a row: section or label (`own`), or a setting ("300" under "epochs")."""

    text: str
    above: str = ""
    own: bool = True
    filled: bool = False


@dataclass(frozen=True)
class Cell:
    """A cell that holds a value, with the headings that say what it is a value of."""

    text: str
    start: int
    end: int
    row: tuple[Heading, ...]
    column: tuple[str, ...]

    @cached_property
    def numbers(self) -> list[Printed]:
        """The numbers that it shows, the main one first."""
        return numbers_in(self.text, cell=True)

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


@dataclass(frozen=True)
class PaperTable:
    """A table's values. `start` and `end` are its place in the text that was read."""

    names: tuple[str, ...]
    caption: str
    start: int
    end: int
    cells: tuple[Cell, ...] = field(repr=False)

    @property
    def name(self) -> str:
        """What to call it."""
        return f"Table {' = '.join(self.names)}" if self.names else "a table without a caption"


def is_value(text: str) -> bool:
    """True for a number with its unit and marks; not for a name with a number in it. A remark in
    brackets may follow it.
    """
    text = WORDS_BEHIND.sub("", text)
    if not text or not re.match(r"[\d.+\-−(\[<>~≈±≤≥$]", text) or not numbers_in(text, cell=True):
        return False
    return len(re.findall(r"[A-Za-z]", re.sub(r"\d[eE][-+]?\d", "", text))) <= 4


def is_empty(text: str) -> bool:
    """True for nothing, or a sign for no value."""
    return _EMPTY.fullmatch(text.strip()) is not None

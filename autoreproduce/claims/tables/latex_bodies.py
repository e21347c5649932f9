"""Where the tables of LaTeX source are, and which caption and label go with each."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from autoreproduce.claims.plain import plain
from autoreproduce.papers import latex_tables
from autoreproduce.papers.latex_macros import braced

# environments that hold rows, and what comes before these in pylatexenc's notation
ROWS = {name: latex_tables.TAKES[name] for name in latex_tables.TABULAR} | {"array": "[{"}
_BEGIN_END = re.compile(r"\\(begin|end)\s*\{(" + "|".join(map(re.escape, ROWS)) + r")\}")
_FLOATS = "(?:sideways|wrap|sub)?table|longtable|minipage|subfigure|threeparttable|figure"
_AROUND = re.compile(rf"\\(begin|end)\s*\{{((?:{_FLOATS})\*?)\}}")
_CAPTION = re.compile(r"\\(captionof\s*\{table\}|caption(?!of|setup)\*?)")


@dataclass(frozen=True)
class Body:
    """An environment with rows: from its \\begin to its \\end, and what is inside."""

    start: int
    inside: int
    inside_end: int
    end: int


def bodies_in(latex: str) -> Iterator[Body]:
    """The outermost environments with rows; of one that lays out others, those."""
    for body in environments(latex, 0, len(latex)):
        inner = list(environments(latex, body.inside, body.inside_end))
        real = [one for one in inner if _is_table(latex[one.inside : one.inside_end])]
        yield from real or [body]


def environments(latex: str, start: int, end: int) -> Iterator[Body]:
    """The outermost environments with rows between two places."""
    depth, opened = 0, None
    for found in _BEGIN_END.finditer(latex, start, end):
        depth += 1 if found[1] == "begin" else -1
        if depth == 1 and found[1] == "begin":
            opened = found
        elif depth <= 0:
            if opened is not None:
                inside = _after_arguments(latex, opened.end(), ROWS[opened[2]])
                yield Body(opened.start(), min(inside, found.start()), found.start(), found.end())
            depth, opened = 0, None


def _after_arguments(latex: str, position: int, takes: str) -> int:
    for kind in takes:
        start = position + len(latex[position:]) - len(latex[position:].lstrip())
        if latex[start : start + 1] != kind:
            continue
        if kind == "{":
            group = braced(latex, start)
            position = group[1] if group else start + 1
        else:
            closing = latex.find("]", start)
            position = closing + 1 if closing >= 0 else start + 1
    return position


def _is_table(inside: str) -> bool:
    """True for more than a cell whose lines are broken."""
    return "&" in inside and len(re.findall(r"\\\\|\\tabularnewline", inside)) >= 2


# of the columns of a tabular: what is between two of them, options, a column
_PART = re.compile(r"[@!><]\{(?:[^{}]|\{[^{}]*\})*\}|\[[^\]]*\]|[lcrXSYpmb]")


def signs_between(begin: str) -> set[int]:
    """The columns that an environment's arguments follow with ±, as r@{$\\pm$}l does with 0."""
    repeated = re.compile(r"\*\s*\{(\d{1,2})\}\s*\{((?:[^{}]|\{[^{}]*\})*)\}")
    begin = repeated.sub(lambda found: found[2] * int(found[1]), begin)
    column, found = -1, set()
    for part in _PART.finditer(_column_spec(begin)):
        if part[0][0] in "@!" and re.search(r"\\pm|±", part[0]):
            found.add(column)
        elif part[0][0] in "lcrXSYpmb":
            column += 1
    return found


def _column_spec(begin: str) -> str:
    """The last argument of an environment: its columns."""
    last, position = "", 0
    while (opening := begin.find("{", position)) >= 0 and (group := braced(begin, opening)):
        last, position = group
    return re.sub(r"(?<=[pmb])\{[^{}]*\}", "", last)


class Captions:
    """Which caption and label go with a table: those of the innermost float or box around it."""

    def __init__(self, latex: str) -> None:
        self.latex = latex
        self.spans = list(self._float_spans())
        self.captions = list(_CAPTION.finditer(latex))
        self.numbers: dict[int, int] = {}
        for found in self.captions:
            around = [name for start, end, name in self.spans if start <= found.start() < end]
            sub = any(name.startswith("sub") for name in around)
            if (
                found[1] != "caption*"
                and not sub
                and ("captionof" in found[1] or any("table" in name for name in around))
            ):
                self.numbers[found.start()] = len(self.numbers) + 1

    def _float_spans(self) -> Iterator[tuple[int, int, str]]:
        opened: list[tuple[int, str]] = []
        for found in _AROUND.finditer(self.latex):
            if found[1] == "begin":
                opened.append((found.start(), found[2]))
            elif opened:
                start, name = opened.pop()
                yield start, found.end(), name

    def of(self, position: int) -> tuple[tuple[str, ...], str]:
        """(names, caption) of the table at `position`."""
        around = sorted(
            (end - start, start, end) for start, end, _ in self.spans if start <= position < end
        )
        for _, start, end in around:
            inside = [found for found in self.captions if start <= found.start() < end]
            if inside:
                return self._names_and_caption(self._caption_for(inside, start, end, position), end)
        return (), ""

    def _caption_for(
        self, inside: list[re.Match[str]], start: int, end: int, position: int
    ) -> re.Match[str]:
        """Of several captions in one float, the one at the table's place in their order."""
        tables = [body.start for body in bodies_in(self.latex[start:end])]
        order = tables.index(position - start) if position - start in tables else 0
        return inside[min(order, len(inside) - 1)] if len(inside) > 1 else inside[0]

    def _names_and_caption(self, found: re.Match[str], end: int) -> tuple[tuple[str, ...], str]:
        opening = self.latex.find("{", found.end())
        group = braced(self.latex, opening) if opening >= 0 else None
        caption = group[0] if group else ""
        later = [one.start() for one in self.captions if one.start() > found.start()]
        label = re.search(r"\\label\s*\{([^{}]*)\}", self.latex[found.start() : min([end, *later])])
        number = self.numbers.get(found.start())
        names = [str(number)] if number else []
        return (*names, *([label[1].strip()] if label else [])), plain(caption)

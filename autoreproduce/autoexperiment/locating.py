"""Which function of the code a row of the dataset means, by name and not by its line.

Rows of one file and name are placed together: they mean different functions and stand in the order of the code, so
of all ways to give them namesakes in order the nearest one is taken. One by one, stale lines would give two of them
the same function.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autoreproduce.autoexperiment.dataset import MaskRow, Paper
from autoreproduce.autoexperiment.functions import Function, namesakes
from autoreproduce.autoexperiment.masking import Wanted, read_source
from autoreproduce.autoexperiment.source import Source
from autoreproduce.errors import SourceError


@dataclass(frozen=True)
class Located:
    """A row's function in its file. `doubt` says why another could be meant; "" where none can."""

    source: Source
    function: Function
    doubt: str = ""


def locate(paper: Paper) -> dict[str, Located | SourceError]:
    """Every row's function by func_id, or the reason why there is none."""
    found: dict[str, Located | SourceError] = {}
    sources: dict[str, Source | SourceError] = {}
    for row in paper.functions:
        if row.file not in sources:
            sources[row.file] = _read(paper, row.file)
        source = sources[row.file]
        found[row.func_id] = source if isinstance(source, SourceError) else _alone(paper, row, source)
    for (file, name), rows in _alike(paper).items():
        source = sources[file]
        if isinstance(source, Source):
            for row, function in zip(rows, _in_order(rows, namesakes(source.functions, name)), strict=False):
                found[row.func_id] = Located(source, function, _doubt(row, function, source))
    return found


def wanted_of(
    paper: Paper, rows: Sequence[MaskRow], located: Mapping[str, Located | SourceError] | None = None
) -> list[Wanted]:
    """What `masking.mask_files` is to mask for these rows. Raises SourceError where one of them has no function."""
    located = located or locate(paper)
    wanted = []
    for row in rows:
        place = located[row.func_id]
        if isinstance(place, SourceError):
            raise place
        wanted.append(Wanted(row.file, place.function.address, None, row.description, row.passage))
    return wanted


def _read(paper: Paper, file: str) -> Source | SourceError:
    try:
        source = read_source(paper.code, file)
        assert source.functions is not None
        return source
    except SourceError as error:
        return error


def _alone(paper: Paper, row: MaskRow, source: Source) -> Located | SourceError:
    """The function of one row, by the set's own address where it has one."""
    address = paper.made.addresses.get(row.func_id) if paper.made else None
    try:
        function = source.find(address or row.name, row.header_line or row.line_start)
    except SourceError as error:
        return error
    return Located(source, function, "" if address else _doubt(row, function, source))


def _alike(paper: Paper) -> dict[tuple[str, str], list[MaskRow]]:
    """The rows that share file and name and have lines, in the order of the lines; groups of one left out."""
    groups: dict[tuple[str, str], list[MaskRow]] = {}
    for row in paper.functions:
        if not (paper.made and row.func_id in paper.made.addresses):
            groups.setdefault((row.file, row.name), []).append(row)
    return {
        key: sorted(rows, key=_line)
        for key, rows in groups.items()
        if len(rows) > 1 and all(_line(row) for row in rows)
    }


def _line(row: MaskRow) -> int:
    return row.header_line or row.line_start or 0


def _in_order(rows: Sequence[MaskRow], functions: Sequence[Function]) -> list[Function]:
    """A function for each row, later ones for later rows, the sum of distances least; [] where there are too few."""
    if len(functions) < len(rows):
        return []
    best: list[tuple[int, list[Function]] | None] = [(0, [])] + [None] * len(rows)  # by how many rows are placed
    for function in functions:
        for placed in reversed(range(len(rows))):
            before, now = best[placed], best[placed + 1]
            if before is not None:
                cost = before[0] + _cost(rows[placed], function)
                if now is None or cost < now[0]:
                    best[placed + 1] = (cost, [*before[1], function])
    final = best[-1]
    return final[1] if final else []


def _cost(row: MaskRow, function: Function) -> int:
    """How far a function's first and last line are from the row's."""
    last = row.line_end or function.last_line
    return abs(function.line - _line(row)) + abs(function.last_line - last)


def _doubt(row: MaskRow, function: Function, source: Source) -> str:
    alike = namesakes(source.functions, row.name)
    line = _line(row)
    if len(alike) < 2 or function.line <= line <= function.last_line:
        return ""
    names = ", ".join(f"{each.address} (line {each.line})" for each in alike)
    return f"line {line} does not lie in {function.address}, which is taken; there are {names}"

"""Which function of the code a row of the dataset means, by name and not by its line.

Rows of one file and name are placed together: they mean different functions and are in the order of
the code, so of all ways to give them namesakes in order the nearest one is taken. One by one, stale
lines would give two of them the same function.
"""

from __future__ import annotations

from collections.abc import Sequence

from autoreproduce.errors import SourceError
from autoreproduce.plugins.autoexperiment.dataset import MaskedPaper, MaskRow
from autoreproduce.plugins.autoexperiment.functions import Function, namesakes
from autoreproduce.plugins.autoexperiment.masking import (
    Wanted,
    read_shared_source,
    refuse_other_names,
)
from autoreproduce.plugins.autoexperiment.python_source import PythonSource


def locate(paper: MaskedPaper) -> dict[str, Function | SourceError]:
    """Every row's function by func_id, or the reason why there is none."""
    found: dict[str, Function | SourceError] = {}
    sources: dict[str, PythonSource | SourceError] = {}
    for row in paper.functions:
        if row.file not in sources:
            sources[row.file] = _source_of(paper, row.file)
        source = sources[row.file]
        found[row.func_id] = (
            source if isinstance(source, SourceError) else _located_alone(paper, row, source)
        )
    for (file, name), rows in _rows_of_namesakes(paper).items():
        source = sources[file]
        if isinstance(source, PythonSource):
            functions = _in_order(rows, namesakes(source.functions, name))
            found |= {row.func_id: one for row, one in zip(rows, functions, strict=False)}
    return found


def wanted_of(paper: MaskedPaper, rows: Sequence[MaskRow]) -> list[Wanted]:
    """The functions of these rows for `masking.mask_files`. Raises SourceError if one has none."""
    located, wanted = locate(paper), []
    for row in rows:
        function = located[row.func_id]
        if isinstance(function, SourceError):
            raise function
        wanted.append(Wanted(row.file, function.address, None, row.description, row.passage))
    return wanted


def _source_of(paper: MaskedPaper, file: str) -> PythonSource | SourceError:
    try:
        source = read_shared_source(paper.code.resolve(), file)
        assert source.functions is not None
        refuse_other_names(paper.code, file)
        return source
    except SourceError as error:
        return error


def _located_alone(
    paper: MaskedPaper, row: MaskRow, source: PythonSource
) -> Function | SourceError:
    """The function of one row, by the set's own address if it has one."""
    address = paper.made.addresses.get(row.func_id) if paper.made else None
    try:
        return source.find(address or row.name, row.header_line or row.line_start)
    except SourceError as error:
        return error


def _rows_of_namesakes(paper: MaskedPaper) -> dict[tuple[str, str], list[MaskRow]]:
    """Two or more rows that share file and name and have lines, in the order of the lines."""
    groups: dict[tuple[str, str], list[MaskRow]] = {}
    for row in paper.functions:
        if not (paper.made and row.func_id in paper.made.addresses):
            groups.setdefault((row.file, row.name), []).append(row)
    return {
        key: sorted(rows, key=_row_line)
        for key, rows in groups.items()
        if len(rows) > 1 and all(_row_line(row) for row in rows)
    }


def _row_line(row: MaskRow) -> int:
    return row.header_line or row.line_start or 0


def _in_order(rows: Sequence[MaskRow], functions: Sequence[Function]) -> list[Function]:
    """A function for each row, in order, with the least sum of distances; [] if too few."""
    if len(functions) < len(rows):
        return []
    # The best choice by the number of rows that are placed.
    best: list[tuple[int, list[Function]] | None] = [(0, []), *[None] * len(rows)]
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
    return abs(function.line - _row_line(row)) + abs(function.last_line - last)

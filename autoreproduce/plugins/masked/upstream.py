"""The public benchmark's own masks, made by line numbers: for comparison, and to find broken ones.

Its rule: the lines `line_start` to `line_end` and one more are replaced, four columns right of the
header line, by a docstring with the description, `raise NotImplementedError()` and a blank line.
Line numbers become stale and headers have several lines, so the result may not parse, or mask
something else than the function.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Sequence
from typing import Protocol

from autoreproduce.errors import SourceError
from autoreproduce.plugins.masked.functions import Function
from autoreproduce.plugins.masked.python_source import PythonSource, parse


class Lines(Protocol):
    """What the rule needs to know of a function; lines are counted from 1."""

    @property
    def header_line(self) -> int | None:
        """The line of `def`."""

    @property
    def line_start(self) -> int | None:
        """The body's first line."""

    @property
    def line_end(self) -> int | None:
        """The body's last line."""

    @property
    def description(self) -> str:
        """The text of the stub's docstring."""


def upstream_mask(text: str, rows: Sequence[Lines]) -> str:
    """`text` masked as the public benchmark does it, faults included; `rows` of one file in order.

    Raises SourceError if its own code would stop: a header line that is blank or outside the file.
    """
    lines = re.findall(r"[^\n]*\n|[^\n]+", re.sub(r"\r\n?", "\n", text))
    made: list[str] = []
    at = 0
    for row in rows:
        header, start, end = row.header_line, row.line_start, row.line_end
        if header is None or start is None or end is None or not 1 <= header <= len(lines):
            raise SourceError(
                f"line {header} is outside the file", fix="the public rule cannot mask it"
            )
        first = lines[header - 1].replace("\t", "    ")
        if not first.strip():
            raise SourceError(
                f"line {header} is blank",
                fix="the public rule takes its indentation from there and stops",
            )
        margin = " " * (len(first) - len(first.lstrip()) + 4)
        stub = ['"""', *row.description.split("\n"), '"""', "raise NotImplementedError()", ""]
        made += [*lines[at : start - 1], *(f"{margin}{line}\n" for line in stub)]
        at = end + 1
    return "".join([*made, *lines[at:]])


def upstream_fault(source: PythonSource, row: Lines, function: Function) -> str:
    """What is wrong with the public mask of one function; "" if it masks its body alone."""
    try:
        masked = parse(upstream_mask(source.utf8.decode(), [row]), source.name)
    except SourceError as error:
        cause = error.__cause__
        syntax = isinstance(cause, SyntaxError)
        return f"the public mask does not parse: {cause}" if syntax else str(error)
    found = _at_path(masked, function)
    if found is None:
        return "the public mask removes the function itself"
    if not any(isinstance(node, ast.Raise) for node in found.body):
        return "the public mask leaves the function's body and is elsewhere"
    if not isinstance(found.body[-1], ast.Raise) or len(found.body) > 2:
        return "the public mask leaves a part of the function's body"
    if _without(masked, found) != _without(source.tree, function.node):
        return "the public mask changes code outside the function"
    return ""


def _at_path(tree: ast.Module, function: Function) -> ast.FunctionDef | ast.AsyncFunctionDef | None:
    from autoreproduce.plugins.masked.functions import functions_of

    found = [each for each in functions_of(tree) if each.qualname == function.qualname]
    return found[function.nth - 1].node if len(found) >= function.nth else None


def _without(tree: ast.Module, node: ast.FunctionDef | ast.AsyncFunctionDef) -> str:
    """The tree as text with one function's body left out."""
    body, node.body = node.body, []
    try:
        return ast.dump(tree)
    finally:
        node.body = body

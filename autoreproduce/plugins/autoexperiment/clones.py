"""Copies of a masked function's body elsewhere in its repository: what a solver could read it from.

Twins are functions whose syntax is the same or nearly so, with other names for their own variables.
Other files count if they hold most of the body's lines: a notebook, a backup, text. Compiled files
of Python hold everything, whatever they are called.
"""

from __future__ import annotations

import ast
import json
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from autoreproduce.errors import SandboxError, SourceError
from autoreproduce.files.kinds import REMADE
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.autoexperiment.functions import Function
from autoreproduce.plugins.autoexperiment.masking import read_source
from autoreproduce.plugins.autoexperiment.python_source import PythonSource

ALIKE = 0.85  # of runs of three nodes, counted from the longer one
SMALLEST = 20  # nodes of a body that is hardly anywhere by chance
HELD = 0.8  # of a body's lines
SHORTEST = 12  # characters of a line that counts
LARGEST = 4_000_000  # bytes of a file that is searched
Pair = tuple[str, str]


@dataclass(frozen=True)
class Clone:
    """A copy of the function `of` in `file`; `address` is "" if the file is not a program."""

    of: Pair
    file: str
    address: str = ""

    @property
    def name(self) -> str:
        """`file::address`, or the file."""
        return f"{self.file}::{self.address}" if self.address else self.file


def clones(code: Path, wanted: Sequence[Pair]) -> list[Clone]:
    """All copies of the functions `wanted` below `code`, but for themselves."""
    sources = {file: read_source(code, file) for file, _ in wanted}
    functions = {pair: sources[pair[0]].find(pair[1]) for pair in wanted}
    found: list[Clone] = []
    tree = Tree(code.resolve())
    for file in tree.files(skip=REMADE):
        try:
            data = tree.read(file, LARGEST)
        except (SandboxError, FileNotFoundError):
            continue
        if file.endswith(".py"):
            try:
                others = read_source(code, file).functions
            except SourceError:
                others = ()
            if others:
                found += _twins(file, others, functions)
                continue
        held = _is_compiled(data) or None
        text = "" if held else _text(data)
        for pair, function in functions.items():
            if held or (text and _holds(text, _lines_of_body(sources[pair[0]], function))):
                found.append(Clone(pair, file))
    return found


def twin_pairs(code: Path, wanted: Sequence[Pair]) -> list[Pair]:
    """File and address of the functions that are copies of those `wanted`."""
    return [(each.file, each.address) for each in clones(code, wanted) if each.address]


def _twins(
    file: str, others: Sequence[Function], functions: dict[Pair, Function]
) -> Iterator[Clone]:
    masked = [each for (own, _), each in functions.items() if own == file]
    for other in others:
        if any(each.line <= other.last_line and other.line <= each.last_line for each in masked):
            continue  # itself, one around it or inside it
        runs = _runs(other)
        for pair, function in functions.items():
            own = _runs(function)
            size = max(runs.total(), own.total())
            if own.total() >= SMALLEST and (runs & own).total() >= ALIKE * size:
                yield Clone(pair, file, other.address)


def _runs(function: Function) -> Counter[tuple[str, ...]]:
    """Runs of three nodes of a body, in which its own variables are called by their order."""
    names: dict[str, str] = {}
    arguments = [each.arg for each in ast.walk(function.node.args) if isinstance(each, ast.arg)]
    stored = {
        each.id
        for each in ast.walk(function.node)
        if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)
    }
    nodes = []
    for statement in _body(function):
        for node in ast.walk(statement):
            own = getattr(node, "id", getattr(node, "arg", None))
            if own in stored or own in arguments:
                own = names.setdefault(own, f"#{len(names)}")
            value = repr(node.value) if isinstance(node, ast.Constant) else ""
            attribute = node.attr if isinstance(node, ast.Attribute) else ""
            if not isinstance(node, ast.expr_context):
                nodes.append(f"{type(node).__name__} {own or ''}{attribute}{value}")
    return Counter(zip(nodes, nodes[1:], nodes[2:], strict=False))


def _body(function: Function) -> list[ast.stmt]:
    return function.node.body[1:] if function.docstring else function.node.body


def _lines_of_body(source: PythonSource, function: Function) -> list[str]:
    """The body's lines without white space and comments."""
    first = min((each.lineno for each in _body(function)), default=0)
    text = source.utf8.decode().split("\n")[first - 1 : function.last_line] if first else []
    lines = ["".join(line.partition(" #")[0].split()).replace('"', "'") for line in text]
    return [line for line in lines if len(line) >= SHORTEST]


def _holds(text: str, lines: Sequence[str]) -> bool:
    return len(lines) > 1 and sum(line in text for line in lines) >= HELD * len(lines)


def _text(data: bytes) -> str:
    """A file's text without white space; of a notebook that of its cells."""
    if b"\0" in data[:4096]:
        return ""
    text = data.decode("utf-8", "replace")
    if text.lstrip().startswith("{"):
        try:
            cells = json.loads(text).get("cells", [])
            text = "\n".join("".join(each.get("source", "")) for each in cells) or text
        except (ValueError, AttributeError, TypeError, RecursionError):
            pass
    return "".join(text.split()).replace('"', "'")


def _is_compiled(data: bytes) -> bool:
    """A module that Python compiled: its mark, a header of sixteen bytes, and a code object."""
    return data[2:4] == b"\r\n" and len(data) > 16 and data[16] & 0x7F == ord("c")

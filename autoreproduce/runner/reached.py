"""Whether a run reaches the lines that were changed for it: one that doesn't says nothing of them.

A driver that makes a script's call in its place passes by the script's lines. So a statement
before the changed one prints a mark, once in each process.
"""

import ast

from autoreproduce.errors import ReaderError
from autoreproduce.files.bounded import parse_python

MARK = "autoreproduce: the changed lines are reached"
PROBE = (
    'globals().get("_reached") or '
    f'globals().update(_reached=__import__("os").write(2, b"\\n{MARK}\\n"))'
)


def with_probe(text: str, line: int) -> str:
    """Python that prints MARK where it reaches `line` (from 1), and does else just what it did; of
    a function's head, where it reaches the body. As given where that can't be said.
    """
    try:
        tree = parse_python(text)
    except (SyntaxError, ReaderError):
        return text
    lines = text.split("\n")
    for at in sorted((_first(one) for one in ast.walk(tree) if _covers(one, line)), reverse=True):
        before = lines[at - 1]
        word = before.split(maxsplit=1)[0] if before.strip() else ""
        indent = before[: len(before) - len(before.lstrip())]
        probed = "\n".join([*lines[: at - 1], f"{indent}{PROBE}", *lines[at - 1 :]])
        inside = word in ("", "elif", "else:", "except", "except:", "finally:")
        first = "from __future__" in "\n".join(lines[at - 1 :])  # nothing may precede that
        if not inside and not first and _parses(probed):
            return probed
    return text


def _covers(node: ast.AST, line: int) -> bool:
    if not isinstance(node, ast.stmt):
        return False
    return node.lineno <= line <= (node.end_lineno or node.lineno)


def _first(node: ast.AST) -> int:
    """The line before which a statement's probe goes: of a function its body's first."""
    assert isinstance(node, ast.stmt)
    inside = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    return node.body[0].lineno if inside else node.lineno  # type: ignore[attr-defined]


def _parses(text: str) -> bool:
    try:
        parse_python(text)
    except (SyntaxError, ReaderError):
        return False
    return True

"""What a refactored program must still be: the checks that need no model.

A setting that refactoring changes would be measured and reported as the paper's. So every number and every
string of the old program must stand in the new one and no other number may appear, the dry run apart.
"""

from __future__ import annotations

import ast
import re

MARK = "# dry run"
DRY = re.compile(r"dry[_ -]?run", re.IGNORECASE)


def problem(before: str, after: str) -> str:
    """Why `after` may not take the place of `before`; "" where it may."""
    try:
        new = numbers(after)
    except SyntaxError as error:
        return f"main.py does not parse: {error.msg} (line {error.lineno})"
    if found := DRY.search(after):
        return f"the dry run is still there (line {after[: found.start()].count(chr(10)) + 1})"
    old = numbers(before, dry_run=False)
    lost, gained = sorted(old - new), sorted(new - numbers(before))
    parts = [f"{name} {', '.join(map(str, values))}" for name, values in (("lost:", lost), ("new:", gained)) if values]
    return f"numbers differ from the version that works ({'; '.join(parts)})" if parts else ""


def numbers(source: str, dry_run: bool = True) -> set[float]:
    """The numeric constants of a program, but for 0, 1, 2 and those in format strings.

    With `dry_run=False` the statements marked as serving the dry run do not count.
    """
    tree = ast.parse(source)
    if not dry_run:
        _Unmarked(source).visit(tree)
    formats = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FormattedValue) for n in ast.walk(f)}
    constants = [n.value for n in ast.walk(tree) if isinstance(n, ast.Constant) and id(n) not in formats]
    return {float(v) for v in constants if isinstance(v, int | float) and not isinstance(v, bool)} - {0.0, 1.0, 2.0}


class _Unmarked(ast.NodeTransformer):
    """Takes away each statement whose first or last line bears the mark."""

    def __init__(self, source: str) -> None:
        self.marked = {n for n, line in enumerate(source.splitlines(), 1) if line.rstrip().endswith(MARK)}

    def visit(self, node: ast.AST) -> ast.AST | None:
        """The node, or None for a marked statement."""
        if isinstance(node, ast.stmt) and {node.lineno, node.end_lineno} & self.marked and not hasattr(node, "orelse"):
            return None
        if isinstance(node, ast.If) and node.lineno in self.marked:
            return None
        return super().generic_visit(node)


def without_check(source: str) -> str:
    """A module without its `if __name__ == "__main__":` block: in a phase's file that is the mini-batch check."""
    for node in reversed(ast.parse(source).body):
        if isinstance(node, ast.If) and ast.unparse(node.test).replace('"', "'") == "__name__ == '__main__'":
            lines = source.splitlines(keepends=True)
            return "".join(lines[: node.lineno - 1]).rstrip() + "\n" + "".join(lines[node.end_lineno :])
    return source

"""Bodies that took no thought, and the function's own body with its result in kind.

The first three are written without looking at the function (`return None`, zeros, its first
argument), and none of them may pass. The last works by influence: the function's own body runs, and
its result is replaced by another one of the same kind, which gets past the callers' checks of types
and shapes; so what moves are the numbers.
"""

from __future__ import annotations

import ast
import textwrap
from collections.abc import Callable

from autoreproduce.plugins.masked.functions import Function
from autoreproduce.plugins.masked.in_kind import inside_text

Body = Callable[[Function], str | None]


def _first_argument(function: Function) -> str | None:
    return f"return {function.parameters[0]}" if function.parameters else None


def _zeros(function: Function) -> str:
    """Zeros of the kind and shape of the first argument, if it is a number or an array."""
    if not function.parameters:
        return "return 0.0"
    name = function.parameters[0]
    return f"try:\n    return {name} * 0.0\nexcept Exception:\n    return 0.0"


def by_influence(function: Function, fill: int) -> str | None:
    """A body that runs the function's own and returns `fill` in kind.

    Of a function that returns nothing, what it changes of its arguments is put in kind. None for an
    asynchronous generator.
    """
    node = function.node
    yields = any(isinstance(each, ast.Yield | ast.YieldFrom) for each in _own_nodes(node))
    waits = isinstance(node, ast.AsyncFunctionDef)
    if waits and yields:
        return None
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    text = "\n".join(ast.unparse(each) for each in body) or "pass"
    names = ", ".join(_all_parameters(node))
    head = f"{'async ' if waits else ''}def _own_body({names}):"
    own = f"{head}\n{textwrap.indent(text, '    ')}"
    call = f"{'await ' if waits else ''}_own_body({names})"
    if yields or any(isinstance(each, ast.Return) and each.value for each in _own_nodes(node)):
        last = f"return in_kind({call}, {fill})"
    else:
        last = f"_state = state_of([{names}])\n{call}\nnull_changes(_state, {fill})"
    return f"{inside_text()}\n{own}\n{last}"


TRIVIAL: dict[str, Body] = {
    "return None": lambda _: "return None",
    "zeros": _zeros,
    "the first argument": _first_argument,
}


def _all_parameters(node: ast.FunctionDef | ast.AsyncFunctionDef) -> list[str]:
    args = node.args
    found = [*args.posonlyargs, *args.args, args.vararg, *args.kwonlyargs, args.kwarg]
    return [each.arg for each in found if each is not None]


def _own_nodes(node: ast.AST) -> list[ast.AST]:
    """All nodes of a function's body but those of functions and classes inside it."""
    scopes = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.Lambda)
    found, todo = [], list(ast.iter_child_nodes(node))
    while todo:
        each = todo.pop()
        found.append(each)
        if not isinstance(each, scopes):
            todo += ast.iter_child_nodes(each)
    return found

"""The helpers that a submission's body needs: what they are, and where in the clean file they go.

A helper is a definition, an import or a constant, or a `try` around such (an import that may fail, and what stands in
for it). It stands directly in a scope around the function (its class, its module), binds names which are new there, and
is mentioned by the body or by another helper. It is placed before the function that needs it, as helpers may run when
the module is imported and what they use then stands above.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autoreproduce.autoexperiment.functions import PARTS, Def, Function
from autoreproduce.autoexperiment.source import Source

Scope = ast.Module | ast.ClassDef | Def
Tried = ast.Try | ast.TryStar
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)


@dataclass(frozen=True)
class Helper:
    """Statements for a place in the clean file's text, and the qualified names that they bind."""

    names: tuple[str, ...]
    place: int
    text: str


def needed_helpers(
    clean: Source, submission: Source, target: Function, found: Function, taken: set[str]
) -> list[Helper]:
    """What the body of `found` in `submission` needs and `clean` lacks, to stand before `target`.

    `taken` are the qualified names of helpers that were placed already.
    """
    theirs, ours = scopes(submission.tree, found.node), scopes(clean.tree, target.node)
    used, members = _mentioned(found.node.body)
    path = target.qualname.split(".")
    made: list[Helper] = []
    for depth in reversed(range(len(theirs))):  # what a helper of an inner scope needs may stand further out
        prefix = "".join(f"{name}." for name in path[:depth])
        of_class = isinstance(theirs[depth], ast.ClassDef)
        known = _bound(ours[depth].body) | {name.removeprefix(prefix) for name in taken if name.startswith(prefix)}
        known |= set() if of_class else set(dir(builtins))  # a new `print` would reach further than the body
        place = next(each for each in ours[depth].body if each is target.node or _holds(each, target.node))
        indent = clean.indent_of(place).decode()
        for each in _needed(_singles(theirs[depth].body), known, used, members, of_class):
            names = tuple(prefix + name for name in sorted(_binds(each)))
            made.append(Helper(names, _first_of(clean, place), f"{_text(submission, each, indent)}\n"))
    return made


def reindented(text: str, line: int, old: str, new: str, keep: set[int]) -> str:
    """`text`, whose first line has the number `line`, with `new` for `old` before its lines but those in `keep`."""
    if old == new:
        return text
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    for number, each in enumerate(lines, line):
        if number not in keep and each.startswith(old):
            lines[number - line] = new + each[len(old) :]
    return "\n".join(lines)


def inside_strings(node: ast.AST) -> set[int]:
    """The lines that begin inside a string: white space there is the string's own."""
    found: set[int] = set()
    for each in ast.walk(node):
        if isinstance(each, ast.Constant | ast.JoinedStr) and (each.end_lineno or 0) > each.lineno:
            found.update(range(each.lineno + 1, (each.end_lineno or 0) + 1))
    return found


def _needed(
    body: Sequence[ast.stmt], known: set[str], used: set[str], members: set[str], of_class: bool
) -> list[ast.stmt]:
    """The statements that bind a needed name and no known one. What they need in turn is added to both sets."""
    found: set[int] = set()
    wanted = members if of_class else used
    while True:
        more = [
            each for number, each in enumerate(body)
            if number not in found and (binds := _binds(each)) & wanted and not (binds | _loses(each)) & known
        ]  # fmt: skip
        if not more:
            return [each for number, each in enumerate(body) if number in found]
        found |= {number for number, each in enumerate(body) if each in more}
        names, attributes = _mentioned(more)
        used |= names
        members |= attributes


def _singles(body: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements of a scope, an import of several names as one for each: some may be new and others not."""
    single: list[ast.stmt] = []
    for node in body:
        if isinstance(node, ast.Import):
            single += [ast.copy_location(ast.Import([alias]), node) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            single += [
                ast.copy_location(ast.ImportFrom(node.module, [alias], node.level), node) for alias in node.names
            ]
        else:
            single.append(node)
    return single


def _binds(node: ast.stmt) -> set[str]:
    """The names that a statement binds where it may be a helper; none for any other statement."""
    if isinstance(node, SCOPES):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
        return set() if future else {(each.asname or each.name).partition(".")[0] for each in node.names} - {"*"}
    if isinstance(node, Tried):
        return _binds_tried(node)
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    targets = [part for each in targets for part in (each.elts if isinstance(each, ast.Tuple) else [each])]
    names = {each.id for each in targets if isinstance(each, ast.Name)}
    return names if len(names) == len(targets) else set()


def _binds_tried(node: Tried) -> set[str]:
    """All names of a `try`, which is taken whole; none where it sets something that has no name of its own."""
    body = [*node.body, *node.handlers, *node.orelse, *node.finalbody]
    for each in _within(body):
        if isinstance(each, ast.Attribute | ast.Subscript) and not isinstance(each.ctx, ast.Load):
            return set()
        if isinstance(each, ast.alias) and each.name == "*":
            return set()
    return _bound(body)


def _loses(node: ast.stmt) -> set[str]:
    """The names that a `try` gives to what it catches: they are gone after it, also one that was there."""
    inside = ast.walk(node) if isinstance(node, Tried) else ()
    return {each.name for each in inside if isinstance(each, ast.ExceptHandler) and each.name}


def _bound(body: Sequence[ast.AST]) -> set[str]:
    """All names bound in a scope, in its branches too, but not in the scopes inside it."""
    names: set[str] = set()
    for node in _within(body):
        if isinstance(node, ast.stmt):
            names |= _binds(node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store | ast.Del):
            names.add(node.id)
    return names


def _within(body: Sequence[ast.AST]) -> Iterator[ast.AST]:
    """All nodes of a scope, without those of the scopes inside it."""
    todo = list(body)
    while todo:
        node = todo.pop()
        yield node
        if not isinstance(node, (*SCOPES, ast.Lambda)):
            todo += ast.iter_child_nodes(node)


def _mentioned(body: Sequence[ast.AST]) -> tuple[set[str], set[str]]:
    """The names, and the attributes' names, in some statements."""
    names: set[str] = set()
    members: set[str] = set()
    for node in (each for statement in body for each in ast.walk(statement)):
        if isinstance(node, ast.Name):
            names.add(node.id)
        elif isinstance(node, ast.Attribute):
            members.add(node.attr)
        elif isinstance(node, ast.Global | ast.Nonlocal):
            names.update(node.names)
    return names, members


def scopes(tree: ast.Module, wanted: Def) -> list[Scope]:
    """The module, the classes and the functions around a `def`, from the outermost."""
    found: list[Scope] = [tree]
    todo: list[ast.AST] = list(tree.body)
    while todo:
        node = todo.pop()
        if node is wanted or not _holds(node, wanted):
            continue
        if isinstance(node, SCOPES):
            found.append(node)
            todo = list(node.body)
        else:
            todo += [child for part in PARTS for child in getattr(node, part, ())]
    return found


def _holds(node: ast.AST, wanted: Def) -> bool:
    """True where a statement may have `wanted` in it: by its lines, where it has any (a `case` has none)."""
    first, last = getattr(node, "lineno", 0), getattr(node, "end_lineno", None)
    return first <= wanted.lineno and (last is None or (wanted.end_lineno or 0) <= last)


def _first_of(source: Source, node: ast.stmt) -> int:
    """Where the first line of a statement begins, its decorators included."""
    return source.line_start(min([node.lineno, *(each.lineno for each in getattr(node, "decorator_list", ()))]))


def _text(source: Source, node: ast.stmt, indent: str) -> str:
    """A statement as it is written, its lines beginning with `indent`."""
    own = source.indent_of(node)
    if own.strip() or isinstance(node, ast.Import | ast.ImportFrom):  # it shares its line, or was split
        return indent + ast.unparse(node)
    start = _first_of(source, node)
    text = source.utf8[start : source.offset(node.end_lineno, node.end_col_offset)].decode()
    return reindented(text, source.line_of(start), own.decode(), indent, inside_strings(node))

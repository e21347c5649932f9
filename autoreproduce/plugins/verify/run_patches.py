"""Small changes to how old code is run, never to what it computes.

A model may propose them with the plan. Which change is small is decided here, by its place in the
syntax tree and not by its reason: where a name is imported from, devices, the folder before a path
or the address, whether data are downloaded, names that NumPy and Python dropped, and shown or
printed values. Any other difference touches a
number's computation, and the whole patch is refused.
"""

import ast
import difflib
import re
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pydantic import BaseModel, Field

from autoreproduce.errors import ReaderError
from autoreproduce.files.bounded import parse_python
from autoreproduce.files.confined import confined
from autoreproduce.files.kinds import REMADE
from autoreproduce.files.tree import Tree
from autoreproduce.sandboxes.inside import DATA

DEVICE = re.compile(r"(cuda|gpu|cpu|mps)(:\d+)?")
PATH = re.compile(r"(https?:/)?[\w.~-]*/[\w./~-]*|[\w~-][\w.~-]*\.[A-Za-z]\w{0,5}")
PLACED = ("map_location", "device")  # arguments that say where, and nothing else
FETCHED = ("download", "download_if_missing")  # arguments that say whether data are fetched
DROPPED_NUMPY = {"int", "float", "bool", "object", "str"}
RENAMED = {"xrange": "range", "raw_input": "input", "unicode": "str", "clock": "perf_counter"}
RENAMED |= {"iteritems": "items", "itervalues": "values", "iterkeys": "keys", "in1d": "isin"}
RENAMED |= {"cPickle": "pickle", "NaN": "nan", "Inf": "inf", "product": "prod"}
SHOWS = {"show", "savefig", "print"}
LARGEST, MOST_DIFF = 200_000, 3_000  # bytes of a file that is converted; characters of its diff


class RunPatch(BaseModel):
    """One exact replacement in a file of the code, and why it's needed to run."""

    file: str
    old: str = Field(min_length=1, max_length=4_000)
    new: str = Field(max_length=4_000)
    why: str = Field(min_length=1, max_length=500)


@dataclass(frozen=True)
class Patched:
    """`files`: path -> new text. `shown`: (reason, diff) of each. `refused`: what was not done."""

    files: dict[str, str]
    shown: list[tuple[str, str]]
    refused: list[str]


def from_python2(tree: Tree) -> Patched:
    """The files that are Python 2, converted by lib2to3 of the standard library.

    What that leaves as it is, and Python 3 computes otherwise, is said: divisions. Its time grows
    with the square of a file, so another process does it.
    """
    try:
        return confined(all_converted, tree.root, what="the code's Python 2")
    except ReaderError as error:
        return Patched({}, [], [str(error)])


def all_converted(root: Path) -> Patched:
    """What `from_python2` gives, of the files below a folder."""
    found, tree = Patched({}, [], []), Tree(root)
    for entry in tree.walk(REMADE):
        if entry.kind != "file" or not entry.name.endswith(".py") or entry.size > LARGEST:
            continue
        before = tree.read_text(entry.name)
        if _parsed_as_3(before) or not (after := converted(before)):
            continue
        found.files[entry.name] = after
        tree_after = _parsed_as_3(after)
        nodes = ast.walk(tree_after or ast.Module([], []))
        divisions = [
            n.lineno for n in nodes if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Div)
        ]
        why = "Python 2, converted by lib2to3"
        if divisions and "import division" not in before:
            why += f"; / rounds whole numbers in Python 2 and not here: lines {divisions[:20]}"
        found.shown.append((f"{entry.name}: {why}", _diff(entry.name, before, after)[:MOST_DIFF]))
    return found


def _parsed_as_3(text: str) -> ast.Module | None:
    try:
        return parse_python(text)
    except SyntaxError:
        return None


def tree_of(text: str) -> ast.Module:
    """The tree of a text, which may be Python 2. Raises SyntaxError, and ReaderError."""
    try:
        return parse_python(text)
    except SyntaxError as error:
        if error.lineno is None:  # it's too large or too deep
            raise
        return parse_python(confined(converted, text, what="the code's Python 2") or text)


def converted(text: str) -> str:
    """Python 2 as Python 3, "" if it can't be converted."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # it leaves the standard library with 3.13
        try:
            from lib2to3 import refactor
        except ImportError:
            return ""
        tool = refactor.RefactoringTool(refactor.get_fixers_from_package("lib2to3.fixes"))
        try:
            return str(tool.refactor_string(text.rstrip("\n") + "\n", "code"))
        except Exception:  # whatever a file holds that is no Python at all
            return ""


def patched(tree: Tree, patches: Sequence[RunPatch], given: Patched | None = None) -> Patched:
    """What becomes of the code's files, as handed in or `given`, by those patches that change no
    number.
    """
    found = given or Patched({}, [], [])
    for patch in patches:
        try:
            before = found.files.get(patch.file) or tree.read_text(patch.file)
        except Exception as error:  # whatever a path of a model's leads to
            found.refused.append(f"{patch.file}: it can't be read ({error})")
            continue
        after = before.replace(patch.old, patch.new)
        if why := _refused(patch, before, after):
            found.refused.append(f"{patch.file}: {why} ({patch.why})")
            continue
        found.files[patch.file] = after
        found.shown.append((f"{patch.file}: {patch.why}", _diff(patch.file, before, after)))
    return found


def _diff(name: str, before: str, after: str) -> str:
    texts = (before.splitlines(), after.splitlines())
    return "\n".join(difflib.unified_diff(*texts, name, name, "as handed in", "run", lineterm=""))


def _refused(patch: RunPatch, before: str, after: str) -> str:
    if not patch.file.endswith(".py"):
        return "only a .py file may be changed"
    if before.count(patch.old) != 1:
        return f"the text to replace is there {before.count(patch.old)} times"
    try:
        old, new = map(tree_of, (before, after))
    except (SyntaxError, ReaderError) as error:
        return f"{_problem(error)}, so nothing can be checked"
    was, would_be = _Computation(), _Computation()
    same = ast.dump(was.visit(old)) == ast.dump(would_be.visit(new))
    if not same or not all(map(_same_file, was.paths, would_be.paths)):
        return "it touches what is computed"
    if strange := would_be.imported - was.imported:
        return f"it imports something else as {min(strange)[0]}"
    return ""


def _problem(error: SyntaxError | ReaderError) -> str:
    line = getattr(error, "lineno", None)
    return f"line {line} isn't this Python's" if line else getattr(error, "msg", str(error))


def _same_file(was: str, would_be: str) -> bool:
    """True if only folders at the beginning of a path, or an address, came or went: the place of
    given data may precede it.
    """
    would_be = would_be.removeprefix(f"{DATA}/")
    if "://" in was:
        was, would_be = was.rpartition("/")[2], would_be.rpartition("/")[2]
    short, long = sorted((was.lstrip("./~"), would_be.lstrip("./~")), key=len)
    return long == short or long.endswith(f"/{short}")


class _Computation(ast.NodeTransformer):
    """Leaves out imports and shown values; devices, paths and dropped names become one.

    `imported`: what each name is, and of which package if it is part of one.
    """

    def __init__(self) -> None:
        self.paths: list[str] = []
        self.imported: set[tuple[str, str, str]] = set()

    def visit_Import(self, node: ast.Import) -> ast.AST | None:
        for one in node.names:
            bound = one.asname or one.name.partition(".")[0]
            self.imported.add((bound, RENAMED.get(one.name, one.name), ""))
        return None

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST | None:
        whole = (node.module or "").endswith((".externals", ".externals.six"))  # once kept copies
        package = "" if whole else (node.module or "").partition(".")[0]
        self.imported |= {(one.asname or one.name, one.name, package) for one in node.names}
        return None

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        if isinstance(node.value, ast.Call) and _shows(node.value):
            return None
        return self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> ast.AST:
        if isinstance(node.value, str):
            if DEVICE.fullmatch(node.value):
                return ast.Constant("device")
            if PATH.fullmatch(node.value):
                self.paths.append(node.value)
                return ast.Constant("path")
        return node

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(RENAMED.get(node.id, node.id), node.ctx)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        whose = node.value.id if isinstance(node.value, ast.Name) else ""
        if whose in ("np", "numpy") and node.attr in DROPPED_NUMPY:
            return ast.Name(node.attr, node.ctx)
        value = self.visit(node.value)
        return ast.Attribute(value, RENAMED.get(node.attr, node.attr), node.ctx)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        node.keywords = [
            one
            for one in node.keywords
            if not (one.arg in PLACED and _all_devices([one.value]))
            and not (one.arg in FETCHED and isinstance(one.value, ast.Constant))
        ]
        if isinstance(node.func, ast.Attribute) and not node.keywords:
            moved = node.func.attr in ("cuda", "cpu") and not node.args
            if moved or (node.func.attr == "to" and _all_devices(node.args)):
                whose: ast.AST = self.visit(node.func.value)
                return whose
        return self.generic_visit(node)

    def generic_visit(self, node: ast.AST) -> ast.AST:
        """A block of which nothing is left still is one."""
        super().generic_visit(node)
        if getattr(node, "body", None) == []:
            node.body = [ast.Pass()]  # type: ignore[attr-defined]
        return node


def _all_devices(arguments: Sequence[ast.expr]) -> bool:
    values = [one.value if isinstance(one, ast.Constant) else None for one in arguments]
    return bool(values) and all(isinstance(v, str) and DEVICE.fullmatch(v) for v in values)


def _shows(call: ast.Call) -> bool:
    """True for a figure shown, a file fetched, or a print of names alone: no number, no
    arithmetic.
    """
    name = getattr(call.func, "id", getattr(call.func, "attr", ""))
    if name == "urlretrieve":
        return True
    inner = [node for part in (*call.args, *call.keywords) for node in ast.walk(part)]
    plain = (ast.Name, ast.Attribute, ast.Subscript, ast.Constant, ast.keyword, ast.expr_context)
    return name in SHOWS and all(
        isinstance(node, plain)
        and not (isinstance(node, ast.Constant) and any(c.isdigit() for c in str(node.value)))
        for node in inner
    )

"""A driver: a short script that calls a repository which has no program for the paper's numbers.

A library's functions are called, or a file of the code is run, whole or in part, and what comes
back is printed. The driver lies apart from the code, and the report shows it in full. What it works
out, what it puts in place of the code's own, and what it changes in a text before that runs is
shown once more with its lines, and read by the audit. Two things are refused, for then nobody could
tell what was measured: a number that the paper claims and the driver states, and a text or a
program of the driver's own that it runs.
"""

import ast
import re
import sys
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from fnmatch import filter as filter_names
from itertools import islice
from pathlib import PurePosixPath

from autoreproduce.claims.claim import Claim
from autoreproduce.errors import ReaderError
from autoreproduce.files.bounded import is_number
from autoreproduce.files.kinds import LANGUAGES, ending
from autoreproduce.papers.numbers import numbers_in, same_number
from autoreproduce.plugins.verify.run_patches import tree_of

DRIVER = "verify_driver.py"
LONGEST = 20_000  # characters
COMPUTING = {"cmath", "decimal", "fractions", "math", "random", "statistics"}  # of the library
SUMS = {"max", "min", "pow", "sum"}  # of Python's own functions
STARTS = {"commands", "os", "subprocess"}  # modules that start a program,
PROGRAMS = {"system", "popen", "Popen", "run", "call", "check_call", "check_output", "getoutput"}
TEXTS = {"exec", "eval", "execfile", "compile"}
FILES = {"__import__", "import_module", "run_path", "run_module"}
FILES |= {"load_source", "spec_from_file_location"}
PUTS = ("setattr", "delattr", "vars", "globals")  # functions through which a name is changed
MOST_SHOWN = 300  # characters of one expression
MOST_PARTS, MOST_WORDS = 1_000, 20  # of an expression, and of a text, in which a file is looked for
# What a driver does itself, as the report says it.
RUN, PUT = "It runs the code's own text", "It puts into the code or its libraries"
MADE = "It works out itself"


@dataclass(frozen=True)
class Driver:
    """What a script does beside calling the repository: `fault`, why it is no driver; `shown`: its
    expressions with their lines, by RUN, PUT and MADE.
    """

    fault: str
    shown: dict[str, list[str]]


def read_driver(text: str, files: Collection[str], claims: Sequence[Claim] = ()) -> Driver:
    """What a script does, as a driver of a repository with these files and of a paper with these
    claims.
    """
    try:
        tree = tree_of(text)
    except (SyntaxError, ReaderError) as error:
        return Driver(f"the driver is no Python ({getattr(error, 'msg', error)})", {})
    look = _Look(tree, files)
    fault = look.fault or ("" if look.runs else "the driver runs nothing of the repository")
    for line, number, digits in look.stated:
        if not fault and any(_is_claimed(number, digits, claim) for claim in claims):
            said = f"the driver's line {line} states {number:g}, a number that the paper claims"
            fault = f"{said}: print what the code gives, and no number of yours"
    found = {RUN: look.ran, PUT: look.put, MADE: look.made}
    return Driver(
        fault, {title: [*dict.fromkeys(lines)] for title, lines in found.items() if lines}
    )


def _is_claimed(number: float, least: int, claim: Claim) -> bool:
    """Whether a number is the claimed one, or one of them rounded to the other's digits, three at
    least; also as a fraction of a percentage. What has fewer than `least` digits says nothing.
    """
    digits = min(map(_digits, (f"{number:.12g}", claim.printed or f"{claim.value:.12g}")))
    if claim.kind != "number" or digits < least:
        return False
    meant = abs(claim.value)
    return any(
        same_number(value, meant)
        or (digits > 2 and f"{value:.{digits - 1}e}" == f"{meant:.{digits - 1}e}")
        for value in (abs(number), abs(number) * 100, abs(number) / 100)
    )


def _digits(printed: str) -> int:
    """How many digits a number has, without zeros before them, and after those of whole ones."""
    figures = re.sub(r"[eE].*|[^\d.]", "", printed)
    return len(figures.replace(".", "").lstrip("0") if "." in figures else figures.strip("0"))


class _Look(ast.NodeVisitor):
    """One pass over a driver.

    `stated`: its numbers, with their lines and how many digits make one tell: two of what is
    printed as it stands, three of others.
    """

    def __init__(self, tree: ast.Module, files: Collection[str]) -> None:
        self.files = sorted(files)
        paths = [PurePosixPath(name) for name in files if name.endswith(".py")]
        self.modules = {part for path in paths for part in (*path.parts[:-1], path.stem)}
        self.imported: dict[str, str] = {}  # name: its module
        self.bound: dict[str, list[ast.expr]] = {}  # name: what is assigned to it
        self.spaces: set[str] = set()  # names of what a file's own names are in
        self.named: dict[ast.AST, str] = {}  # the file that a part names
        self.told: set[str] = set()  # names and replacements that were shown
        self.fault, self.runs = "", 0
        self.ran, self.put, self.made = list[str](), list[str](), list[str]()
        self.stated: list[tuple[int, float, int]] = []
        self.printed = False
        for node in ast.walk(tree):
            self._note_names(node)
        self.visit(tree)

    def _note_names(self, node: ast.AST) -> None:
        """What names are bound to, wherever in the driver: an import, a value, a loop's values."""
        if isinstance(node, ast.Import | ast.ImportFrom):
            module = node.module or "" if isinstance(node, ast.ImportFrom) else ""
            for one in node.names:
                self.imported[one.asname or one.name.partition(".")[0]] = module or one.name
                self.runs += (module or one.name).partition(".")[0] in self.modules
        value = getattr(node, "value", None) or getattr(node, "iter", None)
        if isinstance(value, ast.expr):
            targets = getattr(node, "targets", None) or [getattr(node, "target", value)]
            for target in (part for one in targets for part in ast.walk(one)):
                if isinstance(target, ast.Name) and isinstance(target.ctx, ast.Store):
                    self.bound.setdefault(target.id, []).append(value)
                    if isinstance(value, ast.Call) and _name(value) in FILES:
                        self.spaces.add(target.id)
        if isinstance(node, ast.Call) and self._runs_text(node) and len(node.args) > 1:
            self.spaces.add(_root(node.args[1]))

    # What is run.

    def visit_Call(self, node: ast.Call) -> None:
        name, root = _name(node), _root(node.func)
        module = self.imported.get(root, "").partition(".")[0]
        starts = name in PROGRAMS and module in STARTS
        outside = self.printed
        self.printed = outside or name in ("print", "write")
        runs = (name in FILES and module not in self.modules) or self._runs_text(node)
        if runs or starts:
            self._run(node, starts)
        elif (
            name in PUTS[:2]
            or module in ("mock", "unittest")
            or _through(node.func)
            or (_writes(node, module) and self._file_in([node], False))
        ):
            self.put.append(_shown(node))
        elif self._computes(module, node, root):
            self._add_made(node)
            self.printed = outside
            return
        self.generic_visit(node)
        self.printed = outside

    def _runs_text(self, node: ast.Call) -> bool:
        """Whether it's Python's own exec, eval or compile, and no model's or pattern's."""
        of_python = self.imported.get(_root(node.func), "") in ("builtins", "__builtin__")
        return _name(node) in TEXTS and (isinstance(node.func, ast.Name) or of_python)

    def _run(self, node: ast.Call, starts: bool) -> None:
        """A text, a file or a program that is run: the repository's, or it is refused."""
        second = _name(node) in ("load_source", "spec_from_file_location")
        given = node.args if starts else node.args[1:2] if second else node.args[:1]
        file = self._file_in(given or [each.value for each in node.keywords], starts)
        if not file:
            what = f"{_name(node)} runs what isn't the repository's"
            self.fault = self.fault or f"the driver's line {node.lineno}: {what}"
            return
        if not starts and ending(file) in LANGUAGES:
            what = f"{_name(node)} runs a copy of {file} in Python: call it by its own program"
            self.fault = self.fault or f"the driver's line {node.lineno}: {what}"
            return
        self.runs += 1
        if _name(node) not in FILES | {"compile"}:
            self.ran.append(f"{file}: {_shown(node)}{self._made_of(node)}")

    def _made_of(self, node: ast.AST) -> str:
        """What names in an expression stand for, and as a patch what is replaced in a text; each
        once in a driver.
        """
        lines, patches = list[str](), list[str]()
        for part, name in self._reached(node):
            if name:
                lines.append(f"\n  {name} = {_shown(part)}")
            if isinstance(part, ast.Call) and _name(part) in ("replace", "sub"):
                patch = ""
                for sign, given in zip("-+", part.args, strict=False):
                    known = self.bound.get(given.id, []) if isinstance(given, ast.Name) else [given]
                    texts = [str(one.value) for one in known if isinstance(one, ast.Constant)]
                    text = "\n".join(texts) if len(texts) == len(known) else ast.unparse(given)
                    patch += "".join(f"\n{sign}{line}" for line in text.splitlines() or [""])
                patches.append(patch)
        new = [one for one in dict.fromkeys([*lines, *patches]) if one not in self.told]
        self.told |= set(new)
        return "".join(new)

    def _reached(self, node: ast.AST) -> Iterator[tuple[ast.AST, str]]:
        """All parts of an expression and of what its names are bound to; of those with the name."""
        todo, seen = [(node, "")], set[str]()
        while todo:
            start, name = todo.pop()
            for part in _parts(start):
                yield part, name if part is start else ""
                if isinstance(part, ast.Name) and part.id not in seen:
                    seen.add(part.id)
                    todo += [(value, part.id) for value in self.bound.get(part.id, ())]

    def _file_in(self, given: Sequence[ast.AST], starts: bool) -> str:
        """The repository's file that expressions read or name, also by a module's name, and in a
        program's call by a word; "" without one.
        """
        for part in (part for one in given for part, _ in islice(self._reached(one), MOST_PARTS)):
            if part not in self.named:
                self.named[part] = self._file_like(_pattern_of(part))
            if self.named[part]:
                return self.named[part]
            if starts and isinstance(part, ast.Constant):
                words = map(self._file_like, str(part.value).split()[:MOST_WORDS])
                if file := next(filter(None, words), ""):
                    return file
        return ""

    def _file_like(self, pattern: str) -> str:
        """The first file of such a path, or of such a module; "" where the pattern names none."""
        if len(re.sub(r"\W", "", pattern.removesuffix(".py"))) < 2:
            return ""
        module = pattern.replace(".", "/")
        forms = (pattern, f"{module}.py", f"{module}/__init__.py", f"{module}/__main__.py")
        for way in (way for form in forms for way in (form, f"*/{form}")):
            if found := filter_names(self.files, way):
                return found[0]
        return ""

    # What is put in place of something, and what is worked out.

    def visit_Attribute(self, node: ast.Attribute) -> None:
        self._note_put(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        self._note_put(node)

    def _note_put(self, node: ast.Attribute | ast.Subscript) -> None:
        """An assignment changes a thing of the code's or of a library's, or a file's own names."""
        root = _root(node)
        known = root in self.imported or root in self.spaces or root in PUTS
        owns = isinstance(node, ast.Attribute) and root != "self"
        if isinstance(node.ctx, ast.Store | ast.Del) and (known or owns):
            self.put.append(_shown(self.statement))
        self.generic_visit(node)

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self.statement = node
        super().visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        self.statement = node
        if not isinstance(node.value, ast.Constant):  # a text that stands alone is a comment
            self.visit(node.value)

    def _computes(self, module: str, node: ast.Call, root: str) -> bool:
        """Whether a call computes with what isn't the repository's; not a seed or a backend, where
        all is written down and nobody takes the value.
        """
        alone = getattr(self.statement, "value", None) is node and isinstance(
            self.statement, ast.Expr
        )
        if alone and all(isinstance(each, ast.Constant) for each in node.args):
            return False
        if not module:
            return root in SUMS and isinstance(node.func, ast.Name)
        serves = module in sys.stdlib_module_names and module not in COMPUTING
        return not serves and module not in self.modules

    def visit_BinOp(self, node: ast.BinOp) -> None:
        sides = (node.left, node.right)
        listed = any(isinstance(each, ast.List | ast.Tuple | ast.ListComp) for each in sides)
        if listed or any(map(self._is_text, sides)):
            self.generic_visit(node)
        else:
            self._add_made(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        listed = isinstance(node.value, ast.List | ast.Tuple | ast.ListComp)
        if listed or self._is_text(node.value):
            self.generic_visit(node)
        else:
            self._add_made(node)

    def _add_made(self, node: ast.AST) -> None:
        """Add what is shown as a whole, and see what else is in it."""
        made = [*self.made, _shown(node)]
        self.generic_visit(node)
        self.made = made

    def _is_text(self, node: ast.expr) -> bool:
        match node:
            case ast.Constant():
                return isinstance(node.value, str)
            case ast.BinOp():
                return self._is_text(node.left) or self._is_text(node.right)
            case ast.Name():
                known = self.bound.get(node.id, [])
                texts = (isinstance(getattr(one, "value", None), str) for one in known)
                return bool(known) and all(texts)
        made = isinstance(node, ast.Call) and _name(node) in ("str", "repr", "join", "Path")
        return made or isinstance(node, ast.JoinedStr)

    # What is stated.

    def visit_Constant(self, node: ast.Constant) -> None:
        numbers = [node.value] if is_number(node.value) else []
        if isinstance(node.value, str):
            numbers = [one.value for one in numbers_in(node.value)]
        least = 2 if self.printed else 3
        self.stated += [(node.lineno, float(number), least) for number in numbers]

    def visit_Name(self, node: ast.Name) -> None:
        """A name that is printed is printed as what was assigned to it."""
        for one in self.bound.get(node.id, ()) if self.printed else ():
            if isinstance(one, ast.Constant):
                self.visit_Constant(one)


def _pattern_of(path: ast.AST) -> str:
    """A pattern, as a shell's, of the paths that an expression may give, by the texts in it, as in
    f"fig{n}.py", Path("src") / name and "*.py"; "" without any.
    """
    if not isinstance(path, ast.Constant | ast.BinOp | ast.JoinedStr | ast.Call):
        return ""
    found = (part.value for part in _parts(path) if isinstance(part, ast.Constant))
    texts = [text for text in islice(found, MOST_WORDS) if isinstance(text, str)]
    pattern = "*".join(re.sub(r"^(?:\.{1,2}/)+", "", text[:MOST_SHOWN]) for text in texts)
    pattern = re.sub(r"[\[?]", lambda sign: f"[{sign[0]}]", pattern)
    return pattern if isinstance(path, ast.Constant) or not pattern else f"{pattern}*"


def _root(node: ast.AST) -> str:
    """The name that an expression begins with."""
    while isinstance(node, ast.Attribute | ast.Call | ast.Subscript):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else ""


def _parts(node: ast.AST) -> Iterator[ast.AST]:
    """An expression and its parts; of what is compiled the text, and not the name that it gets."""
    yield node
    compiles = isinstance(node, ast.Call) and _name(node) == "compile"
    inner = node.args[:1] if isinstance(node, ast.Call) and compiles else ast.iter_child_nodes(node)
    for part in inner:
        yield from _parts(part)


def _writes(node: ast.Call, module: str) -> bool:
    """Whether a call writes a file."""
    modes = [one.value for one in ast.walk(node) if isinstance(one, ast.Constant)]
    opened = _name(node) == "open" and any(
        re.fullmatch(r"[rbt]*[wax+][bt+]*", str(m)) for m in modes
    )
    return opened or _name(node) in ("write_text", "write_bytes") or module == "shutil"


def _through(called: ast.expr) -> bool:
    """Whether a method is of the dictionary that holds a thing's names: lib.__dict__.update."""
    return isinstance(called, ast.Attribute) and (
        _root(called.value) in PUTS or "__dict__" in ast.unparse(called.value)
    )


def _name(node: ast.Call) -> str:
    """What is called, without what it belongs to."""
    return str(getattr(node.func, "attr", getattr(node.func, "id", "")))


def _shown(node: ast.AST) -> str:
    text = ast.unparse(node)
    short = text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"
    return f"{short} (line {getattr(node, 'lineno', 0)})"

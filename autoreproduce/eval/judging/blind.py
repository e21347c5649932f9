"""Makes a program blind: a judge sees what the code does and not whose it is.

Comments and docstrings go, since they tell where code comes from, praise it, and can address the judge; files
get neutral names, and the imports between them follow. Lines keep their numbers, so a judge's remark can be
shown at the line that its author wrote. Text in strings that talks to a judge is replaced and reported: code
is evidence, never an instruction.
"""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Iterator
from dataclasses import dataclass, field

from autoreproduce.eval.judging.program import Program

_ADDRESSED = re.compile(
    r"""(give|assign|award|grant|return|output|deserves?|score|rate|grade|mark)\b[^.\n]{0,60}
        \b(20|25|100|full|max(imum)?|perfect|highest|best)\b(?=[^.\n]{0,30}(point|score|mark|grade|/|out\ of|code|$))
      | (ignore|disregard|forget|override)\b[^.\n]{0,40}\b(instruction|prompt|above|previous|prior|rubric)
      | \b(dear|note\ to|attention|hello|hi)\b[^.\n]{0,20}\b(judge|grader|evaluator|reviewer|model|ai|llm)\b
      | \b(as\ an\ ai|language\ model|system\ prompt|you\ are\ (a|an|the)\ (judge|grader|evaluator))\b
      | </?(system|user|assistant|instructions?)>""",
    re.IGNORECASE | re.VERBOSE,
)
REMOVED = "[text removed]"
# What stands before a comment: quoted text, a # within a word, anything else.
_REMARK = re.compile(r"""^((?:[^'"#]|'[^']*'|"[^"]*"|(?<=\S)\#)*)(?<!\S)\#.*$""")


@dataclass(frozen=True)
class Removed:
    """Text that addresses a judge, and where it stood: in a comment, a docstring or a string."""

    file: str
    line: int
    where: str
    text: str


@dataclass(frozen=True)
class BlindFile:
    """One file: its neutral `name`, the `original` path, and `text` whose lines are numbered as the original's."""

    name: str
    original: str
    text: str


@dataclass(frozen=True)
class Blind:
    """A program without its origin, and what in it addressed the judge."""

    files: list[BlindFile]
    removed: list[Removed] = field(default_factory=list)

    def original(self, name: str) -> str | None:
        """The path that a neutral name stands for, None for a name that is none of them."""
        return next((file.original for file in self.files if file.name == name), None)


def blind(program: Program) -> Blind:
    """The program made blind. Files are in the order of their paths, named file_1.py, file_2.py ..."""
    names = {path: f"file_{n}.{path.rpartition('.')[2]}" for n, path in enumerate(sorted(program.files), 1)}
    modules: dict[str, str] = {}
    for path, name in names.items():
        if path.endswith(".py"):  # a program's own module: by its name alone, or by its whole path
            modules |= {spelled: _module(name) for spelled in (_module(path), path[:-3].replace("/", "."))}
    files, removed = [], []
    for path, name in names.items():
        text = program.files[path]
        removed += list(_addressed(path, text))
        files.append(BlindFile(name, path, _python(text, modules) if path.endswith(".py") else _plain(text)))
    return Blind(files, removed)


def _module(path: str) -> str:
    return path.removesuffix(".py").rpartition("/")[2]


def _python(text: str, modules: dict[str, str]) -> str:
    """Python without comments, docstrings and strings that address a judge, importing by neutral names."""
    lines = text.split("\n")
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested too deep
        return _plain(text)
    spans = [*_comments(text), *_docstrings(tree), *_talking_strings(tree), *_imports(tree, text, modules)]
    for first, last, new in sorted(spans, key=lambda span: span[0], reverse=True):
        _replace(lines, first, last, new)
    return "\n".join(line.rstrip() for line in lines)


Span = tuple[tuple[int, int], tuple[int, int], str]  # (line from 1, byte column) twice, and what stands there instead


def _comments(text: str) -> Iterator[Span]:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                line = token.line.encode()
                column = len(token.line[: token.start[1]].encode())
                yield (token.start[0], column), (token.start[0], len(line.rstrip(b"\r\n"))), ""
    except (tokenize.TokenError, SyntaxError):
        return


def _docstrings(tree: ast.AST) -> Iterator[Span]:
    """Every string that is a statement; a body that is nothing else keeps a `...`."""
    for node in ast.walk(tree):
        for name in ("body", "orelse", "finalbody"):
            block = [child for child in _list(node, name) if not _is_text(child)]
            for child in filter(_is_text, _list(node, name)):
                yield _span(child, "" if block or isinstance(node, ast.Module) else "...")


def _is_text(node: ast.AST) -> bool:
    if not isinstance(node, ast.Expr):
        return False
    value = node.value
    return isinstance(value, ast.JoinedStr) or (isinstance(value, ast.Constant) and isinstance(value.value, str))


def _list(node: ast.AST, name: str) -> list[ast.AST]:
    value = getattr(node, name, None)
    return value if isinstance(value, list) else []


def _talking_strings(tree: ast.AST) -> Iterator[Span]:
    statements = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if id(node) in statements or id(node) in inside:
            continue
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            said = ast.unparse(node) if isinstance(node, ast.JoinedStr) else str(node.value)
            if _ADDRESSED.search(said):
                yield _span(node, f'"{REMOVED}"')


def _imports(tree: ast.AST, text: str, modules: dict[str, str]) -> Iterator[Span]:
    """Imports of the program's own modules under their neutral names, on one line each."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in modules:
            new = ast.ImportFrom(modules[node.module], node.names, 0)
            yield _span(node, ast.unparse(ast.fix_missing_locations(new)))
        elif isinstance(node, ast.Import) and any(alias.name in modules for alias in node.names):
            aliases = [ast.alias(modules[a.name], a.asname or a.name) if a.name in modules else a for a in node.names]
            yield _span(node, ast.unparse(ast.Import(aliases)))


def _span(node: ast.AST, new: str) -> Span:
    start = (getattr(node, "lineno", 1), getattr(node, "col_offset", 0))
    return start, (getattr(node, "end_lineno", 1), getattr(node, "end_col_offset", 0)), new


def _replace(lines: list[str], first: tuple[int, int], last: tuple[int, int], new: str) -> None:
    """Replace a span; the lines that it covered stay, empty. Columns count bytes, as the syntax tree's do."""
    head = lines[first[0] - 1].encode()[: first[1]]
    tail = lines[last[0] - 1].encode()[last[1] :]
    lines[first[0] - 1] = (head + new.encode() + tail).decode("utf-8", "replace")
    for at in range(first[0], last[0]):
        lines[at] = ""


def _plain(text: str) -> str:
    """Text that is no Python: comments go, and lines that address a judge."""
    bare = ("" if line.lstrip().startswith("//") else _REMARK.sub(r"\1", line) for line in text.split("\n"))
    return "\n".join(_line(line).rstrip() for line in bare)


def _line(line: str) -> str:
    return REMOVED if _ADDRESSED.search(line) else line


def _addressed(path: str, text: str) -> Iterator[Removed]:
    """What in a file talks to a judge, by line; strings over several lines are looked at as one as well."""
    seen = set()
    for number, line in enumerate(text.split("\n"), 1):
        if found := _ADDRESSED.search(line):
            seen.add(number)
            yield Removed(path, number, "comment" if "#" in line[: found.start()] else "text", line.strip()[:200])
    for node in _strings(path, text):
        if node.lineno not in seen and _ADDRESSED.search(str(node.value)):
            yield Removed(path, node.lineno, "text", " ".join(str(node.value).split())[:200])


def _strings(path: str, text: str) -> list[ast.Constant]:
    try:
        tree = ast.parse(text) if path.endswith(".py") else ast.Module([], [])
    except (SyntaxError, ValueError, RecursionError, MemoryError):  # the last two: nested too deep
        return []
    return [n for n in ast.walk(tree) if isinstance(n, ast.Constant) and isinstance(n.value, str) and "\n" in n.value]

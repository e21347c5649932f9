"""A set again without its papers and with other names: what passes there is known by heart.

Functions, classes, parameters and variables are called `f1`, `c2`, `p3`, `v4` in the code, and in
comments, docstrings and descriptions where those cannot mean ordinary words. What others may give
a meaning keeps its name: imports, attributes, methods, keywords of their calls, modules. Numbers,
commands and experiments are the same: every solver takes the set, and `--prove` tests it.
"""

from __future__ import annotations

import ast
import builtins
import io
import keyword
import re
import tokenize
from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from autoreproduce.errors import UsageError
from autoreproduce.files.shared import copy_tree, file_inside, inside
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.masked.dataset import (
    HELD_OUT,
    Dataset,
    MaskedPaper,
    MaskRow,
    load_dataset,
)
from autoreproduce.plugins.masked.functions import Def
from autoreproduce.plugins.masked.layout import code_files, copy_code
from autoreproduce.plugins.masked.locating import Located, locate
from autoreproduce.plugins.masked.masking import read_source
from autoreproduce.plugins.masked.python_source import PythonSource
from autoreproduce.plugins.masked.selection import select_tasks
from autoreproduce.plugins.masked.taskset import PaperSet
from autoreproduce.plugins.masked.writer import write_lists, write_paper, write_text

Names = Mapping[str, str]
SHORTEST = 3  # characters of a name that says something


def write_renamed(dataset: Dataset, out: Path) -> int:
    """Write the set below `out`, which must not exist; how many names were changed.

    Raises UsageError if it exists or a paper's data lie outside the set, SourceError if a
    masked function's file is no Python.
    """
    if out.exists():
        raise UsageError(f"{out} is there already", fix="name a folder that is not there")
    changed = 0
    for paper in dataset.papers.values():
        sources = _sources(paper.code)
        held_out = {HELD_OUT: PythonSource(paper.held_out.encode(), HELD_OUT)}
        names = new_names(sources | (held_out if paper.held_out else {}))
        changed += len(names)
        _write_paper(paper, out, sources, names)
    written = load_dataset(out)
    listed = {n: select_tasks(dataset, [n]) for n in dataset.listed}
    for paper_id in written.papers:
        ids = [task.id for each in listed.values() for task in each if task.paper.id == paper_id]
        write_lists(out, paper_id, select_tasks(written, ids=ids) if ids else [])
    return changed


def new_names(sources: Mapping[str, PythonSource]) -> dict[str, str]:
    """What the names that a repository binds are called instead."""
    trees = [source.tree for source in sources.values()]
    bound: dict[str, str] = {}
    for tree in trees:
        for name, kind in _bound(tree):
            bound[name] = min(bound.get(name, "v"), kind)
    definitions = {name for name, kind in bound.items() if kind in "fc"}
    kept = {name for tree in trees for name in _kept(tree, definitions)}
    if any(_by_text(node) for tree in trees for node in ast.walk(tree)):
        kept |= {name for tree in trees for name in _texts(tree)}
    kept |= {part for file in sources for part in Path(file).with_suffix("").parts}
    wanted = [
        name
        for name in sorted(bound)
        if name not in kept and len(name) >= SHORTEST and not name.startswith("__")
    ]
    return {name: f"{bound[name]}{number}" for number, name in enumerate(wanted, 1)}


def renamed_code(text: str, names: Names) -> str:
    """Python with other names: its identifiers, and the words of comments and docstrings."""
    documented = {
        (node.body[0].lineno, node.body[0].col_offset)
        for node in ast.walk(ast.parse(text))
        if isinstance(node, Def | ast.ClassDef | ast.Module)
        and ast.get_docstring(node, clean=False) is not None
    }
    lines = text.splitlines(keepends=True)
    for token in reversed(list(tokenize.generate_tokens(io.StringIO(text).readline))):
        (row, column), (last, end) = token.start, token.end
        prose = token.type == tokenize.COMMENT or (
            token.type == tokenize.STRING
            and (row, len(lines[row - 1][:column].encode())) in documented
        )
        new = token.string
        if token.type == tokenize.NAME:
            new = names.get(token.string, token.string)
        elif prose:
            new = renamed_words(token.string, names)
        if new != token.string:
            tail = lines[last - 1][end:]
            lines[row - 1 : last] = [lines[row - 1][:column] + new + tail]
            lines[row:row] = [""] * (last - row)
    return "".join(lines)


def renamed_address(address: str, names: Names) -> str:
    """`Class.method#2` with other names."""
    return re.sub(r"\w+", lambda part: names.get(part[0], part[0]), address)


def renamed_words(text: str, names: Names) -> str:
    """Prose with other names, where it must mean them: in backticks, or no ordinary words."""

    def other(word: re.Match[str]) -> str:
        plain = re.fullmatch("[A-Z]?[a-z]+", word[2])
        return word[0] if plain and not word[1] else word[1] + names.get(word[2], word[2])

    return re.sub(r"(`?)(\w+)", other, text)


def _write_paper(
    paper: MaskedPaper, out: Path, sources: Mapping[str, PythonSource], names: Names
) -> None:
    folder = out / paper.id
    made = paper.made or PaperSet()
    if made.data_dir and (data := inside(paper.folder, made.data_dir)).is_dir():
        copy_tree(data, inside(folder, made.data_dir))
    copy_code(paper.code, folder / "code")
    for file, source in sources.items():
        Tree(folder / "code").write(file, renamed_code(source.utf8.decode(), names))
    if recipe := file_inside(paper.folder, "Dockerfile"):
        Tree(folder).write("Dockerfile", recipe.read_bytes())
    write_text(folder / "paper.txt", "")
    if paper.held_out:
        write_text(folder / HELD_OUT, renamed_code(paper.held_out, names))
    located = locate(paper)
    rows, addresses = [], {}
    for row in paper.functions:
        found = located[row.func_id]
        if not isinstance(found, Located):
            raise found
        address = renamed_address(found.function.address, names)
        rows.append(_renamed_row(folder / "code", row, address, names))
        addresses[row.func_id] = address
    update = {"addresses": addresses, "renamed": True, "twins": _renamed_twins(made, names)}
    made = made.model_copy(update=update)
    write_paper(out, paper.id, paper.id, "", rows, paper.experiments, made)


def _renamed_row(code: Path, row: MaskRow, address: str, names: Names) -> MaskRow:
    function = read_source(code, row.file).find(address)
    body = function.node.body
    first = body[1] if function.docstring and len(body) > 1 else body[0]
    return replace(
        row,
        name=renamed_address(row.name, names),
        description=renamed_words(row.description, names),
        passage="",
        header_line=function.line,
        line_start=first.lineno,
        line_end=function.last_line,
    )


def _renamed_twins(made: PaperSet, names: Names) -> dict[str, list[tuple[str, str]]]:
    return {
        func_id: [(file, renamed_address(address, names)) for file, address in twins]
        for func_id, twins in made.twins.items()
    }


def _sources(code: Path) -> dict[str, PythonSource]:
    """The Python files below `code` that parse."""
    found = {}
    for path in code_files(code):
        if path.suffix == ".py":
            source = read_source(code.resolve(), path.as_posix())
            found[path.as_posix()] = source
    return found


def _bound(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Names that a file binds: functions (f), classes (c), parameters (p) and variables (v)."""
    for node in ast.walk(tree):
        if isinstance(node, Def):
            yield node.name, "f"
        elif isinstance(node, ast.ClassDef):
            yield node.name, "c"
        elif isinstance(node, ast.arg):
            yield node.arg, "p"
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, "v"


def _kept(tree: ast.Module, definitions: set[str]) -> Iterator[str]:
    """Names that mean something outside the repository's own code, or may."""
    yield from keyword.kwlist
    yield from dir(builtins)
    for node in ast.walk(tree):
        if isinstance(node, ast.alias):
            for name in (node.name, node.asname or ""):
                if name not in definitions:
                    yield from name.split(".")
        elif isinstance(node, ast.Match):
            yield from keyword.softkwlist
        elif isinstance(node, ast.Attribute):
            yield node.attr  # of whose object it is, is not known
        elif isinstance(node, ast.Constant) and str(node.value).startswith("-"):
            yield str(node.value).lstrip("-").replace("-", "_")  # an option, and its attribute
        elif isinstance(node, ast.Call):
            called = getattr(node.func, "id", getattr(node.func, "attr", ""))
            if called not in definitions:
                yield from (each.arg for each in node.keywords if each.arg)
        elif isinstance(node, ast.ClassDef):
            for each in node.body:  # a field of a class, or a method that another may call
                yield from (name for name, _ in _bound(ast.Module([each], [])) if node.bases)


def _by_text(node: ast.AST) -> bool:
    """True where a program may find a name by a text: `getattr`, `f(**{"name": 1})`."""
    if isinstance(node, ast.Call):
        named = getattr(node.func, "id", "") in {"getattr", "setattr", "hasattr", "eval", "exec"}
        return named or any(each.arg is None for each in node.keywords)
    return isinstance(node, ast.Name) and node.id in {"globals", "locals", "vars", "__all__"}


def _texts(tree: ast.Module) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            yield node.value

"""A program to judge: its files as text, wherever they came from.

A program is what a person would hand in: one file, a folder, an archive, a git URL, or the
workspace of a trial. Nothing of it is run here; links are not followed, and what is not a program's
text (data, pictures, weights) is named and left out.
"""

import re
import sys
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path, PurePosixPath

from autoreproduce.claims.differences import CELL_MARK
from autoreproduce.errors import SandboxError, UsageError, shown
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.kinds import DOCUMENTS, JUDGED, NOT_WRITTEN, ending, kind_of
from autoreproduce.files.notebooks import LARGEST_NOTEBOOK
from autoreproduce.files.tree import Tree, TreeEntry
from autoreproduce.files.unpacking import is_url, opened_source

LARGEST = 1_000_000  # bytes of one file; what is larger is data
MOST = 2_000  # files
NO_CODE = "no code"
_ENCODING = re.compile(r"[ \t\f]*#.*?coding[:=][ \t]*([-\w.]+)")
WRITTEN = {"metrics.json", "package-lock.json"}  # by programs, not by people


@dataclass(frozen=True)
class Sources:
    """A program's texts. `files`: path -> text, of a notebook as a Python file. `unread`: path ->
    why it isn't one. `notebooks`: a file's path -> the notebook that it is of, and its text cell by
    cell.
    """

    files: dict[str, str]
    unread: dict[str, str] = field(default_factory=dict)
    origin: str = ""
    notebooks: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def in_cells(self) -> dict[str, str]:
        """The files, notebooks by their own names with a line before each cell of code."""
        return dict(self.notebooks.get(name, (name, text)) for name, text in self.files.items())

    @property
    def empty(self) -> bool:
        """True if there is no code at all; configuration alone is none."""
        return not any(
            text.strip()
            for name, text in self.files.items()
            if name.lower().endswith((".py", ".sh"))
        )


def read_program(
    source: str,
    without: Sequence[Path] = (),
    kinds: Collection[str] = JUDGED,
    skipped: Collection[str] = NOT_WRITTEN,
) -> Sources:
    """The program at `source`: a file, a folder, a .zip or .tar archive, or a git URL.

    Folders in `without` are no part of it: what is written of a program may lie inside its folder.
    `kinds`: the endings of the files that are read, or the names of those without one, in small
    letters; `skipped`: the names of folders that are not
    looked into.

    Raises UsageError if there is nothing, or it cannot be unpacked or cloned.
    """
    with opened_source(source) as root:
        return program_at(root, source, without, kinds, skipped)


def program_at(
    root: Path,
    source: str,
    without: Sequence[Path] = (),
    kinds: Collection[str] = JUDGED,
    skipped: Collection[str] = NOT_WRITTEN,
) -> Sources:
    """The program at `root`, which `opened_source` made of `source`."""
    if not root.is_dir():
        return _one_file(root, kinds)
    found = program_below(root, without, kinds, skipped)
    return replace(found, origin=shown(source) if is_url(source) else source)


def _one_file(path: Path, kinds: Collection[str]) -> Sources:
    entry = TreeEntry(path.name, "file", 0)
    text, why, cells = _program_text(Tree(path.parent.resolve()), entry, kinds)
    if text is None:
        raise UsageError(
            f"{path} cannot be judged ({why})", fix="name a program's file, folder or archive"
        )
    own = path.name.encode("utf-8", "replace").decode()
    name = _python_name(own)
    return Sources({name: text}, {}, str(path), {name: (own, cells)} if cells else {})


def program_below(
    root: Path,
    without: Sequence[Path] = (),
    kinds: Collection[str] = JUDGED,
    skipped: Collection[str] = NOT_WRITTEN,
) -> Sources:
    """The program in a folder that a program may own; empty if there is none.

    The arguments are those of `read_program`.
    """
    tree, files, unread = Tree(root), dict[str, str](), dict[str, str]()
    notebooks = dict[str, tuple[str, str]]()
    found = own_entries(root, without, skipped)
    texts = (entry.name for entry in found if is_text(entry.name, kinds))
    first = set(sorted(texts, key=_may_be_data)[:MOST])
    names = {entry.name for entry in found}
    for entry in found:
        name = entry.name.encode("utf-8", "replace").decode()
        text, why, cells = _program_text(tree, entry, kinds)
        if not name.isprintable():  # a name is a line of a prompt
            unread[repr(name)] = "its name has a line break or another control character"
        elif text is None:
            unread[name] = why
        elif entry.name in first:  # a notebook may have a module of the same name beside it
            as_python = _python_name(name, names)
            files[as_python] = text
            if cells:
                notebooks[as_python] = (name, cells)
        else:
            unread[name] = f"beyond {MOST} files"
    return Sources(files, unread, notebooks=notebooks)


def own_entries(
    root: Path,
    without: Sequence[Path],
    skipped: Collection[str],
    written: Collection[str] = WRITTEN,
) -> list[TreeEntry]:
    """The files and links of the program in a folder, by path, but for files named in `written`."""
    folder = root.parent.resolve() / root.name
    own = {
        path.relative_to(folder) for path in map(Path.resolve, without) if folder in path.parents
    }
    return [
        entry
        for entry in _program_entries(Tree(root), skipped, written)
        if not own & set(PurePosixPath(entry.name).parents)
    ]


def _program_entries(
    tree: Tree, skipped: Collection[str], written: Collection[str]
) -> list[TreeEntry]:
    """The files and links in a tree, by path, without those of any Python environment."""
    try:
        found = [
            entry for entry in tree.walk(skipped) if PurePosixPath(entry.name).name not in skipped
        ]
    except FileNotFoundError:
        return []
    paths = {entry: PurePosixPath(entry.name) for entry in found}
    environments = {
        path.parent for path in paths.values() if path.name in ("pyvenv.cfg", "conda-meta")
    }
    environments -= {PurePosixPath()}
    own = [
        entry
        for entry in found
        if entry.kind in ("file", "link") and paths[entry].name not in written
    ]
    return sorted(
        (e for e in own if not environments & set(paths[e].parents)), key=lambda e: paths[e].parts
    )


def _may_be_data(name: str) -> bool:
    """True if thousands of such files are no program: they are read after all code."""
    return ending(name) in DOCUMENTS | {".json", ".yaml", ".yml"}


def _program_text(
    tree: Tree, entry: TreeEntry, kinds: Collection[str]
) -> tuple[str | None, str, str]:
    """The text of one file, or None and why it is left out; and of a notebook its cells."""
    text, why = _read_text(tree, entry, kinds)
    if text is None or not entry.name.lower().endswith(".ipynb"):
        return text, why, ""
    if (cells := _notebook_code(text)) is None:
        return None, "no notebook that can be read", ""
    code = "\n".join(cells)
    if len(code) > LARGEST:
        return None, f"larger than {LARGEST:,} bytes", ""
    return code, "", "\n".join(f"{CELL_MARK} {n}\n{cell}" for n, cell in enumerate(cells, 1))


def _read_text(tree: Tree, entry: TreeEntry, kinds: Collection[str]) -> tuple[str | None, str]:
    """What one file holds, or None and why it is left out."""
    if entry.kind == "link":
        return None, "a link"
    if not is_text(entry.name, kinds):
        return None, NO_CODE
    most = LARGEST_NOTEBOOK if entry.name.lower().endswith(".ipynb") else LARGEST
    if entry.size > most:
        return None, f"larger than {LARGEST:,} bytes"
    try:
        text = tree.read_text(entry.name, most)
    except (SandboxError, FileNotFoundError) as error:
        return None, f"it cannot be read: {error}"
    if declared := _other_encoding(text):
        return None, f"it declares the encoding {declared}: Python would run another text"
    return text, ""


def _other_encoding(text: str) -> str:
    """The encoding that a program declares in its first two lines (PEP 263) if it's none in which
    its text means what is read here: `unicode_escape` turns comments into code.
    """
    head = (_ENCODING.match(line) for line in text.split("\n", 2)[:2])
    named = next((found[1] for found in head if found), "utf-8")
    plain = re.sub("[-_]", "", named.lower())
    return "" if plain.startswith(("utf8", "ascii", "usascii", "latin1", "iso8859")) else named


def _notebook_code(text: str) -> list[str] | None:
    """The code cells of a notebook, each with an empty line after it; lines for the shell become
    comments. None if it's no notebook.
    """
    try:
        cells = [
            cell
            for cell in parse_json(text, largest=LARGEST_NOTEBOOK)["cells"]
            if cell["cell_type"] == "code"
        ]
        # a half of a surrogate pair, which JSON may hold, becomes "?"
        sources = ["".join(cell["source"]).encode("utf-8", "replace").decode() for cell in cells]
    except (ValueError, KeyError, TypeError):
        return None
    return [
        "\n".join(
            f"# {line}" if line.lstrip().startswith(("%", "!")) else line
            for line in [*source.split("\n"), ""]
        )
        for source in sources
    ]


def _python_name(name: str, there: Collection[str] = ()) -> str:
    """The name of a notebook as a script, none that is `there` or that hides a module of Python's
    own from whatever runs beside it: `code.ipynb` is `code.ipynb.py`.
    """
    stem = name.removesuffix(".ipynb")
    if stem == name:
        return name
    hides = PurePosixPath(stem).name in sys.stdlib_module_names
    return f"{name}.py" if hides or f"{stem}.py" in there else f"{stem}.py"


def is_text(name: str, kinds: Collection[str] = JUDGED) -> bool:
    """True for a program's own text: code and configuration, which may hold what is judged."""
    return kind_of(name) in kinds and PurePosixPath(name).name not in WRITTEN


def is_safe(name: str) -> bool:
    """True for a relative path that stays inside."""
    parts = PurePosixPath(name).parts
    return bool(parts) and not name.startswith("/") and ".." not in parts

"""Folders: the workspace a solver gets, and the clean copy in which its functions are judged.

Gold is outside `code/`, and only `code/` is ever copied.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterable
from pathlib import Path

from autoreproduce.errors import SandboxError, UsageError
from autoreproduce.files.kinds import REMADE
from autoreproduce.files.shared import copy_tree
from autoreproduce.files.tree import LARGEST, Tree
from autoreproduce.plugins.autoexperiment.locating import wanted_of
from autoreproduce.plugins.autoexperiment.masking import Variant, Wanted, mask_files
from autoreproduce.plugins.autoexperiment.selection import MaskedTask, with_seed
from autoreproduce.plugins.autoexperiment.taskset import PaperSet

COMMAND = "bash refsol.sh"
LAID_OUT = ("experiment.txt", "paper.txt", "refsol.sh")  # what a workspace has beside the code


def lay_out(
    task: MaskedTask,
    folder: Path,
    *,
    variant: Variant = "docstring",
    paper: bool = True,
    commands: bool = True,
    readme: bool = True,
) -> None:
    """A solver's workspace in `folder`, as the public benchmark lays it out.

    `commands` writes `refsol.sh`, run by `COMMAND`. Raises SourceError if a function cannot be
    masked.
    """
    copy_code(task.paper.code, folder)
    mask_files(folder, wanted_of(task.paper, task.functions), variant)
    _without_copies(task, folder)
    missing = "".join(f"\n- {row.name} in file {row.file}" for row in task.functions)
    tree = Tree(folder)
    text = task.asked + (f"\n\nMissing function(s):{missing}" if missing else "")
    _write_own(tree, "experiment.txt", f"{text}\n")
    if paper and task.paper.text:
        _write_own(tree, "paper.txt", task.paper.text)
    if commands:
        # The harness sets each seed; a solver runs one.
        runnable = with_seed(task.solution, "${SEED:-0}")
        _write_own(tree, "refsol.sh", runnable.rstrip("\n") + "\n")
    if not readme:
        for name in [entry.name for entry in tree.entries() if entry.name.startswith("README")]:
            tree.remove(name)


def _without_copies(task: MaskedTask, folder: Path) -> None:
    """Mask the twins of the masked functions too, and leave out files that hold their bodies."""
    made = task.paper.made
    if made is None:
        return
    ids = [row.func_id for row in task.functions]
    twins = dict.fromkeys(each for func_id in ids for each in made.twins.get(func_id, ()))
    mask_files(folder, [Wanted(file, address) for file, address in twins], "signature")
    tree = Tree(folder)
    for file in dict.fromkeys(each for func_id in ids for each in made.hidden.get(func_id, ())):
        tree.remove(file)


def _write_own(tree: Tree, name: str, text: str) -> None:
    """Write one of our own files, replacing a file of that name in the repository."""
    if tree.kind(name) == "folder":
        raise UsageError(
            f"the repository has a folder {name}, where the benchmark puts a file", fix="rename it"
        )
    tree.write(name, text)


def copy_code(code: Path, folder: Path) -> None:
    """A fresh copy of a repository without its history and caches, of plain files alone.

    Raises UsageError if it cannot be made, or a link leads out of the repository: the gold is
    beside it.
    """
    if not code.is_dir():
        raise UsageError(f"{code} is missing", fix="get the dataset's files again")
    try:
        copy_tree(code, folder, (*REMADE, "*.pyc"))
    except (OSError, SandboxError) as error:
        raise UsageError(
            f"{code} cannot be copied to {folder} ({str(error)[:200]})",
            fix="make room, or fix the files",
        ) from None


def recipe(made: PaperSet) -> str:
    """A Dockerfile with the Python and the packages that gave the gold."""
    packages = shlex.join(made.locked or made.packages)  # in a shell, > would write a file
    install = f"RUN pip install --no-cache-dir {packages}\n" if packages else ""
    return f"FROM python:{made.python or '3.11'}-slim\n{install}WORKDIR /workspace\n"


def wanted_pairs(task: MaskedTask) -> list[tuple[str, str]]:
    """File and address of each masked function. Raises SourceError if one is missing."""
    return [(each.file, each.name) for each in wanted_of(task.paper, task.functions)]


def digests(folder: Path, files: Iterable[Path], most: int = LARGEST) -> dict[str, str]:
    """SHA-256 of files below a folder, "" for one that is missing or not a plain file."""
    return {str(path): _digest(Tree(folder), path, most) for path in files}


def _digest(tree: Tree, path: Path, most: int) -> str:
    try:
        return tree.sha256(path, most)
    except (FileNotFoundError, SandboxError):
        return ""


def code_files(folder: Path) -> list[Path]:
    """Programs and scripts, relative to `folder`: a note is made if a run changes one."""
    kinds = {".py", ".sh", ".yaml", ".yml", ".cfg", ".toml"}
    return sorted(path for path in map(Path, Tree(folder).files()) if path.suffix in kinds)


def listing(folder: Path) -> list[list[object]]:
    """Names, sizes and times of all files: code with its data may be too large to be read."""
    found: list[list[object]] = [[str(folder.resolve())]]
    for path in sorted(folder.rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            facts = path.lstat()
            found.append([path.relative_to(folder).as_posix(), facts.st_size, facts.st_mtime_ns])
    return found

"""The whole tree of a program from outside, as its run needs it: data, notebooks, configuration.

What is judged is text alone (`judging.submitted_code`); what runs is all of it. The tree lies in
the trial's folder, beside the workspace, and each run begins with a copy. What is left out, links,
submodules, results of an earlier run, and what is too large, is named with the reason.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from autoreproduce.config import digest
from autoreproduce.errors import SandboxError, UsageError
from autoreproduce.evaluation.judging.submitted_code import SKIPPED, own_entries
from autoreproduce.evaluation.judging.unpacking import LARGEST_WHOLE, MOST_ENTRIES
from autoreproduce.files.tree import Tree, TreeEntry

TREE = "tree"
LARGEST_FILE = 100_000_000  # bytes, of a file that nobody named
RESULTS = "metrics.json"
LFS = "version https://git-lfs.github.com/spec/"  # a text that stands for a large file
_SUBMODULE = re.compile(r"^[ \t]*path[ \t]*=(.{1,1000})$", re.MULTILINE)


@dataclass(frozen=True)
class CarriedFiles:
    """`names`: what is copied from `root`; `left_out`: name -> why it is not."""

    root: Path
    names: tuple[str, ...] = ()
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def digest(self) -> str:
        """Of the names and contents; "" of none."""
        tree = Tree(self.root)
        return digest([[name, tree.sha256(name)] for name in self.names]) if self.names else ""

    def copy_to(self, trial_folder: Path) -> None:
        """Copy the files beside the workspace, where each run takes them from."""
        if self.names:
            most = {"most": LARGEST_WHOLE, "count": MOST_ENTRIES}
            Tree(self.root).copy_out(trial_folder / TREE, self.names, rights=True, **most)


def carried_files(root: Path, without: Sequence[Path], large: Sequence[str]) -> CarriedFiles:
    """What of the folder `root` goes into the sandbox; a single file is its program, and no tree.

    `without`: folders that are no part of it. `large`: names or patterns of files over the limit
    of one file that are taken all the same. Raises UsageError for one that names nothing.
    """
    if not root.is_dir():
        return CarriedFiles(root)
    entries = own_entries(root, without, SKIPPED, ())
    left_out, room = _submodules(root, entries), LARGEST_WHOLE
    taken: list[str] = []
    for pattern in large:
        if not any(PurePosixPath(entry.name).match(pattern) for entry in entries):
            raise UsageError(f"--carry {pattern} is no file of the program", fix="name one of it")
    for entry in sorted(entries, key=lambda entry: entry.size):
        named = any(PurePosixPath(entry.name).match(pattern) for pattern in large)
        why = "" if entry.kind == "file" else f"a {entry.kind}"
        if entry.name == RESULTS:
            why = "the result of an earlier run"
        elif entry.kind == "file" and _is_pointer(root, entry):
            why = "kept by Git LFS, and not fetched: run git lfs pull and name the folder"
        elif entry.size > LARGEST_FILE and not named:
            why = f"{entry.size / 1e6:,.0f} MB; --carry {entry.name} takes it"
        elif entry.size > room or len(taken) >= MOST_ENTRIES:
            why = f"the tree is over {LARGEST_WHOLE >> 30} GiB or {MOST_ENTRIES:,} files"
        if why:
            left_out[entry.name] = why
            continue
        room -= entry.size
        taken.append(entry.name)
    return CarriedFiles(root, tuple(sorted(taken)), left_out)


def _is_pointer(root: Path, entry: TreeEntry) -> bool:
    return 100 < entry.size < 300 and Tree(root).read(entry.name).startswith(LFS.encode())


def lay_carried(trial_folder: Path, workspace: Path) -> None:
    """Copy the tree of a trial, if it has one, into a folder in which its program is to run."""
    tree = Tree(trial_folder / TREE)
    if names := tree.files():
        most = {"most": LARGEST_WHOLE, "count": MOST_ENTRIES}
        tree.copy_out(workspace, names, rights=True, **most)


def _submodules(root: Path, entries: Sequence[TreeEntry]) -> dict[str, str]:
    """The submodules that a repository names and of which no entry is there."""
    try:
        text = Tree(root).read_text(".gitmodules", 2**16)
    except (FileNotFoundError, SandboxError):
        return {}
    full = {folder for entry in entries for folder in PurePosixPath(entry.name).parents}
    named = [PurePosixPath(path.strip()) for path in _SUBMODULE.findall(text)]
    inside = (path for path in named if not path.is_absolute() and ".." not in path.parts)
    empty = (str(path) for path in inside if path not in full and str(path).isprintable())
    return dict.fromkeys(empty, "a submodule: fetch it and name the folder")

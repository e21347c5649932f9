"""Files that others share with us: a masked set, a task's folder, a paper's sources, data.

They come from people we do not know. A link among them could send a file of this machine to a
model, or have one of its files overwritten; a pipe would block whoever opens it. So a tree is
checked before anything of it is read, a file is opened by its real path, and copies contain plain
files alone, through which nothing can be written.

No program runs in such a folder, so a link that stays inside may be followed. For a folder that a
program can write, see `tree.py`: there none is.
"""

import os
import shutil
import stat
from collections.abc import Collection, Iterator
from fnmatch import fnmatch
from pathlib import Path, PurePath, PurePosixPath

from autoreproduce.errors import AutoReproduceError, UsageError
from autoreproduce.files.tree import Tree

LARGEST = 64 * 2**20  # bytes of one file that is read as text
LARGEST_COPY = 20 * 2**30  # bytes of a whole tree; a folder that two links lead to counts twice
MOST_COPIED = 100_000  # files and folders of a tree
DEEPEST = 100  # folders in one another


def inside(root: Path, name: str | PurePath) -> Path:
    """The real path of `name` inside `root`, whether it exists or not.

    Raises UsageError if it leaves `root` by `..`, by being absolute or by a link, or cannot be a
    path.
    """
    top = root.resolve()
    try:
        real = Path(os.path.realpath(top / name))
    except (OSError, ValueError) as error:
        raise UsageError(
            f"{_shown(top, name)} cannot be the name of a file ({error})", fix="correct it"
        ) from None
    if not real.is_relative_to(top):
        raise UsageError(
            f"{_shown(top, name)} isn't a file below {root.name}",
            fix="give its path there, and replace a link that leads out with the file itself",
        )
    return real


def _shown(top: Path, name: str | PurePath) -> str:
    """`name` as a message shows it: below `top` where it can be, and its last 80 characters."""
    text = str(name).removeprefix(f"{top}{os.sep}")
    return repr(text if len(text) <= 80 else "…" + text[-79:])


def file_inside(root: Path, name: str | PurePath) -> Path | None:
    """The real path of a plain file inside `root`; None if it is missing, no file or outside."""
    try:
        real = inside(root, name)
        return real if real.is_file() else None
    except (OSError, UsageError):
        return None


def check_tree(root: Path, error: type[AutoReproduceError] = UsageError) -> None:
    """Raise `error` if a link below `root` leads out of it, or one is a pipe, socket or device.

    A folder that this user may not list is skipped, for nothing of it can be read either.
    """
    top = os.path.realpath(root)
    for entry in _entries(root, error):
        if entry.is_symlink():
            real = os.path.realpath(entry.path)
            if real != top and not real.startswith(top.rstrip(os.sep) + os.sep):
                raise error(
                    f"{entry.path} is a link that leads out of {root}: put a copy of the file in "
                    "its place, or remove it"
                )
        elif not (entry.is_dir(follow_symlinks=False) or entry.is_file(follow_symlinks=False)):
            raise error(f"{entry.path} is a pipe, a socket or a device: remove it")


def _entries(root: Path, error: type[AutoReproduceError]) -> Iterator[os.DirEntry[str]]:
    """Every entry below `root`; links are not followed."""
    waiting = [os.fspath(root)]
    while waiting:
        folder = waiting.pop()
        try:
            with os.scandir(folder) as listing:
                for entry in listing:
                    yield entry
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except (PermissionError, FileNotFoundError):
            continue
        except OSError as found:  # nested too deep: nobody else could list it either
            name = f"{folder[:120]}{'…' if len(folder) > 120 else ''}"
            raise error(f"{name} cannot be listed ({found.strerror}): remove it") from None


def other_names(root: Path, name: str) -> list[str]:
    """The links below `root` by which the file `name` is reached too: a change is seen at all."""
    real, found = os.path.realpath(root / name), []
    for entry in _entries(root, UsageError):
        if entry.is_symlink():
            target = os.path.realpath(entry.path)
            if real == target or real.startswith(target + os.sep):
                found.append(os.path.relpath(entry.path, root))
    return sorted(found)


def read_bytes(root: Path, name: str | PurePath, largest: int = LARGEST) -> bytes:
    """The content of a plain file inside `root`, as `read_plain`; UsageError if it is outside."""
    return read_plain(inside(root, name), largest, str(name))


def read_text(root: Path, name: str | PurePath, largest: int = LARGEST) -> str:
    """The text of a plain file inside `root`, as `read_bytes`; what is not UTF-8 becomes U+FFFD."""
    text = read_bytes(root, name, largest).decode("utf-8", "replace")
    return text.replace("\r\n", "\n").replace("\r", "\n")


def read_plain(path: Path, largest: int = LARGEST, called: str = "") -> bytes:
    """The content of a plain file, or of one that a link leads to.

    Raises FileNotFoundError if it is missing, and UsageError if it is a folder, a pipe or a device,
    holds over `largest` bytes or cannot be read. Messages use `called` for the path if it is given.
    """
    called = called or str(path)
    try:
        # NONBLOCK: a pipe without a writer would block for ever.
        handle = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
        with os.fdopen(handle, "rb") as file:
            if not stat.S_ISREG(os.fstat(handle).st_mode):
                raise UsageError(f"{called} isn't a plain file", fix="put one in its place")
            data = file.read(largest + 1)
    except FileNotFoundError:
        raise
    except IsADirectoryError:
        raise UsageError(f"{called} is a folder", fix="put a plain file in its place") from None
    except OSError as error:
        raise UsageError(
            f"{called} cannot be read ({error.strerror})", fix="make it a plain file"
        ) from None
    if len(data) > largest:
        raise UsageError(f"{called} holds over {largest:,} bytes", fix="make it smaller")
    return data


def copy_tree(source: Path, target: Path, skipped: Collection[str] = ()) -> None:
    """Copy what is below `source` into `target` as plain files and folders, but names in `skipped`.

    `skipped` are patterns of fnmatch. A link that stays inside becomes a copy of what it leads to;
    one that leads to nothing is left out. Raises UsageError as `check_tree`, for links that make
    the copy endless and for what is too large or too deep; OSError if it cannot be read,
    SandboxError if it cannot be written. `target` is written as a `Tree`: a program may have left
    links there.
    """
    check_tree(source)
    tree = Tree(target)
    tree.make_root()
    _Copy(source, tree, skipped).folder(source, PurePosixPath(), {os.path.realpath(source)})


def link_files(source: Path, target: Path, patterns: Collection[str]) -> None:
    """Show the files of `source` that `patterns` name in `target` too: by hard links, else copied.

    What `target` has already stays. Only for folders that no program writes.
    """
    for name, real in matching(source, patterns):
        copy = target / name
        if copy.exists():
            continue
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.link(real, copy)
        except OSError:  # another file system, or one without hard links
            shutil.copyfile(real, copy)


def matching(folder: Path, patterns: Collection[str]) -> Iterator[tuple[str, Path]]:
    """Names below `folder` and real paths of the files that `patterns` name.

    A pattern is fnmatch's, for a path below the folder ("sync/*"). Raises UsageError as
    `check_tree`.
    """
    check_tree(folder)
    for entry in _entries(folder, UsageError):
        name = os.path.relpath(entry.path, folder)
        real = Path(os.path.realpath(entry.path))
        if real.is_file() and any(fnmatch(name, each) for each in patterns):
            yield name, real


def without_times(folder: Path) -> None:
    """Give a folder and all below it the same time."""
    for path in [*folder.rglob("*"), folder]:
        os.utime(path, (0, 0))


class _Copy:
    """One copy of a tree, and how much of it there may still be."""

    def __init__(self, source: Path, target: Tree, skipped: Collection[str]) -> None:
        self.source, self.target, self.skipped = source, target, skipped
        self.entries, self.bytes = MOST_COPIED, LARGEST_COPY

    def folder(self, source: Path, name: PurePosixPath, around: set[str]) -> None:
        """Copy the entries of `source` into the target's folder `name`.

        `around` has the real paths of the folders that `source` is in, as it was reached.
        """
        if len(name.parts) > DEEPEST:
            raise UsageError(
                f"{self.source} nests folders deeper than {DEEPEST} levels: remove the deepest"
            )
        for path in sorted(source.iterdir()):
            if any(fnmatch(path.name, each) for each in self.skipped) or not path.exists():
                continue
            if path.is_dir():
                real = os.path.realpath(path)
                if real in around:
                    raise UsageError(
                        f"{path} is a link to a folder that it lies in", fix="remove it"
                    )
                self._take(0)
                self.target.make_folder(name / path.name)
                self.folder(Path(real), name / path.name, around | {real})
            else:
                self._file(path, name / path.name)

    def _file(self, path: Path, name: PurePosixPath) -> None:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            self._take(status.st_size)
            mode = stat.S_IMODE(status.st_mode)
            self.target.write_from(name, file, mode, status.st_size)

    def _take(self, size: int) -> None:
        self.entries -= 1
        self.bytes -= size
        if self.entries < 0 or self.bytes < 0:
            raise UsageError(
                f"{self.source} holds over {MOST_COPIED:,} files or {LARGEST_COPY >> 30} GiB, "
                "with what its links lead to",
                fix="make it smaller",
            )

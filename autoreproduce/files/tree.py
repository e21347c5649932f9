"""A folder that a program can write, perhaps while we look: the one way to its files.

A program may leave anything: links that lead out, pipes that block whoever opens them, folders
where files belong, names that are not text, paths longer than the kernel takes. So no link is
followed at all, every path is walked by descriptors, one name at a time (`descriptors.py`), only
plain files are opened, and what is read is bounded. What is in the place of a new file is
removed, never written through: a link's or a hard link's other end stays as it is.

For folders that people share with us, in which nothing runs, see `shared.py`: there a link that
stays inside is followed.
"""

import errno
import hashlib
import os
from collections.abc import Collection, Iterable, Iterator
from contextlib import contextmanager
from io import BufferedReader, BufferedWriter
from itertools import takewhile
from pathlib import Path, PurePath, PurePosixPath
from typing import IO, NamedTuple

from autoreproduce.errors import SandboxError
from autoreproduce.files.descriptors import (
    kind_of,
    make_like,
    make_writable,
    open_folder,
    open_plain,
    reopened,
)
from autoreproduce.files.replacing import delete, empty, made_folder, put, replacing
from autoreproduce.files.walking import largest_since, size_on_disk, used, walked

INSIDE = PurePosixPath("/workspace")
LARGEST = 2**30  # bytes that one read takes
MOST_FILES = 100_000
CLOSED = (errno.ENOTDIR, errno.ELOOP, errno.EACCES)  # no folder there, or not for us
Name = str | PurePath


class TreeEntry(NamedTuple):
    """An entry: `name` relative to the root, `kind` as `Tree.kind`, bytes, nanoseconds."""

    name: str
    kind: str
    size: int
    changed: int = 0


class Tree:
    """A folder that a program can write.

    Names are relative to it; `/workspace/x` means the same as `x`. Every method raises SandboxError
    for a name that leads out and for what cannot be done, FileNotFoundError for what is missing,
    and nothing else. Nothing outside `root` is read or changed.
    """

    def __init__(self, root: Path) -> None:
        self.root = root

    def read(self, name: Name, most: int = LARGEST) -> bytes:
        """The content of a plain file of at most `most` bytes."""
        with self.opened(name) as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise UnreadableError(
                f"{_quoted(name)} holds more than {most:,} bytes: make it smaller"
            )
        return data

    def read_text(self, name: Name, most: int = LARGEST) -> str:
        """The same as text; what is not UTF-8 is replaced."""
        return self.read(name, most).decode("utf-8", "replace")

    def sha256(self, name: Name, most: int = LARGEST) -> str:
        """The SHA-256 of a plain file of at most `most` bytes, in hexadecimal."""
        with self.opened(name) as file:
            if os.fstat(file.fileno()).st_size > most:
                raise UnreadableError(
                    f"{_quoted(name)} holds more than {most:,} bytes: make it smaller"
                )
            return hashlib.file_digest(file, "sha256").hexdigest()

    def write(self, name: Name, data: bytes | str) -> None:
        """Write a file, text as UTF-8, making its folders; what else is in their place is removed.

        The file is new, with the rights of the one that it replaces, and never half written.
        """
        with self._new(name) as file:
            file.write(data.encode("utf-8", "replace") if isinstance(data, str) else data)

    def write_from(self, name: Name, source: IO[bytes], mode: int, size: int) -> None:
        """Write a file as `write`, with the next `size` bytes of an open one and the rights `mode`.

        No setuid, setgid or sticky bit is set.
        """
        with self._new(name) as file:
            _copy_at_most(source, file, size)
            os.fchmod(file.fileno(), mode & 0o777)

    def holds(self, name: Name, data: bytes) -> bool:
        """True if `name` is a plain file of this content."""
        try:
            return self.read(name, len(data)) == data
        except (FileNotFoundError, SandboxError):
            return False

    def make_root(self) -> None:
        """Make the root itself, and the folders around it."""
        with self._at("", (), make=True):
            pass

    def unlock(self) -> None:
        """Give the owner all rights to the root itself, where a program took them away."""
        with self._at("", ()) as fd:
            make_writable(fd)

    def make_folder(self, name: Name) -> None:
        """Make a folder and those around it."""
        with self._at(name, steps_of(name), make=True):
            pass

    def remove(self, name: Name) -> None:
        """Remove a file, or a folder with all below it; nothing if it is missing."""
        parts = steps_of(name)
        try:
            with self._at(name, parts[:-1]) as fd:
                make_writable(fd)
                delete(fd, parts[-1])
        except FileNotFoundError:
            return

    def clear(self) -> None:
        """Remove all that is in the tree. The root itself stays: a sandbox has it mounted."""
        with self._at("", ()) as fd:
            empty(fd)

    def kind(self, name: Name) -> str:
        """ "file", "folder", "link", "pipe", "socket" or "device"; "" if it is missing."""
        parts = steps_of(name)
        try:
            with self._at(name, parts[:-1]) as fd:
                return kind_of(os.stat(parts[-1], dir_fd=fd, follow_symlinks=False))
        except (FileNotFoundError, UnreadableError):
            return ""

    def walk(self, skip: Collection[str] = ()) -> Iterator[TreeEntry]:
        """All entries, a folder before what is in it; folders named in `skip` are not entered."""
        with self._at("", ()) as fd:
            yield from (_entry(e.path, e.status) for e in walked(fd, skip) if e.status is not None)

    def files(self, skip: Collection[str] = ()) -> list[str]:
        """The names of all plain files, sorted; none if the root is missing."""
        try:
            return sorted(entry.name for entry in self.walk(skip) if entry.kind == "file")
        except FileNotFoundError:
            return []

    def entries(self) -> list[TreeEntry]:
        """The entries of the root itself, by name."""
        with self._at("", ()) as fd:
            below = takewhile(lambda found: not found.folders, walked(fd))
            return sorted(_entry(e.name, e.status) for e in below if e.status is not None)

    def copy_out(
        self,
        target: Path,
        names: Iterable[str] | None = None,
        *,
        most: int = LARGEST,
        count: int = MOST_FILES,
        rights: bool = False,
    ) -> None:
        """Copy plain files, those of `names` or all, to the host folder `target`.

        `rights`: a file that may be run may be run there, and each keeps its time. Raises
        UnreadableError for more than `most` bytes or `count` files.
        """
        host = Tree(target)
        for number, name in enumerate(self.files() if names is None else names):
            with self.opened(name) as file, host._new(name) as copy:
                most -= (size := os.fstat(file.fileno()).st_size)
                if most < 0 or number >= count:
                    raise UnreadableError(f"{_quoted(name)} is over the limit of what is copied")
                _copy_at_most(file, copy, size)
                if rights:
                    copy.flush()
                    make_like(copy.fileno(), os.fstat(file.fileno()))

    def used(self) -> int:
        """What the tree takes on the disk, in bytes; a link counts for itself, not for its end."""
        with self._at("", ()) as fd:
            return used(fd)

    def reclaim(self, since: float, goal: int) -> list[str]:
        """Remove new files, the largest first, until `goal` bytes are in use; "name (bytes)" each.

        New are those changed after `since` (epoch seconds), by their ctime, which a program cannot
        set. For a program that was stopped because it filled the disk: what it wrote would stop
        every later one.
        """
        with self._at("", ()) as fd:
            statuses = [found.status for found in walked(fd) if found.status is not None]
            wanted = largest_since(statuses, since, goal)
            removed = []
            for found in walked(fd, unlock=True):
                status = found.status
                if status is not None and (status.st_dev, status.st_ino) in wanted:
                    os.unlink(found.name, dir_fd=found.fd)
                    path = os.fsencode(found.path).decode("utf-8", "replace")
                    removed.append((size_on_disk(status), path))
        return [f"{path} ({size:,} bytes)" for size, path in sorted(removed, reverse=True)]

    @contextmanager
    def _at(self, name: Name, parts: Iterable[str], make: bool = False) -> Iterator[int]:
        """A descriptor of the folder `parts`; `make` makes it, replacing what is no folder."""
        with _errors_named(name):
            if make:
                self.root.mkdir(parents=True, exist_ok=True)
            fd = open_folder(None, self.root)
            try:
                for part in parts:
                    fd = reopened(fd, made_folder(fd, part) if make else open_folder(fd, part))
                yield fd
            finally:
                os.close(fd)

    @contextmanager
    def opened(self, name: Name) -> Iterator[BufferedReader]:
        """A plain file, open for reading."""
        parts = steps_of(name)
        with self._at(name, parts[:-1]) as fd:
            status = os.stat(parts[-1], dir_fd=fd, follow_symlinks=False)
            if (kind := kind_of(status)) != "file":
                raise UnreadableError(f"{_quoted(name)} is a {kind}: it must be a plain file")
            with open_plain(fd, parts[-1]) as file:
                yield file

    @contextmanager
    def _new(self, name: Name) -> Iterator[BufferedWriter]:
        """A new file, which is at `name` once it was closed."""
        parts = steps_of(name)
        with self._at(name, parts[:-1], make=True) as fd, replacing(fd, parts[-1]) as file:
            yield file


class UnreadableError(SandboxError):
    """What a program left is not a plain file, is reached through no folder, or is too large."""


def steps_of(name: Name) -> tuple[str, ...]:
    """The steps from the root to a file. Raises SandboxError for a name that leads out."""
    pure = PurePosixPath(name)
    if pure.is_relative_to(INSIDE):
        pure = pure.relative_to(INSIDE)
    if pure.is_absolute() or ".." in pure.parts or not pure.parts:
        raise SandboxError(
            f"{_quoted(name)} is not a file of the workspace",
            fix="name one by a path relative to it",
        )
    try:
        if b"\0" in os.fsencode(pure):
            raise SandboxError(f"{_quoted(name)} holds a NUL", fix="name a file of the workspace")
    except UnicodeEncodeError:
        raise SandboxError(
            f"{_quoted(name)} holds half a character", fix="name a file of the workspace"
        ) from None
    return pure.parts


@contextmanager
def _errors_named(name: Name) -> Iterator[None]:
    try:
        yield
    except FileNotFoundError:
        raise FileNotFoundError(str(name)) from None
    except OSError as error:
        kind = UnreadableError if error.errno in CLOSED else SandboxError
        raise kind(
            f"{_quoted(name) if name else 'the workspace'} cannot be used ({error.strerror}): "
            "it must be a plain file in plain folders, with room for it"
        ) from None


def _entry(name: str, status: os.stat_result) -> TreeEntry:
    return TreeEntry(name, kind_of(status), status.st_size, status.st_mtime_ns)


def _copy_at_most(file: IO[bytes], copy: BufferedWriter, left: int) -> None:
    """Copy at most `left` bytes: a file that grows is cut where it ended when it was opened."""
    while left > 0 and (data := file.read(min(left, 2**20))):
        put(copy, data)
        left -= len(data)
    copy.truncate()


def _quoted(name: Name) -> str:
    text = repr(str(name))
    return text if len(text) <= 200 else f"{text[:100]}…{text[-90:]}"

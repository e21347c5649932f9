"""A folder that travels between machines as archives: the whole once, then what changed.

Both ends treat it as a program's folder: only plain files travel, opened and written as by `Tree`.
The file named `last` is written after all others, so that who is killed in between leaves a folder
as a kill on one machine would.

An archive is a line that names all that the folder holds, then for each file that changed a line
with its name, rights and size, and its bytes; `null` ends it. It goes in parts and is never held in
memory. Nothing in it is compressed or sparse, so it writes no more than it is.
"""

import json
import os
import stat
import tempfile
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager
from io import BufferedRandom
from pathlib import Path
from typing import IO, Any, NamedTuple

from pydantic import NonNegativeInt, TypeAdapter

from autoreproduce.errors import SandboxError
from autoreproduce.files.descriptors import open_folder
from autoreproduce.files.replacing import put
from autoreproduce.files.tree import Tree, steps_of
from autoreproduce.files.walking import walked

LARGEST = 4 * 2**30  # bytes of the files of one archive
PART = 4 * 2**20  # bytes that are sent at once
LONGEST_LISTING, LONGEST_LINE = 256 * 2**20, 64 * 2**10  # bytes; a path has 4,096 at most
_LISTING: TypeAdapter[Any] = TypeAdapter(list[str])
_MEMBER: TypeAdapter[Any] = TypeAdapter(tuple[str, NonNegativeInt, NonNegativeInt] | None)


class FileState(NamedTuple):
    """By which a change is seen: a program cannot set the time of a status change."""

    inode: int
    size: int
    changed: int
    mode: int


class TravellingFolder:
    """A folder of which archives are made or that archives are written into.

    `skip` are files of the folder itself that stay behind; `last` is another one of them.
    """

    def __init__(self, root: Path, *, skip: tuple[str, ...] = (), last: str = "") -> None:
        self.root, self.skip, self.last = root, skip, last
        self._sent: dict[str, FileState] = {}

    def pack(self, whole: bool = False) -> Iterator[bytes]:
        """The parts of an archive of what changed since the last whole one, or of all.

        Raises SandboxError if it would be too large.
        """
        return joined(self._packed(whole), PART)

    def _packed(self, whole: bool) -> Iterator[bytes]:
        now, tree = self._states(), Tree(self.root)
        changed = [name for name in now if whole or self._sent.get(name) != now[name]]
        if (size := sum(now[name].size for name in changed)) > LARGEST:
            raise SandboxError(
                f"{self.root.name} has {size:,} new bytes, and {LARGEST:,} can travel at once",
                fix="have the program write less",
                retryable=False,
            )
        yield _line(sorted(now))
        for name in sorted(changed, key=lambda name: name == self.last):
            with ExitStack() as stack:
                try:
                    file = stack.enter_context(tree.opened(name))
                except (FileNotFoundError, SandboxError):
                    now.pop(name)  # it goes with the next archive, or is gone
                    continue
                size = os.fstat(file.fileno()).st_size
                yield _line([name, now[name].mode, size])
                yield from _bytes_of(file, size)
        yield _line(None)
        self._sent = now

    def unpack(self, archive: IO[bytes]) -> None:
        """Write an archive into the folder, and remove the files that it does not list.

        Raises SandboxError for a file that stays behind, and for what is no such archive.
        """
        tree = Tree(self.root)
        tree.make_root()
        names = set(_read(archive, _LISTING, LONGEST_LISTING))
        for gone in sorted(self._states().keys() - names):
            tree.remove(gone)
        while member := _read(archive, _MEMBER, LONGEST_LINE):
            name, mode, size = member
            if "/".join(steps_of(name)) in self.skip:
                raise SandboxError(f"{name!r} came with an archive", fix="let it stay behind")
            tree.write_from(name, archive, mode, size)
        self._sent = self._states()

    def _states(self) -> dict[str, FileState]:
        """The plain files below the root that travel."""
        try:
            fd = open_folder(None, self.root)
        except FileNotFoundError:
            return {}
        try:
            return {
                found.path: _state(found.status)
                for found in walked(fd)
                if found.status is not None
                and stat.S_ISREG(found.status.st_mode)
                and found.path not in self.skip
            }
        finally:
            os.close(fd)


def joined(pieces: Iterable[bytes], size: int) -> Iterator[bytes]:
    """The same bytes in parts of at least `size`, but for the last."""
    part = bytearray()
    for piece in pieces:
        part += piece
        if len(part) >= size:
            yield bytes(part)
            part.clear()
    if part:
        yield bytes(part)


def parts_of(path: Path) -> Iterator[bytes]:
    """The parts of a file, or of the archive of a folder."""
    if not path.is_file():
        yield from TravellingFolder(path).pack(whole=True)
        return
    with path.open("rb") as file:
        while part := file.read(PART):
            yield part


@contextmanager
def spooled(parts: Iterable[bytes]) -> Iterator[BufferedRandom]:
    """The parts as a file, to be read from its start."""
    with tempfile.TemporaryFile() as file:
        for part in parts:
            put(file, part)
        file.seek(0)
        yield file


def _state(status: os.stat_result) -> FileState:
    return FileState(
        status.st_ino, status.st_size, status.st_ctime_ns, stat.S_IMODE(status.st_mode)
    )


def _line(content: object) -> bytes:
    return json.dumps(content).encode() + b"\n"


def _bytes_of(file: IO[bytes], left: int) -> Iterator[bytes]:
    """`left` bytes of a file; zeros for what it has lost since it was opened."""
    while left > 0:
        data = file.read(min(left, 2**20)) or bytes(min(left, 2**20))
        left -= len(data)
        yield data


def _read(archive: IO[bytes], form: TypeAdapter[Any], longest: int) -> Any:
    """The next line. Raises SandboxError for one of another form."""
    try:
        return form.validate_python(json.loads(archive.readline(longest)))
    except (ValueError, RecursionError):
        raise SandboxError("what was sent isn't an archive", fix="run the suite again") from None

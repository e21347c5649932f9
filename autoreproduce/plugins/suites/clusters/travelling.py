"""A folder that travels between machines as archives: the whole once, then what changed.

Both ends treat it as a program's folder: only plain files travel, opened and written as by `Tree`.
The file named `last` is written after all others, so that who is killed in between leaves a folder
as a kill on one machine would.
"""

import io
import json
import os
import stat
import tarfile
from pathlib import Path
from typing import NamedTuple

from autoreproduce.errors import SandboxError
from autoreproduce.files.descriptors import open_folder
from autoreproduce.files.tree import Tree
from autoreproduce.files.walking import walked

LARGEST = 4 * 2**30  # bytes of one archive, which is held in memory
_LISTING = "files"  # the archive's first member: all that the folder holds


class FileState(NamedTuple):
    """By which a change is seen: a program cannot set the time of a status change."""

    inode: int
    size: int
    changed: int
    mode: int


class TravellingFolder:
    """A folder of which archives are made or that archives are written into.

    `skip` are names at any depth that stay behind; `last` is a file of the folder itself.
    """

    def __init__(self, root: Path, *, skip: tuple[str, ...] = (), last: str = "") -> None:
        self.root, self.skip, self.last = root, skip, last
        self._sent: dict[str, FileState] = {}

    def pack(self, whole: bool = False) -> bytes:
        """An archive of what changed since the last one, or of the whole folder.

        Raises SandboxError if it would be too large.
        """
        now, tree = self._states(), Tree(self.root)
        changed = [name for name in now if whole or self._sent.get(name) != now[name]]
        if (size := sum(now[name].size for name in changed)) > LARGEST:
            raise SandboxError(
                f"{self.root.name} has {size:,} new bytes, and {LARGEST:,} can travel at once",
                fix="have the program write less",
                retryable=False,
            )
        buffer = io.BytesIO()
        with tarfile.open(fileobj=buffer, mode="w") as archive:
            _add(archive, _LISTING, json.dumps(sorted(now)).encode(), 0o644)
            for name in sorted(changed, key=lambda name: name == self.last):
                try:
                    _add(archive, f"_/{name}", tree.read(name, LARGEST), now[name].mode)
                except (FileNotFoundError, SandboxError):
                    now.pop(name)  # it goes with the next archive, or is gone
        self._sent = now
        return buffer.getvalue()

    def unpack(self, data: bytes) -> None:
        """Write an archive into the folder, and remove the files that it does not list.

        It's no larger than `data`: it may be neither compressed nor sparse. Raises SandboxError for
        a file that stays behind, ReadError for what is no such archive.
        """
        tree = Tree(self.root)
        tree.make_root()
        with tarfile.open(fileobj=io.BytesIO(data), mode="r:") as archive:
            members = iter(archive)
            listing = archive.extractfile(next(members))
            assert listing is not None
            names = set(json.loads(listing.read()))
            for gone in sorted(self._states().keys() - names):
                tree.remove(gone)
            for member in members:
                name = member.name.removeprefix("_/")
                if self._stays(name):
                    raise SandboxError(f"{name!r} came with an archive", fix="let it stay behind")
                plain = member.isreg() and not member.issparse()
                if plain and (file := archive.extractfile(member)) is not None:
                    tree.write_from(name, file, member.mode)  # type: ignore[arg-type]
        self._sent = self._states()

    def _stays(self, name: str) -> bool:
        return not set(self.skip).isdisjoint(name.split("/"))

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
                and not self._stays(found.path)
            }
        finally:
            os.close(fd)


def _state(status: os.stat_result) -> FileState:
    return FileState(
        status.st_ino, status.st_size, status.st_ctime_ns, stat.S_IMODE(status.st_mode)
    )


def _add(archive: tarfile.TarFile, name: str, data: bytes, mode: int) -> None:
    member = tarfile.TarInfo(name)
    member.size, member.mode = len(data), mode
    archive.addfile(member, io.BytesIO(data))

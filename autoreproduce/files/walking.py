"""A walk through a folder that a program may change meanwhile, however deep it is nested.

Paths nested deeper than the kernel takes as one name, or than files may be open at once, are walked
with few descriptors: down by a name, up by `..`, which counts only if it is the folder that the
walk came from.
"""

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from typing import NamedTuple

from autoreproduce.files.descriptors import FOLDER, make_writable, open_folder, reopened

BLOCK = 4096
_OPEN_AT_MOST = 16  # folders kept open on the way down; deeper ones are found again by `..`


class Entry(NamedTuple):
    """An entry of the folder `fd`, valid until the next one.

    `status` is None for a folder that the walk leaves: all below it was seen.
    """

    fd: int
    folders: list[str]
    name: str
    status: os.stat_result | None

    @property
    def path(self) -> str:
        """The entry's path from where the walk began."""
        return "/".join([*self.folders, self.name])


class WalkedFolder:
    """A folder of a walk, and again each time the walk comes back to it.

    Names that are put into `enter` are entered next; `left` names the folder that was just left.
    """

    def __init__(self, fd: int, folders: list[str], left: str = "") -> None:
        self.fd, self.folders, self.left = fd, folders, left
        self.enter: list[str] = []


class _Ancestor(NamedTuple):
    """The way back up: the folder itself, kept open, or what it is known by."""

    fd: int
    identity: tuple[int, int] | None


def walked(base: int, skip: Collection[str] = (), unlock: bool = False) -> Iterator[Entry]:
    """All entries below a folder, each folder before what is in it, and once more after that.

    Folders called as in `skip` are not looked into. `unlock` makes each one writable to its owner.
    """
    for level in levels(base):
        if level.left:
            yield Entry(level.fd, level.folders, level.left, None)
            continue
        if unlock:
            make_writable(level.fd)
        for name, status in _entries(level.fd):
            yield Entry(level.fd, level.folders, name, status)
            if stat.S_ISDIR(status.st_mode) and name not in skip:
                level.enter.append(name)


def used(base: int) -> int:
    """What all entries below a folder take on the disk, in bytes.

    It runs at every command, so it calls nothing for each entry.
    """
    total = 0
    for level in levels(base):
        for name, status in () if level.left else _entries(level.fd):
            total += max(status.st_blocks * 512, BLOCK)
            if stat.S_ISDIR(status.st_mode):
                level.enter.append(name)
    return total


def levels(base: int) -> Iterator[WalkedFolder]:
    """Every folder below `base`, itself first, and again for each of its folders that was left."""
    fd = os.dup(base)
    folders: list[str] = []
    waiting: list[list[str]] = []
    ancestors: list[_Ancestor] = []
    try:
        while True:
            yield (level := WalkedFolder(fd, folders))
            waiting.append(level.enter)
            while (into := _next_folder(fd, waiting[-1])) is None:
                waiting.pop()
                if not folders:
                    return
                name = folders.pop()
                parent = _parent(base, fd, folders, ancestors.pop())
                if parent is None:  # moved meanwhile: what else is in it cannot be found
                    waiting[-1].clear()
                    continue
                fd = reopened(fd, parent)
                yield WalkedFolder(fd, folders, name)
            stays_open = len(ancestors) < _OPEN_AT_MOST
            ancestors.append(_Ancestor(fd, None) if stays_open else _Ancestor(-1, _identity(fd)))
            folders.append(into[0])
            fd = into[1] if stays_open else reopened(fd, into[1])
    finally:
        for each in [fd, *(each.fd for each in ancestors if each.fd >= 0)]:
            os.close(each)


def _next_folder(fd: int, waiting: list[str]) -> tuple[str, int] | None:
    """The name and descriptor of the next folder that can be entered, None after the last."""
    while waiting:
        name = waiting.pop()
        with suppress(OSError):
            return name, open_folder(fd, name)
    return None


def _parent(base: int, fd: int, folders: list[str], known: _Ancestor) -> int | None:
    """The folder that `fd` was entered from, None if it can no longer be reached."""
    if known.fd >= 0:
        return known.fd
    with suppress(OSError):
        above = os.open("..", FOLDER, dir_fd=fd)
        if _identity(above) == known.identity:
            return above
        os.close(above)
    above = os.dup(base)
    for name in folders:
        try:
            above = reopened(above, open_folder(above, name))
        except OSError:
            os.close(above)
            return None
    return above


def _identity(fd: int) -> tuple[int, int]:
    status = os.fstat(fd)
    return status.st_dev, status.st_ino


def _entries(fd: int) -> Iterator[tuple[str, os.stat_result]]:
    try:
        with os.scandir(fd) as listing:
            for entry in listing:
                try:
                    status = entry.stat(follow_symlinks=False)
                except OSError:  # removed meanwhile
                    continue
                yield entry.name, status
    except OSError:  # this user may not list it
        return


def size_on_disk(status: os.stat_result) -> int:
    """What an entry takes in bytes: at least one block, so that a million empty files count."""
    return max(status.st_blocks * 512, BLOCK)


def largest_since(found: list[os.stat_result], since: float, goal: int) -> set[tuple[int, int]]:
    """Device and inode of the files to remove until `goal` bytes are in use, the largest first.

    Only files changed after `since` (epoch seconds).
    """
    excess = sum(map(size_on_disk, found)) - goal
    wanted: set[tuple[int, int]] = set()
    for status in sorted(found, key=size_on_disk, reverse=True):
        if excess <= 0:
            break
        if stat.S_ISREG(status.st_mode) and status.st_ctime >= since:
            wanted.add((status.st_dev, status.st_ino))
            excess -= size_on_disk(status)
    return wanted

"""Folders by their descriptors: no link is followed, and a name cannot come to mean another file.

Everything here works on an open folder and one name in it. Without O_NONBLOCK a pipe would block
whoever opens it.
"""

import errno
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedReader
from pathlib import Path

NO_LINK = os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
FOLDER = os.O_RDONLY | os.O_DIRECTORY | NO_LINK
_PLAIN = os.O_RDONLY | NO_LINK
KINDS = {
    stat.S_IFREG: "file",
    stat.S_IFDIR: "folder",
    stat.S_IFLNK: "link",
    stat.S_IFIFO: "pipe",
    stat.S_IFSOCK: "socket",
}


def open_folder(fd: int | None, name: str | Path) -> int:
    """A descriptor of a folder in `fd`, or of a path, made accessible to its owner.

    Raises OSError.
    """
    try:
        return os.open(name, FOLDER, dir_fd=fd)
    except PermissionError:
        _unlock(fd, name)
        return os.open(name, FOLDER, dir_fd=fd)


def reopened(old: int, new: int) -> int:
    """`new`, with `old` closed."""
    os.close(old)
    return new


@contextmanager
def open_plain(fd: int, name: str) -> Iterator[BufferedReader]:
    """A plain file of a folder, open for reading. Raises OSError."""
    with os.fdopen(os.open(name, _PLAIN, dir_fd=fd), "rb") as file:
        if not stat.S_ISREG(os.fstat(file.fileno()).st_mode):
            raise OSError(errno.EINVAL, "it is not a plain file")
        yield file


def make_like(fd: int, status: os.stat_result) -> None:
    """Give a written file the time of another, and the right to be run if that one has it."""
    if status.st_mode & 0o100:
        os.fchmod(fd, 0o755)
    os.utime(fd, ns=(status.st_atime_ns, status.st_mtime_ns))


def make_writable(fd: int) -> None:
    """Give the owner all rights to a folder, in case a program took them away."""
    mode = os.fstat(fd).st_mode
    if mode & 0o700 != 0o700:
        with suppress(PermissionError):  # another user's: the caller's own step fails then
            os.fchmod(fd, stat.S_IMODE(mode) | 0o700)


def _unlock(fd: int | None, name: str | Path) -> None:
    """Give the owner all rights to a folder. Raises PermissionError for another user's."""
    with suppress(FileNotFoundError):
        found = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
        try:
            mode = os.fstat(found).st_mode
            if stat.S_ISDIR(mode):
                Path(f"/proc/self/fd/{found}").chmod(stat.S_IMODE(mode) | 0o700)
        finally:
            os.close(found)


def kind_of(status: os.stat_result) -> str:
    """The kind of an entry: a value of KINDS, or "device"."""
    return KINDS.get(stat.S_IFMT(status.st_mode), "device")

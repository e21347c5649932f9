"""Entries of a folder made, replaced and removed by its descriptor.

What is in the place of a new file or folder is removed, never written through.
"""

import errno
import os
import secrets
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from io import BufferedWriter
from typing import IO

from autoreproduce.files.descriptors import FOLDER, NO_LINK, make_writable, open_folder
from autoreproduce.files.walking import walked

_NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINK
_IN_THE_WAY = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)
_ATTEMPTS = 3  # against a program that fills a folder while it is emptied


def made_folder(fd: int, name: str) -> int:
    """A descriptor of the folder `name` of a folder; what is no folder there is replaced.

    Raises OSError.
    """
    try:
        return open_folder(fd, name)
    except OSError as error:
        if error.errno not in _IN_THE_WAY:
            raise
    make_writable(fd)
    delete(fd, name)
    os.mkdir(name, dir_fd=fd)
    return os.open(name, FOLDER, dir_fd=fd)


@contextmanager
def replacing(fd: int, name: str) -> Iterator[BufferedWriter]:
    """A new file that takes the place of `name` once it is written, with the old file's rights."""
    make_writable(fd)
    part = f".part-{secrets.token_hex(8)}"
    try:
        with os.fdopen(os.open(part, _NEW, 0o644, dir_fd=fd), "wb") as file:
            with suppress(OSError):
                old = os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode
                if stat.S_ISREG(old):
                    os.fchmod(file.fileno(), stat.S_IMODE(old) & 0o777 | 0o600)
            yield file
        try:
            os.replace(part, name, src_dir_fd=fd, dst_dir_fd=fd)
        except IsADirectoryError:
            delete(fd, name)
            os.replace(part, name, src_dir_fd=fd, dst_dir_fd=fd)
    except BaseException:
        with suppress(OSError):
            os.unlink(part, dir_fd=fd)
        raise


def delete(fd: int, name: str) -> None:
    """Remove a file, or a folder with all below it, if it is there. Raises OSError."""
    try:
        os.unlink(name, dir_fd=fd)
    except FileNotFoundError:
        return
    except (IsADirectoryError, PermissionError):
        if not stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode):
            raise
        _delete_folder(fd, name)


def _delete_folder(fd: int, name: str) -> None:
    for attempts_left in reversed(range(_ATTEMPTS)):
        below = open_folder(fd, name)
        try:
            empty(below)
        finally:
            os.close(below)
        try:
            return os.rmdir(name, dir_fd=fd)
        except OSError as error:
            if error.errno != errno.ENOTEMPTY or not attempts_left:
                raise


def empty(fd: int) -> None:
    """Remove all that is in a folder. Raises OSError."""
    for found in walked(fd, unlock=True):
        with suppress(FileNotFoundError):
            if found.status is None:
                os.rmdir(found.name, dir_fd=found.fd)
            elif not stat.S_ISDIR(found.status.st_mode):
                os.unlink(found.name, dir_fd=found.fd)


def put(file: IO[bytes], data: bytes) -> None:
    """Write at the place of a new file; zeros as a hole, which takes no room. For a hole at the end
    where to truncate the file.
    """
    file.write(data) if data.strip(b"\0") else file.seek(len(data), os.SEEK_CUR)

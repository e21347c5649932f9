"""The workspace seen from outside: reading and writing without being led out of it, and how much it holds.

A program may leave anything in the workspace: links that lead out of it, pipes that block whoever opens them,
files larger than the memory. So a path is resolved before it is used, and only regular files are opened.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from autoreproduce.errors import SandboxError

INSIDE = PurePosixPath("/workspace")
LARGEST_READ = 2**30


def inside(workspace: Path, path: str) -> Path:
    """The host path of a workspace file. Raises SandboxError for a path that leads out, by .., / or a link.

    `/workspace/x` means the same as `x`: so programs name their files where the workspace is mounted there.
    """
    pure = PurePosixPath(path)
    if pure.is_absolute() and pure.is_relative_to(INSIDE):
        pure = pure.relative_to(INSIDE)
    root = workspace.resolve()
    try:
        full = (root / pure).resolve()
    except (OSError, RuntimeError, ValueError) as error:  # a circle of links, a name too long, a NUL
        raise SandboxError(f"{path!r} cannot be followed ({error}): name a file of the workspace") from None
    if full == root or not full.is_relative_to(root):
        raise SandboxError(f"{path!r} is not a file of the workspace: name one by a path relative to it")
    return full


def read_inside(workspace: Path, path: str) -> bytes:
    """The content of a workspace file. Raises FileNotFoundError, or SandboxError for what is no plain file."""
    full = inside(workspace, path)
    try:
        # NOFOLLOW: it was resolved already. NONBLOCK: a pipe without a writer would block for ever.
        handle = os.open(full, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        raise FileNotFoundError(path) from None
    except OSError as error:
        raise SandboxError(f"{path!r} cannot be read ({error.strerror}): it must be a plain file") from None
    found = os.fstat(handle)
    if not stat.S_ISREG(found.st_mode):
        os.close(handle)
        raise SandboxError(f"{path!r} is no plain file: name one")
    with os.fdopen(handle, "rb") as file:
        if found.st_size > LARGEST_READ:
            raise SandboxError(f"{path!r} holds {found.st_size:,} bytes: files above {LARGEST_READ:,} are not read")
        return file.read()


def write_inside(workspace: Path, path: str, data: bytes) -> None:
    """Write a workspace file, making its folders. Raises SandboxError for a path outside, or a full disk."""
    full = inside(workspace, path)
    try:
        full.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(full, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_NONBLOCK, 0o644)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
    except OSError as error:
        raise SandboxError(
            f"{path!r} cannot be written ({error.strerror}): choose another name, or make room"
        ) from None


def entries(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """Every file and folder below `folder` with its own status; links are not followed."""
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as listing:
                for entry in listing:
                    found = entry.stat(follow_symlinks=False)
                    yield entry.path, found
                    if stat.S_ISDIR(found.st_mode):
                        waiting.append(entry.path)
        except OSError:  # it went away while we looked, or is closed to us
            continue


def size_on_disk(found: os.stat_result) -> int:
    """What an entry takes in bytes: its blocks, and at least one, so that a million empty files count too."""
    return max(found.st_blocks * 512, 4096)


def used(folder: Path) -> int:
    """What a folder takes on the disk, in bytes."""
    return sum(size_on_disk(found) for _, found in entries(folder))


def reclaim(workspace: Path, since: float, goal: int) -> list[str]:
    """Remove files changed after `since` (epoch seconds), the largest first, until `goal` bytes are in use.

    For a program that was stopped because it filled the disk: what it wrote would stop every later one.
    The time of change (ctime) counts, which a program cannot set. Returns «name (bytes)» of what was removed.
    """
    git = str(workspace / ".git") + os.sep
    found = [(size_on_disk(status), path, status) for path, status in entries(workspace)]
    total = sum(size for size, _, _ in found)
    removed = []
    for size, path, status in sorted(found, key=lambda each: -each[0]):
        if total <= goal:
            break
        if stat.S_ISREG(status.st_mode) and status.st_ctime >= since and not path.startswith(git):
            Path(path).unlink(missing_ok=True)
            total -= size
            removed.append(f"{os.path.relpath(path, workspace)} ({size:,} bytes)")
    return removed

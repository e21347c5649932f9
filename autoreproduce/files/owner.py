"""Who a file, a folder or a container belongs to: a process of a machine; temporary folders with
such an owner, of which those of killed processes are removed.

An owner is named so that another process with its number is not taken for it.
"""

from __future__ import annotations

import os
import re
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from autoreproduce.errors import SandboxError
from autoreproduce.files.tree import Tree

_PROCESS = re.compile(r"[1-9][0-9]{0,9}")


def owner() -> str:
    """This process: the machine's boot, the space of process ids, the id, and when it began."""
    return f"{_machine()}/{os.getpid()}/{_began(os.getpid())}"


def process_id(owner: str) -> int | None:
    """The owner's process id; None if it is gone, was a process of another machine, or none that
    this machine knows: whoever signals it must not meet another.
    """
    process, _, began = owner.rpartition("/")
    machine, _, number = process.rpartition("/")
    if machine != _machine() or not _PROCESS.fullmatch(number):
        return None
    known = _began(int(number))
    return int(number) if known is not None and str(known) == began else None


def stale(owner: str) -> bool:
    """True if the owner was a process of this machine and is gone; False if that is unknown."""
    process, _, began = owner.rpartition("/")
    machine, _, number = process.rpartition("/")
    if machine != _machine() or not _PROCESS.fullmatch(number):
        return False
    return str(_began(int(number))) != began


def _began(pid: int) -> int | None:
    """When a process began, in clock ticks since the machine's start; with its id it is unique."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_bytes()
        fields = stat[stat.rindex(b")") + 2 :].split()  # the name may hold spaces and brackets
        return int(fields[19])
    except (OSError, IndexError, ValueError):
        return None


def _machine() -> str:
    """The machine's boot and the space of process ids."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{Path('/proc/self/ns/pid').stat().st_ino}"
    except OSError:
        return "unknown/0"


SCRATCH = "autoreproduce-scratch-"


def scratch(parent: Path | None = None) -> Path:
    """A temporary folder of this process, in `parent` if given; those of killed processes go."""
    own, parent = f"{SCRATCH}{os.getpid()}-", parent or Path(tempfile.gettempdir())
    for left in parent.glob(f"{SCRATCH}*"):
        if not left.name.startswith(own):
            _remove_stale(left)
    folder = Path(tempfile.mkdtemp(prefix=own, dir=parent))
    (folder / "owner").write_text(owner())
    return folder


def _remove_stale(folder: Path) -> None:
    with suppress(SandboxError, FileNotFoundError):
        if stale(Tree(folder).read_text("owner", most=1000)):
            remove_folder(folder)


def remove_folder(folder: Path) -> None:
    """Remove a folder in which programs ran, as far as it can be removed."""
    with suppress(SandboxError):
        Tree(folder.parent.resolve()).remove(folder.name)


@contextmanager
def temporary_folder(prefix: str) -> Iterator[Path]:
    """A temporary folder in which programs may run, removed at the end."""
    made = Path(tempfile.mkdtemp(prefix=prefix))
    try:
        yield made
    finally:
        remove_folder(made)


@contextmanager
def private_copy(workspace: Path, name: str, most: int) -> Iterator[Path]:
    """A copy of a program's file of at most `most` bytes, which no program can change, for a
    block. Raises FileNotFoundError and SandboxError.
    """
    with tempfile.TemporaryDirectory(prefix="private-") as private:
        Tree(workspace).copy_out(Path(private), [name], most=most)
        yield Path(private) / name

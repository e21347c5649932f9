"""Who a file, a folder or a container belongs to: a process of a machine.

An owner is named so that another process with its number is not taken for it.
"""

import os
import re
from pathlib import Path

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

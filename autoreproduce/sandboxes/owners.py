"""Who a container or a temporary folder belongs to, so that what a killed process left can be told and removed.

An owner is a process of this machine, named so that another with its number is not taken for it.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

from autoreproduce.sandboxes.processes import started

SCRATCH = "autoreproduce-scratch-"


def owner() -> str:
    """This process: the machine's boot, the space of process ids, the id, and when it began."""
    return f"{_place()}/{os.getpid()}/{started(os.getpid())}"


def stale(told: str) -> bool:
    """True where the owner was a process of this machine and is gone. What cannot be known is not stale."""
    place, _, rest = told.rpartition("/")[0].rpartition("/")
    if place != _place() or not rest.isdigit():
        return False
    return str(started(int(rest))) != told.rpartition("/")[2]


def scratch() -> Path:
    """A temporary folder of this process. Removes those of processes that were killed before they could."""
    own = f"{SCRATCH}{os.getpid()}-"
    for left in Path(tempfile.gettempdir()).glob(f"{SCRATCH}*"):
        if not left.name.startswith(own):
            _remove_stale(left)
    folder = Path(tempfile.mkdtemp(prefix=own))
    (folder / "owner").write_text(owner())
    return folder


def _remove_stale(folder: Path) -> None:
    with suppress(OSError):
        if stale((folder / "owner").read_text()):
            shutil.rmtree(folder, ignore_errors=True)


def _place() -> str:
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text().strip()
        return f"{boot}/{os.stat('/proc/self/ns/pid').st_ino}"  # noqa: PTH116 (a link to what is no path)
    except OSError:
        return "unknown/0"

"""Looking at the machine from outside, for the tests of sandboxes."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from autoreproduce.config import Settings
from autoreproduce.sandboxes import why_not

# Read when this is imported, before the tests clean the environment: how the image is built on this
# machine.
BUILD = {
    name: value for name, value in os.environ.items() if name.startswith("AUTOREPRODUCE_BUILD_")
}
DOCKER = pytest.param("docker", marks=[pytest.mark.docker, pytest.mark.timeout(900)])
ISOLATING = ["bubblewrap", DOCKER]
# Where no cgroup can be made, limits are watched otherwise, and nothing else.
POLLING = [
    pytest.param(f"{kind}-polling", marks=pytest.mark.slow) for kind in ("bubblewrap", "process")
]
ALL = ["bubblewrap", "process", DOCKER]


def skip_without_bubblewrap() -> None:
    """Skip the test, with the reason, where bubblewrap cannot be used."""
    if reason := why_not("bubblewrap", Settings()):
        pytest.skip(str(reason))


def living(token: str) -> list[int]:
    """The processes of this machine with `token` in their arguments."""
    found = []
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit() and int(folder.name) != os.getpid():
            try:
                if token.encode() in (folder / "cmdline").read_bytes():
                    found.append(int(folder.name))
            except OSError:
                continue
    return found


def wait_until(true: Callable[[], object], seconds: float = 10) -> bool:
    """True as soon as `true()` is."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if true():
            return True
        time.sleep(0.02)
    return False

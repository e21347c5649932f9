"""One loop that reads a program's output and holds its limits, whichever sandbox it runs in.

A sandbox gives a `Source` of output, its own probes, and a way to kill; the loop knows nothing more of it.
"""

from __future__ import annotations

import os
import selectors
import subprocess
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from autoreproduce import Execution, Stopped
from autoreproduce.config import Limits
from autoreproduce.sandboxes.files import reclaim, used
from autoreproduce.sandboxes.output import STDERR, STDOUT, Output

POLL = 0.2
GRACE = 1.5
Chunk = tuple[int, bytes]
Probe = Callable[[], Stopped]

SAID: dict[Stopped, str] = {
    "timeout": "it ran longer than its {timeout:g} s",
    "memory": "it used more than its {limits.memory_gb:g} GB of memory",
    "output": "it printed more than its {limits.output_mb} MB",
    "processes": "it started more than its {limits.processes} processes and threads",
    "disk": "it wrote more than its {limits.disk_gb:g} GB of files",
    "killed": "it was killed from outside, or by itself, with SIGKILL",
}


class Source(Protocol):
    """Where the output comes from."""

    def read(self, wait: float) -> list[Chunk] | None:
        """What came within `wait` seconds, possibly nothing; None once the program has ended."""
        ...


class Pipes:
    """The two pipes of a child process. It has ended when the process has, whoever still holds the pipes."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        assert child.stdout and child.stderr
        self._child = child
        self._selector = selectors.DefaultSelector()
        for pipe, stream in ((child.stdout, STDOUT), (child.stderr, STDERR)):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, stream)

    def read(self, wait: float) -> list[Chunk] | None:
        """See Source."""
        ended = self._child.poll() is not None  # asked before reading, so that nothing is left in the pipes
        if not self._selector.get_map():  # it closed its output, and goes on or is just ending
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(wait)
        chunks = []
        for key, _ in self._selector.select(0 if ended else wait) if self._selector.get_map() else ():
            data = os.read(key.fd, 1 << 18)
            if data:
                chunks.append((key.data, data))
            else:
                self._selector.unregister(key.fileobj)
        return None if ended and not chunks else chunks

    def close(self) -> None:
        """Close the pipes and what watches them."""
        self._selector.close()
        for pipe in (self._child.stdout, self._child.stderr):
            if pipe is not None:
                pipe.close()


class Disk:
    """A probe of what the workspace takes. Walks over many files are made seldom, to take a tenth of the time."""

    def __init__(self, workspace: Path, limits: Limits) -> None:
        self._workspace = workspace
        self._limit = int(limits.disk_gb * 2**30)
        self._since = time.time() - 0.05  # clocks of file systems tick every few milliseconds
        self._before, self._cost = self._measure()
        self._next = time.monotonic() + 1

    def _measure(self) -> tuple[int, float]:
        began = time.monotonic()
        return used(self._workspace), time.monotonic() - began

    @property
    def full(self) -> bool:
        """True where this command wrote, and more is in use than may be."""
        size, self._cost = self._measure()
        return size >= self._limit and size > self._before

    def __call__(self) -> Stopped:
        """Answer "disk" where the limit is passed; a look a second at most."""
        if time.monotonic() < self._next:
            return ""
        full = self.full
        self._next = time.monotonic() + max(1.0, 10 * self._cost)
        return "disk" if full else ""

    def reclaim(self) -> str:
        """Remove what the command wrote, the largest first, down to half the limit; a line that says so."""
        removed = reclaim(self._workspace, self._since, self._limit // 2)
        more = f" and {len(removed) - 5} more" if len(removed) > 5 else ""
        return f" Removed, to make room: {', '.join(removed[:5])}{more}." if removed else ""


def watch(
    source: Source, output: Output, timeout: float, probes: Sequence[Probe], kill: Callable[[], None]
) -> tuple[Stopped, float]:
    """Read until the program ends or a limit is passed, and then kill it; the reason, and the seconds it took."""
    began = time.monotonic()
    look = began + POLL / 4  # the first look comes early: a fork bomb is large after 0.2 s
    stopped: Stopped = ""
    while (chunks := source.read(max(min(look, began + timeout) - time.monotonic(), 0.001))) is not None:
        for stream, data in chunks:
            output.feed(stream, data)
        now = time.monotonic()
        if output.flooded:
            stopped = "output"
        elif now >= look:
            stopped = next((reason for probe in probes if (reason := probe())), "")
            look = time.monotonic() + POLL
        if not stopped and now - began >= timeout:
            stopped = "timeout"
        if stopped:
            break
    seconds = time.monotonic() - began
    if stopped:
        kill()
        _drain(source, output)
    return stopped, seconds


def execution(
    command: str,
    exit_code: int,
    output: Output,
    seconds: float,
    stopped: Stopped,
    timeout: float,
    limits: Limits,
    more: str = "",
) -> Execution:
    """The result of a command; why it was stopped is the last line of its stderr, for whoever reads only that."""
    stderr = output.text(STDERR)
    if stopped:
        said = SAID[stopped].format(timeout=timeout, limits=limits)
        stderr += f"{'' if not stderr or stderr.endswith(chr(10)) else chr(10)}[stopped: {said}.{more}]\n"
        exit_code = exit_code if exit_code > 0 else 124 if stopped == "timeout" else 137
    return Execution(command, exit_code, output.text(STDOUT), stderr, round(seconds, 3), stopped)


def _drain(source: Source, output: Output) -> None:
    """What was printed before the end and still lies in the pipes."""
    end = time.monotonic() + GRACE
    while time.monotonic() < end and (chunks := source.read(0.05)) is not None:
        for stream, data in chunks:
            output.feed(stream, data)

"""One loop that reads a program's output and enforces its limits, whichever sandbox it runs in.

A sandbox gives an `OutputSource`, its own probes, and a way to kill; the loop knows nothing else.

Of the output the head and the tail of each stream are stored, in constant memory.
"""

from __future__ import annotations

import codecs
import os
import selectors
import shutil
import subprocess
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Protocol

from autoreproduce.config import Limits
from autoreproduce.contracts import Execution, RunInterruptedError, Stopped
from autoreproduce.files.tree import Tree
from autoreproduce.sandboxes.processes import deleted_but_open

STDOUT, STDERR = 1, 2


class HeadAndTail:
    """The head and the tail of one stream of bytes; what lies between is counted and dropped."""

    def __init__(self, limit: int) -> None:
        self._half = max(limit // 2, 1)
        self._head = bytearray()
        self._tail = bytearray()
        self.total = 0

    def feed(self, data: bytes) -> None:
        """Take the next bytes of the stream."""
        self.total += len(data)
        room = self._half - len(self._head)
        if room > 0:
            self._head += data[:room]
            data = data[room:]
        self._tail += data[-self._half :]
        if len(self._tail) > 4 * self._half:  # cut seldom: each cut moves the whole tail
            del self._tail[: -self._half]

    def text(self) -> str:
        """Head, a line that says how many bytes are missing, tail; or the whole of it."""
        tail = bytes(self._tail[-self._half :])
        missing = self.total - len(self._head) - len(tail)
        if missing <= 0:
            return (bytes(self._head) + tail).decode(errors="replace")
        head = bytes(self._head).decode(errors="replace")
        return f"{head}\n[… {missing:,} bytes are missing here …]\n{tail.decode(errors='replace')}"


class Output:
    """Both streams of one command, and whoever listens to them.

    `keep` and `flood` are in bytes: what is stored of each stream, and the sum of both above which
    the program is to be stopped.
    """

    def __init__(
        self, keep: int, flood: int, on_output: Callable[[str], None] | None = None
    ) -> None:
        self.streams = {STDOUT: HeadAndTail(keep), STDERR: HeadAndTail(keep)}
        self._flood = flood
        self._on_output = on_output
        decoder = codecs.getincrementaldecoder("utf-8")
        self._decoders = {stream: decoder(errors="replace") for stream in self.streams}

    def feed(self, stream: int, data: bytes) -> None:
        """Take the next bytes of a stream, and pass them on as text."""
        if self.flooded:  # it is being stopped: more is of no use to the listener or the tail
            self.streams[stream].total += len(data)
            return
        self.streams[stream].feed(data)
        if self._on_output is not None and (text := self._decoders[stream].decode(data)):
            self._on_output(text)

    def pulse(self) -> None:
        """Call the listener with no text: it may end a silent program by an exception."""
        if self._on_output is not None:
            self._on_output("")

    @property
    def flooded(self) -> bool:
        """True once the program has printed more than it may."""
        return sum(stream.total for stream in self.streams.values()) > self._flood

    def text(self, stream: int) -> str:
        """The stored part of a stream."""
        return self.streams[stream].text()


POLL = 0.2
GRACE = 1.5
FLOOR = 2**28  # bytes that a program must leave free, whatever its limit
Chunk = tuple[int, bytes]
Probe = Callable[[], Stopped]

REASONS: dict[Stopped, str] = {
    "timeout": "it ran longer than its {timeout:g} s",
    "memory": "it used more than its {limits.memory_gb:g} GB of memory",
    "output": "it printed more than its {limits.output_mb} MB",
    "processes": "it started more than its {limits.processes} processes and threads",
    "disk": "it wrote more than its {limits.disk_gb:g} GB of files, or left no room on the disk",
    "killed": "it was killed from outside, or by itself, with SIGKILL",
    "interrupted": "the user ended it",
}


_CODES: dict[Stopped, int] = {"timeout": 124, "interrupted": 130}  # as a shell has them; else 137


class OutputSource(Protocol):
    """The origin of a program's output."""

    def read(self, wait: float) -> list[Chunk] | None:
        """What came within `wait` seconds, possibly nothing; None once the program has ended."""
        ...


class Pipes:
    """The two pipes of a child process. They end with the process, even if one is still open."""

    def __init__(self, child: subprocess.Popen[bytes]) -> None:
        assert child.stdout and child.stderr
        self._child = child
        self._selector = selectors.DefaultSelector()
        for pipe, stream in ((child.stdout, STDOUT), (child.stderr, STDERR)):
            os.set_blocking(pipe.fileno(), False)
            self._selector.register(pipe, selectors.EVENT_READ, stream)

    def read(self, wait: float) -> list[Chunk] | None:
        """See OutputSource."""
        ended = self._child.poll() is not None  # before reading, so that nothing is left unread
        if not self._selector.get_map():  # it closed its output, and runs on or is just ending
            with suppress(subprocess.TimeoutExpired):
                self._child.wait(wait)
        chunks = []
        ready = self._selector.select(0 if ended else wait) if self._selector.get_map() else ()
        for key, _ in ready:
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
    """A probe of a folder's size. Walks over many files are rare: at most a tenth of the time.

    `running` gives the processes whose deleted files count too, while they are open.
    """

    def __init__(
        self, workspace: Path, limits: Limits, running: Callable[[], Iterable[int]] = tuple
    ) -> None:
        self._tree = Tree(workspace)
        self._running = running
        self._limit = int(limits.disk_gb * 2**30)
        self._since = time.time() - 0.05  # clocks of file systems tick every few milliseconds
        self._before, self._cost = self._measure()
        self._next = time.monotonic() + 1

    def _measure(self) -> tuple[int, float]:
        began = time.monotonic()
        deleted = deleted_but_open(self._running(), self._tree.root.lstat().st_dev)
        return self._tree.used() + deleted, time.monotonic() - began

    @property
    def full(self) -> bool:
        """True if this command wrote, and more is in use than is allowed, or the file system itself
        is nearly full, which harms more than this trial.
        """
        size, self._cost = self._measure()
        free = shutil.disk_usage(self._tree.root).free
        return size > self._before and (size >= self._limit or free < FLOOR)

    def __call__(self) -> Stopped:
        """Returns "disk" if the limit is exceeded; measures once a second at most."""
        if time.monotonic() < self._next:
            return ""
        full = self.full
        self._next = time.monotonic() + max(1.0, 10 * self._cost)
        return "disk" if full else ""

    def reclaim(self) -> str:
        """Remove what the command wrote, the largest first, to half the limit; a note of it."""
        removed = self._tree.reclaim(self._since, self._limit // 2)
        more = f" and {len(removed) - 5} more" if len(removed) > 5 else ""
        return f" Removed, to make room: {', '.join(removed[:5])}{more}." if removed else ""


def watch(
    source: OutputSource,
    output: Output,
    timeout: float,
    probes: Sequence[Probe],
    kill: Callable[[], None],
) -> tuple[Stopped, float]:
    """Read until the program ends, or kill it at a limit or for Ctrl-C; why ("" if it ended by
    itself), and seconds.
    """
    began = time.monotonic()
    try:
        stopped = _until_stopped(source, output, timeout, probes, began)
    except KeyboardInterrupt:
        stopped = "interrupted"
    seconds = time.monotonic() - began
    if stopped:
        kill()
    if stopped and stopped != "interrupted":  # who ends it waits for no listener
        _drain(source, output)
    return stopped, seconds


def _until_stopped(
    source: OutputSource, output: Output, timeout: float, probes: Sequence[Probe], began: float
) -> Stopped:
    """Read until the program ends, or until it's to be killed: why; "" if it ended."""
    look = began + POLL / 4  # the first poll comes early: a fork bomb is large after 0.2 s
    stopped: Stopped = ""
    while (
        chunks := source.read(max(min(look, began + timeout) - time.monotonic(), 0.001))
    ) is not None:
        for stream, data in chunks:
            output.feed(stream, data)
        now = time.monotonic()
        if output.flooded:
            stopped = "output"
        elif now >= look:
            stopped = next((reason for probe in probes if (reason := probe())), "")
            output.pulse()
            look = time.monotonic() + POLL
        if not stopped and now - began >= timeout:
            stopped = "timeout"
        if stopped:
            break
    return stopped


def execution(
    command: str,
    exit_code: int,
    output: Output,
    seconds: float,
    stopped: Stopped,
    timeout: float,
    limits: Limits,
    more: str = "",
    cpu_seconds: float | None = None,
) -> Execution:
    """The result of a command; why it was stopped is the last line of its stderr too. Raises
    RunInterruptedError with it if the user ended it.
    """
    stderr = output.text(STDERR)
    if stopped:
        reason = REASONS[stopped].format(timeout=timeout, limits=limits)
        newline = "" if not stderr or stderr.endswith("\n") else "\n"
        stderr += f"{newline}[stopped: {reason}.{more}]\n"
        exit_code = exit_code if exit_code > 0 else _CODES.get(stopped, 137)
    done = Execution(
        command,
        exit_code,
        output.text(STDOUT),
        stderr,
        round(seconds, 3),
        stopped,
        None if cpu_seconds is None else round(cpu_seconds, 2),
    )
    if stopped == "interrupted":
        raise RunInterruptedError(done)
    return done


def _drain(source: OutputSource, output: Output) -> None:
    """Read what was printed before the end and is still in the pipes."""
    end = time.monotonic() + GRACE
    while time.monotonic() < end and (chunks := source.read(0.05)) is not None:
        for stream, data in chunks:
            output.feed(stream, data)

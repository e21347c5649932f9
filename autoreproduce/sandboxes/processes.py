"""Process trees, read from /proc: who descends from whom, what memory they hold, and how to end them all.

Run as a program (`python -I -S processes.py COMMAND…`) it supervises one command for the sandbox without isolation:
orphans become its children instead of init's, so that a program that made itself a daemon is still found, and when
the command ends, or the process that asked for it dies, everything below is ended.
"""

from __future__ import annotations

import ctypes
import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

PAGE = os.sysconf("SC_PAGE_SIZE")


class Process(NamedTuple):
    """One line of /proc: `rss` in bytes, `state` Z for one that ended and is not yet collected."""

    pid: int
    parent: int
    group: int
    state: str
    rss: int
    threads: int


def descendants(root: int) -> list[Process]:
    """All living processes below `root`, `root` included."""
    processes = {process.pid: process for process in _all()}
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        waiting += children.get(pid, [])
        if pid in processes and processes[pid].state not in "ZX":
            found.append(processes[pid])
    return found


def memory(processes: list[Process]) -> int:
    """Resident bytes of processes; pages that several share are counted for each."""
    return sum(process.rss for process in processes)


def memory_shared_once(processes: list[Process]) -> int:
    """Resident bytes, each shared page counted once in all. Slower: the kernel walks all page tables."""
    return sum(_proportional(process) for process in processes)


def kill_tree(root: int, within: float = 3.0) -> bool:
    """End all processes below `root`, `root` last, so that an orphan still descends from it. False if some live on.

    Looks and kills again until nothing is left.
    """
    end = time.monotonic() + within
    while (found := [process for process in descendants(root) if process.pid != root]) and time.monotonic() < end:
        _kill(found)
        time.sleep(0.005)
    with suppress(ProcessLookupError):
        os.kill(root, signal.SIGKILL)
    return not found


def _kill(found: list[Process]) -> None:
    """SIGKILL to processes, by whole groups first: a group dies at once, however fast it forks."""
    groups = {process.group for process in found} - {os.getpgrp(), 0}
    for group in groups:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(group, signal.SIGKILL)
    for process in found:
        if process.group not in groups:
            with suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, signal.SIGKILL)


def started(pid: int) -> int | None:
    """When a process began, in clock ticks since the machine's start: with the id, it names a process for good."""
    try:
        return int(_after_name(Path(f"/proc/{pid}/stat").read_bytes())[19])
    except (OSError, IndexError):
        return None


def _all() -> list[Process]:
    found = []
    for name in os.listdir("/proc"):  # noqa: PTH208 (Path objects cost more than all the rest)
        if name.isdigit():
            with suppress(OSError, IndexError):
                found.append(_process(int(name)))
    return found


def _process(pid: int) -> Process:
    with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123
        fields = _after_name(file.read())
    return Process(
        pid, int(fields[1]), int(fields[2]), fields[0].decode(), max(int(fields[21]), 0) * PAGE, int(fields[17])
    )


def _after_name(stat: bytes) -> list[bytes]:
    """The fields of /proc/PID/stat after the name, which may hold spaces and brackets."""
    return stat[stat.rindex(b")") + 2 :].split()


def _proportional(process: Process) -> int:
    with suppress(OSError, IndexError, ValueError):
        for line in Path(f"/proc/{process.pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return process.rss


def supervise(argv: list[str]) -> int:
    """Run a command as the keeper of all its descendants; its exit code, 128 + the signal where one ended it."""
    set_subreaper, set_death_signal = 36, 1  # linux/prctl.h
    libc = ctypes.CDLL(None, use_errno=True)
    signal.signal(signal.SIGTERM, lambda *_: os._exit(143 if _end_children() else 137))
    libc.prctl(set_death_signal, signal.SIGTERM, 0, 0, 0)
    libc.prctl(set_subreaper, 1, 0, 0, 0)
    child = subprocess.Popen(argv, start_new_session=True)
    while True:  # an orphan that ends before the command is collected on the way
        pid, status = os.wait()
        if pid == child.pid:
            break
    _end_children()
    code = os.waitstatus_to_exitcode(status)
    return code if code >= 0 else 128 - code


def _end_children() -> bool:
    """Kill all that descends from this process, itself excepted."""
    end = time.monotonic() + 3
    while (found := [each for each in descendants(os.getpid()) if each.pid != os.getpid()]) and time.monotonic() < end:
        _kill(found)
        time.sleep(0.002)
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:  # collect them: not every machine's first process does
            pass
    return not found


if __name__ == "__main__":
    sys.exit(supervise(sys.argv[1:]))

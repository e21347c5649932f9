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
    """One line of /proc: `rss` in bytes, `state` Z for one that ended and is not yet collected, `began` in ticks."""

    pid: int
    parent: int
    group: int
    state: str
    rss: int
    threads: int
    began: int


def descendants(root: int) -> list[Process]:
    """All living processes below `root`, itself first."""
    processes = {process.pid: process for process in _all()}
    children: dict[int, list[int]] = {}
    for process in processes.values():
        children.setdefault(process.parent, []).append(process.pid)
    found, waiting = [], [root]
    while waiting:
        pid = waiting.pop()
        waiting += children.pop(pid, [])
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

    `root` must be a child of ours that was not collected, or ourselves, who are spared. Looks and kills again until
    nothing is left.
    """
    end = time.monotonic() + within
    while (found := descendants(root)) and found != [found[0]] and time.monotonic() < end:
        _kill(root, found)
        time.sleep(0.003)
    if root != os.getpid():
        with suppress(ProcessLookupError):
            os.kill(root, signal.SIGKILL)
    return len(found) <= 1


def _kill(root: int, found: list[Process]) -> None:
    """SIGKILL to all but `root`, by whole groups: a group dies at once, however fast it forks."""
    known = {process.pid: process.began for process in found}
    groups = {os.getpgrp()}
    for process in found:
        if process.pid != root and _is_still(process, known):
            with suppress(ProcessLookupError, PermissionError):
                if process.group not in groups:
                    os.killpg(process.group, signal.SIGKILL)
                    groups.add(process.group)
                else:
                    os.kill(process.pid, signal.SIGKILL)


def _is_still(process: Process, known: dict[int, int]) -> bool:
    """True where the number is still this process's, and its parent's still the parent's that was seen.

    Looking takes long among a thousand processes; numbers of ended ones are given anew, to anybody's processes.
    """
    with suppress(OSError, IndexError):
        now = _process(process.pid)
        same = (now.began, now.group) == (process.began, process.group) and now.state not in "ZX"
        return same and known.get(now.parent, -1) == started(now.parent)
    return False


def threads_of(user: int) -> int:
    """How many processes and threads a user has on the whole machine."""
    found = 0
    for process in _all():
        with suppress(OSError):
            if os.stat(f"/proc/{process.pid}").st_uid == user:  # noqa: PTH116
                found += process.threads
    return found


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
    rss = max(int(fields[21]), 0) * PAGE
    return Process(pid, int(fields[1]), int(fields[2]), fields[0].decode(), rss, int(fields[17]), int(fields[19]))


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
    """Kill all that descends from this process, itself excepted, and collect it: not every first process does."""
    ended = kill_tree(os.getpid())
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    return ended


if __name__ == "__main__":
    sys.exit(supervise(sys.argv[1:]))

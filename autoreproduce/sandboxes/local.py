"""What the sandboxes without a daemon share: start a command held by a cgroup or by polling, watch it, end it."""

from __future__ import annotations

import os
import resource
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from autoreproduce import Execution, Stopped
from autoreproduce.config import Settings
from autoreproduce.errors import SandboxError
from autoreproduce.sandboxes import cgroups
from autoreproduce.sandboxes.cgroups import Cgroup
from autoreproduce.sandboxes.files import read_inside, write_inside
from autoreproduce.sandboxes.output import Output
from autoreproduce.sandboxes.processes import descendants, kill_tree, memory, memory_shared_once, threads_of
from autoreproduce.sandboxes.watch import Disk, Pipes, execution, watch

LONGEST = 128 * 1024  # bytes of one argument with its end, Linux's own limit
# The child waits for a line before it becomes the command: by then it is in its cgroup and has its limits.
HELD = 'read -r go && exec "$@" </dev/null'


class LocalSandbox:
    """A sandbox whose processes are our own children. A subclass says how a command is started in it.

    `packages` is where what is installed for a trial lies, a folder a sandbox. `group` False holds memory and
    processes by polling even where a cgroup could be made.
    """

    name = ""

    def __init__(
        self, settings: Settings, workspace: Path, *, data_dir: Path | None, packages: Path, group: bool = True,
        **_: Any,
    ) -> None:  # fmt: skip
        self.workspace = workspace.resolve()
        self.limits = settings.limits
        self._try_group = group
        self._data = data_dir.resolve() if data_dir else None
        self._packages = packages.resolve() / self.name
        self._packages.mkdir(parents=True, exist_ok=True)
        self._gpus = settings.gpus

    def _argv(self, command: str, network: bool) -> list[str]:
        raise NotImplementedError

    def _environment(self, network: bool) -> dict[str, str]:
        raise NotImplementedError

    def _folder(self, network: bool) -> Path:
        """The folder in which the command is started, as seen from outside."""
        return Path("/")

    def _ended(self) -> None:
        """Called when the command has ended or was killed, to wait for what follows it."""

    def execute(
        self, command: str, timeout: float, *, network: bool = False, on_output: Callable[[str], None] | None = None
    ) -> Execution:
        """See autoreproduce.Sandbox."""
        if fault := fault_of(command):
            return Execution(command, 126, "", f"bash: the command cannot be started: {fault}\n", 0.0, "")
        group = cgroups.make(self.limits) if self._try_group else None
        try:
            child = self._start(command, network, group)
            try:
                return self._watched(child, command, timeout, on_output, group)
            finally:  # also for Ctrl-C and errors of the listener
                self._kill(child)
                child.wait()
                self._ended()
        finally:
            if group is not None:
                group.remove()

    def read(self, path: str) -> bytes:
        """See autoreproduce.Sandbox."""
        return read_inside(self.workspace, path)

    def write(self, path: str, data: bytes) -> None:
        """See autoreproduce.Sandbox."""
        write_inside(self.workspace, path, data)

    def close(self) -> None:
        """See autoreproduce.Sandbox. Nothing runs between commands."""

    def _start(self, command: str, network: bool, group: Cgroup | None) -> subprocess.Popen[bytes]:
        pipe = subprocess.PIPE
        try:
            child = subprocess.Popen(
                ["/bin/sh", "-c", HELD, "sh", *self._argv(command, network)],
                env=self._environment(network), cwd=self._folder(network), start_new_session=True,
                stdin=pipe, stdout=pipe, stderr=pipe, pass_fds=self._passed(),
            )  # fmt: skip
        except OSError as error:
            raise SandboxError(f"{self.name} cannot start a command ({error}): see `autoreproduce doctor`") from error
        try:
            self._hold(child.pid, group)
            assert child.stdin
            child.stdin.write(b"go\n")
            child.stdin.close()
        except OSError as error:
            kill_tree(child.pid)
            child.communicate()
            raise SandboxError(f"{self.name} cannot limit a command ({error}): see `autoreproduce doctor`") from error
        return child

    def _passed(self) -> tuple[int, ...]:
        """The open files that the child gets beside the standard three."""
        return ()

    def _hold(self, pid: int, group: Cgroup | None) -> None:
        for file in group.procs if group else ():
            file.write_text(str(pid))
        largest = int(self.limits.disk_gb * 2**30)
        resource.prlimit(pid, resource.RLIMIT_FSIZE, (largest, largest))
        resource.prlimit(pid, resource.RLIMIT_CORE, (0, 0))
        if group is not None:
            return
        os.setpriority(os.PRIO_PROCESS, pid, 10)  # so that whoever looks comes to look, among a thousand that fork
        if os.getuid() != 0:  # root has no such limit
            most = threads_of(os.getuid()) + 2 * self.limits.processes
            _, hard = resource.prlimit(pid, resource.RLIMIT_NPROC)
            most = most if hard == resource.RLIM_INFINITY else min(most, hard)
            resource.prlimit(pid, resource.RLIMIT_NPROC, (most, most))

    def _watched(
        self, child: subprocess.Popen[bytes], command: str, timeout: float,
        on_output: Callable[[str], None] | None, group: Cgroup | None,
    ) -> Execution:  # fmt: skip
        output = Output(self.limits.output_kb * 1024, self.limits.output_mb * 2**20, on_output)
        disk, pipes = Disk(self.workspace, self.limits), Pipes(child)
        held = (lambda: held_by(group)) if group else (lambda: self._polled(child.pid))
        try:
            stopped, seconds = watch(pipes, output, timeout, [held, disk], lambda: self._kill(child))
            code = child.wait()
        finally:
            pipes.close()
        code = 0 if stopped else code if code >= 0 else 128 - code
        stopped = stopped or why_ended(code, disk, group)
        more = disk.reclaim() if stopped == "disk" else ""
        return execution(command, code, output, seconds, stopped, timeout, self.limits, more)

    def _kill(self, child: subprocess.Popen[bytes]) -> None:
        if child.returncode is not None:  # collected: its number may be another's by now
            return
        kill_tree(child.pid)
        with suppress(subprocess.TimeoutExpired):
            child.wait(2)

    def _polled(self, pid: int) -> Stopped:
        found, most = descendants(pid), self.limits.memory_gb * 2**30
        if sum(process.threads for process in found) > self.limits.processes:
            return "processes"
        return "memory" if memory(found) > most and memory_shared_once(found) > most else ""


def fault_of(command: str) -> str:
    """Why the kernel takes no such command, "" where it does: a fault of whoever wrote it, not of the sandbox."""
    try:
        size = len(os.fsencode(command))
    except UnicodeEncodeError:
        return "it holds half a character"
    if "\0" in command:
        return "it holds a NUL"
    return f"it has {size:,} bytes, and may have {LONGEST - 1:,}: write a file instead" if size >= LONGEST else ""


def held_by(group: Cgroup) -> Stopped:
    """The limit of a cgroup that was met."""
    if group.memory_kills():
        return "memory"
    return "processes" if group.refused_forks() else ""


def why_ended(code: int, disk: Disk, group: Cgroup | None) -> Stopped:
    """The limit that ended a program which seems to have ended by itself."""
    if disk.full:
        return "disk"
    return (held_by(group) if group else "") or ("killed" if code == 128 + 9 else "")

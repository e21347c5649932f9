"""The sandbox in Docker: one container a trial, commands by `exec`, so that a command costs tens of milliseconds.

What must be certain is done to the container, not to the command: a command that passes a limit, or leaves a process
behind, loses its container, and the next command gets a new one. All that lasts lies in folders of the host. Killing
only the command would leave what it started, and the Engine's own report on memory (OOMKilled) is wrong for commands
of `exec`: the counters of the container's cgroup are read instead.
"""

from __future__ import annotations

import math
import os
import re
import time
import uuid
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce import Execution, Stopped
from autoreproduce.config import Settings
from autoreproduce.errors import SandboxError
from autoreproduce.sandboxes import cgroups, inside
from autoreproduce.sandboxes.engine import connect, engine, environment_of, listens
from autoreproduce.sandboxes.files import read_inside, write_inside
from autoreproduce.sandboxes.image import ensure_image, recipe_folder
from autoreproduce.sandboxes.leftovers import OWNER, TRIAL, remove_stale
from autoreproduce.sandboxes.local import held_by, why_ended
from autoreproduce.sandboxes.output import Output
from autoreproduce.sandboxes.owners import owner
from autoreproduce.sandboxes.watch import Disk, execution, watch

if TYPE_CHECKING:
    from docker.models.containers import Container

WORKSPACE, DATA, PACKAGES, HOME = "/workspace", "/data", "/packages", "/home/sandbox"
KEEPERS = 2  # the container's own processes: init, and the `sleep` that keeps it up


class DockerSandbox:
    """One container a trial, made at the first command."""

    name = "docker"

    def __init__(
        self, settings: Settings, workspace: Path, *, data_dir: Path | None, packages: Path, label: str = "",
        note: Callable[[str], None] = lambda text: None, starts: AbstractContextManager[Any] | None = None,
    ) -> None:  # fmt: skip
        self.workspace = workspace.resolve()
        self.limits = settings.limits
        self._settings = settings
        self._data = data_dir.resolve() if data_dir else None
        self._packages = packages.resolve() / self.name
        self._packages.mkdir(parents=True, exist_ok=True)
        self._label = label
        self._starts = starts or nullcontext()
        self._container: Container | None = None
        self._guarded = False
        self._index = inside.index(settings, inside.caller())
        with engine():
            self._client = connect(60)
            try:
                self._image = ensure_image(self._client, settings, note)
                self._info = self._client.info()
                image = environment_of(self._client.images.get(self._image).attrs)
                remove_stale(self._client, label)
            except BaseException:
                self._client.close()
                raise
        data = DATA if self._data else ""
        self._variables = inside.variables(self.limits, home=HOME, data=data, packages=PACKAGES,
                                           path=image.get("PATH", "/usr/local/bin:/usr/bin:/bin"))  # fmt: skip
        self.promises = (
            "programs see the workspace, the data and the image alone, without network or privileges, on a read-only "
            "system; memory, processes and processors are limited by the Engine, disk by looking every second."
        )

    def execute(
        self, command: str, timeout: float, *, network: bool = False, on_output: Callable[[str], None] | None = None
    ) -> Execution:
        """See autoreproduce.Sandbox."""
        with engine():
            container = self._start(network=True) if network else self._ready()
            keep = False
            try:
                done = self._run(container, command, timeout, network, on_output)
                keep = not network and not done.stopped and self._is_clean(container)
            finally:
                if not keep:
                    self._discard(container)
            return done

    def read(self, path: str) -> bytes:
        """See autoreproduce.Sandbox."""
        return read_inside(self.workspace, path)

    def write(self, path: str, data: bytes) -> None:
        """See autoreproduce.Sandbox."""
        write_inside(self.workspace, path, data)

    def close(self) -> None:
        """See autoreproduce.Sandbox."""
        try:
            with engine():
                if self._container is not None:
                    self._discard(self._container)
        finally:
            self._client.close()

    def _run(
        self, container: Container, command: str, timeout: float, network: bool,
        on_output: Callable[[str], None] | None,
    ) -> Execution:  # fmt: skip
        from autoreproduce.sandboxes.docker_exec import ExecStream

        variables, argv, folder = self._variables, ["bash", "-c", command], WORKSPACE
        if network:
            variables = inside.installing(variables, PACKAGES) | self._index.variables
            argv, folder = inside.install_argv(command, PACKAGES), "/tmp"
        output = Output(self.limits.output_kb * 1024, self.limits.output_mb * 2**20, on_output)
        disk, group = Disk(self.workspace, self.limits), self._group(container)
        held: Callable[[], Stopped] = lambda: held_by(group) if group else ""  # noqa: E731
        stream = ExecStream(self._client, str(container.id), argv, variables, folder)

        def kill() -> None:
            stream.close()
            self._discard(container)

        try:
            stopped, seconds = watch(stream, output, timeout, [held, disk], kill)
            code = 0 if stopped else stream.exit_code()
        finally:
            stream.close()
        if not stopped:
            stopped = why_ended(code, disk, group)
            if stopped == "killed" and group is None and self._told_memory(container):
                stopped = "memory"
        more = ""
        if stopped == "disk":
            self._discard(container)
            more = disk.reclaim()
        return execution(command, code, output, seconds, stopped, timeout, self.limits, more)

    def _ready(self) -> Container:
        """The trial's container, running; a new one where there is none, or the workspace's .git came since."""
        from docker.errors import NotFound

        if self._container is not None:
            with suppress(NotFound):
                self._container.reload()
                if self._container.status == "running" and self._guarded == (self.workspace / ".git").exists():
                    return self._container
            self._discard(self._container)
        self._guarded = (self.workspace / ".git").exists()
        self._container = self._start(network=False)
        return self._container

    def _start(self, network: bool) -> Container:
        with self._starts:
            return self._started(network)

    def _started(self, network: bool) -> Container:
        name = f"autoreproduce-{re.sub(r'[^a-zA-Z0-9_.-]+', '-', self._label or 'trial')[:40]}-{uuid.uuid4().hex[:8]}"
        container: Container = self._client.containers.create(
            self._image, entrypoint=["sleep"], command=["infinity"], name=name, init=True, detach=True,
            labels={TRIAL: self._label, OWNER: owner()}, user=self._user(), hostname="sandbox",
            working_dir="/", environment={"HOME": HOME}, network_mode="bridge" if network else "none",
            mounts=self._install_mounts() if network else self._work_mounts(), **self._walls(),
        )  # fmt: skip
        try:
            container.start()
            container.reload()
        except BaseException:
            self._discard(container)
            raise
        return container

    def _walls(self) -> dict[str, Any]:
        """The limits of a container."""
        from docker.types import DeviceRequest, Ulimit

        memory, disk = int(self.limits.memory_gb * 2**30), int(self.limits.disk_gb * 2**30)
        scratch = f"rw,exec,nosuid,nodev,mode=1777,size={max(memory // 2, 2**20)}"
        walls: dict[str, Any] = {
            "cap_drop": ["ALL"],
            "security_opt": ["no-new-privileges:true", f"seccomp={(recipe_folder() / 'seccomp.json').read_text()}"],
            "read_only": True,
            "tmpfs": {"/tmp": scratch, HOME: scratch},
            "shm_size": memory // 2,
            "mem_limit": memory,
            "memswap_limit": memory,
            "pids_limit": self.limits.processes + KEEPERS,
            "nano_cpus": int(min(self.limits.cpus, self._info.get("NCPU", math.inf)) * 1e9),
            "ulimits": [
                Ulimit(name="fsize", soft=disk, hard=disk),
                Ulimit(name="nofile", soft=4096, hard=4096),
                Ulimit(name="core", soft=0, hard=0),
            ],
        }
        if gpus := self._settings.gpus:
            chosen = {"count": -1} if gpus == "all" else {"device_ids": gpus.split(",")}
            walls["device_requests"] = [DeviceRequest(capabilities=[["gpu"]], **chosen)]
        return walls

    def _work_mounts(self) -> list[Any]:
        mounts = [_mount(WORKSPACE, self.workspace), _mount(PACKAGES, self._packages, read_only=True)]
        if self._guarded:  # whoever writes a hook or a setting there runs code outside
            mounts.append(_mount(f"{WORKSPACE}/.git", self.workspace / ".git", read_only=True))
        return mounts + ([_mount(DATA, self._data, read_only=True)] if self._data else [])

    def _install_mounts(self) -> list[Any]:
        """An installing command sees neither workspace nor data: it has the network."""
        files = [_mount(path, host, read_only=True) for path, host in self._index.files.items()]
        return [_mount(PACKAGES, self._packages), *files]

    def _user(self) -> str:
        """The caller, so that files are the caller's; root where the Engine maps root to the caller."""
        rootless = any("rootless" in option for option in self._info.get("SecurityOptions") or ())
        return "0:0" if rootless or not hasattr(os, "getuid") else f"{os.getuid()}:{os.getgid()}"

    def _group(self, container: Container) -> cgroups.Cgroup | None:
        """The container's cgroup, where the Engine runs on this machine and its cgroups are visible."""
        return cgroups.of_process(container.attrs["State"]["Pid"], str(container.id))

    def _is_clean(self, container: Container) -> bool:
        """True where nothing runs in the container but what keeps it up."""
        group = self._group(container)
        for _ in range(10):  # a process that just ended may still be listed
            running = len(group.members()) if group else len(container.top()["Processes"] or ())
            if running <= KEEPERS:
                return group is None or not held_by(group)  # its counters must begin at none
            time.sleep(0.01)
        return False

    def _told_memory(self, container: Container) -> bool:
        """What the container itself can see of its kills for memory, where we cannot."""
        files = "/sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control"
        said = container.exec_run(["sh", "-c", f"cat {files} 2>/dev/null"]).output
        return bool(isinstance(said, bytes) and re.search(rb"^oom_kill [1-9]", said, re.MULTILINE))

    def _discard(self, container: Container) -> None:
        """Remove a container with all that runs in it; the Engine answers when it is gone."""
        from docker.errors import APIError, NotFound

        if self._container is not None and self._container.id == container.id:
            self._container = None
        with suppress(NotFound):
            try:
                container.remove(force=True)
            except APIError as error:
                if error.status_code != 409:  # its removal is already under way
                    raise


def why_not(settings: Settings) -> str:
    """Why Docker does not work here, with the mend; "" where it does."""
    try:
        with engine():
            listens()
            client = connect(1.5)
            try:
                client.ping()
            finally:
                client.close()
    except SandboxError as error:
        return str(error)
    return ""


def _mount(target: str, source: Path | None, read_only: bool = False) -> Any:
    from docker.types import Mount

    return Mount(target, str(source), type="bind", read_only=read_only)

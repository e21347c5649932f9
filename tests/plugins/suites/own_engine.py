"""A Docker Engine of one's own, to be killed at will: beside the machine's, in a network of its
own, without a bridge.

Its image is a handful of this machine's programs with their libraries, so it needs no registry.
"""

import io
import os
import re
import shutil
import signal
import subprocess
import tarfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import docker

IMAGE = "few-programs:test"
PROGRAMS = (
    "/bin/bash",
    "/bin/sh",
    "/bin/sleep",
    "/bin/cat",
    "/bin/echo",
    "/usr/bin/env",
    "/bin/true",
)


def why_not() -> str:
    """Why no engine can be started here, "" where one can."""
    missing = [name for name in ("dockerd", "unshare", "ldd") if shutil.which(name) is None]
    if missing:
        return f"{', '.join(missing)} is not installed"
    return "" if os.getuid() == 0 else "starting an engine needs root"


class Engine:
    """Start it, kill it, start it again: its containers and images stay in `folder`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.host = f"unix://{folder}/docker.sock"
        self._process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start it, and wait until it answers. What a killed one left is ended first; a start may
        need a second try.
        """
        for _ in range(3):
            self._end_containerd()
            (self.folder / "docker.pid").unlink(missing_ok=True)
            self._process = self._started()
            if self._answers(self._process):
                return
        raise AssertionError((self.folder / "log").read_text()[-2000:])

    def _started(self) -> "subprocess.Popen[bytes]":
        f = self.folder
        where = [
            f"--data-root={f}/data",
            f"--exec-root={f}/exec",
            f"--pidfile={f}/docker.pid",
            f"--host={self.host}",
        ]
        alone = ["--bridge=none", "--iptables=false", "--ip6tables=false"]
        with (f / "log").open("ab") as log:
            return subprocess.Popen(
                ["unshare", "-n", "dockerd", *where, *alone],
                stdout=log,
                stderr=log,
                stdin=subprocess.DEVNULL,
                start_new_session=True,
            )

    def _answers(self, process: "subprocess.Popen[bytes]") -> bool:
        while process.poll() is None:
            with suppress(docker.errors.DockerException):
                self.client().close()
                return True
            time.sleep(0.2)
        return False

    def _end_containerd(self) -> None:
        """A killed engine's own helper, which may outlive it by a while."""
        with suppress(OSError, ValueError):
            pid = int((self.folder / "exec/containerd/containerd.pid").read_text())
            if str(self.folder) not in Path(f"/proc/{pid}/cmdline").read_text():
                return  # the number is another's by now
            os.kill(pid, signal.SIGKILL)
            time.sleep(0.5)

    def client(self) -> docker.DockerClient:
        """A client that was answered once."""
        client = docker.DockerClient(self.host, timeout=30)
        try:
            client.ping()
        except BaseException:
            client.close()
            raise
        return client

    def kill(self) -> None:
        """SIGKILL to the engine itself; what it started goes on without it."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """Remove all containers, and end it with what it started."""
        if self._process is None or self._process.poll() is not None:
            self.start()
        client = self.client()
        for container in client.containers.list(all=True):
            with suppress(docker.errors.DockerException):
                container.remove(force=True)
        client.close()
        self._end(signal.SIGTERM)

    def containers(self) -> int:
        """How many there are, running or not."""
        client = self.client()
        try:
            return len(client.api.containers(all=True))
        finally:
            client.close()

    def load(self) -> None:
        """Make the image."""
        client = self.client()
        client.api.import_image_from_data(_root(), repository=IMAGE.partition(":")[0], tag="test")
        client.close()

    def _end(self, number: int) -> None:
        assert self._process
        pid = int((self.folder / "docker.pid").read_text())
        os.kill(pid, number)
        self._process.wait(30)


def _root() -> bytes:
    """A tar with the programs and the libraries that they name."""
    files = set(PROGRAMS)
    for program in PROGRAMS:
        told = subprocess.run(["ldd", program], capture_output=True, text=True).stdout
        files |= set(re.findall(r"(/\S+) \(0x", told))
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as tar:
        for name in ("tmp", "home/sandbox", "workspace", "packages", "data", "etc"):
            entry = tarfile.TarInfo(name)
            entry.type, entry.mode = tarfile.DIRTYPE, 0o755
            tar.addfile(entry)
        for path in sorted(files):
            tar.add(Path(path).resolve(), path.lstrip("/"))
    return data.getvalue()


@contextmanager
def own_engine(folder: Path) -> Iterator[Engine]:
    """An engine with its image, gone at the end with all that it held."""
    folder.mkdir()
    engine = Engine(folder)
    engine.start()
    try:
        engine.load()
        yield engine
    finally:
        engine.stop()
        for line in Path("/proc/mounts").read_text().splitlines():
            if str(folder) in line:
                subprocess.run(["umount", "-l", line.split()[1]], check=False)
        shutil.rmtree(folder, ignore_errors=True)

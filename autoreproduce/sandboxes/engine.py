"""Reaching Docker Engine, what its answers mean, and containers that nobody owns any more.

Only the Engine's list is read for the latter: inspecting each container, as its client does by
itself, would make a hundred trials that start together ask ten thousand times.
"""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any

from autoreproduce.errors import SandboxError
from autoreproduce.files.owner import owner, stale

if TYPE_CHECKING:
    from docker import DockerClient
    from docker.models.containers import Container

SOCKET = "unix:///var/run/docker.sock"
START = "start it (systemctl start docker), or choose --sandbox bubblewrap"


def connect(timeout: float) -> DockerClient:
    """A client of the Engine that DOCKER_HOST names, else of the local one."""
    import docker

    return docker.from_env(timeout=timeout)  # type: ignore[arg-type]


def listens() -> None:
    """Raise SandboxError if nobody listens at the Engine's socket.

    It is quicker than the Engine's client, which leaves its socket open after a failure.
    """
    scheme, _, path = os.environ.get("DOCKER_HOST", SOCKET).partition("://")
    if scheme != "unix":
        return
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except PermissionError:
            raise _closed() from None
        except OSError as error:
            raise SandboxError(
                f"Docker Engine does not answer at {path} ({error.strerror or error})", fix=START
            ) from None


@contextmanager
def engine() -> Iterator[None]:
    """Turn what the Engine and its client raise into SandboxError with the fix."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except (DockerException, RequestException) as error:
        raise _explained(error) from error


@contextmanager
def if_it_runs() -> Iterator[None]:
    """Skip the rest of the block once the Engine says that the container runs no more."""
    from docker.errors import APIError

    try:
        yield
    except APIError as error:
        if error.status_code not in (404, 409):  # it is missing, or it has stopped
            raise


def _explained(error: Exception) -> SandboxError:
    from requests.exceptions import ConnectionError as NoConnection
    from requests.exceptions import Timeout

    text = str(getattr(error, "explanation", None) or error)
    causes = list(_causes(error))
    if any(isinstance(each, PermissionError) for each in causes):
        return _closed()
    if any(
        isinstance(each, NoConnection | Timeout | ConnectionError | FileNotFoundError)
        for each in causes
    ):
        return SandboxError(f"Docker Engine does not answer ({text[:120]})", fix=START)
    # A missing GPU runtime is status 500 like any failure: the Engine has only words for it.
    if "could not select device driver" in text:
        return SandboxError(
            "Docker has no GPU runtime",
            fix="install NVIDIA's container toolkit, or leave --gpus out",
            retryable=False,
        )
    return SandboxError(f"Docker failed ({text[:400]})", fix="see `autoreproduce doctor`")


def _closed() -> SandboxError:
    return SandboxError(
        "Docker Engine is not open to you",
        fix="add yourself to the group docker, or use bubblewrap",
        retryable=False,
    )


def _causes(error: BaseException | None) -> Iterator[BaseException]:
    """An error, and those that it was raised over or that it holds: clients wrap one in another."""
    if error is not None:
        yield error
        for each in (error.__cause__, *error.args):
            if isinstance(each, BaseException):
                yield from _causes(each)


def environment_of(attributes: dict[str, Any]) -> dict[str, str]:
    """The variables that an image sets."""
    return dict(
        each.split("=", 1) for each in attributes.get("Config", {}).get("Env") or () if "=" in each
    )


def user(info: dict[str, Any]) -> str:
    """The caller, to whom all files belong; root if a rootless Engine maps it to the caller."""
    rootless = any("rootless" in option for option in info.get("SecurityOptions") or ())
    return "0:0" if rootless or not hasattr(os, "getuid") else f"{os.getuid()}:{os.getgid()}"


def keeper(program: str) -> str:
    """The user of a container's own processes: another than `program`, the user of its commands."""
    return "65533:65533" if program.startswith("65534:") else "65534:65534"


def killed_for_memory(container: Container) -> bool:
    """Whether the kernel killed for memory in a container, as that itself sees it."""
    files = "/sys/fs/cgroup/memory.events /sys/fs/cgroup/memory/memory.oom_control"
    with if_it_runs():
        text = container.exec_run(["sh", "-c", f"cat {files} 2>/dev/null"]).output
        return isinstance(text, bytes) and bool(re.search(rb"(?m)^oom_kill [1-9]", text))
    return False


def remaps(info: dict[str, Any]) -> bool:
    """True if the Engine gives containers other users than the machine's (userns-remap)."""
    return any(option.startswith("name=userns") for option in info.get("SecurityOptions") or ())


def check_runtime(runtime: str | None, info: dict[str, Any]) -> None:
    """Raise SandboxError if the Engine does not know the runtime."""
    known = sorted(name for name in info.get("Runtimes") or {} if not name.startswith("io."))
    if runtime and known and runtime not in known:
        raise SandboxError(
            f"Docker has no runtime {runtime!r}, only {', '.join(known)}",
            fix="register it in the Engine's daemon.json (docs/security.md), or leave "
            "--runtime out",
            retryable=False,
        )


TRIAL, OWNER = "autoreproduce.trial", "autoreproduce.owner"
AT_ONCE = 16  # removals: an Engine takes a quarter of a second for each


def remove_stale(client: DockerClient, label: str = "") -> int:
    """Remove the containers of processes that were killed; how many.

    Those that this process made for the trial `label` go too: an Engine that failed may still have
    them.
    """
    mine = owner()
    return _remove(
        client,
        lambda labels: (
            stale(labels.get(OWNER, ""))
            or bool(label and labels.get(OWNER) == mine and labels.get(TRIAL) == label)
        ),
    )


def remove_own(client: DockerClient) -> int:
    """Remove all containers of this process, for a runner that does not wait for its trials."""
    mine = owner()
    return _remove(client, lambda labels: labels.get(OWNER) == mine)


def sweep(own: bool = False) -> int:
    """`remove_own` or `remove_stale` on the Engine that answers; 0 if none does."""
    with suppress(SandboxError), engine():
        listens()
        client = connect(20)
        try:
            return remove_own(client) if own else remove_stale(client)
        finally:
            client.close()
    return 0


def _remove(client: DockerClient, wanted: Callable[[dict[str, str]], bool]) -> int:
    listed = client.api.containers(all=True, filters={"label": OWNER})
    chosen = [found["Id"] for found in listed if wanted(found.get("Labels") or {})]
    if not chosen:
        return 0
    with ThreadPoolExecutor(min(len(chosen), AT_ONCE)) as pool:
        return sum(pool.map(lambda name: _was_removed(client, name), chosen))


def _was_removed(client: DockerClient, name: str) -> bool:
    """Remove a container. False if it was gone, or is already being removed."""
    from docker.errors import APIError, NotFound

    with suppress(NotFound):
        try:
            client.api.remove_container(name, force=True)
            return True
        except APIError as error:
            if error.status_code != 409:
                raise
    return False

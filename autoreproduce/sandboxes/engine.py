"""Reaching Docker Engine, and what its answers mean for the user."""

from __future__ import annotations

import os
import re
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from autoreproduce.errors import SandboxError

if TYPE_CHECKING:
    from docker import DockerClient

SOCKET = "unix:///var/run/docker.sock"
CLOSED = "Docker Engine is not open to you: add yourself to the group docker, or use bubblewrap"
MEND = "start it (systemctl start docker), or choose --sandbox bubblewrap"


def connect(timeout: float) -> DockerClient:
    """A client of the Engine that DOCKER_HOST names, else of the local one."""
    import docker

    return docker.from_env(timeout=timeout)  # type: ignore[arg-type]


def listens() -> None:
    """Raise SandboxError where nobody listens at the Engine's socket: quicker than its client, which leaves it open."""
    scheme, _, path = os.environ.get("DOCKER_HOST", SOCKET).partition("://")
    if scheme != "unix":
        return
    with socket.socket(socket.AF_UNIX) as probe:
        probe.settimeout(1)
        try:
            probe.connect(path)
        except PermissionError:
            raise SandboxError(CLOSED) from None
        except OSError as error:
            raise SandboxError(f"Docker Engine does not answer at {path} ({error.strerror or error}): {MEND}") from None


@contextmanager
def engine() -> Iterator[None]:
    """Turn what the Engine and its client raise into SandboxError with the mend."""
    from docker.errors import DockerException
    from requests.exceptions import RequestException

    try:
        yield
    except (DockerException, RequestException) as error:
        said = str(getattr(error, "explanation", None) or error)
        if "Permission denied" in said:
            raise SandboxError(CLOSED) from error
        if re.search("No such file|Connection refused|Connection aborted|timed out", said):
            raise SandboxError(f"Docker Engine does not answer ({said[:120]}): {MEND}") from error
        if "could not select device driver" in said:
            raise SandboxError(
                "Docker has no GPU runtime: install NVIDIA's container toolkit, or leave --gpus out"
            ) from error
        raise SandboxError(f"Docker failed ({said[:400]}): see `autoreproduce doctor`") from error


def environment_of(attributes: dict[str, Any]) -> dict[str, str]:
    """The variables that an image sets."""
    return dict(each.split("=", 1) for each in attributes.get("Config", {}).get("Env") or () if "=" in each)

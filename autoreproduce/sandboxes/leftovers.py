"""Containers that nobody owns any more: found by their labels, and removed.

Only the Engine's list is read: inspecting each container, as its client does by itself, would make
a hundred trials that start together ask ten thousand times.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from typing import TYPE_CHECKING

from autoreproduce.files.owner import owner, stale

if TYPE_CHECKING:
    from docker import DockerClient

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
    from autoreproduce.errors import SandboxError
    from autoreproduce.sandboxes.engine import connect, engine, listens

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

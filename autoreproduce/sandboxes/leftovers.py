"""Containers that nobody owns any more: found by their labels, and removed.

The Engine's list is read as it comes: asking it about each container, as its client does unasked, would make a
hundred trials that start together ask ten thousand times.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from typing import TYPE_CHECKING

from autoreproduce.sandboxes.owners import owner, stale

if TYPE_CHECKING:
    from docker import DockerClient

TRIAL, OWNER = "autoreproduce.trial", "autoreproduce.owner"


def remove_stale(client: DockerClient, label: str = "") -> int:
    """Remove containers whose process is gone, killed before it could; how many.

    Those of the trial `label` go too where this process made them: an Engine that failed may have kept them.
    """
    mine = owner()
    return _remove(
        client,
        lambda labels: (
            stale(labels.get(OWNER, "")) or bool(label and labels.get(OWNER) == mine and labels.get(TRIAL) == label)
        ),
    )


def remove_own(client: DockerClient) -> int:
    """Remove all containers of this process: for a runner that ends without waiting for its trials."""
    mine = owner()
    return _remove(client, lambda labels: labels.get(OWNER) == mine)


def sweep(own: bool = False) -> int:
    """The same on the Engine that is there, 0 where none answers: `remove_own` or `remove_stale`."""
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
    from docker.errors import APIError, NotFound

    removed = 0
    for found in client.api.containers(all=True, filters={"label": OWNER}):
        if not wanted(found.get("Labels") or {}):
            continue
        with suppress(NotFound):
            try:
                client.api.remove_container(found["Id"], force=True)
                removed += 1
            except APIError as error:
                if error.status_code != 409:  # its removal is already under way
                    raise
    return removed

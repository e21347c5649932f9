"""Pauses that all workers of a suite make: after a 429 or an outage nobody calls for a while.

Each worker reads and replaces one small file a model; there is no lock, and the last to write wins,
which at worst makes a pause a little longer or shorter. A pause that follows the last one is twice
as long, and the calls after it are spread over its length: so the rate of all workers together
falls until the provider grants it, and rises as pauses lapse.
"""

import random
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from pydantic import BaseModel

from autoreproduce.config import digest
from autoreproduce.errors import SandboxError
from autoreproduce.files.tree import Tree

FOLDER = "pauses"
MOST_BYTES = 1000  # of one file
LONGEST = 60.0  # seconds


class Pause(BaseModel):
    """No call begins before `until` (epoch seconds); it is `seconds` long."""

    until: float = 0.0
    seconds: float = 0.0


class PauseAccess(Protocol):
    """The pauses of a suite, here or on the machine that has the suite's folder."""

    def wait_before(self, model: str) -> float:
        """Seconds to wait before the next call of a model."""
        ...

    def refused(self, model: str, seconds: float) -> None:
        """A call of a model met a 429 or an outage; the worker waits so long itself."""
        ...


@dataclass(frozen=True)
class ModelPauses:
    """The pauses of one model."""

    pauses: PauseAccess
    model: str

    def wait_before(self) -> float:
        """Seconds to wait before the next call."""
        return self.pauses.wait_before(self.model)

    def refused(self, seconds: float) -> None:
        """A call met a 429 or an outage."""
        self.pauses.refused(self.model, seconds)


class Pauses:
    """The pauses in a suite's folder, which may be a stranger's: no link of it is followed."""

    def __init__(self, folder: Path) -> None:
        self._tree = Tree(folder.resolve())

    def wait_before(self, model: str) -> float:
        """See PauseAccess. Spread, so that the calls after a pause do not come all at once."""
        pause = self._read(model)
        left = min(pause.until - time.time(), LONGEST)
        return left + random.uniform(0, pause.seconds) if left > 0 else 0.0

    def refused(self, model: str, seconds: float) -> None:
        """See PauseAccess. During a pause nothing changes: those calls began before it."""
        last, now = self._read(model), time.time()
        if now < last.until:
            return
        follows = now - last.until < 3 * last.seconds
        length = min(max(seconds, 2 * last.seconds if follows else 0.0), LONGEST)
        pause = Pause(until=now + length, seconds=length)
        with suppress(SandboxError):  # without the file each worker waits for itself
            self._tree.write(_file(model), pause.model_dump_json())

    def _read(self, model: str) -> Pause:
        try:
            return Pause.model_validate_json(self._tree.read(_file(model), MOST_BYTES))
        except (FileNotFoundError, SandboxError, ValueError):
            return Pause()


def _file(model: str) -> str:
    return f"{FOLDER}/{digest(model)}.json"

"""Sandboxes whose programs an interrupt ends."""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path

from autoreproduce.contracts import Execution
from autoreproduce.errors import SandboxError
from autoreproduce.sandboxes.counted_run import TrialSandbox
from autoreproduce.sandboxes.setup import SandboxSetup


@dataclass(frozen=True)
class StoppableSetup(SandboxSetup):
    """The same sandboxes; once `stopped` is set, what runs or is to run raises SandboxError."""

    stopped: threading.Event = field(default_factory=threading.Event)

    @classmethod
    def of(cls, setup: SandboxSetup, stopped: threading.Event) -> StoppableSetup:
        """The sandboxes of `setup`, which `stopped` ends."""
        return cls(
            **{each.name: getattr(setup, each.name) for each in fields(setup)}, stopped=stopped
        )

    def open(self, workspace: Path) -> TrialSandbox:
        """See SandboxSetup."""
        return _Stoppable(super().open(workspace), self.stopped)


class _Stoppable(TrialSandbox):
    def __init__(self, inner: TrialSandbox, stopped: threading.Event) -> None:
        super().__init__(inner, None)
        self._stopped = stopped

    def execute(
        self,
        command: str,
        timeout: float,
        *,
        on_output: Callable[[str], None] | None = None,
        mounts: Mapping[str, Path] | None = None,
    ) -> Execution:
        """See autoreproduce.Sandbox."""

        def check(text: str) -> None:
            if self._stopped.is_set():
                raise SandboxError("the run was stopped", fix="start it again")
            if on_output is not None:
                on_output(text)

        check("")
        return super().execute(command, timeout, on_output=check, mounts=mounts)

"""No isolation: programs run as the user, with the user's files and network. Only for code that you trust.

It keeps what can be kept without privileges: a minimal environment, limits of time, memory, processes, output and
disk by polling, and that nothing is left running.
"""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import Any

from autoreproduce.config import Settings
from autoreproduce.sandboxes import inside, processes
from autoreproduce.sandboxes.local import LocalSandbox
from autoreproduce.sandboxes.owners import scratch


class ProcessSandbox(LocalSandbox):
    """Each command below a supervisor that keeps its descendants together and ends them."""

    name = "process"
    promises = (
        "no isolation: programs can read your files and use the network; time, memory, processes, output and disk "
        "are limited by looking at them, and nothing is left running."
    )

    def __init__(self, settings: Settings, workspace: Path, *, group: bool = True, **told: Any) -> None:
        super().__init__(settings, workspace, group=group, **told)
        self._index = inside.index(settings, inside.caller(), mounted=False)
        self._made = scratch()
        for name in ("home", "tmp", "bin"):
            (self._made / name).mkdir()
        (self._made / "bin" / "python").symlink_to(sys.executable)  # where the system's is called python3 alone

    def close(self) -> None:
        """See autoreproduce.Sandbox."""
        shutil.rmtree(self._made, ignore_errors=True)

    def _argv(self, command: str, network: bool) -> list[str]:
        run = inside.install_argv(command, str(self._packages)) if network else ["bash", "-c", command]
        return [sys.executable, "-I", "-S", processes.__file__, *run]

    def _folder(self, network: bool) -> Path:
        return self._made / "tmp" if network else self.workspace

    def _environment(self, network: bool) -> dict[str, str]:
        found = inside.variables(
            self.limits, home=str(self._made / "home"), data=str(self._data or ""), packages=str(self._packages),
            path=f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin:{self._made}/bin", tmp=str(self._made / "tmp"),
        )  # fmt: skip
        if network:
            return inside.installing(found, str(self._packages)) | self._index.variables
        devices = {"all": None, None: ""}.get(self._gpus, self._gpus)
        return found | ({} if devices is None else {"CUDA_VISIBLE_DEVICES": devices})


def why_not(settings: Settings) -> str:
    """Why commands cannot be run as plain processes here, with the mend; "" where they can."""
    if not Path("/proc/self/stat").exists() or not hasattr(os, "pidfd_open"):
        return "plain processes need Linux and its /proc: use Docker"
    return ""

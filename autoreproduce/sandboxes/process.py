"""No isolation: programs run as the user, with the user's files and network. For trusted code only.

What works without privileges is still there: a minimal environment, limits of time, memory,
processes, output and disk by polling, and nothing is left running.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from autoreproduce.config import Settings
from autoreproduce.errors import SandboxError
from autoreproduce.files.owner import remove_folder, scratch
from autoreproduce.sandboxes import inside, processes
from autoreproduce.sandboxes.local import LocalSandbox


class ProcessSandbox(LocalSandbox):
    """Each command below a supervisor that keeps its descendants together and ends them."""

    name = "process"
    isolated = False
    promises = (
        "no isolation: programs can read your files and use the network; time, memory, processes, "
        "output and disk are limited by looking at them, and nothing is left running."
    )

    def __init__(
        self, settings: Settings, workspace: Path, *, group: bool = True, **options: Any
    ) -> None:
        super().__init__(settings, workspace, group=group, **options)
        self._scratch = scratch()
        for name in ("home", "tmp", "bin"):
            (self._scratch / name).mkdir()
        # For systems whose Python is called python3 alone.
        (self._scratch / "bin" / "python").symlink_to(sys.executable)

    def close(self) -> None:
        """See autoreproduce.Sandbox."""
        remove_folder(self._scratch)

    def _argv(
        self, command: str, wheels: Path | None, mounts: Mapping[str, Path] | None = None
    ) -> list[str]:
        if mounts:
            raise SandboxError(
                "the sandbox process cannot mount folders, which this command needs",
                fix="choose --sandbox docker or bubblewrap",
                retryable=False,
            )
        run = ["bash", "-c", command]
        if wheels:
            run = inside.install_argv(command, str(self._packages), other=bool(self._python))
        return [sys.executable, "-I", "-S", processes.__file__, *run]

    def _folder(self, wheels: Path | None) -> Path:
        return self._scratch / "tmp" if wheels else self.workspace

    def _environment(self, wheels: Path | None) -> dict[str, str]:
        found = inside.variables(
            self.limits,
            home=str(self._scratch / "home"),
            data=str(self._data or ""),
            packages=str(self._packages),
            path=f"{sys.prefix}/bin:/usr/local/bin:/usr/bin:/bin:{self._scratch}/bin",
            tmp=str(self._scratch / "tmp"),
        )
        if wheels:
            return inside.installing(found, str(self._packages), str(wheels))
        if self._python:
            found = inside.first_in_path(found, str(self._packages))
        devices = {"all": None, None: ""}.get(self._gpus, self._gpus)
        return found | ({} if devices is None else {"CUDA_VISIBLE_DEVICES": devices})


def why_not(settings: Settings) -> SandboxError | None:
    """Why commands cannot be run as plain processes here, None if they can."""
    if not Path("/proc/self/stat").exists() or not hasattr(os, "pidfd_open"):
        return SandboxError(
            "plain processes need Linux and its /proc", fix="use Docker", retryable=False
        )
    return None

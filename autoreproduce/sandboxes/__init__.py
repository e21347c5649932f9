"""Where code that a model wrote runs. One file a sandbox; this module chooses among them.

A sandbox's module has a class, made as `Class(settings, workspace, data_dir=…, packages=…)`, and a function
`why_not(settings)` that tells in under two seconds why it does not work here. A new sandbox is one file, one line in
`SANDBOXES` and one test. Only the module that is asked for is imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any

from autoreproduce.errors import SandboxError, UsageError

if TYPE_CHECKING:
    from autoreproduce import Sandbox
    from autoreproduce.config import Settings

# In the order in which `auto` tries them.
SANDBOXES = {"docker": "DockerSandbox", "bubblewrap": "BubblewrapSandbox", "process": "ProcessSandbox"}


def why_not(name: str, settings: Settings) -> str:
    """Why the sandbox `name` does not work on this machine, with the mend; "" where it does. Under two seconds."""
    return str(_module(name).why_not(settings))


def open_sandbox(
    settings: Settings, workspace: Path, *, data_dir: Path | None, packages: Path, label: str, trusted: bool,
    note: Callable[[str], None], starts: AbstractContextManager[Any] | None = None,
) -> Sandbox:  # fmt: skip
    """The sandbox that `settings.sandbox` names, ready to run; for `auto` the first that works here.

    `packages` is a host folder for what gets installed; `label` names the trial; `trusted` says that the code is
    not a live model's, so that it may run without isolation; `note` is told, a line each time, which sandbox it is
    and what it promises; `starts` is held while a container starts, so that trials beside
    each other start few at once. Raises UsageError for an unknown name, SandboxError where none works, with the mends.
    """
    workspace.mkdir(parents=True, exist_ok=True)
    how: dict[str, Any] = {"data_dir": data_dir, "packages": packages, "label": label, "note": note, "starts": starts}
    if settings.sandbox == "auto":
        sandbox = _first(settings, workspace, trusted, how)
    else:
        reason = why_not(settings.sandbox, settings)
        if reason:
            raise SandboxError(reason)
        sandbox = _made(settings.sandbox, settings, workspace, how)
    note(f"Sandbox {sandbox.name}: {sandbox.promises}")
    return sandbox


def _first(settings: Settings, workspace: Path, trusted: bool, how: dict[str, Any]) -> Sandbox:
    reasons = []
    for name in SANDBOXES:
        if name == "process" and not trusted:
            continue
        reason = why_not(name, settings)
        try:
            if not reason:
                return _made(name, settings, workspace, how)
        except SandboxError as error:  # an engine without an image, or without the means to make one
            reason = str(error)
            how["note"](f"Sandbox {name} does not work here: {reason}")
        reasons.append(f"{name}: {reason}")
    raise SandboxError(
        "no sandbox works here for a model's code. "
        + ". ".join(reasons)
        + ". To run it with no isolation at all, name it: --sandbox process"
    )


def _made(name: str, settings: Settings, workspace: Path, how: dict[str, Any]) -> Sandbox:
    made: Sandbox = getattr(_module(name), SANDBOXES[name])(settings, workspace, **how)
    return made


def _module(name: str) -> ModuleType:
    if name not in SANDBOXES:
        raise UsageError(f"there is no sandbox {name!r}: choose among auto, {', '.join(SANDBOXES)}")
    return importlib.import_module(f"autoreproduce.sandboxes.{name}")

"""Where code that a model wrote runs. One file a sandbox; this module chooses among them.

A sandbox's module has a class, called as `Class(settings, workspace, data_dir=…, packages=…)`, and
a function `why_not(settings)` that returns the error if it does not work here, in under two seconds
on an idle machine.
A new sandbox is one file, one line in `SANDBOXES` and one test. Only the chosen module is imported.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any

from autoreproduce.errors import SandboxError, UsageError, nearest
from autoreproduce.extensions import table
from autoreproduce.files.tree import Tree

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.contracts import Sandbox

# In the order of `auto`.
SANDBOXES = {
    "docker": "autoreproduce.sandboxes.docker:DockerSandbox",
    "bubblewrap": "autoreproduce.sandboxes.bubblewrap:BubblewrapSandbox",
    "process": "autoreproduce.sandboxes.process:ProcessSandbox",
    **table("sandboxes"),
}


def why_not(name: str, settings: Settings) -> SandboxError | None:
    """Why the sandbox `name` does not work here, None if it does. Under two seconds."""
    check_name(name)
    module = importlib.import_module(SANDBOXES[name].partition(":")[0])
    if settings.sandbox.runtime and name != "docker":
        return SandboxError(
            f"--runtime {settings.sandbox.runtime} is for Docker",
            fix="leave it out, or choose --sandbox docker",
            retryable=False,
        )
    error: SandboxError | None = module.why_not(settings)
    return error


def open_sandbox(
    settings: Settings,
    workspace: Path,
    *,
    data_dir: Path | None,
    packages: Path,
    label: str,
    trusted: bool,
    note: Callable[[str], None],
    starts: AbstractContextManager[Any] | None = None,
) -> Sandbox:
    """The sandbox `settings.sandbox.name`, ready to run; for `auto` the first that works here.

    `packages` is a host folder for what gets installed; `label` names the trial; `trusted` means
    that the code is not a live model's, so that it may run without isolation; `note` gets a line
    with the sandbox's name and what it promises; `starts` is entered while a container starts, so
    that parallel trials start few at once. Raises UsageError for an unknown name, SandboxError with
    the fixes if none works.
    """
    Tree(workspace).make_root()
    options: dict[str, Any] = {
        "data_dir": data_dir,
        "packages": packages,
        "label": label,
        "note": note,
        "starts": starts,
    }
    if settings.sandbox.name == "auto":
        sandbox = _first_that_works(settings, workspace, trusted, options)
    else:
        if error := why_not(settings.sandbox.name, settings):
            raise error
        sandbox = _new_sandbox(settings.sandbox.name, settings, workspace, options)
    note(f"Sandbox {sandbox.name}: {sandbox.promises}")
    return sandbox


def _first_that_works(
    settings: Settings, workspace: Path, trusted: bool, options: dict[str, Any]
) -> Sandbox:
    errors: dict[str, SandboxError] = {}
    for name in SANDBOXES:
        if name == "process" and not trusted:
            continue
        error = why_not(name, settings)
        try:
            if not error and name == "docker":
                _raise_if_image_failed(settings)
            if not error:
                return _new_sandbox(name, settings, workspace, options)
        except SandboxError as failed:  # an engine without an image, or no means to build one
            error = failed
            options["note"](f"Sandbox {name} is passed over: {failed.what}")
        errors[name] = error
    reasons = [f"{name}: {error}" for name, error in errors.items()]
    raise SandboxError(
        f"no sandbox works here for a model's code. {'. '.join(reasons)}. To run it with no "
        "isolation at all, name it: --sandbox process",
        retryable=any(error.retryable for error in errors.values()),
    )


def _raise_if_image_failed(settings: Settings) -> None:
    from autoreproduce.sandboxes.image import failed_lately

    if failed_lately(settings):
        raise SandboxError(
            "its image couldn't be built; `autoreproduce doctor` says why and has it tried again"
        )


def _new_sandbox(
    name: str, settings: Settings, workspace: Path, options: dict[str, Any]
) -> Sandbox:
    sandbox: Sandbox = resolve_name(SANDBOXES[name])(settings, workspace, **options)
    return sandbox


def check_name(name: str) -> None:
    """Raises UsageError for a sandbox that is not in the table."""
    if name not in ("auto", *SANDBOXES):
        raise UsageError(
            f"unknown sandbox {name!r}",
            fix=f"{nearest(name, SANDBOXES)}choose among auto, {', '.join(SANDBOXES)}",
        )

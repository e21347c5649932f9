"""Does a sandbox have the Python packages that a task's programs import?"""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from typing import TYPE_CHECKING

from autoreproduce.content import install_command, pip_install
from autoreproduce.errors import SandboxError

if TYPE_CHECKING:
    from autoreproduce.contracts import Sandbox

SECONDS = 60.0  # a container that has just started reads its disk for the first time
_LOOK = (
    "import importlib.util as u, json, sys; "
    "print(json.dumps([n for n in sys.argv[1:] if u.find_spec(n) is None]))"
)


def check_modules(sandbox: Sandbox, names: Sequence[str]) -> None:
    """Raises SandboxError with the fix if the sandbox's Python lacks one of the modules `names`."""
    if not names:
        return
    done = sandbox.execute(shlex.join(["python", "-c", _LOOK, *names]), SECONDS)
    try:
        missing = json.loads(done.stdout.strip().splitlines()[-1])
    except (ValueError, IndexError):
        return  # a sandbox without Python fails at the first program, and says so itself
    if missing:
        raise SandboxError(
            f"the sandbox {sandbox.name} lacks what this task's programs import: "
            f"{', '.join(missing)}",
            fix=_fix(sandbox.name, missing),
            retryable=False,
        )


def _fix(sandbox: str, missing: Sequence[str]) -> str:
    if sandbox == "docker":
        return "name an image that has it by --image, or leave --image out to build ours"
    return install_command("torch") if "torch" in missing else pip_install(*missing)

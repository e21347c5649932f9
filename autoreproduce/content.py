"""Where the content folders are, and how the parts that are extras are installed here.

Content lies beside the package in a checkout, inside it in an installed wheel. The command that
installs an extra names packages, with the bounds that this package states, and this Python by its
path: it works for a checkout, a wheel and any virtual environment, whatever is on PATH.
"""

import re
import shlex
import sys
from importlib.metadata import requires
from pathlib import Path

_PACKAGE = Path(__file__).parent
CHECKOUT = _PACKAGE.parent  # of an installed wheel: site-packages
CPU = "constraints-cpu.txt"  # in a checkout: torch as its build for the CPU, and tried versions


def folder(name: str) -> Path:
    """The content folder `name` (prompts, reproducebench, lineage_cache, sandbox, eval)."""
    inside = _PACKAGE / "_content" / name
    return inside if inside.is_dir() else CHECKOUT / name


def install_command(extra: str) -> str:
    """The command that installs what `extra` of pyproject.toml names."""
    wanted = [
        re.split(r"\s*;", line)[0]
        for line in requires("autoreproduce") or ()
        if re.search(rf"""extra\s*==\s*['"]{re.escape(extra)}['"]""", line)
    ]
    return pip_install(*wanted)


def pip_install(*packages: str) -> str:
    """The command that installs packages beside this one."""
    constraints = ["-c", _as_typed_here(CHECKOUT / CPU)] if (CHECKOUT / CPU).is_file() else []
    python = _as_typed_here(Path(sys.executable))
    return shlex.join([python, "-m", "pip", "install", *constraints, *packages])


def _as_typed_here(path: Path) -> str:
    """The path from the current folder if it lies below it."""
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)

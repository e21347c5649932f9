"""Where this project is on the machine, so that no sandbox shows it: it has the tasks' answers.

The package and its content may be in a checkout (inside a Python's folder or around it), in the
site-packages of the Python that runs us, and in those of others that a program sees too.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1]
# The parts of a Python's folder that its programs need, and not checkouts (src), environments
# (envs) or archives (pkgs).
PARTS = (
    *("bin", "lib", "lib32", "lib64", "libexec", "include", "share", "etc", "ssl"),
    *("targets", "nvvm", "pyvenv.cfg"),
)
ALONE = ("bin/python[23]*", "lib*/python[23]*", "lib*/libpython[23]*")
MARKS = (".gitignore", ".lock", "CACHEDIR.TAG")  # that tools leave in an environment


def of_project(prefixes: Iterable[str | Path]) -> list[Path]:
    """Real paths of the package, its checkout, and what was installed of it below `prefixes`."""
    found = [PACKAGE]
    if (PACKAGE.parent / "pyproject.toml").exists():
        found.append(PACKAGE.parent)
    for prefix in map(Path, prefixes):
        for site in prefix.glob("lib*/python*/*-packages"):
            found += [entry.resolve() for entry in site.iterdir() if "autoreproduce" in entry.name]
        found += [entry.resolve() for entry in prefix.glob("bin/autoreproduce*")]
    return list(dict.fromkeys(found))


def parts(prefix: Path) -> list[tuple[Path, Path]]:
    """What to show of a Python's folder, at its path and at its real path.

    Each is (real path, path inside): the whole folder if it contains nothing but a Python, and the
    Python alone of one, such as ~/.local, in which programs keep the user's data.
    """
    real, places = prefix.resolve(), dict.fromkeys([prefix, prefix.resolve()])
    data = os.environ.get("XDG_DATA_HOME"), Path.home() / ".local/share"
    if any(Path(each).resolve().is_relative_to(real) for each in data if each):
        own = [each.relative_to(real) for pattern in ALONE for each in real.glob(pattern)]
        return [((real / name).resolve(), at / name) for at in places for name in own]
    if {entry.name for entry in real.iterdir()} <= {*PARTS, *MARKS}:
        return [(real, at) for at in places]
    present = [name for name in PARTS if (real / name).exists()]
    return [((real / name).resolve(), at / name) for at in places for name in present]


def masks(shown: Iterable[tuple[Path, Path]], hidden: Sequence[Path]) -> list[Path]:
    """The paths inside at which what is `hidden` would be seen in what is `shown`.

    `shown` are pairs (real path, path inside).
    """
    seen = [
        at / each.relative_to(real)
        for real, at in shown
        for each in hidden
        if each.is_relative_to(real) and each.exists()
    ]
    return [
        path for path in dict.fromkeys(seen) if not any(outer in path.parents for outer in seen)
    ]

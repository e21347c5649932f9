"""Packages that a set of tasks or a handed-in program needs beside the sandbox's own.

They are installed once for each list, into a folder of the cache that all attempts share.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

from filelock import FileLock

from autoreproduce.config import digest
from autoreproduce.contracts import Packages
from autoreproduce.errors import NotScoredError, UsageError
from autoreproduce.files.handed_over import package_parts
from autoreproduce.files.shared import read_plain
from autoreproduce.sandboxes.owners import temporary_folder
from autoreproduce.sandboxes.setup import SandboxSetup

INSTALL_SECONDS = 1800.0
LARGEST_LIST = 200_000  # bytes of a requirements file


def with_packages(sandboxes: SandboxSetup, packages: Sequence[str]) -> SandboxSetup:
    """The same sandboxes with packages, which are installed first if they are missing.

    Raises NotScoredError if they cannot be installed, SandboxError if no sandbox works.
    """
    if not packages:
        return sandboxes
    settings = sandboxes.settings
    folder = settings.cache_dir / "packages" / f"set-{digest(sorted(packages))}"
    folder.mkdir(parents=True, exist_ok=True)
    own = replace(sandboxes, packages=folder)
    with FileLock(folder / ".lock"), temporary_folder("packages-") as made:
        with closing(own.open(made / "workspace")) as sandbox:
            done_before = folder / f"{sandbox.name}.installed"
            if done_before.exists():
                return own
            sandboxes.note(f"installing {len(packages)} packages: {', '.join(packages)}")
            done = sandbox.install(Packages(tuple(packages)), INSTALL_SECONDS)
        if not done.ok:
            last = (done.stderr or done.stdout).strip()[-600:]
            raise NotScoredError(
                f"the packages ({', '.join(packages)}) cannot be installed ({last})",
                fix="correct the list (`packages` in a set's taskset.json, or the file of "
                "--requirements), or name an image that has them by --image",
            )
        done_before.write_text("\n".join(packages))
    return own


def read_requirements(path: Path) -> tuple[str, ...]:
    """The packages of a requirements file: names with extras and versions.

    Raises UsageError that names the line for anything else (an option, a path, an address).
    """
    try:
        lines = read_plain(path, LARGEST_LIST).decode("utf-8").splitlines()
    except (OSError, UnicodeDecodeError, UsageError) as error:
        raise UsageError(
            f"--requirements {path} cannot be read ({error})", fix="name a text file"
        ) from None
    found: list[str] = []
    for number, line in enumerate(lines, 1):
        text = line.partition("#")[0].partition(";")[0].replace(" ", "").strip()
        if not text:
            continue
        if package_parts(text) is None:
            raise UsageError(
                f"{path}, line {number}: {line.strip()!r:.80} is no package with a version",
                fix="write one package a line, as numpy==1.26.4; options and addresses are not "
                "taken",
            )
        found.append(text)
    return tuple(found)

"""Packages beside the sandbox's own: those that a set of tasks or a handed-in program needs, and
whether a sandbox has the modules that a task's programs import.

Lists are installed once each, into a folder of the cache that all attempts share. Packages without
a version are of the age of the code that lists them.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date, timedelta
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from filelock import FileLock

from autoreproduce.config import digest
from autoreproduce.content import install_command, pip_install
from autoreproduce.contracts import Packages
from autoreproduce.errors import AutoReproduceError, NotScoredError, SandboxError, UsageError
from autoreproduce.files.git_process import NO_CONFIGURATION, run_git
from autoreproduce.files.handed_over import package_parts
from autoreproduce.files.owner import temporary_folder
from autoreproduce.files.shared import read_plain
from autoreproduce.sandboxes.package_files import is_package_file, package_list
from autoreproduce.sandboxes.setup import SandboxSetup

if TYPE_CHECKING:
    from autoreproduce.contracts import Sandbox

INSTALL_SECONDS = 1800.0
LARGEST_LIST = 200_000  # bytes of a requirements file


def with_packages(
    sandboxes: SandboxSetup, packages: Sequence[str], written: str = ""
) -> SandboxSetup:
    """The same sandboxes with packages, which are installed first if they are missing.

    `written`: the date of the code that lists them. Raises NotScoredError if they cannot be
    installed, SandboxError if no sandbox works.
    """
    if not packages:
        return sandboxes
    settings = sandboxes.settings
    listed = [*sorted(packages), *filter(None, [written])]
    folder = settings.cache_dir / "packages" / f"set-{digest(listed)}"
    folder.mkdir(parents=True, exist_ok=True)
    own = replace(sandboxes, packages=folder)
    with FileLock(folder / ".lock"), temporary_folder("packages-") as made:
        with closing(own.open(made / "workspace")) as sandbox:
            done_before = folder / f"{sandbox.name}.installed"
            if done_before.exists():
                return own
            sandboxes.note(f"installing {len(packages)} packages: {', '.join(packages)}")
            before = cap(written, own_python(sandbox)) if written else ""
            wanted = Packages(tuple(packages), before=before)
            if words := age_words(written, before):
                sandboxes.note(words)
            for dated in with_and_without_date(wanted):
                if (done := sandbox.install(dated, INSTALL_SECONDS)).ok:
                    break
        if not done.ok:
            last = (done.stderr or done.stdout).strip()[-600:]
            raise NotScoredError(
                f"the packages ({', '.join(packages)}) cannot be installed ({last})",
                fix="correct the list (`packages` in a set's taskset.json, or the file of "
                "--requirements), or name an image that has them with --image",
            )
        done_before.write_text("\n".join(packages))
    return own


def with_and_without_date(packages: Packages) -> Iterator[Packages]:
    """What to install, and where that fails: a version that is pinned may be younger than the
    date.
    """
    yield packages
    if packages.before and any("==" in each for each in packages.requirements):
        yield replace(packages, before="")


def read_requirements(path: Path) -> tuple[str, ...]:
    """The packages of a requirements file: names with extras and versions; or those that an
    environment.yml, pyproject.toml, setup.cfg or setup.py lists.

    Raises UsageError that names the line for anything else (an option, a path, an address).
    """
    try:
        content = read_plain(path, LARGEST_LIST).decode("utf-8")
    except (OSError, UnicodeDecodeError, UsageError) as error:
        raise UsageError(
            f"--requirements {path} cannot be read ({error})", fix="name a text file"
        ) from None
    if is_package_file(path.name) and path.suffix != ".txt":
        if listed := package_list(path.name, content).packages:
            return listed
        raise UsageError(f"--requirements {path} lists no package", fix="name another file")
    found: list[str] = []
    for number, line in enumerate(content.splitlines(), 1):
        text = line.partition("#")[0].partition(";")[0].replace(" ", "").strip()
        if not text:
            continue
        if package_parts(text) is None:
            raise UsageError(
                f"{path}, line {number}: {line.strip()!r:.80} isn't a package with a version",
                fix="write one package a line, as numpy==1.26.4; options and addresses are not "
                "taken",
            )
        found.append(text)
    return tuple(found)


# When each Python came out. Packages took about a year to have wheels for it.
RELEASED = {"3.6": 2016, "3.7": 2018, "3.8": 2019, "3.9": 2020, "3.10": 2021, "3.11": 2022}
RELEASED |= {"2.7": 2010, "3.12": 2023, "3.13": 2024, "3.14": 2025}
RECENT = timedelta(days=365)  # of code that takes today's packages
TAKES_DATES = int(version("pip").partition(".")[0]) >= 26  # --uploaded-prior-to


def last_commit(root: Path) -> str:
    """The date of a repository's last commit, as 2019-05-01; "" of a folder that is none."""
    if not (root / ".git").is_dir():
        return ""
    try:
        asked = ["-c", f"safe.directory={root}", "log", "-1", "--format=%cs"]
        said = run_git(root, asked, 20, environment=NO_CONFIGURATION).decode().strip()
        return date.fromisoformat(said).isoformat()
    except (AutoReproduceError, OSError, ValueError):
        return ""


def cap(written: str, python: str) -> str:
    """The date from which on packages without a version aren't taken: a month after the code was
    last changed, but not before this Python had packages; "" for recent code, and for a pip that
    knows no dates.
    """
    if not written or not TAKES_DATES:
        return ""
    found = max(
        date.fromisoformat(written) + timedelta(days=30),
        date(RELEASED.get(python, 2023) + 1, 12, 1),
    )
    return "" if found > date.today() - RECENT else found.isoformat()


def age_words(written: str, before: str) -> str:
    """Of which age packages without a version are, where that isn't today's or should not be."""
    if before:
        return f"packages without a version are those of before {before}"
    if TAKES_DATES or not written or date.fromisoformat(written) > date.today() - RECENT:
        return ""
    return (
        f"packages without a version are today's, though the code is of {written}: pip 26 or later "
        "chooses those of its time (python -m pip install -U pip)"
    )


def own_python(sandbox: Sandbox) -> str:
    """The version of the sandbox's Python, as 3.11."""
    ask = "python -c 'import sys; print(\"%d.%d\" % sys.version_info[:2])'"
    return sandbox.execute(ask, SECONDS).stdout.strip()


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
        return "name an image that has it with --image, or leave --image out to build ours"
    return install_command("torch") if "torch" in missing else pip_install(*missing)

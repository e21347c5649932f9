"""The program's versions: its commits with their reasons, its files as last committed, and the
packages it used: those a trial installed, and those that its imports name.

Imports are mapped to distributions through the metadata of what is installed here, which knows that
`cv2` comes from opencv-python. A version is taken from the trial's own installs, then from the
versions that the trial recorded, then from this machine. The line names its source, since the
program used the first two for certain.
"""

import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from importlib.metadata import PackageNotFoundError, packages_distributions, version
from pathlib import Path

from autoreproduce.errors import AutoReproduceError
from autoreproduce.files.bounded import imported_modules
from autoreproduce.trials.steps import InstallResult, Step
from autoreproduce.trials.workspace import Workspace

MAX_VERSIONS = 400
LARGEST_DIFFS = 64 * 2**20  # bytes of all of them


@dataclass(frozen=True)
class Commit:
    """One change of the program. `diff` is git's unified diff with its numstat before it."""

    name: str
    at: str
    subject: str
    why: str
    diff: str
    added: int
    removed: int


def read_commits(folder: Path, problems: list[str]) -> list[Commit]:
    """The program's versions, oldest first, from the history that lies beside the workspace."""
    space = Workspace(folder)
    commits: list[Commit] = []
    if not (space.history / "HEAD").exists():
        return commits
    left = LARGEST_DIFFS
    try:
        log = space.git(
            "log", "--reverse", "-z", "--format=%H%x00%cI%x00%s%x00%b", f"-{MAX_VERSIONS}"
        )
        fields = log.split("\0")
        rows = [fields[at : at + 4] for at in range(0, len(fields) - 3, 4)]
        for name, at, subject, why in rows:
            commits.append(_commit(space, name, at, subject, why, most=left))
            left = max(left - len(commits[-1].diff), 0)
    except (AutoReproduceError, OSError) as error:
        problems.append(f"The program's history cannot be read ({error}).")
    return [commit for commit in commits if commit.diff]


def _commit(space: Workspace, name: str, at: str, subject: str, why: str, most: int) -> Commit:
    diff = space.git(
        "show",
        "--format=",
        "--patch",
        "--text",
        "--no-color",
        "--no-ext-diff",
        "--no-textconv",
        name,
        most=most,
    )
    lines = diff.split("\n")
    added = sum(line.startswith("+") and not line.startswith("+++ ") for line in lines)
    removed = sum(line.startswith("-") and not line.startswith("--- ") for line in lines)
    reason = "" if why.strip() == "-" else why.strip()
    return Commit(name, at, subject, reason, diff, added, removed)


def tracked_files(folder: Path) -> dict[str, str]:
    """The program as last committed: path -> text. Links and paths that lead out are left out.

    Raises TrialError if the history cannot be read.
    """
    files = Workspace(folder).committed().items()
    inside = {
        path: data
        for path, data in files
        if os.path.normpath(path) == path and not path.startswith(("/", ".."))
    }
    return {path: data.decode("utf-8", "replace") for path, data in inside.items()}


_PIP = re.compile(r"^Successfully installed (.+)$", re.MULTILINE)
_UV = re.compile(r"^ \+ ([A-Za-z0-9._-]+)==(\S+)$", re.MULTILINE)


def installed(steps: Iterable[Step]) -> dict[str, str]:
    """Distribution -> version, as pip and uv printed them in the steps of kind install."""
    found: dict[str, str] = {}
    for step in steps:
        if not isinstance(step.result, InstallResult) or step.result.exit_code != 0:
            continue
        printed = f"{step.result.stdout}\n{step.result.stderr}"
        for line in _PIP.findall(printed):
            found.update(
                (name, number)
                for name, _, number in (word.rpartition("-") for word in line.split())
                if name
            )
        found.update(_UV.findall(printed))
    return found


def requirements(
    files: Mapping[str, str], steps: Iterable[Step], recorded: Mapping[str, str]
) -> list[str]:
    """The lines of requirements.txt for the program `files` (path -> text of its .py files)."""
    installs = {_normal_name(name): number for name, number in installed(steps).items()}
    versions = {_normal_name(name): number for name, number in recorded.items()}
    needed = imported_modules(files)
    known = _distributions() if needed else {}
    lines = []
    for module in needed:
        name = next(iter(known.get(module, [])), module)
        plain = _normal_name(name)
        if plain in installs:
            lines.append(f"{name}=={installs[plain]}  # installed in the trial")
        elif plain in versions:
            lines.append(
                f"{name}=={_without_local_label(versions[plain])}  # recorded by the trial"
            )
        elif module in known:
            lines.append(_version_here(name))
        else:
            lines.append(
                f"{name}  # the program imports {module}; distribution and version are not known"
            )
    return lines


@cache
def _distributions() -> Mapping[str, list[str]]:
    """Module -> distributions, read once: it costs 0.2 s, and a suite ends many trials."""
    return packages_distributions()


def _version_here(name: str) -> str:
    try:
        number = _without_local_label(version(name))
    except PackageNotFoundError:
        return f"{name}  # its version is not known"
    return f"{name}=={number}  # as on the machine that wrote this file"


def _without_local_label(number: str) -> str:
    """Without a local label such as +cpu, which no index serves."""
    return number.partition("+")[0]


def _normal_name(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()

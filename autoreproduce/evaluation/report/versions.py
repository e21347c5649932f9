"""The program's versions: its commits with their reasons, and its files as last committed."""

import os
from dataclasses import dataclass
from pathlib import Path

from autoreproduce.errors import AutoReproduceError
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

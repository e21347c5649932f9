"""What a client names on this machine: what a web page told it must not show it your keys."""

import os
from collections.abc import Collection, Iterator
from pathlib import Path

from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.submitted_code import SKIPPED
from autoreproduce.files.shared import inside

HARMLESS = {".gitignore", ".gitattributes", ".gitmodules", ".gitkeep", ".DS_Store"}


def own_path(here: Path, path: str) -> str:
    """`path` as it was given, a file or a folder that a program is shown whole.

    Raises UsageError unless it lies below `here`, and nothing hidden is in its name or comes along.
    """
    return _visible(here, path, (), None)


def own_program(here: Path, path: str, runs: Path) -> str:
    """The same of a program, which goes without the folder of `runs`, git's and environments'."""
    return _visible(here, path, SKIPPED, runs)


def _visible(here: Path, path: str, skipped: Collection[str], runs: Path | None) -> str:
    if not path:
        return path
    real = inside(here, path)
    if any(part.startswith(".") for part in real.relative_to(here.resolve()).parts):
        raise UsageError(f"{path} is hidden", fix="name a file or folder that is not")
    if found := next(_hidden_below(real, skipped, runs), None):
        raise UsageError(
            f"{path} is a folder with {found}, which is hidden and would come along",
            fix="name a folder without it",
        )
    return path


def _hidden_below(top: Path, skipped: Collection[str], runs: Path | None) -> Iterator[str]:
    """The hidden entries below a folder, by their path in it; no link is followed."""
    for where, folders, files in os.walk(top):
        place = Path(where)
        folders[:] = [name for name in folders if name not in skipped and place / name != runs]
        for name in (*folders, *files):
            if name.startswith(".") and name not in (*HARMLESS, *skipped):
                yield str((place / name).relative_to(top))

"""What was begun on this machine: the one registry, and the one rule of trust.

What this machine didn't make is data. A folder of trials travels, and a repository may bring its
own: such a folder can be looked at and exported; it's resumed, or built on, after `--trust` alone.
The registry is in the cache folder, a file a folder.
"""

import hashlib
from collections.abc import Collection
from pathlib import Path

from autoreproduce.config import digest
from autoreproduce.errors import UsageError
from autoreproduce.files.shared import read_plain
from autoreproduce.job import FILE as JOB
from autoreproduce.trials.folders import PROGRAMS, refuse_links


def note_begun(cache: Path, folder: Path) -> None:
    """Note that what `folder` holds is this machine's."""
    mark = _mark(cache, folder)
    try:
        mark.parent.mkdir(parents=True, exist_ok=True)
        mark.touch()
    except OSError:  # a cache that can't be written is no reason to stop
        return


def was_begun_here(cache: Path, folder: Path) -> bool:
    """True for a folder that began here, at this path, with its Job as it was then."""
    return _mark(cache, folder).is_file()


def refuse_foreign(
    cache: Path, folder: Path, trust: bool = False, unseen: Collection[str] = PROGRAMS
) -> None:
    """Raise UsageError for a folder that holds something and wasn't begun here, unless the user
    says `trust`; TrialError, in any case, for a link in it but below folders that `unseen` names.
    """
    refuse_links(folder, unseen)
    if trust or was_begun_here(cache, folder) or not _holds_anything(folder):
        return
    raise UsageError(
        f"{folder} was not begun here, or was moved since, so nothing of it is resumed or built on",
        fix="look at it first: a trial is resumed by `autoreproduce resume FOLDER --trust`; else "
        "move it away, or name another folder (--out, or AUTOREPRODUCE_RUNS_DIR)",
    )


def make_own_folder(cache: Path, folder: Path, unseen: Collection[str] = PROGRAMS) -> None:
    """Make a folder that a command keeps its own files in, and note it. Raises as
    `refuse_foreign`.
    """
    refuse_foreign(cache, folder, unseen=unseen)
    folder.mkdir(parents=True, exist_ok=True)
    note_begun(cache, folder)


def _holds_anything(folder: Path) -> bool:
    """A kill before the first note leaves a lock, and a Job that is written anew."""
    held = folder.iterdir() if folder.is_dir() else ()
    return any(not path.name.startswith(".") and path.name != JOB for path in held)


def _mark(cache: Path, folder: Path) -> Path:
    """A trial's folder is known by its Job, with the second in which it was asked; another one by
    its inode.
    """
    try:
        held: str | int = hashlib.sha256(read_plain(folder / JOB)).hexdigest()
    except (OSError, UsageError):
        held = folder.stat().st_ino if folder.is_dir() else 0
    return cache / "begun" / digest([str(folder.resolve()), held])

"""Which trials were begun on this machine, and with which data.

A trial's folder travels and may come from a stranger; this note stays in the cache folder.
"""

from pathlib import Path

from autoreproduce.config import digest
from autoreproduce.trials.trial import TrialRecord


def remember(cache: Path, folder: Path, record: TrialRecord) -> None:
    """Note that the trial in `folder` was begun here; a cache that can't be written is no reason
    to stop.
    """
    place = _place(cache, folder, record)
    try:
        place.parent.mkdir(parents=True, exist_ok=True)
        place.touch()
    except OSError:
        return


def was_begun_here(cache: Path, folder: Path, record: TrialRecord) -> bool:
    """True for a trial that began here, in this folder, at that time, with these inputs."""
    return _place(cache, folder, record).is_file()


def _place(cache: Path, folder: Path, record: TrialRecord) -> Path:
    return cache / "begun" / digest([str(folder.resolve()), record.created, record.inputs])

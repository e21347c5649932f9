"""The folder of data that a set's code reads: a ReproduceBench task's, one of the set, or one that
the user names.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from autoreproduce.benchmarks.reproducebench import prepared_data
from autoreproduce.errors import UsageError
from autoreproduce.files.shared import check_tree, inside
from autoreproduce.plugins.masked.running import made_of
from autoreproduce.plugins.masked.selection import MaskedTask


def data_folder(
    task: MaskedTask, cache: Path, note: Callable[[str], None], given: Path | None
) -> Path | None:
    """The folder that the code gets as DATA_DIR; None if the set names none and none is given.

    A set may come from anybody, so what it names itself lies in its paper's folder. Raises
    UsageError for another, and for one that is not there.
    """
    made = made_of(task)
    benchmark, _, profile = made.data.partition("/")
    if benchmark:
        return prepared_data.prepare(benchmark, profile or "small", cache, note, given)
    if given is not None and not given.is_dir():
        raise UsageError(f"--data {given} is no folder", fix="name the folder with the data")
    if given is not None or not made.data_dir:
        return given.resolve() if given else None
    try:
        own = inside(task.paper.folder, made.data_dir)
    except UsageError:
        raise UsageError(
            f"the set's code reads its data from {made.data_dir}, which lies outside the set",
            fix="name that folder by --data, if its programs may read it",
        ) from None
    if not own.is_dir():
        raise UsageError(
            f"the set's code reads its data from {made.data_dir}, which is no folder there",
            fix="name the folder with its data by --data",
        )
    check_tree(own)
    return own

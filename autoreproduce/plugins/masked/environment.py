"""The folder of data that a set's code reads: a ReproduceBench task's, or one the user names."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from autoreproduce.benchmarks.reproducebench import prepared_data
from autoreproduce.errors import UsageError
from autoreproduce.plugins.masked.taskset import PaperSet


def data_folder(
    made: PaperSet, cache: Path, note: Callable[[str], None], given: Path | None
) -> Path | None:
    """The folder that the code gets as DATA_DIR; None if the set names none and none is given.

    Raises UsageError if it is not there.
    """
    benchmark, _, profile = made.data.partition("/")
    if benchmark:
        return prepared_data.prepare(benchmark, profile or "small", cache, note, given)
    if given is not None and not given.is_dir():
        raise UsageError(f"--data {given} is no folder", fix="name the folder with the data")
    if given is None and made.data_dir and not Path(made.data_dir).is_dir():
        raise UsageError(
            f"the set's code reads its data from {made.data_dir}, which is no folder here",
            fix="name the folder with its data by --data",
        )
    folder = given or (Path(made.data_dir) if made.data_dir else None)
    return folder.resolve() if folder else None

"""Where a set's code runs: its folder of data (a ReproduceBench task's, one of the set, or one that
the user names), and a sandbox for each paper with its own data and packages.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.benchmarks.reproducebench import prepared_data
from autoreproduce.errors import UsageError
from autoreproduce.files.shared import check_tree, inside
from autoreproduce.plugins.autoexperiment.layout import digests
from autoreproduce.plugins.autoexperiment.running import made_of
from autoreproduce.plugins.autoexperiment.selection import MaskedTask
from autoreproduce.plugins.autoexperiment.tasks import shipped
from autoreproduce.sandboxes.package_lists import with_packages
from autoreproduce.sandboxes.setup import SandboxSetup

if TYPE_CHECKING:
    from autoreproduce.config import Settings

LARGEST = 2**40  # bytes of one file


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
        raise UsageError(f"--data {given} isn't a folder", fix="name the folder with the data")
    if given is not None:
        return _as_it_was(given.resolve(), made.data_files)
    if not made.data_dir:
        return None
    try:
        own = inside(task.paper.folder, made.data_dir)
    except UsageError:
        raise UsageError(
            f"the set's code reads its data from {made.data_dir}, which lies outside the set",
            fix="name that folder with --data, if its programs may read it",
        ) from None
    if not own.is_dir():
        raise UsageError(
            f"the set's code reads its data from {made.data_dir}, which isn't a folder there",
            fix="name the folder with its data with --data",
        )
    check_tree(own)
    return _as_it_was(own, made.data_files)


def _as_it_was(folder: Path, wanted: Mapping[str, str]) -> Path:
    """The folder, if it holds the files that gave the gold; others may be beside them."""
    found = _checksums_of(folder, tuple(wanted))
    bad = [name for name in wanted if found[name] != wanted[name]]
    if bad:
        raise UsageError(
            f"{folder} does not hold the data that gave the gold: {', '.join(bad[:5])}",
            fix="get those files again, or take this machine's numbers with --gold here",
        )
    return folder


@cache
def _checksums_of(folder: Path, names: tuple[str, ...]) -> dict[str, str]:
    return digests(folder, map(Path, names), LARGEST)


def places_of_papers(
    settings: Settings, data: Path | None, note: Callable[[str], None]
) -> Callable[[MaskedTask], SandboxSetup]:
    """The sandboxes for a masked task; data and packages of a paper are prepared at its first.

    `data` is the folder that --data names. Calling raises UsageError if the data cannot be had,
    NotScoredError if the packages cannot.
    """
    lock, known = threading.Lock(), dict[str, SandboxSetup]()
    noted: set[str] = set()

    def place(task: MaskedTask) -> SandboxSetup:
        with lock:
            if task.paper.id not in known:
                made = made_of(task)
                folder = data_folder(task, settings.cache_dir, note, data)
                plain = SandboxSetup(
                    settings,
                    settings.cache_dir / "packages" / "mask",
                    folder,
                    "mask",
                    trusted=task.paper.folder.parent == shipped(),
                    note=note,
                    noted=noted,
                )
                known[task.paper.id] = with_packages(plain, made.packages)
            return known[task.paper.id]

    return place

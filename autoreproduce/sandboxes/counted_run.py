"""The run that counts: the one whose result is measured. Its program sees no true test targets.

Decoys lie in their place, where a task can be drawn anew in a draw that did not exist when the
program was written, and the run is watched from outside: how much it computed, and whether it
opened the data at all. Every other run of a trial sees the data as they are, for a program is
developed by looking at its numbers.

Which files were opened is seen by the kernel's inotify from outside: a sandbox on the same kernel
shows a program the very folder that is watched here, so that whatever the program does inside, its
opening of a file is an event out here. Others that open the same files meanwhile (another trial
over the same data) are seen too: that a file was opened is no proof, that none was is one.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import struct
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.contracts import Execution, Packages, RunInterruptedError
from autoreproduce.files.owner import remove_folder, scratch
from autoreproduce.files.shared import matching, without_times

if TYPE_CHECKING:
    from autoreproduce.contracts import Sandbox


IN_OPEN, IN_ISDIR, IN_Q_OVERFLOW = 0x20, 0x40000000, 0x4000  # linux/inotify.h
HEAD = struct.Struct("iIII")  # watch, mask, cookie, bytes of the name that follows
MOST_FOLDERS = 1000
MANY = 1 << 16  # bytes of events that are read at once


class OpenedFiles:
    """Counts the files below `folder` that are opened while it is entered.

    `count` is None if there is no folder, or if the kernel does not tell: whether it does is tried
    on a file of the folder itself.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._handle: int | None = None
        self._opened: set[tuple[int, bytes]] = set()
        self._more = False

    def __enter__(self) -> OpenedFiles:
        with suppress(OSError, AttributeError):
            self._handle = self._watch() if self._folder else None
        return self

    def __exit__(self, *_: object) -> None:
        if self._handle is not None:
            self._take()
            os.close(self._handle)

    @property
    def count(self) -> int | None:
        """How many files were opened: at least so many if there were too many to list."""
        if self._handle is None:
            return None
        return len(self._opened) or int(self._more)

    def _watch(self) -> int | None:
        """The handle of the events of all folders below; None if the kernel sends none."""
        assert self._folder
        libc = ctypes.CDLL(None, use_errno=True)
        folders = [Path(path) for path, _, _ in os.walk(self._folder)][:MOST_FOLDERS]
        files = (path for each in folders for path in each.iterdir() if path.is_file())
        if (first := next(files, None)) is None:
            return None
        handle: int = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        if handle < 0:
            return None
        watched = [libc.inotify_add_watch(handle, os.fsencode(each), IN_OPEN) for each in folders]
        self._handle = handle
        first.open("rb").close()
        self._take()
        if min(watched) < 0 or not self._opened:
            os.close(handle)
            return None
        self._opened.clear()
        return handle

    def _take(self) -> None:
        """Note the events that wait."""
        assert self._handle is not None
        with suppress(BlockingIOError):
            while data := os.read(self._handle, MANY):
                place = 0
                while place < len(data):
                    watch, mask, _, size = HEAD.unpack_from(data, place)
                    place += HEAD.size + size
                    self._more |= bool(mask & IN_Q_OVERFLOW)
                    if mask & IN_OPEN and not mask & IN_ISDIR:
                        self._opened.add((watch, data[place - size : place].rstrip(b"\0")))


DECOYS_SHOWN = (
    "In this run decoys stand in for the test targets: test errors that the program prints, and "
    "what it concludes from them, say nothing. The true targets decide afterwards."
)
PUBLISHED = "published"  # in place of a draw: the data that everyone has


@dataclass(frozen=True)
class CountedData:
    """What the run that counts sees: a folder, and the seed of a draw if it is one."""

    folder: Path
    draw: str = ""


LARGEST_VIEW = 2**28  # bytes of data that are copied for a command


@contextmanager
def view_of(folder: Path, files: Collection[str]) -> Iterator[Path]:
    """A copy of what `files` (patterns) name of a folder, for one command.

    Published data, decoys and a draw look alike in it: names, times, links, and the path that the
    kernel and its first process show for the mount. Larger data are shown where they lie.
    """
    found = list(matching(folder, files))
    if sum(path.stat().st_size for _, path in found) > LARGEST_VIEW:
        yield folder
        return
    place = scratch()
    try:
        view = place / "data"
        view.mkdir()
        for name, path in found:
            (view / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, view / name)
        without_times(view)
        yield view
    finally:
        remove_folder(place)


class TrialSandbox:
    """A sandbox that opens another one, over the same workspace, for the run that counts.

    `counted` gives what that run sees, of the draw that it is asked for or of a new one;
    `open_over` opens a sandbox over a folder. Both are None if nothing is withheld from the run,
    which then sees `data_dir` as every other. Else a command of either kind sees a view of its own
    of the data's `files`, in Docker in a container of its own.
    """

    def __init__(
        self,
        sandbox: Sandbox,
        data_dir: Path | None,
        counted: Callable[[str], CountedData] | None = None,
        open_over: Callable[[Path], Sandbox] | None = None,
        files: Collection[str] = ("*",),
    ) -> None:
        self._sandbox = sandbox
        self._data = data_dir
        self._counted, self._open_over, self._files = counted, open_over, files
        self.name, self.promises = sandbox.name, sandbox.promises

    def execute(
        self,
        command: str,
        timeout: float,
        *,
        on_output: Callable[[str], None] | None = None,
        mounts: Mapping[str, Path] | None = None,
    ) -> Execution:
        """See autoreproduce.Sandbox."""
        data = self._data if self._counted else None
        over = self._over(data, command, timeout, on_output, mounts or {}, watched=bool(data))
        return _unless_interrupted(over[0])

    def execute_counted(
        self,
        command: str,
        timeout: float,
        *,
        on_output: Callable[[str], None] | None = None,
        data_at: str = "",
        draw: str = "",
    ) -> Execution:
        """`execute` with decoys for the task's test targets, watched; the data lie at the absolute
        path `data_at` too. `draw`: that of an earlier run, which this one continues.
        """
        seen = self._counted(draw) if self._counted else None
        folder = seen.folder if seen else None
        done, files = self._over(folder, command, timeout, on_output, {}, data_at)
        # who counts no seconds may run under another kernel, whose files are not seen from here
        files = None if done.cpu_seconds is None else files
        drawn = seen.draw if seen else ""
        done = replace(done, files_opened=files, decoys=bool(seen), draw=drawn)
        return _unless_interrupted(done)

    def new_draw(self) -> str:
        """See `draw_for`."""
        return self._counted("").draw if self._counted else ""

    def _over(
        self,
        folder: Path | None,
        command: str,
        timeout: float,
        on_output: Callable[[str], None] | None,
        mounts: Mapping[str, Path],
        data_at: str = "",
        watched: bool = True,
    ) -> tuple[Execution, int | None]:
        """Run a command over a view of `folder`, or over the data as they are; how it ended, and
        how many files of the data were opened.
        """
        with ExitStack() as stack:
            sandbox, data = self._sandbox, self._data
            if folder and self._open_over:
                data = stack.enter_context(view_of(folder, self._files))
                sandbox = self._open_over(data)
                stack.callback(sandbox.close)
            if data_at and data:
                mounts = {**mounts, data_at: data.resolve()}
            opened = stack.enter_context(OpenedFiles(data if watched else None))
            more = {"mounts": mounts} if mounts else {}  # not every sandbox knows of them
            try:
                done = sandbox.execute(command, timeout, on_output=on_output, **more)
            except RunInterruptedError as stop:
                done = stop.execution
        if data != self._data:
            # in process mode its folder is seen; no prompt is to show another name for the data
            shown = {
                key: getattr(done, key).replace(str(data), str(self._data))
                for key in ("stdout", "stderr")
            }
            done = replace(done, **shown)
        return done, opened.count

    def install(
        self, packages: Packages, timeout: float, *, on_output: Callable[[str], None] | None = None
    ) -> Execution:
        """See autoreproduce.Sandbox."""
        return self._sandbox.install(packages, timeout, on_output=on_output)

    def pythons(self) -> list[str]:
        """Versions that `Packages.python` may name: none in a sandbox that has but its own."""
        return list(getattr(self._sandbox, "pythons", list)())

    def read(self, path: str) -> bytes:
        """See autoreproduce.Sandbox."""
        return self._sandbox.read(path)

    def write(self, path: str, data: bytes) -> None:
        """See autoreproduce.Sandbox."""
        self._sandbox.write(path, data)

    def close(self) -> None:
        """See autoreproduce.Sandbox."""
        self._sandbox.close()


def draw_for(sandbox: Sandbox) -> str:
    """The seed of a draw for a run that counts there; "" where none is drawn."""
    return sandbox.new_draw() if isinstance(sandbox, TrialSandbox) else ""


def _unless_interrupted(done: Execution) -> Execution:
    if done.stopped == "interrupted":
        raise RunInterruptedError(done)
    return done


def execute_counted(
    sandbox: Sandbox,
    command: str,
    timeout: float,
    *,
    on_output: Callable[[str], None] | None = None,
    data_at: str = "",
    draw: str = "",
) -> Execution:
    """Run the command whose result is measured, as `Sandbox.execute`.

    A sandbox that was not opened for a trial has nothing to withhold: its run is as any other.
    """
    if isinstance(sandbox, TrialSandbox):
        return sandbox.execute_counted(
            command, timeout, on_output=on_output, data_at=data_at, draw=draw
        )
    return sandbox.execute(command, timeout, on_output=on_output)

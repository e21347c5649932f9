"""Stopping a trial or a suite that runs, and resuming a trial: all that a page can change."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tempfile
import threading
from pathlib import Path
from typing import IO

from autoreproduce.errors import UsageError
from autoreproduce.files.owner import process_id
from autoreproduce.plugins.view.library import STATE
from autoreproduce.plugins.view.listed import ListedSuite, ListedTrial
from autoreproduce.trials.live import LIVE

LAST = 2000  # bytes of what a resumed trial wrote, if it could not begin


class Processes:
    """What was started from the pages. A trial that was resumed outlives the server."""

    def __init__(self) -> None:
        self._started: dict[Path, tuple[subprocess.Popen[bytes], IO[bytes]]] = {}
        self._lock = threading.Lock()

    def stop_trial(self, trial: ListedTrial) -> None:
        """Interrupt the process of a trial that runs by itself. Raises UsageError for another."""
        if trial.suite is not None:
            raise UsageError("this trial is part of a suite", fix="stop the suite on its page")
        _interrupt(trial.live.process if trial.live else None, trial.folder / LIVE)

    def stop_suite(self, suite: ListedSuite) -> None:
        """Interrupt a suite's runner. Raises UsageError if it does not run on this machine."""
        _interrupt(suite_process(suite), suite.folder / STATE)

    def resume(self, trial: ListedTrial) -> None:
        """Start `autoreproduce resume FOLDER`. Raises UsageError if it runs, ended, or is a
        suite's.
        """
        if not may_resume(trial) or self.starting(trial.folder):
            raise UsageError("this trial is not one that can be resumed", fix="see its status")
        output = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
        command = [sys.executable, "-m", "autoreproduce", "resume", str(trial.folder)]
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        with self._lock:
            self._started[trial.folder] = process, output

    def starting(self, folder: Path) -> bool:
        """True while a trial that was resumed here runs."""
        with self._lock:
            started = self._started.get(folder)
        return started is not None and started[0].poll() is None

    def complaint(self, folder: Path) -> str:
        """The last words of a trial that was resumed here and ended with an error, "" if none."""
        with self._lock:
            started = self._started.get(folder)
        if started is None or not started[0].poll():
            return ""
        process, output = started
        output.seek(max(output.seek(0, os.SEEK_END) - LAST, 0))
        words = output.read().decode("utf-8", "replace").strip()
        return f"resume ended with exit code {process.returncode}: {words}"


def may_resume(trial: ListedTrial) -> bool:
    """True for a trial that was stopped or killed, and is no suite's."""
    ended = trial.outcome is not None and trial.outcome.status != "stopped"
    return trial.suite is None and not trial.running and not ended


def suite_process(suite: ListedSuite) -> int | None:
    """The process of a suite's runner on this machine, None if it does not run here."""
    owner = suite.state.get("owner")
    return process_id(owner) if isinstance(owner, str) and not suite.state.get("ended") else None


def _interrupt(process: int | None, named_in: Path) -> None:
    """Interrupt the process that a file names. Raises UsageError if it runs elsewhere, or the file
    is another user's, who may have named any process of this one.
    """
    if process is None:
        raise UsageError("it does not run on this machine", fix="look at its status")
    try:
        if named_in.lstat().st_uid != os.getuid():
            raise UsageError("another user started it", fix="ask that user to stop it")
        os.kill(process, signal.SIGTERM)
    except OSError as error:
        raise UsageError(f"it cannot be stopped ({error.strerror})") from None

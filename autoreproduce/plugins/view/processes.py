"""Starting, stopping and resuming trials, and stopping a suite: all that a page can change."""

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
from autoreproduce.plugins.view.start import StartRequest
from autoreproduce.trials.live import LIVE

LAST = 2000  # bytes of what a process wrote, if it could not begin
MOST_AT_ONCE = 4  # trials of uploaded papers
Launched = tuple[subprocess.Popen[bytes], IO[bytes]]


class Processes:
    """What was started from the pages. A trial that was started outlives the server."""

    def __init__(self) -> None:
        self._started: dict[Path, Launched] = {}
        self._new: list[tuple[str, Launched]] = []
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
        command = [sys.executable, "-P", "-m", "autoreproduce", "resume", str(trial.folder)]
        with self._lock:
            self._started[trial.folder] = _launched(command)

    def start(self, asked: StartRequest, paper: Path, runs: Path) -> None:
        """Start a trial of an uploaded paper. Raises UsageError if too many run."""
        words = f"{asked.experiment} of {paper.name} by {asked.model}, ${asked.budget:g}"
        with self._lock:
            if sum(process.poll() is None for _, (process, _) in self._new) >= MOST_AT_ONCE:
                raise UsageError(
                    f"{MOST_AT_ONCE} trials that were started here run", fix="wait for one"
                )
            self._new.append((words, _launched(asked.command(paper, runs))))

    def started(self) -> list[tuple[str, str]]:
        """Each trial that was started here, and what became of its process."""
        with self._lock:
            return [(words, _state(*process)) for words, process in self._new]

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
        return f"resume {_state(*started)}"


def _launched(command: list[str]) -> Launched:
    """A process that outlives the server, and the file with what it writes."""
    output = tempfile.TemporaryFile()  # noqa: SIM115 - it lives as long as the process
    process = subprocess.Popen(
        command,
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    return process, output


def _state(process: subprocess.Popen[bytes], output: IO[bytes]) -> str:
    code = process.poll()
    if code is None:
        return "running"
    output.seek(max(output.seek(0, os.SEEK_END) - LAST, 0))
    words = output.read().decode("utf-8", "replace").strip()
    return f"ended with exit code {code}: {words}"


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

"""Commands in the background, for MCP's clients and the pages of `view`: a job is a command in a
process that outlives whoever started it.

A job's folder holds its command (`process.json`), what it printed (`stdout.jsonl`, `stderr.txt`)
and a lock that the process holds as long as it lives. The kernel releases the lock however the
process ends, so no record of a running job can be stale. A job is named by its command: starting
the same again resumes the same work.
"""

import fcntl
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import BaseModel, PositiveInt, ValidationError

from autoreproduce.config import digest
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.job import now
from autoreproduce.trials.folders import refuse_links
from autoreproduce.trials.journal import write_whole

FOLDER = "jobs"  # below the folder of runs
TAIL = 4000  # characters of stderr that are shown


class ProcessRecord(BaseModel):
    """process.json."""

    id: str
    arguments: list[str]
    pid: PositiveInt  # 0 and less would signal every process of a group
    started: str


@dataclass(frozen=True)
class JobState:
    """A job as it is now. `lines`: the JSON objects that it printed; `errors`, `printed`: the ends
    of stderr and of stdout; `code`: the exit code, for whoever started it.
    """

    id: str
    running: bool
    lines: list[dict[str, Any]]
    errors: str
    printed: str = ""
    code: int | None = None


class Jobs:
    """The jobs below one folder of runs. `environment`: variables that each of them is given."""

    def __init__(self, runs: Path, environment: Mapping[str, str] | None = None) -> None:
        self.folder = runs / FOLDER
        self.environment = dict(environment or {})
        self._started: dict[str, subprocess.Popen[bytes]] = {}

    def start(self, command: str, arguments: Sequence[str]) -> str:
        """Start `autoreproduce COMMAND ARGUMENTS`, or join the one that runs; its id.

        Raises UsageError for arguments that no command can have.
        """
        job = f"{command}-{digest([command, *arguments])[:8]}"
        folder = self._own_folder(job)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        except OSError as error:
            what = f"{folder} cannot be written ({error.strerror})"
            raise UsageError(what, fix="choose a folder of runs of your own") from None
        try:
            if _taken(lock):
                return job
            process = self._spawn(folder, [command, *arguments], lock)
            record = ProcessRecord(
                id=job, arguments=[command, *arguments], pid=process.pid, started=now()
            )
            write_whole(folder / "process.json", record.model_dump_json(indent=1))
        except (OSError, ValueError) as error:  # too long, a NUL, half a character
            raise UsageError(
                f"{command} cannot be started ({error})", fix="give shorter, plain texts"
            ) from None
        finally:
            os.close(lock)  # the process has its own
        self._started[job] = process
        threading.Thread(target=process.wait, daemon=True).start()  # else it stays a zombie
        return job

    def state(self, job: str) -> JobState:
        """What a job did so far. Raises UsageError for an unknown one."""
        folder = self._known(job)
        running = self.is_running(job)  # before its output is read, so that none is missed
        printed = (folder / "stdout.jsonl").read_bytes()
        lines = [line for line in _lines_of(printed) if isinstance(line, dict)]
        errors = (folder / "stderr.txt").read_text(encoding="utf-8", errors="replace")
        code = self._started[job].poll() if job in self._started else None
        end = printed[-TAIL:].decode("utf-8", "replace")
        return JobState(job, running, lines, errors[-TAIL:].strip(), end.strip(), code)

    def is_running(self, job: str) -> bool:
        """Whether a job's process lives. Raises UsageError for an unknown one."""
        folder, own = self._known(job), self._started.get(job)
        if own is not None and own.poll() is None:
            return True
        lock = os.open(folder / "lock", os.O_RDWR | os.O_CLOEXEC)
        try:
            return _taken(lock)
        finally:
            os.close(lock)

    def wait(
        self, job: str, seconds: float, tell: Callable[[JobState], None] = lambda state: None
    ) -> JobState:
        """The job's state when it ends, or after `seconds`; `tell` is given it once a second."""
        until, due = time.monotonic() + seconds, 0.0
        while (state := self.state(job)).running and time.monotonic() < until:
            if time.monotonic() >= due:
                due = time.monotonic() + 1
                tell(state)
            time.sleep(0.05)
        return state

    def stop(self, job: str) -> None:
        """Interrupt a job that runs: it writes how far it came, and can be resumed."""
        folder = self._known(job)
        if not self.is_running(job):
            raise UsageError(f"{job} does not run", fix="its state says how it ended")
        try:
            record = ProcessRecord.model_validate_json((folder / "process.json").read_bytes())
        except ValidationError:
            raise UsageError(f"{folder}/process.json is damaged", fix="end the process") from None
        interrupt(record.pid, folder / "process.json")

    def _spawn(self, folder: Path, arguments: list[str], lock: int) -> subprocess.Popen[bytes]:
        with (folder / "stdout.jsonl").open("wb") as out, (folder / "stderr.txt").open("wb") as err:
            return subprocess.Popen(
                [sys.executable, "-P", "-m", "autoreproduce", *arguments],
                stdin=subprocess.DEVNULL,
                stdout=out,
                stderr=err,
                env={**os.environ, **self.environment},
                start_new_session=True,
                pass_fds=(lock,),
            )

    def _known(self, job: str) -> Path:
        known = re.fullmatch(r"[a-z]+-[0-9a-f]{8}", job) is not None
        if not known or not (self.folder / job / "process.json").is_file():
            raise UsageError(f"there is no job {job}", fix="name one that a start gave")
        return self._own_folder(job)

    def _own_folder(self, job: str) -> Path:
        """A job's folder, whether it is there or not. Raises TrialError for links: the folder of
        runs may come from others, and what a job prints would be written through them.
        """
        folder = self.folder / job
        if linked := next((each for each in (self.folder, folder) if each.is_symlink()), None):
            raise TrialError(f"{linked} is a link", fix="remove it")
        refuse_links(folder)
        return folder


def interrupt(process: int | None, named_in: Path) -> None:
    """Interrupt the process that a file names: it writes how far it came. Raises UsageError if it
    runs elsewhere, or the file is another user's, who may have named any process of this one.
    """
    if process is None:
        raise UsageError("it does not run on this machine", fix="look at its status")
    try:
        if named_in.lstat().st_uid != os.getuid():
            raise UsageError("another user started it", fix="ask that user to stop it")
        os.kill(process, signal.SIGTERM)
    except OSError as error:
        raise UsageError(f"it cannot be stopped ({error.strerror})") from None


def _taken(lock: int) -> bool:
    """Whether another process holds the lock; else this descriptor holds it now."""
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    return False


def _lines_of(printed: bytes) -> list[Any]:
    """The JSON values of whole lines; a line that is being written is left out."""
    values = []
    for line in printed.split(b"\n")[:-1]:
        try:
            values.append(json.loads(line))
        except ValueError:
            continue
    return values

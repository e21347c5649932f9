"""Starting, stopping and resuming trials, and stopping a suite: all that a page can change.

No path comes from the browser: the paper lies under its digest, beside the runs. What is asked is
checked here and handed over as one argument each, so nothing of it is read as a flag.
"""

from __future__ import annotations

import hashlib
import re
import secrets
import threading
from collections.abc import Mapping
from pathlib import Path

from starlette.requests import Request

from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.files.owner import process_id
from autoreproduce.job import Job
from autoreproduce.plugins.view.library import STATE
from autoreproduce.plugins.view.listed import ListedSuite, ListedTrial
from autoreproduce.runner.background import Jobs, interrupt
from autoreproduce.trials.live import LIVE

MOST_BYTES = 50_000_000  # of a PDF
MOST_DOLLARS = 1000.0
UPLOADS = "uploads"
_MODEL = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,40}(:[A-Za-z0-9][A-Za-z0-9_.:/@-]{0,100})?")
_EXPERIMENT = re.compile(r"[A-Za-z0-9][\w .,()&+-]{0,80}")


def job_asked(given: Mapping[str, str], runs: Path) -> Job:
    """The Job that a page's address asks for, without its paper. Raises UsageError for what is
    none.
    """
    model, experiment = given.get("model", "").strip(), given.get("experiment", "").strip()
    if not _MODEL.fullmatch(model) or model.startswith("tape:"):
        raise UsageError("this isn't a model", fix="name one as provider:name, or tape")
    if not _EXPERIMENT.fullmatch(experiment):
        raise UsageError("this isn't an experiment", fix='name one, such as "Table 2", or main')
    try:
        budget = float(given.get("budget", ""))
    except ValueError:
        budget = 0.0
    if not 0 < budget <= MOST_DOLLARS:
        raise UsageError(
            "this isn't a budget", fix=f"give dollars, above 0 and at most {MOST_DOLLARS:,.0f}"
        )
    settings = Settings().having(model=model, budget=f"{budget:g}", runs_dir=runs)
    return Job(experiments=(experiment,), settings=settings)


def arguments_of(job: Job) -> list[str]:
    """What `reproduce` is given for a Job of `job_asked`."""
    settings = job.settings
    return [
        *(f"--paper={job.paper}", f"--experiment={job.experiments[0]}"),
        *(f"--model={settings.model.name}", f"--budget={settings.budget.total}"),
        f"--runs-dir={settings.runs_dir}",
    ]


async def uploaded_pdf(request: Request, root: Path) -> Path:
    """Store the PDF in a request's body under its digest. Raises UsageError for another body, or
    one that is too large: no more of it than that is read.
    """
    parts, size = [], 0
    async for part in request.stream():
        size += len(part)
        if size > MOST_BYTES:
            raise UsageError(
                f"the paper has more than {MOST_BYTES // 10**6} MB", fix="reproduce it with --paper"
            )
        parts.append(part)
    data = b"".join(parts)
    if not data.startswith(b"%PDF-"):
        raise UsageError("this isn't a PDF", fix="choose the paper's PDF")
    folder = root / UPLOADS
    if folder.is_symlink():
        raise UsageError(f"{folder} is a link", fix="put a folder there")
    folder.mkdir(exist_ok=True)
    path = folder / f"{hashlib.sha256(data).hexdigest()[:16]}.pdf"
    fresh = folder / f".{secrets.token_hex(8)}"
    fresh.write_bytes(data)
    fresh.replace(path)
    return path


MOST_AT_ONCE = 4  # trials of uploaded papers


class Processes:
    """What was started from the pages, below the folder of runs that they show. A trial that was
    started outlives the server.
    """

    def __init__(self, runs: Path) -> None:
        self.jobs = Jobs(runs)
        self._resumed: dict[Path, str] = {}  # a trial's folder -> its job
        self._new: dict[str, str] = {}  # the job of a new trial -> what it's of
        self._lock = threading.Lock()

    def stop_trial(self, trial: ListedTrial) -> None:
        """Interrupt the process of a trial that runs by itself. Raises UsageError for another."""
        if trial.suite is not None:
            raise UsageError("this trial is part of a suite", fix="stop the suite on its page")
        interrupt(trial.live.process if trial.live else None, trial.folder / LIVE)

    def stop_suite(self, suite: ListedSuite) -> None:
        """Interrupt a suite's runner. Raises UsageError if it does not run on this machine."""
        interrupt(suite_process(suite), suite.folder / STATE)

    def resume(self, trial: ListedTrial) -> None:
        """Start `autoreproduce resume FOLDER`. Raises UsageError if it runs, ended, or is a
        suite's.
        """
        if not may_resume(trial) or self.starting(trial.folder):
            raise UsageError("this trial is not one that can be resumed", fix="see its status")
        self._resumed[trial.folder] = self.jobs.start("resume", [str(trial.folder)])

    def start(self, job: Job) -> None:
        """Start a trial of an uploaded paper. Raises UsageError if too many run."""
        paper, settings = job.paper.name if job.paper else "", job.settings
        what = f"{job.experiments[0]} of {paper} by {settings.model.name}"
        words = f"{what}, ${settings.budget.total}"
        with self._lock:
            if sum(map(self.jobs.is_running, self._new)) >= MOST_AT_ONCE:
                raise UsageError(
                    f"{MOST_AT_ONCE} trials that were started here run", fix="wait for one"
                )
            self._new[self.jobs.start("reproduce", arguments_of(job))] = words

    def started(self) -> list[tuple[str, str]]:
        """Each trial that was started here, and what became of its process."""
        with self._lock:
            return [(words, self._told(job)) for job, words in self._new.items()]

    def starting(self, folder: Path) -> bool:
        """True while a trial that was resumed here runs."""
        return folder in self._resumed and self.jobs.is_running(self._resumed[folder])

    def complaint(self, folder: Path) -> str:
        """The last words of a trial that was resumed here and ended with an error, "" if none."""
        job = self._resumed.get(folder)
        failed = job is not None and not self.jobs.is_running(job) and self.jobs.state(job).code
        return f"resume {self._told(job)}" if job is not None and failed else ""

    def _told(self, job: str) -> str:
        if self.jobs.is_running(job):
            return "running"
        state = self.jobs.state(job)
        code = "" if state.code is None else f" with exit code {state.code}"
        return f"ended{code}: " + f"{state.printed}\n{state.errors}".strip()


def may_resume(trial: ListedTrial) -> bool:
    """True for a trial that was stopped or killed, and is no suite's."""
    ended = trial.result is not None and trial.result.status != "stopped"
    return trial.suite is None and not trial.running and not ended


def suite_process(suite: ListedSuite) -> int | None:
    """The process of a suite's runner on this machine, None if it does not run here."""
    owner = suite.state.get("owner")
    return process_id(owner) if isinstance(owner, str) and not suite.state.get("ended") else None

"""Slurm: each trial a job, by submitit; the suite's folder lies on a file system that nodes share.

A job runs `autoreproduce work` with the trial's job.json. Jobs that are submitted together and need
the same are one array. Their states come from `squeue`, which needs no accounting; how they
ended, from the trials' folders. A preempted job is requeued by Slurm and resumes at its step.
"""

import importlib.util
import os
import subprocess
import sys
import time
import uuid
from collections import Counter
from contextlib import suppress
from functools import cached_property
from itertools import groupby
from pathlib import Path
from shutil import which
from typing import Annotated, Any, ClassVar

from pydantic import Field

from autoreproduce.config import digest
from autoreproduce.content import install_command
from autoreproduce.errors import ExecutorError, UsageError
from autoreproduce.job import FILE as JOB
from autoreproduce.job import Job
from autoreproduce.plugins.suites.finished_trials import (
    ENDED,
    EndedTrial,
    finished,
    read_ended,
    trial_folders,
)
from autoreproduce.plugins.suites.job import Needs, suite_trial
from autoreproduce.plugins.suites.retrying import RESUME
from autoreproduce.runner.executors import Executor, ExecutorOptions, ExecutorSetup
from autoreproduce.trials.folders import SCRIPTS
from autoreproduce.trials.journal import write_soon
from autoreproduce.trials.summary import read_json

SUBMITTED = "submitted.json"
LOG = "work.log"
ARRAY = 1000  # jobs of one array: Slurm's own default bound is 1001
# Why a job waits that can never start: the partition has no such node.
NEVER = {"PartitionConfig", "PartitionNodeLimit", "PartitionTimeLimit", "BadConstraints"}
# A node could not start the job, and Slurm holds it until somebody releases it.
HELD, RELEASES = "launch failed requeued held", 3
LATE = 10.0  # seconds that a shared file system may take to show a file
OneLine = Annotated[str, Field(pattern=r"^[!-~][ -~]*$")]  # else sbatch's script has commands


class SlurmOptions(ExecutorOptions):
    """What a suite may say of Slurm; sbatch's own names where there are some."""

    partition: OneLine | None = None
    account: OneLine | None = None
    qos: OneLine | None = None
    constraint: OneLine | None = None
    time: int | None = Field(None, ge=1, description="minutes a trial; else from the task's limit")
    mem: OneLine | None = Field(None, description="else from settings.memory_gb, with 1 GB more")
    gres: OneLine | None = Field(None, description="else gpu:N from gpus_per_trial")
    python: str | None = Field(None, description="on the nodes; else this one")
    setup: list[str] = Field([], description="lines of shell before each job")
    REACHING: ClassVar[frozenset[str]] = frozenset({"python", "setup"})
    poll_seconds: float = Field(2.0, ge=0.1, description="between two calls of squeue")


def run_job(file: str) -> int:
    """Run a job's worker and write what it prints beside the trial; its exit code.

    In a process of its own: submitit handles the signals of this one. Docker is hidden from a
    sandbox `auto`: its containers would run outside the job's limits.
    """
    env = {**os.environ, "DOCKER_HOST": "unix:///var/empty/no-docker-in-a-slurm-job"}
    path = Path(file).parent / LOG
    how = os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    with os.fdopen(os.open(path, how, 0o666), "ab") as log:
        done = subprocess.run(
            [sys.executable, "-P", "-m", "autoreproduce", "work", file, "--trust"],
            stdout=log,
            stderr=log,
            env=env,
            check=False,
        )
    return done.returncode


class SlurmExecutor(Executor[Job, EndedTrial]):
    """Jobs of one suite. `name` is theirs in Slurm, by which a later runner finds them."""

    Options = SlurmOptions
    remote = True
    grace = 60.0

    def __init__(self, setup: ExecutorSetup, options: SlurmOptions) -> None:
        if importlib.util.find_spec("submitit") is None:
            raise UsageError("submitit is not installed", fix=install_command("slurm"))
        if which("sbatch") is None:
            raise UsageError(
                "there is no sbatch on this machine", fix="run the suite on a login node"
            )
        self.options, self.note, self.folder = options, setup.note, setup.folder
        self.places = setup.workers
        self.name = f"autoreproduce-{digest(str(setup.folder))}"
        self._waiting: list[Job] = []
        self._jobs: dict[str, Job] = {}  # by Slurm's id
        self._released: Counter[str] = Counter()  # how often, by Slurm's id
        self._asked_at = 0.0
        self._was_cancelled = False

    @cached_property
    def under_way(self) -> dict[str, str]:  # type: ignore[override]
        """Slurm's id of each trial that an earlier runner submitted and that still runs.

        Jobs whose runner was killed before it wrote down their id are cancelled.
        """
        active, known = self._active().keys(), {}
        for folder in trial_folders(self.folder):
            submitted = read_json(folder / SUBMITTED) or {}
            number = str(submitted.get("id"))
            if submitted.get("executor") == "slurm" and number in active:
                known[str(folder.relative_to(self.folder / "trials"))] = number
        if orphans := active - set(known.values()):
            self._cancel(sorted(orphans))
        return known

    def submit(self, job: Job) -> None:
        """See Executor. Submitted by the next `ended`, in one array with others of its needs."""
        if (number := self.under_way.get(suite_trial(job).key)) is not None:
            self._jobs[number] = job
            return
        if suite_trial(job).needs.sandbox == "docker":
            raise UsageError(
                "a Docker container would run outside its Slurm job's limits",
                fix="set sandbox: bubblewrap",
            )
        if 0 < suite_trial(job).needs.gpus < 1 and not self.options.gres:
            raise UsageError(
                "Slurm grants whole GPUs",
                fix="set gpus_per_trial to 1, or executor.slurm.gres, e.g. shard:1",
            )
        for stale in (ENDED, SUBMITTED):
            (suite_trial(job).folder / stale).unlink(missing_ok=True)
        self._waiting.append(job)

    def ended(self, seconds: float) -> list[tuple[Job, EndedTrial]]:
        """See Executor."""
        if self._was_cancelled and self._waiting:
            waiting, self._waiting = self._waiting, []
            stopped = EndedTrial(status="stopped", reason=f"stopped by the user: {RESUME}")
            return [(job, stopped) for job in waiting]
        self._submit_waiting()
        wait = min(seconds, self._asked_at + self.options.poll_seconds - time.monotonic())
        if wait > 0:
            time.sleep(wait)
        if time.monotonic() - self._asked_at < self.options.poll_seconds:
            return []
        self._asked_at = time.monotonic()
        try:
            active = self._active()
        except ExecutorError as error:  # a controller that restarts: the jobs go on
            self.note(str(error))
            return []
        self._refuse_unmeetable(active)
        self._release_held(active)
        over = [number for number in self._jobs if number not in active]
        return [self._end_of(number) for number in over]

    def cancel(self) -> None:
        """See Executor. A job gets SIGTERM, ends its step and says "stopped"."""
        self._was_cancelled = True
        self._cancel(list(self._jobs))

    def _submit_waiting(self) -> None:
        waiting, self._waiting = self._waiting, []
        for needs, group in groupby(waiting, key=lambda job: suite_trial(job).needs):
            jobs = list(group)
            for first in range(0, len(jobs), ARRAY):
                self._submit_array(needs, jobs[first : first + ARRAY])

    def _submit_array(self, needs: Needs, jobs: list[Job]) -> None:
        import submitit
        from submitit.core.utils import FailedJobError

        scripts = self.folder / SCRIPTS / uuid.uuid4().hex  # one from others may hold links
        executor = submitit.SlurmExecutor(scripts, python=self.options.python or sys.executable)
        executor.update_parameters(**self._parameters(needs), array_parallelism=len(jobs))
        files = [str(suite_trial(job).folder / JOB) for job in jobs]
        try:
            numbers = [each.job_id for each in executor.map_array(run_job, files)]
        except (FailedJobError, subprocess.SubprocessError, OSError) as error:
            raise self._no_such_job(needs, _last_line(error)) from None
        for number, job in zip(numbers, jobs, strict=True):
            self._jobs[number] = job
            write_soon(
                suite_trial(job).folder / SUBMITTED, f'{{"executor": "slurm", "id": "{number}"}}'
            )

    def _parameters(self, needs: Needs) -> dict[str, Any]:
        options = self.options
        gres = options.gres or (f"gpu:{needs.gpus:g}" if needs.gpus else None)
        given = {
            "partition": options.partition,
            "account": options.account,
            "qos": options.qos,
            "constraint": options.constraint,
            "gres": gres,
            # submitit starts Python in the folder of the command: nothing there is imported
            "setup": ["export PYTHONSAFEPATH=1", *options.setup],
        }
        return {
            **{name: value for name, value in given.items() if value is not None},
            "job_name": self.name,
            "time": options.time or needs.minutes,
            "mem": options.mem or f"{int(needs.memory_gb * 1024)}M",
            "cpus_per_task": needs.cpus,
            "stderr_to_stdout": True,
            "additional_parameters": {"requeue": True, "open-mode": "append"},
        }

    def _end_of(self, number: str) -> tuple[Job, EndedTrial]:
        """How the trial of a job ended that Slurm no longer has."""
        job, until = self._jobs.pop(number), time.monotonic() + LATE
        while True:
            ended = finished(suite_trial(job).folder) or read_ended(suite_trial(job).folder)
            if ended is not None or time.monotonic() > until:
                break
            list(suite_trial(job).folder.iterdir())  # makes a network file system look again
            time.sleep(0.2)
        state = self._state_of(number) if ended is None or not ended.scored else ""
        if ended is None or (ended.status == "stopped" and state in ("TIMEOUT", "PREEMPTED")):
            ended = EndedTrial(
                status="not scored",
                kind=ExecutorError.kind,
                reason=f"Slurm ended the job {number} ({state or 'unknown'}): see "
                f"{suite_trial(job).folder / LOG}; for TIMEOUT raise executor.slurm.time",
                cost=None,
            )
        return job, ended

    def _state_of(self, number: str) -> str:
        """What Slurm says of a job that ended lately; "" if it has forgotten it."""
        with suppress(ExecutorError):
            words = _slurm("scontrol", "show", "job", "-o", number).split()
            return next((w[9:] for w in words if w.startswith("JobState=")), "")
        return ""

    def _active(self) -> dict[str, str]:
        """The ids of the suite's jobs that wait, run or end, and why each waits."""
        lines = _slurm("squeue", "-h", "-r", "-o", "%i %r", f"--name={self.name}").splitlines()
        return {number: why for number, _, why in (line.partition(" ") for line in lines)}

    def _refuse_unmeetable(self, active: dict[str, str]) -> None:
        """Raises UsageError, and cancels them, if jobs of this runner can never start."""
        never = [number for number in self._jobs if active.get(number) in NEVER]
        if never:
            self._cancel(never)
            raise self._no_such_job(suite_trial(self._jobs[never[0]]).needs, active[never[0]])

    def _release_held(self, active: dict[str, str]) -> None:
        """Have jobs wait again that a node could not start; one that no node starts is cancelled,
        so that its trial ends and the suite with it.
        """
        for number in self._jobs:
            if active.get(number) != HELD:
                continue
            self._released[number] += 1
            if self._released[number] > RELEASES:
                self.note(f"Slurm could not start the job {number}: {HELD}")
                self._cancel([number])
            else:
                with suppress(ExecutorError):  # asked again at the next look at the queue
                    _slurm("scontrol", "release", number)

    @staticmethod
    def _no_such_job(needs: Needs, why: str) -> UsageError:
        return UsageError(
            f"Slurm takes no such job ({why})",
            fix="change executor.slurm, or what the suite's settings need: "
            + ", ".join(f"{name} {value}" for name, value in needs),
        )

    def _cancel(self, numbers: list[str]) -> None:
        for first in range(0, len(numbers), ARRAY):
            with suppress(ExecutorError):
                _slurm("scancel", *numbers[first : first + ARRAY])


def _slurm(*command: str) -> str:
    """What a command of Slurm prints. Raises ExecutorError."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    except (subprocess.SubprocessError, OSError) as error:
        raise ExecutorError(
            f"{command[0]} failed ({_last_line(error)})", fix="see whether slurmctld answers"
        ) from None
    return done.stdout


def _last_line(error: Exception) -> str:
    text = str(getattr(error, "stderr", "") or error).strip()
    return text.splitlines()[-1][:300] if text else type(error).__name__

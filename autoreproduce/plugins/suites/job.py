"""A trial of a suite as a Job, for whoever attempts it, on this machine or another.

`job.json` in the trial's folder is all that `autoreproduce work` needs. It holds no secret: keys,
and an address with a password, come from the environment of whoever attempts it.
"""

import json
import math
from pathlib import Path

from pydantic import Field

from autoreproduce.config import FLAGS, Settings
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.files.handed_over import raised, reaching, tapes_elsewhere
from autoreproduce.job import FILE as JOB
from autoreproduce.job import File, Job, JobPart
from autoreproduce.job import read_job as read_stored
from autoreproduce.plugins.suites.finished_trials import make_folder
from autoreproduce.plugins.suites.plan import PLUGIN, Plan, Planned
from autoreproduce.runner.settings import load_settings
from autoreproduce.solvers import is_registered
from autoreproduce.task import FolderName, Task
from autoreproduce.trials.begun import note_begun, was_begun_here
from autoreproduce.trials.chain import TRIAL
from autoreproduce.trials.folders import SCRIPTS, TRIALS, refuse_links
from autoreproduce.trials.journal import write_soon
from autoreproduce.trials.summary import read_json

PATHS = [name for name, one in FLAGS.items() if Path in one.kinds]
MODEL_MINUTES = 60  # of one trial, for the answers of models
PROGRAMS = 3  # that are fixed until they run: data, method, experiment


class Needs(JobPart):
    """What a trial needs of the machine that attempts it. `gpus` below 1 is a part of one."""

    cpus: int = Field(1, ge=1)
    memory_gb: float = Field(1.0, gt=0)
    gpus: float = Field(0.0, ge=0)
    minutes: int = Field(60, ge=1, description="the longest that it may take")
    sandbox: str = "auto"


class SuiteTrial(JobPart):
    """What a suite adds to a Job: which of its trials it is. `suite`: the suite's folder."""

    suite: File
    task: FolderName
    variant: FolderName
    number: int = Field(ge=1)
    mark: str = Field(description="all that determines it, as JSON: `Plan.parts`")
    retry_after: tuple[float, ...] = ()
    needs: Needs = Needs()

    @property
    def planned(self) -> Planned:
        """The trial, as the suite's plan has it."""
        return Planned(self.task, self.variant, self.number)

    @property
    def key(self) -> str:
        """See Planned."""
        return self.planned.key

    @property
    def folder(self) -> Path:
        """The trial's folder."""
        return self.planned.folder(self.suite)


def suite_trial(job: Job) -> SuiteTrial:
    """A Job's place in its suite. Raises UsageError if it's of none."""
    return job.section(PLUGIN, SuiteTrial)


def job_of(plan: Plan, planned: Planned, folder: Path, command: str, data: Path | None) -> Job:
    """The Job of a planned trial. Raises UsageError if its task cannot be loaded.

    `folder` is the suite's; `data` has published files that the user has.
    """
    job = plan.job(planned.task, planned.variant, planned.number)
    own = SuiteTrial(
        suite=folder.resolve(),
        task=planned.task,
        variant=planned.variant,
        number=planned.number,
        mark=json.dumps({"parts": plan.parts(job, planned.variant)}),
        retry_after=tuple(plan.suite.retry_after),
        needs=_needs(job.settings, job.of_task, plan.suite.gpus_per_trial),
    )
    data = job.data or (None if job.of_task.own else data)
    return job.having(data=data, out=own.folder, command=command, more={PLUGIN: own}).fixed()


def write_job(job: Job) -> Path:
    """Write job.json into the trial's folder, which is made. Raises TrialError, for a link in it
    too: whoever takes the job up locks, logs and writes there. A trial that was begun keeps its
    task and what decides its result as they were written then.
    """
    folder, cache = suite_trial(job).folder, job.settings.cache_dir
    refuse_links(folder)
    make_folder(folder)
    new, content = not (folder / TRIAL).exists(), job.model_dump(mode="json")
    known = new or was_begun_here(cache, folder)
    if not new and (then := read_json(folder / JOB)):
        content["task"] = then.get("task")
        decided = job.settings.identity().keys() & then.get("settings", {}).keys()
        content["settings"] |= {name: then["settings"][name] for name in decided}
    write_soon(folder / JOB, json.dumps(content, indent=1) + "\n")
    if known:
        note_begun(cache, folder)
    return folder / JOB


def read_job(path: Path, trust: bool = False) -> Job:
    """The Job of a suite's trial in a file. Raises UsageError if it is none, or reaches out and no
    `trust` is given: it lies in another place than its trial, imports a solver, names files, or
    sets what no file of others may. Raises TrialError, without `trust`, for a link or a pipe among
    the suite's files.
    """
    try:
        job = read_stored(path)
        suite_trial(job)
    except (TrialError, UsageError) as error:
        if not path.exists():
            raise UsageError(f"{path} does not exist", fix=f"name the {JOB} of a trial") from None
        raise UsageError(
            f"{path} isn't a job ({error.what})", fix="the suite's command writes it again"
        ) from None
    if not trust:
        own = suite_trial(job)
        _refuse_reaching(job, path)
        refuse_links(own.suite, (*TRIALS, SCRIPTS))
        refuse_links(own.folder)
    return job


def _refuse_reaching(job: Job, path: Path) -> None:
    out = [name for name in ("paper", "data", "program") if getattr(job, name)]
    out += [name for name in Task.PATHS if getattr(job.task, name, None)]
    out += [] if is_registered(job.solver) else ["solver"]
    out += [] if path.resolve() == (suite_trial(job).folder / JOB).resolve() else ["suite"]
    flat = job.settings.flat()
    given = {name: flat[name] for name in job.settings.given() if flat[name] is not None}
    out += [*reaching(given), *tapes_elsewhere(given, suite_trial(job).folder)]
    if out := [*out, *raised(given, load_settings({}).flat())]:
        raise UsageError(
            f"{path} names {', '.join(out)}, and was not begun here",
            fix="add --trust if a suite of yours wrote it",
        )


def _needs(settings: Settings, task: Task, gpus: float) -> Needs:
    limits, method = settings.sandbox.limits, settings.method
    full = method.time_limit_minutes or task.time_limit_minutes
    fixing = PROGRAMS * (method.max_debug + 1) * method.dry_run_seconds / 60
    return Needs(
        cpus=math.ceil(limits.cpus),
        memory_gb=limits.memory_gb + 1,  # and the process that runs the trial
        gpus=gpus if settings.sandbox.gpus else 0.0,
        minutes=math.ceil(full + fixing + MODEL_MINUTES),
        sandbox=settings.sandbox.name,
    )

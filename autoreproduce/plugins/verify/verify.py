"""`autoreproduce verify CODE --paper PAPER`: does this code give the numbers of this paper?

With a model, the paper's claims are read as `reproduce` reads them, and the code is run by
`handed_in`. Whoever knows the command and where its numbers are written needs no model: then
`solvers.outside_program` runs it, as for `score --run`.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Unpack

from autoreproduce.claims.user_claims import claims_of_task, read_user_claims
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.outside_run import read_beside
from autoreproduce.evaluation.submission import known_by
from autoreproduce.files.unpacking import is_url, opened_source
from autoreproduce.job import EXTERNAL, Job, Program
from autoreproduce.models.found_here import how_here
from autoreproduce.options import File, completed, path_or_none
from autoreproduce.papers.paths import refuse_paper
from autoreproduce.plugins.verify.driver import DRIVER
from autoreproduce.plugins.verify.fetching import fetched_folder
from autoreproduce.plugins.verify.handed_in import HEADLINE, what_is_there
from autoreproduce.plugins.verify.options import VerifyOptions
from autoreproduce.plugins.verify.runnable import declared_packages, runnable_settings
from autoreproduce.plugins.verify.shown_code import shown_code
from autoreproduce.runner import api
from autoreproduce.runner.api_results import Reproduction, Results, note_to_stderr, unwatched
from autoreproduce.runner.attempt import OpenView, watched_attempt
from autoreproduce.runner.estimate import text_tokens
from autoreproduce.runner.open_models import HOW_TO_RUN
from autoreproduce.runner.preview import Preview, preview_trial
from autoreproduce.runner.runtime import Runtime
from autoreproduce.runner.score import attempt_outside
from autoreproduce.runner.settings import options_and_settings, takes
from autoreproduce.sandboxes.package_lists import read_requirements
from autoreproduce.setting_options import SettingOptions
from autoreproduce.task import Task
from autoreproduce.trials.derivation import parse_metric_source


class VerifyCall(VerifyOptions, SettingOptions, total=False):
    """What `verify` takes by name."""


@takes(VerifyOptions)
def verify(
    code: File,
    *,
    progress: bool = True,
    settings: Settings | None = None,
    **options: Unpack[VerifyCall],
) -> Results:
    """Run code that is there and hold it against its paper; with `metric_from` no model is asked.

    The arguments are the command's; what happens is written to stderr, unless `progress` is False.
    The rest are settings by their flags' names. Raises UsageError.
    """
    asked, settings = options_and_settings(VerifyOptions, options, settings)
    job = verify_job(code, settings, **asked)
    return Results((verified(job, None if progress else unwatched),))


def verified(job: Job, view: OpenView | None = None) -> Reproduction:
    """Do a job of `verify`. `view`: as of an attempt."""
    if job.of_program.metric_from:
        _check_keys(job.of_task, job.of_program.metric_from)
        return attempt_outside(job, Runtime(note=note_to_stderr), view)
    return verify_by_model(job, view)


def verify_job(
    code: File, settings: Settings, command: str = "", **options: Unpack[VerifyOptions]
) -> Job:
    """The Job of `verify`: with `metric_from` of a trial in which the command is run and no model
    asked, else of one in which a model plans the run and finds the numbers. Raises UsageError for
    code or a paper that isn't there, and where a place is given without the command and the claims.
    """
    asked = completed(VerifyOptions, options)
    run, paper, claims = asked["run"], asked["paper"], asked["claims"]
    data, requirements = path_or_none(asked["data"]), path_or_none(asked["requirements"])
    driver = path_or_none(asked["driver"])
    code = str(code)
    refuse_paper(code)
    if not is_url(code) and not Path(code).exists():
        raise UsageError(
            f"{code} does not exist", fix="name a file, a folder, an archive or a git URL"
        )
    if not paper and not asked["arxiv"]:
        raise UsageError("which paper? There is none", fix="add --paper FILE or --arxiv ID")
    if asked["fetch"] and data:
        raise UsageError("--fetch makes the folder that --data names", fix="leave one of them out")
    if asked["fetch"]:
        limit, hosts = asked["fetch_limit"], asked["fetch_from"]
        data = fetched_folder(code, settings.cache_dir, limit, hosts, note_to_stderr)
    if run and re.search(r"\bDATA_DIR\b", run) and data is None:
        raise UsageError("--run names $DATA_DIR, and there are no data", fix="add --data FOLDER")
    if driver:
        read_beside([driver], "--driver")
        run = run or f"python {driver.name if asked['metric_from'] else DRIVER}"
    if requirements:
        read_requirements(requirements)
    program = Program(
        code=code,
        run=run,
        metric_from=tuple(asked["metric_from"]),
        requirements=requirements,
        beside=(driver,) if driver else (),
        carry=tuple(asked["carry"]),
    )
    name = asked["experiment"] or program.name
    solver, metric = f"code:{code if is_url(code) else Path(code).resolve()}", f"{HEADLINE}:higher"
    if program.metric_from:
        if not run or not claims:
            raise UsageError(
                "--metric-from says where claims' numbers are, and needs both --run and --claim",
                fix="add what's missing, or leave --metric-from out and name a model",
            )
        program = program.model_copy(update={"requirements": _requirements_of(program)})
        solver, metric = EXTERNAL, api.first_metric(claims)
    job = api.reproduce_job(
        settings,
        command,
        arxiv=asked["arxiv"],
        paper=paper,
        task=name,
        metric=(metric,),
        claims=claims,
        data=data,
        instruction=asked["instruction"],
        out=asked["out"],
        trial=asked["trial"],
        solver=solver,
    )
    return job.having(program=program)


def _requirements_of(program: Program) -> Path | None:
    """The list of packages that the user names, else the folder's own; None without one, and with a
    note if it can't be used.
    """
    folder = Path(program.code)
    if program.requirements or is_url(program.code) or not folder.is_dir():
        return program.requirements
    name = declared_packages(folder).file
    if not name:
        return None
    try:
        read_requirements(folder / name)
    except UsageError as error:
        note_to_stderr(f"no package of the code's own list is installed: {error.what}")
        return None
    return folder / name


def verify_by_model(job: Job, view: OpenView | None = None) -> Reproduction:
    """Run the code by a plan of the model's, and find the claims' numbers in what it left.

    Code that was changed since has another trial.
    """
    program = job.of_program
    if not is_url(program.code):
        with opened_source(program.code) as root:  # said before a model is asked
            if not program.run:
                job = job.having(settings=runnable_settings(root, program.code, job.settings))
            there, tree = what_is_there(root, program.code, job.settings, program.carry)
            job = known_by(job, there, carried=tree)
    _refuse_without_model(job)
    return watched_attempt(job, view)


def _refuse_without_model(job: Job) -> None:
    """Raise UsageError where no model is named, with the way that needs none."""
    if job.settings.model.name or job.settings.model.research:
        return
    claims = read_user_claims(job.of_task.user_claims)
    key = next((claim.id for claim in claims), "KEY")
    raise UsageError(
        "no model is named to plan the run and find its numbers",
        fix=f"{how_here(HOW_TO_RUN)};\n  or name both yourself, and no model is asked: --run "
        f"COMMAND --claim 'ROW: METRIC = VALUE' --metric-from {key}=stdout:WORD\n  for the number "
        "after a word (`autoreproduce score CODE --claim … --show-claims` prints the keys)",
    )


def preview(job: Job) -> Preview:
    """What it would take: by earlier trials of that code, else the least that a model reads."""
    task, program = job.of_task, job.of_program
    found = preview_trial(task, job.settings, job.solver, job.paper)
    if program.metric_from:
        notes = ["--metric-from says where the numbers are: no model is asked"]
        return replace(found, solver=job.system, model="none", notes=notes)
    if found.paper and not found.each.like:
        shown = _shown_characters(Path(program.code), task.id)
        least = round(found.paper.tokens + text_tokens("x" * shown))
        found.notes.append(
            f"a model reads the paper, then {shown:,} characters of the code's README and scripts, "
            f"and what the run prints: 3 calls and {least:,} tokens in at least"
        )
    return found


def _shown_characters(code: Path, about: str) -> int:
    """What the prompt shows of a folder's files; of an archive or a URL it isn't known yet."""
    shown = shown_code(code, about)["shown"] if code.is_dir() else ()
    return sum(len(text) for _, text in shown)


def _check_keys(task: Task, metric_from: Sequence[str]) -> None:
    """Raise UsageError, before anything is run, for a place of no claim, or a first without one."""
    file = claims_of_task(task)
    keys = [*(claim.id for claim in file.claims if not claim.than)] if file else []
    first = task.metric.name
    named = [source.name or first for source in map(parse_metric_source, metric_from)]
    if wrong := [name for name in named if name not in (*keys, first)]:
        what = f"--metric-from {wrong[0]}=… belongs to no claim"
        raise UsageError(what, fix=f"the claims' keys are {', '.join(keys)}")
    if first not in named:
        what = f"--metric-from names no place for {first}"
        raise UsageError(what, fix=f"add --metric-from {first}=FILE:PLACE")

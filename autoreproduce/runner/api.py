"""The Python API: what the commands do, as functions. The commands call them.

    from autoreproduce import reproduce
    done = reproduce(arxiv="2301.12664", task="Darcy", model="tape")
    done.metric, done.claims, done.to_frame()

Each function takes its command's options (`options.py`) and the settings, by the names that a flag
has (`max_debug=5`); what is not given comes from the environment, autoreproduce.toml and the
defaults, as on the command line. Each builds a `Job` (`reproduce_job`, `score_job`, `resumed`), has
it done and returns `Results`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Unpack

from autoreproduce.benchmarks import benchmark_of
from autoreproduce.claims.user_claims import read_user_claims
from autoreproduce.config import MACHINE, Settings
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.files.handed_over import named_tape, tapes_elsewhere
from autoreproduce.job import EXTERNAL, Job, Judging, Program, read_job
from autoreproduce.job import FILE as JOB
from autoreproduce.options import File, ReproduceOptions, ScoreOptions, completed, path_or_none
from autoreproduce.papers.paths import paper_path, refuse_paper
from autoreproduce.runner.api_results import Reproduction, Results, note_to_stderr, unwatched
from autoreproduce.runner.runtime import Runtime
from autoreproduce.runner.settings import options_and_settings, settings_here, settings_of, takes
from autoreproduce.setting_options import SettingOptions
from autoreproduce.trials.begun import note_begun, refuse_foreign, was_begun_here
from autoreproduce.trials.chain import TRIAL
from autoreproduce.trials.result import read_result

if TYPE_CHECKING:
    from autoreproduce.benchmarks import Benchmark
    from autoreproduce.runner.attempt import OpenView
    from autoreproduce.runner.score import Scored
    from autoreproduce.task import Task

Note = Callable[[str], None]
__all__ = ["default_judges", "reproduce", "score", "settings_of"]


class ReproduceCall(ReproduceOptions, SettingOptions, total=False):
    """What `reproduce` takes by name."""


class ScoreCall(ScoreOptions, SettingOptions, total=False):
    """What `score` takes by name."""


@takes(ReproduceOptions)
def reproduce(
    *,
    view: OpenView | None = None,
    progress: bool = True,
    settings: Settings | None = None,
    **options: Unpack[ReproduceCall],
) -> Results:
    """Reproduce experiments of a paper, or resume the attempt.

    A paper (`arxiv` or `paper`, a file) with `experiment` ("Table 2", "main", "all", or several) is
    planned, and each experiment is a trial. A task of the benchmark is named by `task`; one of your
    own needs `metric` and a paper; several metrics are a list. `claims` and `solver`: as --claim
    and --solver. `data`: published files, or your own task's, whose test targets lie at `targets`,
    as for --targets. What happens is written to stderr, as the command writes it into a file,
    unless `progress` is False or a `view` watches. The rest are settings by their flags' names;
    None leaves one to the environment, autoreproduce.toml and its default. Raises
    AutoReproduceError if it cannot begin; what ends it later is the outcome.
    """
    from autoreproduce.runner.attempt import watched_attempt
    from autoreproduce.runner.whole_paper.run import reproduce_experiments

    asked, settings = options_and_settings(ReproduceOptions, options, settings)
    job = reproduce_job(settings, **asked)
    view = view or (None if progress else unwatched)
    if not job.experiments:
        return Results((watched_attempt(job, view),))
    note = note_to_stderr if progress else _no_note
    done = reproduce_experiments(job, note, view)
    missing = [one.name for one, trial in done.by_experiment if trial is None]
    stopped = f"not tried: {', '.join(missing)}" if missing else ""
    return Results(tuple(done.trials), stopped=stopped, page=done.report)


def _no_note(text: str) -> None:
    """Where nothing is to be written."""


def reproduce_job(
    settings: Settings,
    command: str = "",
    benchmark: Benchmark | None = None,
    **options: Unpack[ReproduceOptions],
) -> Job:
    """The Job of `reproduce`, with the task found (in a suite's `benchmark`, if one is given), or
    with the experiments of a paper's plan. Raises UsageError.
    """
    from autoreproduce.runner.find import check_own_profile

    asked = completed(ReproduceOptions, options)
    out, data = path_or_none(asked["out"]), path_or_none(asked["data"])
    if asked["experiment"]:
        from autoreproduce.runner.whole_paper.plan import paper_source

        single = {"--task": asked["task"], "--metric": asked["metric"], "--out": out}
        single |= {"--claim": asked["claims"], "--targets": asked["targets"]}
        if given := [name for name, value in single.items() if value]:
            raise UsageError(
                f"{given[0]} is of one trial; --experiment makes a trial of each experiment, by "
                "the paper's plan",
                fix=f"leave out {given[0]} (--runs-dir says where the trials go), or --experiment",
            )
        paper = paper_source(asked["arxiv"], path_or_none(asked["paper"]), settings)
        check_own_profile(settings.profile)
        return Job(
            arxiv=paper.arxiv,
            paper=paper.file,
            experiments=tuple(asked["experiment"]),
            settings=settings,
            data=data,
            number=asked["trial"],
            instruction=asked["instruction"],
            command=command,
            solver=asked["solver"],
        )
    if out is not None and asked["trial"] > 1:
        raise UsageError(
            f"--out {out} is one trial's folder, so --trial {asked['trial']} changes nothing",
            fix="leave one of them out",
        )
    _refuse_foreign_files(out)
    task, file = asked_task(asked, settings, benchmark)
    return Job(
        task=task,
        settings=settings,
        solver=asked["solver"],
        out=out,
        number=asked["trial"],
        paper=file,
        data=data,
        command=command,
    )


def asked_task(
    asked: ReproduceOptions, settings: Settings, benchmark: Benchmark | None = None
) -> tuple[Task, Path | None]:
    """The task that `reproduce` was asked for, and the paper's file. Raises UsageError."""
    from autoreproduce.runner.find import find_or_make_task
    from autoreproduce.runner.preview import which_experiment

    paper = None if asked["paper"] is None else paper_path(asked["paper"], settings)
    arxiv, task, metric = asked["arxiv"], asked["task"], asked["metric"]
    if not task and not metric and (arxiv or paper):
        raise which_experiment(arxiv, paper, settings)
    instruction, profile = asked["instruction"], settings.profile
    claims, targets = asked["claims"], asked["targets"]
    found = find_or_make_task(
        task, arxiv, paper, metric, instruction, profile, claims, targets, benchmark
    )
    return found, paper


def _refuse_foreign_files(out: Path | None) -> None:
    """Raise UsageError for a folder that holds something and is no trial's."""
    if out is None or not out.is_dir() or (out / TRIAL).exists():
        return
    if any(entry.name not in (".lock", JOB) for entry in out.iterdir()):
        raise UsageError(
            f"{out} is not empty, and no trial's folder", fix="name a new or an empty folder"
        )


def resumed(folder: Path, settings: Settings, data: Path | None = None, trust: bool = False) -> Job:
    """The Job in a trial's folder, to be gone on with; `settings` may change what doesn't decide
    the result.

    Raises UsageError for a folder that wasn't begun here, unless the user says `trust`. What
    reaches out of this machine (an address, an image, what confines programs) is then still not
    the folder's to say.
    """
    job, cache = read_job(folder / JOB), settings.cache_dir
    refuse_foreign(cache, folder, trust)
    foreign = not was_begun_here(cache, folder)
    if data is None and job.data is not None and (foreign or not job.data.exists()):
        raise UsageError(
            f"{folder} was made with the data in {job.data}",
            fix="name the folder that its program may read with --data",
        )
    if foreign:
        job = _without_this_machine(job, folder, settings)
        note_begun(cache, folder)
    then = job.of_task
    task = benchmark_of(then).load(then.id, then.profile)
    if then.instruction.startswith(f"{task.instruction}\n\n"):  # what --instruction added then
        task = task.model_copy(update={"instruction": then.instruction})
    return job.having(
        task=task.model_copy(update={"user_claims": then.user_claims}),
        settings=settings_here(job, settings),
        out=folder,
        data=data or job.data,
        digests={name: value for name, value in job.digests.items() if name != "task"},
    )


def _without_this_machine(job: Job, folder: Path, settings: Settings) -> Job:
    """A Job that was asked for elsewhere: it says what to do, and nothing of this machine's files
    and of what confines programs. Raises UsageError if it needs a tape that isn't in its folder.
    """
    names = {"research_model": job.settings.model.research, "code_model": job.settings.model.code}
    named = named_tape(job.settings.model.name)
    tape = folder / Path(named).name if named else None
    if (tape and not tape.is_file()) or tapes_elsewhere(names, folder):
        raise UsageError(
            f"{folder} replays a tape that lies elsewhere", fix=f"put that tape into {folder}"
        )
    own = {name: value for name, value in settings.flat().items() if name in MACHINE}
    files = {"requirements": None, "beside": ()}
    return job.having(
        program=job.program.model_copy(update=files) if job.program else None,
        task=job.of_task.model_copy(update=dict.fromkeys(type(job.of_task).PATHS)),
        settings=job.settings.having(**own),
        tape=tape,
        left_out=(),
        **dict.fromkeys(("data", "paper", "paper_folder")),
    )


@takes(ScoreOptions)
def score(
    path: File,
    *,
    settings: Settings | None = None,
    note: Note | None = None,
    **options: Unpack[ScoreCall],
) -> Results:
    """Score a program (file, folder, archive, git URL), a trial or a folder of trials.

    `levels`: all that need no judge, and with one all, if empty. `judges`: models' names, else
    `model`. `run`: a command that runs the program in the sandbox first; `metric_from` (FILE:KEY)
    and `data_at` map what it writes and expects, `requirements` lists its packages, the files
    `beside` lie next to it while it runs, `claims` are held against it. `carry`: large files of the
    program that its run needs. `system`: who wrote the program, as tables name it. `points`: where
    key points come from. The rest are settings by name, as `reproduce` takes them. Raises
    UsageError if there is nothing to score.
    """
    from autoreproduce.runner.score import score_all

    asked, settings = options_and_settings(ScoreOptions, options, settings)
    job = score_job(path, settings, **asked)
    return scored_results(*score_all(job, Runtime(note=note or note_to_stderr)))


def scored_results(scored: Sequence[Scored], damaged: Sequence[Path]) -> Results:
    """What `score` returns of the trials that were scored, and of those that are damaged."""
    found = []
    for one in scored:
        if (result := read_result(one.folder)) is None:
            raise TrialError(f"{one.folder} hasn't ended", fix="resume it, or name another")
        found.append(Reproduction(one.folder, result, one.page, one.task, True, tuple(one.scores)))
    return Results(tuple(found), dict.fromkeys(damaged, "it is damaged"))


def score_job(
    path: File, settings: Settings, command: str = "", **options: Unpack[ScoreOptions]
) -> Job:
    """The Job of `score`, with the task found, and the model as the judge if none is named. Raises
    UsageError.
    """
    from autoreproduce.runner.find import find_or_make_task

    asked = completed(ScoreOptions, options)
    task, claims = asked["task"], asked["claims"]
    refuse_paper(path)
    paper = None if asked["paper"] is None else paper_path(asked["paper"], settings)
    metric, named = asked["metric"] or _own_metric(claims, paper, task), task or paper
    if claims and (asked["run"] is None or named is None):
        raise UsageError("--claim is held against a run", fix="add --task NAME and --run COMMAND")
    instruction, profile = asked["instruction"], settings.profile
    return Job(
        task=find_or_make_task(task, None, paper, metric, instruction, profile, claims)
        if named
        else None,
        program=Program(
            code=str(path),
            run=asked["run"],
            metric_from=tuple(asked["metric_from"]),
            data_at=asked["data_at"],
            requirements=path_or_none(asked["requirements"]),
            beside=tuple(map(Path, asked["beside"])),
            carry=tuple(asked["carry"]),
            system=asked["system"],
        ),
        judging=Judging(
            levels=tuple(asked["levels"]),
            judges=tuple(asked["judges"] or default_judges(settings)),
            repeats=asked["repeats"],
            points=asked["points"],
            reference=asked["reference"],
        ),
        settings=settings,
        paper=paper,
        data=path_or_none(asked["data"]),
        out=path_or_none(asked["out"]),
        command=command,
        solver=EXTERNAL,
    )


def _own_metric(claims: Sequence[str], paper: Path | None, task: str | None) -> str | None:
    """The metric of a task that names none: the first claim's, else any; None of a benchmark's."""
    if not paper or not task or _is_benchmark_id(task):
        return None
    return first_metric(claims) if claims else "metric:higher"


def first_metric(claims: Sequence[str]) -> str:
    """The first claim as the metric of a task that names none."""
    first = read_user_claims(claims)[0]
    return f"{first.id}:{'lower' if first.direction == 'lower' else 'higher'}"


def _is_benchmark_id(task: str) -> bool:
    """Whether it is exactly a task's id: its paper's file may be given without another metric."""
    from autoreproduce.benchmarks.reproducebench.tasks import task_folders

    return task in {path.name for path in task_folders()}


def default_judges(settings: Settings) -> list[str]:
    """The judge if none is named: the model."""
    return [settings.model.name] if settings.model.name else []

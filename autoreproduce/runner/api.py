"""The Python API: what the commands do, as functions. The commands call them.

    from autoreproduce import reproduce
    done = reproduce(arxiv="2301.12664", task="Darcy", model="tape")
    done.outcome.metric

Each function takes the settings by the names that a flag has (`max_debug=5`); what is not given
comes from the environment, autoreproduce.toml and the defaults, as on the command line.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.runner.api_results import PhaseNotes, Reproduction
from autoreproduce.runner.api_scoring import default_judges, score
from autoreproduce.runner.settings import path_or_none, settings_of
from autoreproduce.runner.settings_given import SuiteSettings, TrialSettings, shows_settings
from autoreproduce.trials.chain import TRIAL
from autoreproduce.trials.steps import Observer

if TYPE_CHECKING:
    from autoreproduce.runner.attempt import Finished, Request
    from autoreproduce.runner.suite.plan import Plan
    from autoreproduce.runner.suite.run import SuiteSummary
    from autoreproduce.runner.suite.view import SuiteView
    from autoreproduce.task import Task

File = str | Path
OpenView = Callable[["Task"], AbstractContextManager[Observer]]
Note = Callable[[str], None]
__all__ = ["default_judges", "reproduce", "run_suite", "score", "settings_of", "watched_attempt"]


@shows_settings(TrialSettings)
def reproduce(
    *,
    arxiv: str | None = None,
    paper: File | None = None,
    task: str | None = None,
    metric: str | Sequence[str] | None = None,
    claims: Sequence[str] = (),
    model: str | None = None,
    data: File | None = None,
    targets: str = "",
    instruction: str = "",
    out: File | None = None,
    trial: int = 1,
    solver: str = "autoreproduce",
    view: OpenView | None = None,
    command: str = "",
    settings: Settings | None = None,
    **more: Unpack[TrialSettings],
) -> Reproduction:
    """Reproduce one experiment of a paper, or resume the attempt.

    A task of the benchmark is named by `task`; one of your own needs `metric` and `arxiv` or
    `paper` (a file); several metrics are a list. `claims` and `solver`: as --claim and --solver.
    `data`: published files, or your own task's, whose test targets lie at `targets`, as for
    --targets. `more`: settings. Raises AutoReproduceError if it
    cannot begin; what ends it later is the outcome.
    """
    from autoreproduce.runner.attempt import Request
    from autoreproduce.runner.find import find_or_make_task

    if out is not None and trial > 1:
        raise UsageError(
            f"--out {out} is one trial's folder, so --trial {trial} changes nothing",
            fix="leave one of them out",
        )
    _refuse_foreign_folder(path_or_none(out))
    used = settings_of(settings, model=model, **more)
    file = path_or_none(paper)
    found = find_or_make_task(task, arxiv, file, metric, instruction, used.profile, claims, targets)
    request = Request(
        found,
        used,
        solver=solver,
        out=path_or_none(out),
        number=trial,
        paper_file=file,
        data=path_or_none(data),
        command=command,
    )
    return watched_attempt(request, view)


def _refuse_foreign_folder(out: Path | None) -> None:
    """Raise UsageError for a folder that holds something and is no trial's."""
    if out is None or not out.is_dir() or (out / TRIAL).exists():
        return
    if any(entry.name != ".lock" for entry in out.iterdir()):
        raise UsageError(
            f"{out} is not empty, and no trial's folder", fix="name a new or an empty folder"
        )


def watched_attempt(request: Request, view: OpenView | None = None) -> Reproduction:
    """Attempt what is requested; `view` opens what watches it, a line a phase by default."""
    from autoreproduce.runner.attempt import attempt

    opened = view(request.task) if view else nullcontext(PhaseNotes())
    with opened as observer:
        request.observers = [observer]
        done: Finished = attempt(request)
    return Reproduction(done.folder, done.outcome, done.report, done.task, done.earlier)


@shows_settings(SuiteSettings)
def run_suite(
    file: File,
    *,
    tasks: Sequence[str] = (),
    variants: Sequence[str] = (),
    trials: int | None = None,
    workers: int | None = None,
    budget: str | None = None,
    dataset: File | None = None,
    n: Sequence[str] = (),
    data: File | None = None,
    out: File | None = None,
    view: SuiteView | None = None,
    command: str = "",
    executor: str | None = None,
    trust: bool = False,
    **more: Unpack[SuiteSettings],
) -> SuiteSummary:
    """Run a suite's tasks × variants × trials, or resume it.

    `file`: its YAML file, or the name of one that ships. `tasks`, `variants`: only these. `budget`:
    over the whole suite. `data`: published files. `executor`: else the file's. `trust`: the file is
    yours, and may import solvers and name addresses, paths and sandboxes. `more`: settings of all
    variants. Raises UsageError before anything begins.
    """
    plan = plan_suite(file, tasks, variants, trials, dataset, n, dict(more), trust=trust)
    plan.suite.change_executor(executor, {})
    return run_plan(plan, workers, budget, path_or_none(data), path_or_none(out), view, command)


def plan_suite(
    file: File,
    tasks: Sequence[str] = (),
    variants: Sequence[str] = (),
    trials: int | None = None,
    dataset: File | None = None,
    n: Sequence[str] = (),
    changes: dict[str, Any] | None = None,
    gold: str | None = None,
    solvers: Sequence[str] = (),
    trust: bool = False,
) -> Plan:
    """The trials that a suite's file and `run_suite`'s arguments name. Raises UsageError."""
    from autoreproduce.runner.suite.plan import Plan
    from autoreproduce.runner.suite.schema import read_suite, refused
    from autoreproduce.runner.suite.trust import refuse_reaching

    for name in changes or {}:
        if (reason := refused(name)) is not None:
            raise UsageError(f"{name}: {reason}")
    content = read_suite(Path(file))
    if not trust:
        refuse_reaching(content)
    numbers = [int(each) if each.isdecimal() else each for each in n]
    given = {content.dataset_option: path_or_none(dataset), "n": numbers, "gold": gold}
    content.change_options({key: value for key, value in given.items() if value})
    content.change_solvers(solvers)
    plan = Plan(content, changes or {})
    plan.choose(tasks, variants, trials)
    return plan


def suite_folder(plan: Plan, out: Path | None) -> Path:
    """Where a suite's trials lie: `out`, else its own folder below that of runs."""
    return out or plan.settings(plan.trials[0].variant).runs_dir / "suites" / plan.suite.name


def run_plan(
    plan: Plan,
    workers: int | None,
    budget: str | None,
    data: Path | None,
    out: Path | None,
    view: SuiteView | None,
    command: str = "",
) -> SuiteSummary:
    """Run what is not finished of a plan; programs of trials that were given up are ended."""
    from autoreproduce.runner.suite.run import SuiteRun
    from autoreproduce.sandboxes.processes import kill_children

    summary = SuiteRun(
        plan,
        suite_folder(plan, out),
        workers=workers or plan.suite.workers,
        budget=budget or plan.suite.budget,
        command=command,
        data=data,
        view=view,
    ).run()
    if view is not None:
        view.close(summary.snapshot)
    if summary.abandoned:
        kill_children()  # their threads end with this process
    return summary

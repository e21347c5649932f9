"""The part of the Python API that plans and runs suites."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from autoreproduce.errors import UsageError
from autoreproduce.runner.settings import path_or_none
from autoreproduce.runner.settings_given import AnySettings, shows_settings

if TYPE_CHECKING:
    from autoreproduce.plugins.suites.plan import Plan
    from autoreproduce.plugins.suites.run import SuiteSummary
    from autoreproduce.plugins.suites.view import SuiteView

File = str | Path


class SuiteSettings(AnySettings, total=False):
    """Of `run_suite`, whose `budget` is the whole suite's."""

    model: str | None


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
    from autoreproduce.plugins.suites.plan import Plan
    from autoreproduce.plugins.suites.suite_file import read_suite, refused
    from autoreproduce.plugins.suites.trust import refuse_reaching

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
    from autoreproduce.plugins.suites.run import SuiteRun
    from autoreproduce.sandboxes.processes import kill_children

    summary = SuiteRun(
        plan,
        suite_folder(plan, out),
        named=out is not None,
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


def write_rows_again(folder: Path) -> None:
    """Of a suite whose trials were scored: its rows contain scores and judges."""
    from autoreproduce.plugins.suites.results import SUITE, write_results

    if (folder / SUITE).is_file():
        write_results(folder)

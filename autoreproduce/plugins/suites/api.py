"""The part of the Python API that plans and runs suites.

A suite's file of others holds only in part until its user says that the file is theirs. Whoever
runs a suite names its file, and has rarely read it. So it imports nothing, sends nothing elsewhere,
takes no wall down, runs nothing on a cluster's nodes but the trials, and reads nothing that does
not lie beside it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.content import folder
from autoreproduce.errors import UsageError
from autoreproduce.files.handed_over import raised, reaching, tapes_elsewhere
from autoreproduce.options import File, path_or_none
from autoreproduce.plugins.suites.suite_file import PATHS, SuiteFile
from autoreproduce.plugins.suites.yaml_errors import Place
from autoreproduce.runner.api_results import Results, read_trials
from autoreproduce.runner.executors import parse_options
from autoreproduce.runner.settings import by_flag, load_settings, takes
from autoreproduce.solvers import is_registered, unknown_solver

if TYPE_CHECKING:
    from autoreproduce.plugins.suites.plan import Plan
    from autoreproduce.plugins.suites.run import SuiteSummary
    from autoreproduce.plugins.suites.view import SuiteView


@takes()
def run_suite(
    file: File,
    *,
    tasks: Sequence[str] = (),
    variants: Sequence[str] = (),
    solvers: Sequence[str] = (),
    trials: int | None = None,
    workers: int | None = None,
    budget: str | None = None,
    dataset: File | None = None,
    n: Sequence[str] = (),
    gold: str | None = None,
    data: File | None = None,
    out: File | None = None,
    view: SuiteView | None = None,
    command: str = "",
    executor: str | None = None,
    trust: bool = False,
    **more: Any,
) -> Results:
    """Run a suite's tasks × variants × trials, or resume it.

    `file`: its YAML file, or the name of one that ships. `tasks`, `variants`: only these.
    `solvers`: a variant each, in place of the file's. `budget`: over the whole suite. `data`:
    published files. `executor`: else the file's. `trust`: the file is yours, and may import solvers
    and name addresses, paths and sandboxes. The rest are settings of all variants, by their flags'
    names. Raises UsageError before anything begins.
    """
    given = {name: value for name, value in more.items() if value is not None}
    plan = plan_suite(file, tasks, variants, trials, dataset, n, given, gold, solvers, trust)
    plan.suite.change_executor(executor, {})
    summary = run_plan(plan, workers, budget, path_or_none(data), path_or_none(out), view, command)
    return replace(read_trials(summary.folder), stopped=summary.reason)


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


Fault = tuple[Place, str]


def refuse_reaching(suite: SuiteFile) -> None:
    """Raise UsageError that names the first line by which the file reaches out; those of a suite
    that ships may.
    """
    if suite.folder.resolve().is_relative_to(folder("eval").resolve()):
        return
    for place, what in _faults(suite):
        wrong = suite.wrong(place, f"{what}, and the file may be somebody else's")
        raise UsageError(str(wrong), fix="add --trust if the file is yours, or you have read it")


def _faults(suite: SuiteFile) -> Iterator[Fault]:
    variants = suite.variants.items()
    solvers: list[tuple[Place, str]] = [(("solver",), suite.solver)]
    solvers += [(("variants", name, "solver"), each.solver or "") for name, each in variants]
    for place, solver in solvers:
        if solver and not is_registered(solver):
            if ":" not in solver:
                raise suite.wrong(place, str(unknown_solver(solver)))
            yield place, f"the solver {solver} would be imported"
    settings: list[tuple[Place, dict[str, Any]]] = [(("settings",), suite.settings)]
    settings += [(("variants", name, "settings"), each.settings) for name, each in variants]
    mine = load_settings({}).flat()
    for place, named in settings:
        given = by_flag(named)
        for name in raised(given, mine):
            yield (*place, name), f"{name} is above this machine's limit of {mine[name]:g}"
        for name in (*reaching(given), *tapes_elsewhere(given, suite.folder)):
            yield (
                (*place, name),
                f"{name} leads elsewhere, or weakens what confines programs and budgets",
            )
    for name, options in suite.executor.items():
        for option in parse_options(name, options).REACHING & options.keys():
            yield ("executor", name, option), f"{option} runs something outside, or leads there"
    yield from _paths(suite)


def _paths(suite: SuiteFile) -> Iterator[Fault]:
    """The paths that lie elsewhere than beside the file."""
    named: list[tuple[Place, Any]] = [
        (("options", key), each) for key, each in suite.options.items()
    ]
    for number, task in enumerate(suite.tasks or ()):
        named += [(("tasks", number, name), getattr(task, name)) for name in sorted(PATHS)]
    for place, value in named:
        if isinstance(value, str | Path) and not suite.lies_beside(value):
            yield place, f"{str(value)!r} lies elsewhere"

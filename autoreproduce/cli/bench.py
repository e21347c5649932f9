"""The commands `bench list`, `prepare`, `reference`, `discriminate` and `new`: ReproduceBench."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autoreproduce.cli.help import CommandApp, PlainGroup
from autoreproduce.cli.options import Json, settings_options
from autoreproduce.config import Settings
from autoreproduce.errors import AutoReproduceError, UsageError
from autoreproduce.evaluation.report.wording import clean

if TYPE_CHECKING:
    from autoreproduce.runner.api_results import Reproduction
    from autoreproduce.task import Task

app = CommandApp(cls=PlainGroup)
Given = Annotated[Path | None, typer.Option(help="published files you have")]


@app.callback()
def bench() -> None:
    """ReproduceBench: its tasks, their data and their references."""


@app.command(name="list")
@settings_options(main=("cache_dir",))
def list_tasks(
    *,
    json: Annotated[bool, typer.Option("--json", help="one JSON object a line")] = False,
    markdown: Annotated[
        bool, typer.Option("--markdown", help="what was measured, as a Markdown table")
    ] = False,
    settings: Settings,
) -> None:
    """List the tasks of ReproduceBench."""
    from autoreproduce.runner.listing import markdown_tasks, print_tasks

    if markdown:
        print(markdown_tasks())
    else:
        print_tasks(settings, json)


@app.command()
@settings_options(main=("profile", "cache_dir"))
def prepare(
    *,
    task: Annotated[str, typer.Argument(help="a task's id, data set or method, or all")],
    data: Given = None,
    settings: Settings,
) -> None:
    """Prepare a task's data: taken from --data, fetched or generated."""
    from autoreproduce.benchmarks import benchmark_of
    from autoreproduce.benchmarks.reproducebench.prepared_data import is_prepared
    from autoreproduce.benchmarks.reproducebench.tasks import find_task, task_names

    failed = []
    for name in task_names() if task == "all" else [task]:
        found = find_task(name, settings.profile)
        try:
            there = is_prepared(found.id, found.profile, settings.cache_dir)
            ready = benchmark_of(found).prepare(found, settings.cache_dir, print, data)
        except UsageError as error:
            if task != "all":
                raise
            failed.append(found.id)
            print(clean(f"{found.id} ({found.profile}): {error}"), file=sys.stderr)
            continue
        state = "already prepared" if there else "prepared"
        print(f"{found.id} ({found.profile}) is {state}: {ready.data_dir}")
    if failed:
        raise UsageError(
            f"{len(failed)} tasks were not prepared ({', '.join(failed)})",
            fix="the lines above say why",
        )


@app.command()
@settings_options("sandbox", main=("profile", "seed", "sandbox"))
def reference(
    *,
    task: Annotated[
        str, typer.Argument(help="a task's id, data set or method in any case, or all")
    ],
    seeds: Annotated[int, typer.Option(min=1, help="how many, from --seed on")] = 1,
    settings: Settings,
    data: Given = None,
    json: Json = False,
) -> None:
    """Run a task's reference in the sandbox, and measure it."""
    from autoreproduce.benchmarks.reproducebench.tasks import find_task, task_names
    from autoreproduce.runner.listing import reference_table

    if task != "all":
        _run_reference(find_task(task, settings.profile), settings, seeds, data, json)
        return
    finished, failed = [], []
    for name in task_names():
        try:
            found = find_task(name, settings.profile)
            finished += _run_reference(found, settings, seeds, data, json)
        except AutoReproduceError as error:
            failed.append(name)
            print(clean(f"{name}: {error}"), file=sys.stderr)
    if not json:
        print(reference_table([(one.task, one.result) for one in finished]))
    if failed:
        raise UsageError(
            f"{len(failed)} references were not measured ({', '.join(failed)})",
            fix="the lines above say why",
        )


def _run_reference(
    found: Task, settings: Settings, seeds: int, data: Path | None, json: bool
) -> list[Reproduction]:
    """One task's reference over its seeds. Raises UsageError if a run failed."""
    from autoreproduce.cli.console.attempts import command_line, terminal_view, write_end
    from autoreproduce.job import Job
    from autoreproduce.runner.attempt import watched_attempt

    finished = []
    for seed in range(settings.seed, settings.seed + seeds):
        seeded = settings.model_copy(update={"seed": seed})
        job = Job(
            task=found, settings=seeded, solver="reference", data=data, command=command_line()
        )
        done = watched_attempt(job, terminal_view(json))
        write_end(done, json, "another --runs-dir")
        finished.append(done)
        if done.result.status == "stopped" and "exit_code" not in done.result.details:
            raise typer.Exit(130)  # Ctrl-C ends all seeds and tasks
    _print_values(finished, json)
    _write_measured(found, finished, settings, json)
    return finished


def _print_values(finished: list[Reproduction], json: bool) -> None:
    """Mean and range over seeds, if there is more than one."""
    values = [done.metric for done in finished if done.metric is not None]
    if len(finished) > 1 and values and not json:
        mean, name = sum(values) / len(values), finished[0].task.metric.name
        print(
            f"{name}: mean {mean:.5g}, from {min(values):.5g} to {max(values):.5g} over "
            f"{len(values)} seeds"
        )
    if len(values) < len(finished):
        raise UsageError(
            f"{len(finished) - len(values)} of {len(finished)} runs failed",
            fix="their folders say why",
        )


def _write_measured(
    task: Task, finished: list[Reproduction], settings: Settings, json: bool
) -> None:
    """The block `measured` for the task's task.yaml, printed and written beside the trials."""
    from autoreproduce.benchmarks.reproducebench.measured import as_yaml, measured_of
    from autoreproduce.trials.journal import write_whole

    path = settings.runs_dir / f"measured-{task.id}-{task.profile}.yaml"
    text = as_yaml(measured_of(task, [done.path for done in finished]))
    write_whole(path, text)
    if not json:
        print(f"For {task.id}'s task.yaml, profile {task.profile} ({path}):\n{text}", end="")


@app.command()
def new(
    *,
    task_id: Annotated[str, typer.Argument(metavar="ID", help="small letters, digits, - and _")],
    title: Annotated[str, typer.Option(help="the paper's title")],
    method: Annotated[str, typer.Option(help="the method's name")],
    dataset: Annotated[str, typer.Option(help="the data set's name")],
    metric: Annotated[str, typer.Option(help="NAME, or NAME:higher")],
    arxiv: Annotated[str | None, typer.Option(help="the paper's arXiv id")] = None,
    into: Annotated[Path, typer.Option(help="the folder of tasks")] = Path("reproducebench"),
) -> None:
    """Make the folder of a new task."""
    from autoreproduce import content
    from autoreproduce.benchmarks.reproducebench.scaffold import new_task, still_to_fill

    made = new_task(
        task_id, into=into, arxiv=arxiv, title=title, method=method, dataset=dataset, metric=metric
    )
    read = content.folder("reproducebench")
    if into.resolve() != read.resolve():
        print(f"Tasks are read from {read}: move {made} there, or name that folder with --into.")
    print(f"{made} runs as it is: autoreproduce bench reference {task_id}. To be written:")
    for name, count in still_to_fill(made).items():
        print(f"  {name}: {count} places marked FILL")
    print(f"Then: pytest tests/benchmarks/reproducebench/test_contract.py -k {task_id}")

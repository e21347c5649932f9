"""The commands. Each imports what it needs when it runs; `cli` loads this module when one is asked for."""

from __future__ import annotations

import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from autoreproduce.config import Settings
from autoreproduce.errors import AutoReproduceError, UsageError
from autoreproduce.options import make_settings, settings_options

if TYPE_CHECKING:
    from autoreproduce.runner.attempt import Finished, Request
    from autoreproduce.task import Task


app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
Json = Annotated[bool, typer.Option("--json", help="one JSON object a line, for machines")]


@app.command()
@settings_options
def reproduce(
    settings: Settings,
    task: Annotated[str | None, typer.Option(help="data set, task id or method; any name with --metric")] = None,
    arxiv: Annotated[str | None, typer.Option(help="the paper's arXiv id")] = None,
    paper: Annotated[Path | None, typer.Option(help="the paper as a file: .pdf .md .tex .txt")] = None,
    metric: Annotated[str | None, typer.Option(help="of a task of your own: NAME, or NAME:higher")] = None,
    data: Annotated[Path | None, typer.Option(help="folder with the data")] = None,
    instruction: Annotated[str, typer.Option(help="what else the agents must know")] = "",
    out: Annotated[Path | None, typer.Option(help="the trial's folder")] = None,
    trial: Annotated[int, typer.Option(min=1, help="which attempt of the same command")] = 1,
    json: Json = False,
) -> None:
    """Reproduce one experiment of a paper: code that runs, the metric measured, a report."""
    from autoreproduce.runner.attempt import Request
    from autoreproduce.runner.find import find_or_make_task

    if out is not None and trial > 1:
        raise UsageError(f"--out {out} is one trial's folder, so --trial {trial} has no say: leave one of them out")
    chosen = find_or_make_task(task, arxiv, paper, metric, instruction, settings.profile)
    command = shlex.join(["python", "-m", "autoreproduce", *sys.argv[1:]])
    _attempt(Request(chosen, settings, out=out, number=trial, paper_file=paper, data=data, command=command), json)


@app.command()
@settings_options
def resume(
    settings: Settings,
    ctx: typer.Context,
    folder: Annotated[Path, typer.Argument(help="a trial's folder")],
    json: Json = False,
) -> None:
    """Go on with a trial that was killed or stopped."""
    from autoreproduce.runner.attempt import resumed

    flags = [name for name, value in ctx.params.items() if value is not None]
    _attempt(resumed(folder, settings, flags), json)


@app.command()
@settings_options
def reference(
    settings: Settings,
    task: Annotated[str, typer.Argument(help="a task's id, data set or method in any case, or all")],
    seeds: Annotated[int, typer.Option(min=1, help="how many, from --seed on")] = 1,
    json: Json = False,
) -> None:
    """Run a task's reference implementation in the sandbox and measure it; of all tasks one after another."""
    from autoreproduce.benchmarks.reproducebench import find_task, task_folders
    from autoreproduce.runner.listing import reference_table

    if task != "all":
        _reference(find_task(task, settings.profile), settings, seeds, json)
        return
    finished, failed = [], []
    for name in [path.name for path in task_folders()]:
        try:
            finished += _reference(find_task(name, settings.profile), settings, seeds, json)
        except AutoReproduceError as error:
            failed.append(name)
            print(f"{name}: {error}", file=sys.stderr)
    if not json:
        print(reference_table([(one.task, one.outcome) for one in finished]))
    if failed:
        raise UsageError(f"{len(failed)} references were not measured ({', '.join(failed)}): the lines above say why")


def _reference(found: Task, settings: Settings, seeds: int, json: bool) -> list[Finished]:
    """One task's reference over its seeds. Raises UsageError where a run failed."""
    from autoreproduce.runner.attempt import Request

    finished = []
    for seed in range(settings.seed, settings.seed + seeds):
        seeded = settings.model_copy(update={"seed": seed})
        finished.append(_finish(Request(found, seeded, solver="reference", command=shlex.join(sys.argv)), json))
        if (ended := finished[-1].outcome).status == "stopped" and "exit_code" not in ended.details:
            raise typer.Exit(130)  # the user's word ends all seeds and tasks
    _say_values(found, [one.outcome for one in finished], json)
    _say_measured(found, finished, settings, json)
    return finished


@app.command()
def tasks(
    json: Json = False,
    markdown: Annotated[bool, typer.Option("--markdown", help="what was measured, as a Markdown table")] = False,
) -> None:
    """List the tasks of ReproduceBench."""
    from autoreproduce.runner.listing import markdown_tasks, print_tasks

    if markdown:
        print(markdown_tasks())
    else:
        print_tasks(make_settings({}), json)


@app.command()
@settings_options
def prepare(
    settings: Settings, task: Annotated[str, typer.Argument(help="a task's id, data set or method, or all")]
) -> None:
    """Fetch or generate a task's data, or that of all tasks."""
    from autoreproduce.benchmarks.reproducebench import find_task, is_prepared, task_folders
    from autoreproduce.benchmarks.reproducebench import prepare as prepare_data

    failed = []
    for name in [path.name for path in task_folders()] if task == "all" else [task]:
        found = find_task(name, settings.profile)
        there = is_prepared(found.id, found.profile, settings.cache_dir)
        try:
            folder = prepare_data(found.id, found.profile, settings.cache_dir, print)
        except UsageError as error:
            if task != "all":
                raise
            failed.append(found.id)
            print(f"{found.id} ({found.profile}): {error}", file=sys.stderr)
            continue
        print(f"{found.id} ({found.profile}) is {'already ' if there else ''}prepared: {folder}")
    if failed:
        raise UsageError(f"{len(failed)} tasks were not prepared ({', '.join(failed)}): the lines above say why")


@app.command(name="new-task")
def new_task(
    task_id: Annotated[str, typer.Argument(metavar="ID", help="small letters, digits, - and _")],
    title: Annotated[str, typer.Option(help="the paper's title")],
    method: Annotated[str, typer.Option(help="the method's name")],
    dataset: Annotated[str, typer.Option(help="the data set's name")],
    metric: Annotated[str, typer.Option(help="NAME, or NAME:higher")],
    arxiv: Annotated[str | None, typer.Option(help="the paper's arXiv id")] = None,
    into: Annotated[Path, typer.Option(help="the folder of tasks")] = Path("reproducebench"),
) -> None:
    """Make the folder of a new task of ReproduceBench."""
    from autoreproduce import content
    from autoreproduce.benchmarks.scaffold import new_task as make
    from autoreproduce.benchmarks.scaffold import still_to_fill

    made = make(task_id, into=into, arxiv=arxiv, title=title, method=method, dataset=dataset, metric=metric)
    read = content.folder("reproducebench")
    if into.resolve() != read.resolve():
        print(f"Tasks are read from {read}: move {made} there, or name that folder by --into.")
    print(f"{made} runs as it stands: autoreproduce reference {task_id}. Still to be written:")
    for name, count in still_to_fill(made).items():
        print(f"  {name}: {count} places marked FILL")
    print(f"Then: pytest tests/benchmarks/test_contract.py -k {task_id}")


@app.command()
@settings_options
def lineage(
    settings: Settings,
    task: Annotated[str | None, typer.Option(help="data set, task id or method; any name with --metric")] = None,
    arxiv: Annotated[str | None, typer.Option(help="the paper's arXiv id")] = None,
    paper: Annotated[Path | None, typer.Option(help="the paper as a file: .pdf .md .tex .txt")] = None,
    out: Annotated[Path | None, typer.Option(help="the trial's folder")] = None,
    json: Json = False,
) -> None:
    """Build a paper's lineage alone, and show it as a table."""
    from autoreproduce.runner.attempt import Request
    from autoreproduce.runner.find import find_or_make_task

    metric = None if task and not paper else "none"
    chosen = find_or_make_task(task, arxiv, paper, metric, "", settings.profile)
    command = shlex.join(["python", "-m", "autoreproduce", *sys.argv[1:]])
    _attempt(Request(chosen, settings, solver="lineage", out=out, paper_file=paper, command=command), json)


@app.command()
def report(folder: Annotated[Path, typer.Argument(help="a trial's folder, or a suite's")]) -> None:
    """Write a trial's report again from its files, or a suite's as a static site."""
    if not (folder / "trial.json").exists() and any(folder.glob("**/trial.json")):
        from autoreproduce.eval.site.write import write_site

        print(write_site(folder))
        return
    from autoreproduce.eval.report import write_report
    from autoreproduce.task import Task
    from autoreproduce.trial import Trial

    record = Trial.read(folder).record
    print(write_report(folder, Task.model_validate(record.task_json) if record.task_json else None))


@app.command()
@settings_options
def doctor(settings: Settings, json: Json = False) -> None:
    """Check what a trial needs on this machine, and name the mend of what is missing."""
    from autoreproduce.runner.listing import print_checks

    raise typer.Exit(0 if print_checks(settings, json) else 1)


@app.command()
@settings_options
def graph(settings: Settings) -> None:
    """Print the method's graph as Mermaid."""
    from autoreproduce.workflow import build_graph

    print(build_graph(settings.lineage).get_graph().draw_mermaid())


def _attempt(request: Request, json: bool) -> None:
    finished = _finish(request, json)
    status = finished.outcome.status
    raise typer.Exit({"succeeded": 0, "failed": 1}.get(status, finished.outcome.details.get("exit_code", 130)))


def _finish(request: Request, json: bool) -> Finished:
    """Attempt, watched in the way that fits where the output goes."""
    from autoreproduce.console import open_view, say_outcome
    from autoreproduce.runner.attempt import attempt
    from autoreproduce.runner.signals import sigterm_interrupts

    kind: Literal["json", "auto"] = "json" if json else "auto"
    with sigterm_interrupts(), open_view(kind, sys.stdout, request.task) as view:
        request.observers = [view]
        finished = attempt(request)
    if finished.earlier and not json:
        print(f"This trial ended earlier and was not run again ({_another(request)} makes another attempt).")
    say_outcome(
        finished.outcome, finished.folder, sys.stdout, kind, task=finished.task, earlier=json and finished.earlier
    )
    return finished


def _another(request: Request) -> str:
    """The flag that makes another attempt of the same."""
    if request.out is not None or request.solver == "lineage":
        return "another --out"
    return "another --runs-dir" if request.solver == "reference" else f"--trial {request.number + 1}"


def _say_values(task: Task, outcomes: list[Any], json: bool) -> None:
    """Mean and range over seeds, where there is more than one."""
    values = [outcome.metric for outcome in outcomes if outcome.metric is not None]
    if len(outcomes) > 1 and values and not json:
        mean = sum(values) / len(values)
        print(
            f"{task.metric.name}: mean {mean:.5g}, from {min(values):.5g} to {max(values):.5g} over {len(values)} seeds"
        )
    if len(values) < len(outcomes):
        raise UsageError(f"{len(outcomes) - len(values)} of {len(outcomes)} runs failed: their folders say why")


def _say_measured(task: Task, finished: list[Finished], settings: Settings, json: bool) -> None:
    """The block `measured` for the task's task.yaml, printed and written beside the trials."""
    from autoreproduce.benchmarks.measured import as_yaml
    from autoreproduce.runner.measured import measured_of

    path = settings.runs_dir / f"measured-{task.id}-{task.profile}.yaml"
    path.write_text(as_yaml(measured_of(task, [one.folder for one in finished])), encoding="utf-8")
    if not json:
        print(
            f"For {task.id}'s task.yaml, profile {task.profile} ({path}):\n{path.read_text(encoding='utf-8')}", end=""
        )

"""The commands `suite` and `watch`. Like `cli_commands`, loaded when one of them is asked for."""

from __future__ import annotations

import json as json_module
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from autoreproduce.runner.suite.plan import Plan
    from autoreproduce.runner.suite.run import Summary

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
Several = list[str]


@app.command()
def suite(
    file: Annotated[Path, typer.Argument(help="the suite's YAML file, e.g. eval/suites/reproducebench.yaml")],
    tasks: Annotated[Several | None, typer.Option(help="only these, with commas between")] = None,
    variants: Annotated[Several | None, typer.Option(help="only these, with commas between")] = None,
    trials: Annotated[int | None, typer.Option(min=1, help="of each task under each variant")] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="trials at once")] = None,
    budget: Annotated[str | None, typer.Option(help="over the whole suite: dollars, or '1000000 tokens'")] = None,
    set_: Annotated[Several | None, typer.Option("--set", help="key=value: a setting of all variants")] = None,
    model: Annotated[str | None, typer.Option(help="short for --set model=...")] = None,
    base_url: Annotated[str | None, typer.Option(help="short for --set base_url=...")] = None,
    dataset: Annotated[Path | None, typer.Option(help="of autoexperiment: the set's folder, e.g. a clone")] = None,
    n: Annotated[
        Several | None, typer.Option(help="of autoexperiment: how many functions are masked, e.g. 1,2")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="the suite's folder [runs/suites/NAME]")] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="print the plan and what it may take")] = False,
    json: Annotated[bool, typer.Option("--json", help="one JSON object a line, for machines")] = False,
) -> None:
    """Run tasks × variants × trials from a YAML file; the same command goes on."""
    from autoreproduce.runner.suite.plan import Plan, parse_changes
    from autoreproduce.runner.suite.schema import read_suite

    short = [f"{key}={value}" for key, value in (("model", model), ("base_url", base_url)) if value]
    content = read_suite(file)
    content.masked(dataset, [each for part in n or () for each in part.split(",")])
    plan = Plan(content, parse_changes([*(set_ or ()), *short]))
    plan.choose(tasks or (), variants or (), trials)
    folder = out or plan.settings(plan.trials[0].variant).runs_dir / "suites" / plan.suite.name
    count = workers or plan.suite.workers
    if dry_run:
        from autoreproduce.runner.suite.estimate import print_estimate

        print_estimate(plan, folder, count, budget or plan.suite.budget, json)
        return
    _run(plan, folder, count, budget or plan.suite.budget, json)


@app.command()
def watch(
    folder: Annotated[Path, typer.Argument(help="a suite's folder")],
    once: Annotated[bool, typer.Option("--once", help="show it as it is now, and end")] = False,
) -> None:
    """Watch a suite that runs in another terminal."""
    from autoreproduce.runner.suite.watch import watch as follow

    try:
        follow(folder, sys.stdout, once)
    except KeyboardInterrupt:
        raise typer.Exit(130) from None


def _run(plan: Plan, folder: Path, workers: int, budget: str | None, json: bool) -> None:
    from autoreproduce.runner.signals import sigterm_interrupts
    from autoreproduce.runner.suite.run import SuiteRun
    from autoreproduce.runner.suite.view import open_suite_view

    command = shlex.join(["python", "-m", "autoreproduce", *sys.argv[1:]])
    view = open_suite_view("json" if json else "auto", sys.stdout)
    with sigterm_interrupts():
        run = SuiteRun(plan, folder, workers=workers, budget=budget, command=command, view=view)
        summary = run.run()
    view.close(summary.snapshot)
    _say(summary, json)
    raise typer.Exit(summary.exit_code)


def _say(summary: Summary, json: bool) -> None:
    """The table of how it came out, and where to look."""
    if json:
        facts = {"why": summary.why, "reason": summary.reason, "folder": str(summary.folder)}
        print(json_module.dumps({"event": "end", **facts, "state": summary.snapshot}))
        return
    from rich.console import Console

    from autoreproduce.runner.suite.view import sums, table

    if not sys.stdout.isatty():
        Console(file=sys.stdout, width=120).print(table(summary.snapshot))
    print(sums(summary.snapshot))
    if summary.reason:
        print(f"{summary.why}: {summary.reason}")
    print(f"results: {summary.folder / 'results.csv'} and results.parquet")

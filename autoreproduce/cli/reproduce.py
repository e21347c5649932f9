"""The commands `reproduce`, `plan`, `resume`, `graph` and `lineage`: one trial, or one paper."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autoreproduce.cli.help import CommandApp
from autoreproduce.cli.options import (
    DryRun,
    Json,
    Notify,
    Require,
    RequireWord,
    Trust,
    settings_options,
)
from autoreproduce.config import MACHINE, SECRETS, Settings
from autoreproduce.options import (
    ArxivId,
    DataFolder,
    PaperFile,
    ReproduceOptions,
    TaskName,
    TrialFolder,
    path_or_none,
)

if TYPE_CHECKING:
    from autoreproduce.runner.api_results import Reproduction

app = CommandApp()
MAIN = ("arxiv", "paper", "task", "metric", "experiment", "model", "base_url", "budget", "sandbox")


@app.command()
@settings_options(
    *("model", "budget", "method", "sandbox", "papers"),
    also=(
        "research_model",
        "code_model",
        "record",
        "time_limit_minutes",
        "allow_install",
        "seed",
        "seeds",
        "readings_minutes",
    ),
    main=(*MAIN, "profile", "data", "out", "require", "solver"),
)
def reproduce(
    *,
    asked: ReproduceOptions,
    settings: Settings,
    require: Require = None,
    dry_run: DryRun = False,
    notify: Notify = None,
    json: Json = False,
) -> None:
    """Reproduce one experiment: code, its metric, a report."""
    from autoreproduce.cli.console.attempts import another_trial, command_line, terminal_view
    from autoreproduce.runner.api import reproduce_job

    job = reproduce_job(settings, command_line(), **asked)
    if dry_run:
        from autoreproduce.cli.console.estimates import print_preview
        from autoreproduce.runner.preview import preview_job

        print_preview(preview_job(job), json)
        return
    if job.experiments:
        from autoreproduce.cli.console.papers import reproduce_named

        reproduce_named(job, require, json, notify)
        return
    from autoreproduce.runner.attempt import watched_attempt

    done = watched_attempt(job, terminal_view(json, settings.runs_dir, job.solver))
    end_of_trial(done, json, another_trial(job), require, notify)


@app.command()
@settings_options(
    *("model", "papers"),
    also=("research_model", "gpus"),
    main=("model", "base_url", "budget", "data"),
)
def plan(
    *,
    paper: Annotated[
        str, typer.Argument(help="arXiv id, file, folder, FOLDER:MAIN.tex or repository")
    ],
    settings: Settings,
    data: DataFolder = None,
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """List a paper's experiments, and what each needs.

    Without a model it says what the paper's text shows, and what an experiment may take.
    """
    from autoreproduce.cli.console.attempts import options_of_plan
    from autoreproduce.cli.console.estimates import print_plan_preview
    from autoreproduce.cli.console.papers import print_plan
    from autoreproduce.models.budget import Budget
    from autoreproduce.runner.api_results import note_to_stderr
    from autoreproduce.runner.whole_paper.plan import named_paper, plan_paper

    source, budget = named_paper(paper, settings), Budget.parse(settings.budget.total)
    if print_plan_preview(source, settings, dry_run, json):
        return
    named = ["--arxiv" if source.arxiv else "--paper", paper]
    planned = plan_paper(source, settings, budget, note_to_stderr, path_or_none(data))
    print_plan(planned, json, ["autoreproduce", *named, *options_of_plan(paper)])


@app.command()
@settings_options(also=MACHINE - SECRETS, main=("base_url", "budget", "sandbox", "seeds"))
def resume(
    *,
    folder: Annotated[Path, typer.Argument(help="a trial's folder")],
    settings: Settings,
    data: Annotated[Path | None, typer.Option(help="the data it was made with")] = None,
    trust: Trust = False,
    require: Require = None,
    notify: Notify = None,
    json: Json = False,
) -> None:
    """Resume a trial that was killed or stopped."""
    from autoreproduce.cli.console.attempts import terminal_view
    from autoreproduce.runner.api import resumed
    from autoreproduce.runner.attempt import watched_attempt

    job = resumed(folder, settings, data, trust)
    done = watched_attempt(job, terminal_view(json, settings.runs_dir, job.solver))
    end_of_trial(
        done, json, "the command that made it, with another --trial or --out,", require, notify
    )


@app.command()
@settings_options(also=("coder",), main=("lineage", "debug", "refine"))
def graph(*, settings: Settings) -> None:
    """Print the method's graph as Mermaid."""
    from autoreproduce.method.workflow import draw

    print(draw(settings.method))


@app.command()
@settings_options(
    *("model", "papers"),
    also=("research_model", "record", "lineage_cache", "sandbox", "profile"),
    main=(*MAIN[:3], "model", "base_url", "budget", "k", "out"),
)
def lineage(
    *,
    arxiv: ArxivId = None,
    paper: PaperFile = None,
    task: TaskName = None,
    settings: Settings,
    out: TrialFolder = None,
    json: Json = False,
) -> None:
    """Build a paper's lineage alone, and show it."""
    from autoreproduce.cli.console.attempts import command_line, terminal_view
    from autoreproduce.job import Job
    from autoreproduce.runner.attempt import watched_attempt
    from autoreproduce.runner.find import find_or_make_task

    file = path_or_none(paper)
    metric = None if task and not file else "none:lower"
    name = task or ("task" if metric else None)
    chosen = find_or_make_task(name, arxiv, file, metric, "", settings.profile)
    job = Job(
        task=chosen,
        settings=settings,
        solver="lineage",
        out=path_or_none(out),
        paper=file,
        command=command_line(),
    )
    end_of_trial(watched_attempt(job, terminal_view(json)), json, "another --out")


def end_of_trial(
    done: Reproduction,
    json: bool,
    another: str,
    require: RequireWord | None = None,
    notify: str | None = None,
) -> None:
    """Say how a trial ended, and exit with its code; `another` is what begins a further one."""
    from autoreproduce.cli.console.attempts import (
        exit_code,
        notify_end,
        unmet_requirement,
        write_end,
    )

    write_end(done, json, another)
    notify_end(done, notify)
    if code := exit_code(done):
        raise typer.Exit(code)
    if unmet := unmet_requirement(done, require):
        typer.echo(unmet, err=True)
        raise typer.Exit(1)

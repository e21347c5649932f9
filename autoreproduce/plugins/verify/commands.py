"""The commands `verify` and `audit`: code that somebody has, with its paper."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from autoreproduce.cli.help import CommandApp
from autoreproduce.cli.options import (
    ADVANCED,
    ArxivId,
    CarriedNames,
    DryRun,
    Json,
    Require,
    settings_options,
)
from autoreproduce.cli.reproduce import (
    DataFolder,
    PaperFile,
    TrialFolder,
    TrialNumber,
    end_of_trial,
)
from autoreproduce.config import Settings
from autoreproduce.job import Program
from autoreproduce.plugins.verify.fetch_options import LIMIT_MB, Fetch

app = CommandApp()


@app.command()
@settings_options("verify", main=("model", "budget", "sandbox", "seeds"))
def verify(
    *,
    code: Annotated[str, typer.Argument(help="a folder, archive, file, or git URL[@commit]")],
    paper: PaperFile = None,
    arxiv: ArxivId = None,
    experiment: Annotated[
        str, typer.Option(help='whose numbers, as "Table 2" [the whole paper]')
    ] = "",
    claim: Annotated[
        list[str] | None,
        typer.Option(help='of the paper: "ROW: METRIC = VALUE ± SPREAD"; repeatable'),
    ] = None,
    run: Annotated[str | None, typer.Option(help="a bash line that runs it, if you know")] = None,
    metric_from: Annotated[
        list[str] | None, typer.Option(help="KEY=FILE:PLACE of a claim's number; asks no model")
    ] = None,
    carry: CarriedNames = None,
    requirements: Annotated[
        Path | None,
        typer.Option(
            help="its packages: a requirements.txt, environment.yml, pyproject.toml, setup.cfg or "
            "setup.py [the code's own]",
            metavar="FILE",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    driver: Annotated[
        Path | None,
        typer.Option(
            help="a Python script of yours that calls the code, where it has no program",
            metavar="FILE",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    settings: Settings,
    data: DataFolder = None,
    fetch: Annotated[
        bool,
        typer.Option(
            "--fetch", help="download the data that the code names", rich_help_panel=ADVANCED
        ),
    ] = False,
    fetch_limit: Annotated[
        float, typer.Option(min=0, help="MB that --fetch may take", rich_help_panel=ADVANCED)
    ] = LIMIT_MB,
    fetch_from: Annotated[
        list[str] | None,
        typer.Option(
            help="a host of your own network that --fetch may ask; repeatable",
            metavar="HOST",
            rich_help_panel=ADVANCED,
        ),
    ] = None,
    out: TrialFolder = None,
    trial: TrialNumber = 1,
    require: Require = None,
    instruction: Annotated[
        str, typer.Option(help="anything else the model must know", rich_help_panel=ADVANCED)
    ] = "",
    dry_run: DryRun = False,
    json: Json = False,
) -> None:
    """Run code that you have, and hold it against its paper."""
    from autoreproduce.cli.console.attempts import command_line, terminal_view
    from autoreproduce.plugins.verify.verify import (
        preview,
        verify_by_model,
        verify_by_places,
        verify_job,
    )

    program = Program(
        code=code,
        run=run,
        metric_from=tuple(metric_from or ()),
        requirements=requirements,
        beside=(driver,) if driver else (),
        carry=tuple(carry or ()),
    )
    job = verify_job(
        program,
        settings=settings,
        paper=paper,
        arxiv=arxiv,
        experiment=experiment,
        claims=claim or (),
        fetch=Fetch(fetch_limit, tuple(fetch_from or ())) if fetch and not dry_run else None,
        data=data,
        out=out,
        trial=trial,
        instruction=instruction,
        command=command_line(),
    )
    if dry_run:
        from autoreproduce.cli.console.estimates import print_preview

        print_preview(preview(job), json)
        return
    if metric_from:
        done = verify_by_places(job)
    else:
        done = verify_by_model(job, terminal_view(json, settings.runs_dir, job.solver))
    end_of_trial(done, json, f"--trial {trial + 1}" if out is None else "another --out", require)


@app.command()
@settings_options("audit", main=("model", "base_url", "budget"))
def audit(
    *,
    code: Annotated[str, typer.Argument(help="a folder, archive, file, or git URL[@commit]")],
    paper: PaperFile = None,
    arxiv: ArxivId = None,
    run: Annotated[str, typer.Option(help="the command that runs it, if you know")] = "",
    settings: Settings,
    json: Json = False,
) -> None:
    """List where code differs from its paper; nothing is run."""
    import json as json_module

    from autoreproduce.papers.places import refuse_paper
    from autoreproduce.plugins.verify.audited import audit_code
    from autoreproduce.runner.api_results import note_to_stderr
    from autoreproduce.runner.whole_paper.plan import paper_source

    refuse_paper(code)
    found = audit_code(code, paper_source(arxiv, paper, settings), settings, note_to_stderr, run)
    if json:
        facts = {"sentence": found.sentence, "folder": str(found.folder), "cost": found.dollars}
        content = found.audit.model_dump(mode="json")
        print(json_module.dumps({"event": "audit", **facts, **content}))
    else:
        print(found.as_text())
    if found.audit.problem:
        raise typer.Exit(1)

"""The commands `verify` and `audit`: code that somebody has, with its paper."""

from __future__ import annotations

from typing import Annotated

import typer

from autoreproduce.cli.help import CommandApp
from autoreproduce.cli.options import DryRun, Json, Notify, Require, settings_options
from autoreproduce.cli.reproduce import end_of_trial
from autoreproduce.config import Settings
from autoreproduce.options import ArxivId, PaperFile, path_or_none
from autoreproduce.plugins.verify.options import VerifyOptions

app = CommandApp()
MAIN = ("paper", "arxiv", "experiment", "claims", "run", "metric_from")


@app.command()
@settings_options(
    *("model", "sandbox", "papers"),
    also=("research_model", "record", "audit", "time_limit_minutes", "seed", "readings_minutes"),
    main=(*MAIN, "model", "budget", "sandbox", "seeds", "data", "out"),
)
def verify(
    *,
    code: Annotated[str, typer.Argument(help="a folder, archive, file, or git URL[@commit]")],
    asked: VerifyOptions,
    settings: Settings,
    require: Require = None,
    dry_run: DryRun = False,
    notify: Notify = None,
    json: Json = False,
) -> None:
    """Run code that you have, and check it against its paper."""
    from autoreproduce.cli.console.attempts import another_trial, command_line, terminal_view
    from autoreproduce.plugins.verify.verify import preview, verified, verify_job

    if dry_run:
        from autoreproduce.cli.console.estimates import print_preview

        asked["fetch"] = False
        print_preview(preview(verify_job(code, settings, **asked)), json)
        return
    job = verify_job(code, settings, command_line(), **asked)
    view = terminal_view(json, settings.runs_dir, job.solver)
    end_of_trial(verified(job, view), json, another_trial(job), require, notify)


@app.command()
@settings_options(
    *("model", "papers"),
    also=("research_model",),
    main=(*MAIN[:2], "run", "model", "base_url", "budget"),
)
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

    from autoreproduce.papers.paths import refuse_paper
    from autoreproduce.plugins.verify.audited import audit_code
    from autoreproduce.runner.api_results import note_to_stderr
    from autoreproduce.runner.whole_paper.plan import paper_source

    refuse_paper(code)
    source = paper_source(arxiv, path_or_none(paper), settings)
    found = audit_code(code, source, settings, note_to_stderr, run)
    if json:
        facts = {"sentence": found.sentence, "folder": str(found.folder), "cost": found.dollars}
        content = found.audit.model_dump(mode="json")
        print(json_module.dumps({"event": "audit", **facts, **content}))
    else:
        print(found.as_text())
    if found.audit.problem:
        raise typer.Exit(1)

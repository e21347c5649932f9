"""The commands `report` and `badge`: a finished trial's page again, and its mark in a README."""

from pathlib import Path
from typing import Annotated

import typer

from autoreproduce.cli.help import CommandApp
from autoreproduce.errors import UsageError
from autoreproduce.plugins import found_at, table

app = CommandApp()


@app.command()
def report(
    *,
    folder: Annotated[Path, typer.Argument(help="a trial's folder, or a suite's")],
    pdf: Annotated[
        bool, typer.Option("--pdf", help="of a trial: print it too, by Chromium")
    ] = False,
) -> None:
    """Write a trial's report again, or a suite's static site."""
    from autoreproduce.trials.folders import trials_below

    if trials_below(folder) not in ([], [folder]):
        if pdf:
            raise UsageError("--pdf prints a trial's report", fix="name a trial's folder")
        if (place := table("api").get("write_site")) is None:
            raise UsageError(f"{folder} is no trial's folder", fix="name one, or install tables")
        print(found_at(place)(folder))
        return
    from autoreproduce.evaluation.report import write_report
    from autoreproduce.trials.trial import Trial

    record = Trial.read(folder).record
    page = write_report(folder, record.stored_task() if record.task_json else None)
    print(page)
    if pdf:
        from autoreproduce.evaluation.report.pdf import write_pdf

        print(write_pdf(page))


@app.command()
def badge(*, folder: Annotated[Path, typer.Argument(help="a trial's folder")]) -> None:
    """Write a trial's badge.svg, and print its line for a README."""
    from autoreproduce.evaluation.report.badge import NAME, write_badge

    line = write_badge(folder)
    typer.echo(f"The picture is {folder / NAME}: copy it beside the README.", err=True)
    print(line)

"""The command `doctor`: what a trial needs on this machine."""

from typing import Annotated

import typer

from autoreproduce.cli.help import CommandApp
from autoreproduce.cli.options import settings_options
from autoreproduce.config import Settings

app = CommandApp()


@app.command()
@settings_options(
    ("model", "base_url", "gpus", "runtime"), main=("model", "base_url", "gpus", "runtime")
)
def doctor(
    *,
    settings: Settings,
    json: Annotated[bool, typer.Option("--json", help="one JSON object a line")] = False,
) -> None:
    """Check what a trial needs here, and say how to fix it."""
    from autoreproduce.runner.listing import print_checks

    raise typer.Exit(0 if print_checks(settings, json) else 1)

"""The command `view`: runs and suites in the browser."""

from pathlib import Path
from typing import Annotated

import typer

from autoreproduce.cli.help import CommandApp

app = CommandApp()


@app.command()
def view(
    *,
    folder: Annotated[
        Path,
        typer.Argument(help="of runs, of a suite, or a trial", metavar="FOLDER", show_default=True),
    ] = Path("runs"),
    port: Annotated[
        int, typer.Option(min=0, max=65535, help="port on 127.0.0.1; 0 takes a free one")
    ] = 0,
) -> None:
    """Show runs and suites in the browser, live.

    It serves this machine alone, at the address that it prints. Only its buttons change anything:
    start a trial of a PDF, stop, resume.
    """
    from autoreproduce.plugins.view.serve import serve

    def announce(address: str) -> None:
        print(f"{folder} is shown at\n{address}\nuntil Ctrl-C", flush=True)

    serve(folder, port, announce)

"""The commands `mcp`, `export` and `skill`: where others' tools meet ours."""

import os
from pathlib import Path
from typing import Annotated, Literal

import typer

from autoreproduce import content
from autoreproduce.cli.help import CommandApp
from autoreproduce.cli.options import settings_options
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.files.shared import inside, read_plain

app = CommandApp()
TOKEN = "AUTOREPRODUCE_MCP_TOKEN"


@app.command()
@settings_options(
    *("model", "sandbox", "papers"),
    also=("research_model", "code_model", "allow_install", "profile"),
    main=("model", "base_url", "budget", "sandbox", "runs_dir"),
)
def mcp(
    *,
    http: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=65535,
            help=f"a port on this machine instead of stdin; the token is {TOKEN}, or made",
            metavar="PORT",
        ),
    ] = None,
    settings: Settings,
) -> None:
    """Serve coding agents and other clients by MCP."""
    from autoreproduce.plugins.integrations.mcp_server import serve_http, serve_stdio
    from autoreproduce.runner.api_results import note_to_stderr
    from autoreproduce.runner.open_models import check_models

    check_models(settings)
    if http is None:
        serve_stdio(settings)
    else:
        serve_http(settings, http, os.environ.get(TOKEN, ""), note_to_stderr)


@app.command()
@settings_options(main=("profile", "cache_dir"))
def export(
    *,
    kind: Annotated[Literal["inspect", "harbor"], typer.Argument(help="inspect, harbor")],
    names: Annotated[list[str], typer.Argument(help="inspect: trials; harbor: tasks")],
    out: Annotated[Path, typer.Option(help="the folder to write into")],
    settings: Settings,
) -> None:
    """Write trials as Inspect AI's logs, or tasks as Harbor's."""
    if out.exists() and not out.is_dir():
        raise UsageError(f"--out {out} isn't a folder", fix="name the folder to write into")
    if kind == "inspect":
        from autoreproduce.plugins.integrations.inspect_export import export_trials

        files = export_trials([Path(name) for name in names], out)
    else:
        from autoreproduce.plugins.integrations.harbor import export_tasks

        files = export_tasks(names, out, settings)
    for file in files:
        print(file)


@app.command()
def skill(
    *,
    action: Annotated[Literal["install", "show"], typer.Argument(help="install, show")],
    to: Annotated[Path, typer.Option(help="the folder of your coding agent's skills")] = Path(
        "~/.agents/skills"
    ),
) -> None:
    """Teach a coding agent how to use these commands."""
    if action == "show":
        print(skill_text(), end="")
    else:
        print(install_skill(to.expanduser()))


NAME = "reproduce-a-paper"


def skill_text() -> str:
    """SKILL.md as it ships."""
    return (content.folder("eval") / "coding_agents/skills" / NAME / "SKILL.md").read_text(
        encoding="utf-8"
    )


def install_skill(skills: Path) -> Path:
    """Write the skill into a folder of skills, in place of an older one of ours; its file.

    Raises UsageError if a file of that name was not written by this command, or a link leads out of
    the folder: one that came with a repository could have another file overwritten.
    """
    file, text = inside(skills, f"{NAME}/SKILL.md"), skill_text()
    try:
        if file.exists() and f"name: {NAME}\n" not in read_plain(file).decode():
            raise UsageError(f"{file} is not this skill", fix="move it away, or name another --to")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"{file} cannot be written ({error})", fix="name another --to") from None
    return file

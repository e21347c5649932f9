"""Every command with its options as Markdown: `python -m autoreproduce.cli.manual` prints
docs/commands.md.
"""

from __future__ import annotations

from typing import Any

from typer.main import get_command

from autoreproduce.cli.app import GROUPS, app
from autoreproduce.cli.help import option_panels

HEAD = """# Commands

This page is made by `python -m autoreproduce.cli.manual > docs/commands.md`.

`autoreproduce` without a command is `autoreproduce reproduce`. Each setting is also read from the
environment (`--max-debug` is `AUTOREPRODUCE_MAX_DEBUG`) and from `autoreproduce.toml`
(`max_debug = 5`); a flag counts before the environment, and that before the file. API keys come
from the environment alone.
"""


def manual() -> str:
    """The page."""
    root: Any = get_command(app)
    ctx = root.make_context("autoreproduce", ["--help"], resilient_parsing=True)
    parts = [HEAD]
    for title, commands in GROUPS.items():
        parts.append(f"## {title}\n")
        for name in commands:
            parts += _pages(name, root.get_command(ctx, name), ctx)
    return "\n".join(parts)


def _pages(name: str, command: Any, parent: Any) -> list[str]:
    """A command's page; of a group its commands' pages."""
    ctx = command.context_class(command, info_name=name, parent=parent)
    if hasattr(command, "commands"):
        inner = command.commands.items()
        return [page for each, one in inner for page in _pages(each, one, ctx)]
    usage = " ".join([ctx.command_path, *command.collect_usage_pieces(ctx)])
    lines = [f"### {ctx.command_path.split(' ', 1)[-1]}\n", f"{_sentence(command.help)}\n"]
    lines.append(f"```\n{usage}\n```\n")
    for title, rows in option_panels(command, ctx).items():
        lines += [f"**{title}**\n", "| | |", "|---|---|"]
        lines += [f"| `{left.replace('|', '/')}` | {_cell(right)} |" for left, right in rows]
        lines.append("")
    return ["\n".join(lines)]


def _sentence(text: str) -> str:
    return " ".join(text.split())


def _cell(text: str) -> str:
    return _sentence(text).replace("|", "\\|").replace("<", "&lt;")


if __name__ == "__main__":
    print(manual(), end="")

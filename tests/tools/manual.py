"""Every command with the names of its options, then each option's meaning, as Markdown:
`python tests/tools/manual.py` prints docs/commands.md.
"""

import textwrap
from typing import Any

from typer.main import get_command

from autoreproduce.cli.app import GROUPS, app
from autoreproduce.cli.help import FIRST, Rows, option_panels

FEW = 3  # settings of a group that a command names itself instead of linking the group
WIDTH = 96  # characters of a line
OWN = ("Arguments", FIRST, "Advanced")  # panels of a command's own options
REQUIRED = "[required]"

HEAD = """# Commands

`COMMAND --help` explains what matters of a command, `COMMAND --help-all` every option, as does
[the list of all](#options) below. You can leave out what stands in brackets.

`autoreproduce` alone means `autoreproduce reproduce`. Every [setting](#settings) is also an
environment variable (`--max-debug` is `AUTOREPRODUCE_MAX_DEBUG`) and a key of `autoreproduce.toml`
(`max_debug = 5`). A flag beats the environment, which beats the file. API keys come from the
environment only.
"""
SETTINGS = """## Settings

A command that links a group takes most of it.
"""
OPTIONS = """## Options

What each means, with its default in brackets.

| option | |
|---|---|
"""
Page = tuple[str, list[str], str, Rows]


def manual() -> str:
    """The page: each command with its own options, then the settings that commands share."""
    root: Any = get_command(app)
    ctx = root.make_context("autoreproduce", ["--help"], resilient_parsing=True)
    reproduce = option_panels(root.get_command(ctx, "reproduce"), ctx)
    named = {title: rows for title, rows in reproduce.items() if title not in OWN}
    shared = {title: rows for title, rows in named.items() if len(rows) > FEW}
    parts, pages = [HEAD], list[Page]()
    for title, names in GROUPS.items():
        parts.append(f"## {title}\n")
        for name in names:
            pages += (commands := _commands(name, root, ctx))
            parts += [_page(*each, shared) for each in commands]
    parts.append(SETTINGS)
    for title, rows in shared.items():
        parts += [f"### {title} settings\n", _block([_usage(row) for row in rows])]
    parts.append(OPTIONS + _meanings(pages))
    return "\n".join(parts).rstrip("\n") + "\n"


def _commands(name: str, group: Any, parent: Any) -> list[Page]:
    """(name, arguments, purpose, options) of a command, or of each command of a group."""
    command = group.get_command(parent, name)
    ctx = command.context_class(command, info_name=name, parent=parent)
    if hasattr(command, "commands"):
        return [page for each in command.commands for page in _commands(each, command, ctx)]
    purpose = command.get_short_help_str(limit=200).replace("<", "&lt;")
    *arguments, _ = command.collect_usage_pieces(ctx)
    panels = option_panels(command, ctx)
    panels.pop("Arguments", None)
    options = [row for rows in panels.values() for row in rows]
    return [(ctx.command_path.partition(" ")[2], arguments, purpose, options)]


def _page(
    name: str, arguments: list[str], purpose: str, options: Rows, shared: dict[str, Rows]
) -> str:
    """One command: links to the groups of settings it takes, its usage with its own options."""
    given = {left for left, _ in options}
    groups = {title: {left for left, _ in rows} for title, rows in shared.items()}
    linked = {title: names for title, names in groups.items() if len(names & given) > FEW}
    links = ", ".join(f"[{each.lower()}](#{each.lower()}-settings)" for each in linked)
    also = f" Settings: {links}." if links else ""
    own = [_usage(row) for row in options if row[0] not in set().union(*linked.values())]
    return f"### {name}\n\n{purpose}{also}\n\n{_block([name, *arguments, *own])}"


def _meanings(pages: list[Page]) -> str:
    """A row an option; where some commands mean something else by it, a row of their own."""
    meant: dict[str, dict[str, list[str]]] = {}
    for name, _, _, options in pages:
        for left, right in options:
            text = right.replace(REQUIRED, "").strip().replace("<", "&lt;")
            meant.setdefault(left, {}).setdefault(text, []).append(name)
    rows = []
    for left, texts in sorted(meant.items(), key=lambda item: item[0].replace("[no-]", "")):
        most = max(texts, key=lambda text: len(texts[text]))
        for text in (most, *(each for each in texts if each != most)):
            of = "" if text == most else f", of {' and '.join(texts[text])}"
            rows.append(f"`{left}`{of} | {text}".replace("bell|", "bell\\|"))
    return "".join(f"| {row} |\n" for row in rows)


def _usage(option: tuple[str, str]) -> str:
    """An option as it stands in a usage line."""
    left, right = option
    return left if REQUIRED in right else f"[{left}]"


def _block(words: list[str]) -> str:
    """The words as an indented block; an option and its value stay together."""
    text = " ".join(each.replace(" ", "\N{NO-BREAK SPACE}") for each in words)
    lines = textwrap.wrap(text, WIDTH, subsequent_indent="    ", break_on_hyphens=False)
    return "".join(f"    {line}\n" for line in lines).replace("\N{NO-BREAK SPACE}", " ")


if __name__ == "__main__":
    print(manual(), end="")

"""Every command with its options as Markdown: `python -m autoreproduce.cli.manual` prints
docs/commands.md.
"""

from collections import Counter
from typing import Any

from typer.main import get_command

from autoreproduce.cli.app import GROUPS, app
from autoreproduce.cli.help import Rows, option_lines, option_panels

SHARED = 2  # commands that describe an option alike: it's then listed once, under Settings
OTHER = {"Options": "Common", "Advanced": "Common", "Arguments": "Common"}

HEAD = """# Commands

`python -m autoreproduce.cli.manual > docs/commands.md` makes this page.

`autoreproduce` alone means `autoreproduce reproduce`. Names in capitals without dashes are
arguments, in this order, before the options. Every [setting](#settings) is also an environment
variable (`--max-debug` is `AUTOREPRODUCE_MAX_DEBUG`) and a key of `autoreproduce.toml`
(`max_debug = 5`). A flag beats the environment, which beats the file. API keys come from the
environment only. `COMMAND --help` says which settings of a group a command takes; most take some of
the [common](#common-settings) ones.
"""
WIDTH, COLUMN = 100, 26  # characters of a line, and where what an option means begins


def manual() -> str:
    """The page: each command with its own options, then the settings that commands share."""
    root: Any = get_command(app)
    ctx = root.make_context("autoreproduce", ["--help"], resilient_parsing=True)
    groups = {
        title: [
            each for name in names for each in _commands(name, root.get_command(ctx, name), ctx)
        ]
        for title, names in GROUPS.items()
    }
    shared = _shared([panels for pages in groups.values() for _, _, panels in pages])
    parts = [HEAD]
    for title, pages in groups.items():
        parts.append(f"## {title}\n")
        parts += [_page(*page, shared) for page in pages]
    parts.append("## Settings\n")
    for title, rows in shared.items():
        parts += [f"### {title} settings\n", _list(rows)]
    return "\n".join(parts).rstrip("\n") + "\n"


def _commands(name: str, command: Any, parent: Any) -> list[tuple[str, str, dict[str, Rows]]]:
    """(name, help, panels) of a command, or of each command of a group."""
    ctx = command.context_class(command, info_name=name, parent=parent)
    if hasattr(command, "commands"):
        return [
            page for each, one in command.commands.items() for page in _commands(each, one, ctx)
        ]
    text = " ".join(command.help.split()).replace("<", "&lt;")
    return [(ctx.command_path.partition(" ")[2], text, option_panels(command, ctx))]


def _shared(pages: list[dict[str, Rows]]) -> dict[str, Rows]:
    """By panel, the options that `SHARED` commands or more describe in the same words."""
    counted = Counter(row for panels in pages for rows in panels.values() for row in rows)
    found: dict[str, Rows] = {}
    known: set[str] = set()
    for panels in pages:
        for title, rows in panels.items():
            new = [row for row in rows if counted[row] >= SHARED and row[0] not in known]
            known.update(name for name, _ in new)
            if new:
                found.setdefault(OTHER.get(title, title), []).extend(new)
    return found


def _page(name: str, text: str, panels: dict[str, Rows], shared: dict[str, Rows]) -> str:
    """One command: its own options, and the groups it takes settings of."""
    taken = {row for rows in panels.values() for row in rows}
    common = {row for rows in shared.values() for row in rows}
    also = [
        f"[{panel.lower()}](#{panel.lower()}-settings)"
        for panel, rows in shared.items()
        if panel != "Common" and taken.intersection(rows)
    ]
    settings = f" Settings: {', '.join(also)}." if also else ""
    lines = [f"### {name}\n", f"{text}{settings}\n"]
    if own := [row for rows in panels.values() for row in rows if row not in common]:
        lines.append(_list(own))
    return "\n".join(lines)


def _list(rows: Rows) -> str:
    shown = [(left.removesuffix(" TEXT"), right) for left, right in rows]
    return "\n".join(["```text", *option_lines(shown, WIDTH, COLUMN), "```\n"])


if __name__ == "__main__":
    print(manual(), end="")

"""How a command shows its options, and what the user reads who mistyped one.

`--help` fits on one screen: if a command has more options than that, it shows those that matter
first, and `--help-all` shows the rest in panels by subsystem. An option without a panel matters.
"""

import re
import textwrap
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import typer
from typer.core import TyperCommand, TyperGroup
from typer.exceptions import TyperException

from autoreproduce.errors import UsageError, nearest

SCREEN = 24  # lines of a terminal
ALL = "--help-all"
FIRST = "Options"  # the panel of what matters
COLUMN = 26  # characters of an option's name and value at most; a longer one has its own line
VALUES = {"str": "TEXT", "list[str]": "TEXT", "path": "PATH", "float": "X", "int": "N"}
Rows = list[tuple[str, str]]
Command = TypeVar("Command", bound=Callable[..., Any])


class PanelCommand(TyperCommand):
    """A command whose help shows its options in panels."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Remember which help was asked for. Raises UsageError for an option with an empty value,
        as of a shell's variable that isn't set.
        """
        ctx.meta[ALL] = ALL in args
        for before, arg in zip(["", *args], args, strict=False):
            if arg == "" or re.fullmatch(r"--[\w-]+=", arg):
                named = arg.rstrip("=") or (before if before.startswith("-") else "an argument")
                raise UsageError(f"{named} is empty", fix="give it a value, or leave it out")
        return super().parse_args(ctx, args)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """Arguments before options, as one writes them."""
        options, *arguments = super().collect_usage_pieces(ctx)
        return [
            *(re.sub(r"\{(\w+)\}", lambda found: found[1].upper(), each) for each in arguments),
            options,
        ]

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """The panels: all of them, or the first if all are more than a screen."""
        panels = option_panels(self, ctx)
        first = {title: rows for title, rows in panels.items() if title in ("Arguments", FIRST)}
        if ctx.meta.get(ALL) or first == panels:
            write_panels(formatter, panels)
            return
        before = len(formatter.buffer)
        write_panels(formatter, panels)
        if "".join(formatter.buffer).count("\n") <= SCREEN:
            return
        del formatter.buffer[before:]
        write_panels(formatter, first)
        others = ", ".join(title for title in panels if title not in first)
        formatter.write(f"\n{ALL} shows the others: {others}.\n")


class PlainGroup(TyperGroup):
    """A group of commands: its help is one line a command; so is the group without one."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Show help if no command is named."""
        return super().parse_args(ctx, args or ["--help"])

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """The group's sentence, and its commands."""
        formatter.write(f"Usage: {ctx.command_path} COMMAND [OPTIONS]\n\n  {self.help}\n\n")
        for name, command in self.commands.items():
            formatter.write(f"  {name:<10} {command.help}\n")
        formatter.write("\nCOMMAND --help shows a command's options.\n")


def option_panels(command: Any, ctx: Any) -> dict[str, Rows]:
    """The rows of help by the panel's title, in the order of the command's parameters."""
    panels: dict[str, Rows] = {"Arguments": [], FIRST: []}
    for param in command.get_params(ctx):
        row = param.get_help_record(ctx)
        if row is None:
            continue
        if param.param_type_name == "argument":
            title = "Arguments"
        else:
            title = getattr(param, "rich_help_panel", None) or FIRST
        panels.setdefault(title, []).append(_short_row(*row))
    panels[FIRST] = [row for row in panels[FIRST] if "--help" not in row[0]]
    if "Advanced" in panels:
        panels["Advanced"] = panels.pop("Advanced")  # comes last
    return {title: rows for title, rows in panels.items() if rows}


def write_panels(formatter: Any, panels: dict[str, Rows]) -> None:
    """Each panel under its title; one column for all of them."""
    lefts = [len(left) for rows in panels.values() for left, _ in rows if len(left) <= COLUMN]
    column = max(lefts, default=0) + 4
    for title, rows in panels.items():
        formatter.write(f"\n{title}:\n")
        for line in option_lines(rows, formatter.width, column):
            formatter.write(f"  {line}\n")


def option_lines(rows: Rows, width: int, column: int) -> Iterator[str]:
    """Names at the left, what they mean from `column` on; a long name has its own line."""
    for left, right in rows:
        lines = textwrap.wrap(right, width - column)
        if len(left) + 4 > column:
            lines = ["", *lines]
        first, *others = lines or [""]
        yield f"{left:<{column - 2}}{first}".rstrip()
        for line in others:
            yield f"{'':<{column - 2}}{line}"


def _short_row(left: str, right: str) -> tuple[str, str]:
    """A row of Typer's in fewer words: `--seed N`, `--[no-]debug`, the default in brackets."""
    left = re.sub(r"^--(\S+) / --no-\1$", r"--[no-]\1", left)
    left = re.sub(r"<([^>]*?)( range)?>", lambda found: VALUES.get(found[1], "TEXT"), left)
    if not left.startswith("-"):
        left = left.split()[0].upper()
        right = right.removesuffix("[required]").rstrip()
    right = re.sub(r";? ?\d*\.?\d*(<=)?x[<>]=[\d.]+(?=\])", "", right)
    return left, re.sub(r" *\[default: ", " [", right).removesuffix("[]").rstrip()


class CommandApp(typer.Typer):
    """A group's Typer app: plain text, panels, and no traceback of Typer's own."""

    def __init__(self, **given: Any) -> None:
        super().__init__(
            add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=None, **given
        )

    def command(self, name: str | None = None, **given: Any) -> Callable[[Command], Command]:
        """As Typer's, with the help of this module."""
        given.setdefault("cls", PanelCommand)
        given.setdefault("context_settings", {"help_option_names": ["--help", "-h", ALL]})
        return super().command(name, **given)


def one_line(error: TyperException) -> UsageError:
    """What Typer says of the command line, as one line with the nearest name."""
    ctx = getattr(error, "ctx", None)
    path = ctx.command_path if ctx else "autoreproduce"
    if option := getattr(error, "option_name", None) if hasattr(error, "possibilities") else None:
        known = [name for each in ctx.command.params for name in each.opts] if ctx else []
        others = _commands_with(option, ctx) if ctx else []
        belongs = f"it belongs to {', '.join(others)}; " if others else nearest(option, known)
        return UsageError(
            f"{path.split(' ', 1)[-1]} has no option {option}",
            fix=f"{belongs}`{path} {ALL}` shows what it takes",
        )
    message = " ".join(error.format_message().split()).rstrip(".").replace("Value error, ", "")
    extra = re.search(r"unexpected extra arguments?(?:\(s\))? \((.+)\)", message)
    if extra and ctx and any("--paper" in each.opts for each in ctx.command.params):
        from autoreproduce.papers.paths import option_for

        if option := option_for(extra[1]) or option_for(extra[1].split()[0]):
            return UsageError(
                f"{path.split(' ', 1)[-1]} takes a paper as an option", fix=f"write {option}"
            )
    return UsageError(message, fix=f"see `{path} --help`")


def _commands_with(option: str, ctx: Any) -> list[str]:
    """The commands that have an option; each is imported, since this answers a mistake."""
    root = ctx.find_root()
    group: Any = root.command
    if not hasattr(group, "list_commands"):
        return []
    known = {name: group.get_command(root, name) for name in group.list_commands(root)}
    for name, command in list(known.items()):
        inner = getattr(command, "commands", {})
        known |= {f"{name} {each}": subcommand for each, subcommand in inner.items()}
    return [
        name
        for name, command in known.items()
        if any(option in (*each.opts, *each.secondary_opts) for each in command.params)
    ]

"""The command line. `reproduce` is what runs if no command is named.

`--help` answers from this module and the plugins' declarations; a command's own module, with all
that it needs, is imported when it is asked for. `tests/cli/test_cli.py` keeps the two in agreement.
"""

import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer
from typer.core import TyperGroup
from typer.exceptions import Abort, TyperException

from autoreproduce.extensions import installed

# title -> (the module in cli/, {command: what it does})
_OWN_GROUPS: dict[str, tuple[str, dict[str, str]]] = {
    "Reproduce": (
        "reproduce",
        {
            "reproduce": "Reproduce one experiment: code, its metric, a report.",
            "plan": "List a paper's experiments, and what each needs.",
            "resume": "Resume a trial that was killed or stopped.",
            "graph": "Print the method's graph as Mermaid.",
            "lineage": "Build a paper's lineage alone, and show it.",
        },
    ),
    "Suites": (
        "report",
        {
            "report": "Write a trial's report again, or a suite's static site.",
            "badge": "Write a trial's badge.svg, and print its line for a README.",
        },
    ),
    "Score": (
        "score",
        {
            "score": "Score a program, a trial or a folder of trials.",
            "calibrate": "Judge programs whose fidelity is known.",
        },
    ),
    "Benchmark": ("bench", {"bench": "ReproduceBench: list, prepare, reference, new."}),
    "Machine": ("doctor", {"doctor": "Check what a trial needs here, and say how to fix it."}),
}
LAST = "Machine"  # the title below all others
MOST_TRIALS = 3
WIDEST_LINE = 100


class Command(NamedTuple):
    """Where a command's Typer app lies, and what the command does."""

    place: str
    text: str


def _groups() -> dict[str, dict[str, Command]]:
    """The kernel's commands and the plugins', by title."""
    found: dict[str, dict[str, Command]] = {
        title: {
            name: Command(f"autoreproduce.cli.{module}:app", text)
            for name, text in commands.items()
        }
        for title, (module, commands) in _OWN_GROUPS.items()
    }
    for plugin in installed().values():
        for title, commands in plugin.commands.items():
            added = {name: Command(plugin.command_app, text) for name, text in commands.items()}
            found.setdefault(title, {}).update(added)
    found[LAST] = found.pop(LAST)
    return found


GROUPS = _groups()
COMMANDS = {name: one for commands in GROUPS.values() for name, one in commands.items()}
BENCH = ("list", "prepare", "reference", "new")
# Seldom asked for by a person: not on the one screen of all commands, which has no more room.
SELDOM = ("badge", "graph", *(name for one in installed().values() for name in one.seldom))
ONE_LINE = {title: text for one in installed().values() for title, text in one.one_line.items()}
NAME = "autoreproduce"  # also as python -m autoreproduce
OWN = ("--help", "-h", "--version", "--install-completion", "--show-completion")


class LazyGroup(TyperGroup):
    """Knows the commands' names; `autoreproduce --task ...` is `autoreproduce reproduce --task
    ...`.
    """

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        windows_expand_args: bool = True,
        **extra: Any,
    ) -> Any:
        """Run; what is wrong with the command line is a UsageError of one line."""
        try:
            code = super().main(args, NAME, complete_var, False, windows_expand_args, **extra)
        except TyperException as error:
            from autoreproduce.cli.help import one_line

            raise one_line(error) from None
        except Abort:  # Ctrl-C at a question
            print("\nautoreproduce: stopped by the user", file=sys.stderr)
            code = 130
        if standalone_mode:
            sys.exit(code if isinstance(code, int) else 0)
        return code

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `reproduce` before options that are not the group's own; without any, show what was
        done here, and help.
        """
        if not args:
            lines = list(trials_here())
            print("".join(f"{line}\n" for line in lines), end="\n" if lines else "")
        if not args or args[0] == "-h":
            args = ["--help"]
        if args[0].startswith("-") and args[0].partition("=")[0] not in OWN:
            args = ["reproduce", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order in which one meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, imported now; None for an unknown one."""
        if cmd_name not in COMMANDS:
            return None
        return _command_in(COMMANDS[cmd_name].place, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """As Typer's; for an unknown command UsageError with the nearest name."""
        if args[0] not in COMMANDS:
            from autoreproduce.errors import UsageError, nearest
            from autoreproduce.papers.paths import option_for

            if option := option_for(args[0]):
                raise UsageError(f"{args[0]} isn't a command", fix=f"a paper is given by {option}")
            subcommand = f"did you mean bench {args[0]}? " if args[0] in BENCH else ""
            raise UsageError(
                f"{args[0]} isn't a command",
                fix=f"{subcommand or nearest(args[0], COMMANDS)}`autoreproduce --help` lists them",
            )
        return super().resolve_command(ctx, args)

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """All commands by group on one screen, without importing them."""
        formatter.write(f"{HEAD}\n")
        for title, commands in GROUPS.items():
            if title in ONE_LINE:
                formatter.write(f"{title:<10} {', '.join(commands)}: {ONE_LINE[title]}\n")
                continue
            shown = {name: one.text for name, one in commands.items() if name not in SELDOM}
            for number, (name, text) in enumerate(shown.items()):
                formatter.write(f"{'' if number else title:<10} {name:<10} {text}\n")
        seldom = ", ".join(name for name in COMMANDS if name in SELDOM)
        formatter.write(f"{FOOT}{seldom}, --version, --install-completion\n")


def _command_in(place: str, name: str) -> Any:
    """A command of the app at "module:app"; the app itself if it is a group, or has this one."""
    from pkgutil import resolve_name

    from typer.main import get_command

    found = get_command(resolve_name(place))
    return getattr(found, "commands", {}).get(name, found)


HEAD = (
    "autoreproduce [reproduce] --arxiv 2301.12664 --task Darcy\n"
    "Reproduces experiments of machine-learning papers, and measures who can."
)
FOOT = "COMMAND -h: options. Also "
app = typer.Typer(
    cls=LazyGroup, pretty_exceptions_enable=False, rich_markup_mode=None, no_args_is_help=False
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from autoreproduce.contracts import VERSION

        print(f"autoreproduce {VERSION}")
        raise typer.Exit


@app.callback()
def _group(
    version: Annotated[
        bool,
        typer.Option(
            "--version", callback=_show_version, is_eager=True, help="show the version and exit"
        ),
    ] = False,
) -> None:
    """Reproduces the experiments of machine-learning papers."""


def trials_here() -> Iterator[str]:
    """Two lines for each of the trials changed last; nothing where there are none.

    What can't be read is left out: this is a reminder, and no place for an error.
    """
    if not Path(os.environ.get("AUTOREPRODUCE_RUNS_DIR", "runs")).is_dir():
        return  # as most often: nothing more is imported
    from autoreproduce.errors import AutoReproduceError
    from autoreproduce.evaluation.report.wording import clean, duration, phase_words
    from autoreproduce.runner.settings import load_settings
    from autoreproduce.trials.live import OUTPUT, read_live
    from autoreproduce.trials.summary import summaries_below

    try:
        runs = load_settings({}).runs_dir
        latest = summaries_below(runs)[: -MOST_TRIALS - 1 : -1]
    except (AutoReproduceError, OSError):
        return
    for each in latest:
        if each.record is None:
            continue
        ago = duration(max(0.0, time.time() - each.folder.stat().st_mtime))
        result, folder, live = each.result, clean(str(each.folder)), read_live(each.folder)
        if live is not None and live.process is not None:
            how = f"running since {live.began[11:16]} UTC, in {phase_words(live.phase).lower()}"
            then = f"watch it: autoreproduce view {clean(str(runs))}, or tail -F {folder}/{OUTPUT}"
        elif result is None or result.status == "stopped":
            how, then = (
                result.reason if result else "not finished",
                f"autoreproduce resume {folder}",
            )
        else:
            how, then = result.sentence or result.reason, f"{folder}/report.html"
        line = f"{folder}, {ago} ago: {clean(how)}"
        yield line if len(line) <= WIDEST_LINE else f"{line[: WIDEST_LINE - 1]}…"
        yield f"  {then}"

"""The command line. `reproduce` is what runs where no command is named.

`--help` answers from this module alone; a command's own module, with all that it needs, is imported when that
command is asked for. `tests/test_cli.py` keeps the two in agreement.
"""

from __future__ import annotations

from typing import Annotated, Any

import typer
from typer.core import TyperGroup

COMMANDS = {
    "reproduce": "Reproduce one experiment of a paper: code that runs, the metric measured, a report.",
    "resume": "Go on with a trial that was killed or stopped.",
    "tasks": "List the tasks of ReproduceBench.",
    "prepare": "Fetch or generate a task's data, or that of all tasks.",
    "suite": "Run tasks × variants × trials from a YAML file; the same command goes on.",
    "watch": "Watch a suite that runs in another terminal.",
    "reference": "Run a task's reference implementation in the sandbox and measure it; of all tasks one after another.",
    "new-task": "Make the folder of a new task of ReproduceBench.",
    "lineage": "Build a paper's lineage alone, and show it as a table.",
    "score": "Score a program, a trial or a folder of trials.",
    "calibrate": "Judge programs whose fidelity is known: can a judge be believed?",
    "table": "Tables over the trials below a folder: Markdown, LaTeX, CSV, JSON, plots.",
    "grade": "Grade code by a paper's rubric (PaperBench Code-Dev); the same command goes on.",
    "grades": "A table over gradings: each paper over its runs, and the mean over papers.",
    "rubrics": "Say what the rubrics of PaperBench hold, and which papers' texts are missing.",
    "mask": "Make proven tasks out of any repository: functions masked, a command to run, its numbers to reach.",
    "passes": "Pass@1 and Pass@k by agent and n, with intervals; a verifier over the same attempts.",
    "dataset": "Say what an AutoExperiment dataset holds, and name every fault of it.",
    "compare": "Compare two suites, paired by task and variant: B − A with its interval, win/tie/loss, ratio.",
    "report": "Write a trial's report again from its files, or a suite's as a static site.",
    "doctor": "Check what a trial needs on this machine, and name the mend of what is missing.",
    "graph": "Print the method's graph as Mermaid.",
}
MODULES = {  # the others are in cli_commands
    **dict.fromkeys(("score", "calibrate", "table", "compare"), "cli_score"),
    **dict.fromkeys(("suite", "watch"), "cli_suite"),
    **dict.fromkeys(("mask", "passes", "dataset"), "cli_autoexperiment"),
    **dict.fromkeys(("grade", "grades", "rubrics"), "cli_grade"),
}
OWN = ("--help", "--version", "--install-completion", "--show-completion")


class _Lazy(TyperGroup):
    """Knows the commands' names; `autoreproduce --task ...` is `autoreproduce reproduce --task ...`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Put `reproduce` before options that are not the group's own."""
        if args and args[0].startswith("-") and args[0].partition("=")[0] not in OWN:
            args = ["reproduce", *args]
        return super().parse_args(ctx, args)

    def list_commands(self, ctx: Any) -> list[str]:
        """The names, in the order in which one meets them."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """The command, imported now; None for an unknown one."""
        if cmd_name not in COMMANDS:
            return None
        from importlib import import_module

        from typer.main import get_command

        module = import_module(f"autoreproduce.{MODULES.get(cmd_name, 'cli_commands')}")
        found = get_command(module.app)
        return getattr(found, "commands", {}).get(cmd_name, found)  # a module of one command is that command

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """The table of commands, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl(list(COMMANDS.items()))


app = typer.Typer(
    cls=_Lazy,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Reproduces the experiments of machine-learning papers. Without a command: reproduce.",
    epilog="The main job: autoreproduce --arxiv 2301.12664 --task Darcy",
)


def _version(wanted: bool) -> None:
    if wanted:
        from autoreproduce import __version__

        print(f"autoreproduce {__version__}")
        raise typer.Exit


@app.callback()
def _main(version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True)] = False) -> None:
    """Reproduces the experiments of machine-learning papers."""

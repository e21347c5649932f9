"""What the measuring itself is worth, measured: run from a clone, and in no wheel.

python -m eval.lab attacks lsm        programs that fake a result, scored as any program
python -m eval.lab controls           papers' own code, whose truth is known, held against them
python -m eval.lab discriminate lsm   what a task's number tells from its reference
"""

from __future__ import annotations

import json as json_text
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from autoreproduce.cli.help import CommandApp
from autoreproduce.cli.options import Json, settings_options
from autoreproduce.config import Settings
from autoreproduce.errors import AutoReproduceError, UsageError

if TYPE_CHECKING:
    from eval.lab.discrimination import DiscriminationRow

app = CommandApp()
Out = Annotated[Path | None, typer.Option(help="the folder of the runs")]
Data = Annotated[Path | None, typer.Option(help="published files you have")]
say = partial(print, flush=True)


@app.command()
@settings_options("model", "sandbox", also=("profile",), main=("model", "base_url", "budget"))
def attacks(
    *,
    tasks: Annotated[list[str], typer.Argument(help="tasks of the benchmark")],
    program: Annotated[
        list[str] | None, typer.Option(help="only this, or honest; repeatable")
    ] = None,
    judge: Annotated[
        list[str] | None, typer.Option(help="a judge's model, provider:name; repeatable")
    ] = None,
    repeats: Annotated[int, typer.Option(min=1, help="readings by each judge")] = 1,
    levels: Annotated[str, typer.Option(help="some of them [all]", metavar="A,B")] = "",
    settings: Settings,
    data: Data = None,
    out: Out = None,
) -> None:
    """Run and score programs that fake a result, beside honest variations of the reference."""
    from autoreproduce.runner.api import default_judges
    from eval.lab.run_attacks import run_attacks

    names, wanted = judge or default_judges(settings), [one for one in levels.split(",") if one]
    home = out or settings.runs_dir / "attacks"
    given = (home, settings, say, program or [], data)
    caught = run_attacks(tasks, names, repeats, wanted, *given)
    raise typer.Exit(0 if caught else 1)


@app.command()
@settings_options("model", "sandbox", main=("model", "base_url", "budget"))
def controls(
    *,
    names: Annotated[list[str] | None, typer.Argument(help="controls [all]")] = None,
    settings: Settings,
    out: Out = None,
) -> None:
    """Run papers' own code, as it is and with planted faults, and hold it against the paper."""
    from eval.lab.run_controls import run_controls

    good = run_controls(names or [], out or settings.runs_dir / "controls", settings, say)
    raise typer.Exit(0 if good else 1)


@app.command()
@settings_options("sandbox", main=("seed", "sandbox"))
def discriminate(
    *,
    tasks: Annotated[
        list[str] | None, typer.Argument(metavar="TASK", help="ids, data sets or methods: all")
    ] = None,
    seeds: Annotated[int, typer.Option(min=0, help="runs a program, from --seed on")] = 3,
    program: Annotated[
        list[str] | None, typer.Option(help="only this, by name or role (baseline); repeatable")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="a file for the table: Markdown, or JSON lines with --json")
    ] = None,
    recorded: Annotated[
        bool, typer.Option("--recorded", help="show the recorded results, run nothing")
    ] = False,
    drawn: Annotated[
        bool, typer.Option("--drawn", help="run on secret draws, beside the reference")
    ] = False,
    settings: Settings,
    data: Data = None,
    json: Json = False,
) -> None:
    """Show what the number tells from the reference, at small size.

    Known mistakes, the method without its core and a simple baseline are run in the sandbox as the
    reference is. Finished runs are not repeated.
    """
    from autoreproduce.benchmarks.reproducebench.tasks import find_task, task_names
    from autoreproduce.cli.console.attempts import terminal_view
    from eval.lab.discriminate import DiscriminationPlan
    from eval.lab.discriminate import discriminate as run_programs
    from eval.lab.discrimination import recorded as recorded_of
    from eval.lab.discrimination import rows_of

    found_tasks = [find_task(name, "small") for name in tasks or task_names()]
    if drawn:
        from autoreproduce.runner.api_results import note_to_stderr
        from eval.lab.drawn import drawn_table, run_drawn

        over = range(settings.seed, settings.seed + seeds)
        given = (settings, over, program or (), data, note_to_stderr)
        runs = [run for task in found_tasks for run in run_drawn(task, *given)]
        _print_and_write(drawn_table(runs), out)
        return
    rows: list[DiscriminationRow] = []
    plan = DiscriminationPlan(settings, seeds, terminal_view(json), program or (), data)
    for task in found_tasks:
        if recorded:
            found = recorded_of(task)
        else:
            try:
                found = run_programs(task, plan)
            except KeyboardInterrupt:
                raise typer.Exit(130) from None
        rows += rows_of(task, found)
    _write_discrimination(rows, out, json)


def _write_discrimination(rows: list[DiscriminationRow], out: Path | None, json: bool) -> None:
    """The table on the terminal, and in the file `out`."""
    from eval.lab.discrimination import markdown

    _print_and_write(
        "\n".join(json_text.dumps(row.as_dict()) for row in rows) if json else markdown(rows), out
    )


def _print_and_write(text: str, out: Path | None) -> None:
    print(text)
    if out is None:
        return
    try:
        out.write_text(f"{text}\n", encoding="utf-8")
    except OSError as error:
        raise UsageError(f"--out {out} cannot be written ({error})", fix="name a file") from None


if __name__ == "__main__":
    try:
        app()
    except AutoReproduceError as error:
        print(f"eval.lab: {error}", file=sys.stderr)
        sys.exit(error.exit_code)

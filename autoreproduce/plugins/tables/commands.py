"""The commands `table`, `board` and `compare`: what many finished trials come to."""

from __future__ import annotations

import json as json_module
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autoreproduce.cli.help import CommandApp
from autoreproduce.cli.options import Json
from autoreproduce.errors import UsageError

if TYPE_CHECKING:
    from autoreproduce.evaluation.tables.model import Table
    from autoreproduce.plugins.tables.compare import Compared

app = CommandApp()
AllColumns = Annotated[
    bool, typer.Option("--all", help="all columns on the screen; the files always have them")
]


@app.command()
def table(
    *,
    folder: Annotated[Path, typer.Argument(help="a suite's folder, or any folder of trials")],
    human: Annotated[Path | None, typer.Option(help="people's scores: a CSV file")] = None,
    out: Annotated[Path | None, typer.Option(help="where the tables go [FOLDER/tables]")] = None,
    all_columns: AllColumns = False,
    json: Json = False,
) -> None:
    """Tables over trials: Markdown, LaTeX, CSV, JSON, plots."""
    from autoreproduce.evaluation.tables.rows import read_rows
    from autoreproduce.evaluation.tables.write import write_tables
    from autoreproduce.plugins.tables.build import tables
    from autoreproduce.plugins.tables.human import matched, read_human
    from autoreproduce.plugins.tables.plots import draw
    from autoreproduce.runner.api_results import note_to_stderr

    rows = read_rows(folder, note_to_stderr)
    trials = [row.trial for row in rows]
    scores = matched(read_human(human), trials, folder, note_to_stderr) if human else None
    made, home = tables(rows, scores), out or folder / "tables"
    _print_tables(made, all_columns, json)
    written = [*write_tables(made, home), *draw(rows, home, scores)]
    if not json:
        print(f"{len(written)} files in {home}")


@app.command()
def board(
    *,
    folders: Annotated[
        list[Path] | None,
        typer.Argument(metavar="DIR", help="suites' folders, or folders of trials"),
    ] = None,
    submission: Annotated[
        list[Path] | None,
        typer.Option(metavar="FILE", help="run the programs of this file too; repeatable"),
    ] = None,
    profile: Annotated[str, typer.Option(help="only trials of this profile")] = "",
    out: Annotated[Path | None, typer.Option(help="[first DIR/board]")] = None,
    site: Annotated[
        bool, typer.Option("--site", help="also a page per system, task and trial")
    ] = False,
    all_columns: AllColumns = False,
    json: Json = False,
) -> None:
    """One page: systems by task, in quality and cost."""
    from autoreproduce.evaluation.tables.model import Cell
    from autoreproduce.evaluation.tables.write import write_tables
    from autoreproduce.plugins.tables.board import board_tables, read_board, systems_of
    from autoreproduce.plugins.tables.board_page import write_board
    from autoreproduce.plugins.tables.submission import measure_submission, missing_table
    from autoreproduce.runner.api_results import note_to_stderr

    if not (given := list(folders or ())) and not (submission and out):
        raise UsageError("a board of nothing", fix="name a folder, or --submission and --out")
    home, missing = out or given[0] / "board", list[list[Cell]]()
    for file in submission or ():
        trials, without = measure_submission(file, home, note_to_stderr)
        given, missing = [*given, trials], missing + without
    systems = systems_of(read_board(given, profile, note_to_stderr))
    made = board_tables(systems) + ([missing_table(missing)] if missing else [])
    write_tables(made, home)
    page = write_board(systems, made, home, site, all_columns)
    _print_tables(made, all_columns, json)
    if not json:
        print(page)


@app.command()
def compare(
    *,
    first: Annotated[Path, typer.Argument(help="a suite's folder, or any folder of trials: A")],
    second: Annotated[Path, typer.Argument(help="the other: B")],
    variants: Annotated[
        str,
        typer.Option(
            help="X of A against Y of B [those that both have]", metavar="X,Y", show_default=False
        ),
    ] = "",
    json: Annotated[bool, typer.Option("--json", help="one JSON object a measure")] = False,
) -> None:
    """Compare two suites, paired by task and variant.

    It shows B − A with its interval, win/tie/loss and the ratio; then the readings that ran.
    """
    from autoreproduce.evaluation.tables.rows import one_machine, read_together
    from autoreproduce.plugins.tables.compare import compare as compare_rows
    from autoreproduce.plugins.tables.compare import of_variants, readings_of

    names = [name.strip() for name in variants.split(",")] if variants else []
    if len(names) > 2:
        raise UsageError(
            f"--variants {variants}: one of A and one of B are compared", fix="write X,Y"
        )
    rows = read_together([first, second])
    ours, theirs, notes = of_variants(rows[0], rows[1], names)
    found = compare_rows(ours, theirs)
    if not one_machine([*ours, *theirs]):
        notes.append("Seconds are not compared: the trials ran on other machines.")
    readings = [*readings_of("A", first, ours), *readings_of("B", second, theirs)]
    _print_comparison(found, readings, notes, f"A: {first}, B: {second}", json)


def _print_tables(made: list[Table], all_columns: bool, json: bool) -> None:
    from autoreproduce.evaluation.tables.model import narrowed
    from autoreproduce.evaluation.tables.write import data, markdown

    for one in made:
        if json:
            print(json_module.dumps(json_module.loads(data(one))))
        else:
            print(markdown(one if all_columns else narrowed(one)))


def _print_comparison(
    found: list[Compared], readings: list[list[Any]], notes: list[str], title: str, json: bool
) -> None:
    from dataclasses import asdict

    from autoreproduce.evaluation.tables.model import Table
    from autoreproduce.evaluation.tables.write import markdown

    of_reading = ["task", "side", "reading", "experiment", "claims reproduced", "seeds"]
    if json:
        for note in notes:
            print(note, file=sys.stderr)
        for one in found:
            print(json_module.dumps(asdict(one)))
        for row in readings:
            print(json_module.dumps(dict(zip(of_reading, row, strict=True))))
        return
    columns = ["measure", "tasks", "A", "B", "B − A", "B wins", "ties", "B loses", "B / A"]
    rows: list[list[Any]] = [
        [o.measure, o.tasks, o.first, o.second, o.difference, o.wins, o.ties, o.losses, o.ratio]
        for o in found
    ]
    print(markdown(Table("compare", title, columns, rows, notes)))
    if readings:
        told = "What the papers leave open, worst reading first"
        print(markdown(Table("readings", told, of_reading, readings, [])))

"""The commands that judge: score, calibrate, table."""

from __future__ import annotations

import json as json_module
import math
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.options import settings_options

if TYPE_CHECKING:
    from autoreproduce.runner.score import Scored

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)
Judges = Annotated[list[str] | None, typer.Option("--judge", help="a judge's model, provider:name; may be repeated")]
Repeats = Annotated[int, typer.Option(min=1, help="how often each judge reads")]


@app.command()
@settings_options
def score(
    settings: Settings,
    path: Annotated[str, typer.Argument(help="a file, folder, archive or git URL; a trial; a folder of trials")],
    task: Annotated[str | None, typer.Option(help="data set, task id or method; any name with --metric")] = None,
    levels: Annotated[str, typer.Option(help="paper,code,mixed,execution,gap,structure,lineage,edits,cost")] = "",
    judge: Judges = None,
    repeats: Repeats = 1,
    run: Annotated[str | None, typer.Option(help="run the program by this command in the sandbox first")] = None,
    paper: Annotated[
        Path | None, typer.Option(help="the paper as a file, where the task is not the benchmark's")
    ] = None,
    reference: Annotated[str | None, typer.Option(help="a reference program, in place of the task's own")] = None,
    metric: Annotated[str | None, typer.Option(help="of a task of your own: NAME, or NAME:higher")] = None,
    instruction: Annotated[str, typer.Option(help="what else the judge must know")] = "",
    data: Annotated[Path | None, typer.Option(help="folder with the data")] = None,
    out: Annotated[Path | None, typer.Option(help="the trial's folder")] = None,
    fail_under: Annotated[list[str] | None, typer.Option(help="LEVEL=VALUE: exit 1 below it; may be repeated")] = None,
    json: Annotated[bool, typer.Option("--json", help="one JSON object a trial")] = False,
) -> None:
    """Score a program, a trial or a folder of trials."""
    from autoreproduce.runner.find import find_or_make_task
    from autoreproduce.runner.score import ScoreRequest, score_all

    floors = _floors(fail_under or [])
    own = None if metric is None and (paper is None or task is None) else metric or "metric"
    found = find_or_make_task(task, None, paper, own, instruction, settings.profile) if task or paper else None
    request = ScoreRequest(
        path=path, settings=settings, task=found, levels=[level for level in levels.split(",") if level],
        judges=judge or ([settings.model] if settings.model else []), repeats=repeats, run=run, paper=paper,
        reference=reference, data=data, out=out, note=lambda text: print(text, file=sys.stderr),
    )  # fmt: skip
    scored, damaged = score_all(request)
    for one in scored:
        _say(one, json)
    raise typer.Exit(_exit_code(scored, floors) or (3 if damaged else 0))


@app.command()
@settings_options
def calibrate(
    settings: Settings,
    tasks: Annotated[list[str], typer.Argument(help="tasks of the benchmark")],
    judge: Judges = None,
    repeats: Repeats = 1,
    levels: Annotated[str, typer.Option(help="paper,code,mixed")] = "paper,code,mixed",
    out: Annotated[Path | None, typer.Option(help="the calibration's folder")] = None,
) -> None:
    """Judge programs whose fidelity is known: can a judge be believed?"""
    from autoreproduce.runner.calibrate import run_calibration

    names = judge or ([settings.model] if settings.model else [])
    if not names:
        raise UsageError("no judge is named: add --judge provider:name, or --judge NAME with --base-url")
    wanted = [level for level in levels.split(",") if level]
    home = out or settings.runs_dir / "calibration"
    as_expected = run_calibration(tasks, names, repeats, wanted, home, settings, lambda text: print(text, flush=True))
    raise typer.Exit(0 if as_expected else 1)


@app.command()
def table(
    folder: Annotated[Path, typer.Argument(help="a suite's folder, or any folder of trials")],
    human: Annotated[Path | None, typer.Option(help="people's scores: a CSV file")] = None,
    out: Annotated[Path | None, typer.Option(help="where the tables go [FOLDER/tables]")] = None,
    json: Annotated[bool, typer.Option("--json", help="one JSON object a table")] = False,
) -> None:
    """Tables over the trials below a folder: Markdown, LaTeX, CSV, JSON, plots."""
    from autoreproduce.eval.human import matched, read_human
    from autoreproduce.eval.tables.build import tables
    from autoreproduce.eval.tables.rows import read_rows
    from autoreproduce.eval.tables.write import data, draw, markdown, write_tables

    rows, told = read_rows(folder), partial(print, file=sys.stderr)
    scores = matched(read_human(human), [row.trial for row in rows], folder, told) if human else None
    made, home = tables(rows, scores), out or folder / "tables"
    for one in made:
        print(json_module.dumps(json_module.loads(data(one))) if json else markdown(one))
    written = [*write_tables(made, home), *draw(rows, home, scores)]
    if not json:
        print(f"{len(written)} files in {home}")


@app.command()
def compare(
    first: Annotated[Path, typer.Argument(help="a suite's folder, or any folder of trials: A")],
    second: Annotated[Path, typer.Argument(help="the other: B")],
    variants: Annotated[str, typer.Option(help="X,Y: X of A against Y of B [those that both have]")] = "",
    json: Annotated[bool, typer.Option("--json", help="one JSON object a measure")] = False,
) -> None:
    """Compare two suites, paired by task and variant: B − A with its interval, win/tie/loss, ratio."""
    from dataclasses import asdict

    from autoreproduce.eval.compare import compare as compare_rows
    from autoreproduce.eval.compare import of_variants
    from autoreproduce.eval.tables.build import Table
    from autoreproduce.eval.tables.rows import machine_of, read_rows
    from autoreproduce.eval.tables.write import markdown

    machines = machine_of(first), machine_of(second)
    names = [name.strip() for name in variants.split(",")] if variants else []
    if len(names) > 2:
        raise UsageError(f"--variants {variants}: one of A and one of B are compared: write X,Y")
    ours, theirs, notes = of_variants(read_rows(first), read_rows(second), names)
    found = compare_rows(ours, theirs, machines)
    if machines[0] != machines[1]:
        notes.append("Seconds are not compared: the trials ran on other machines.")
    if json:
        for note in notes:
            print(note, file=sys.stderr)
        for one in found:
            print(json_module.dumps(asdict(one)))
        return
    columns = ["measure", "tasks", "A", "B", "B − A", "B wins", "ties", "B loses", "B / A"]
    rows: list[list[Any]] = [
        [o.measure, o.tasks, o.first, o.second, o.difference, o.wins, o.ties, o.losses, o.ratio] for o in found
    ]
    print(markdown(Table("compare", f"A: {first}, B: {second}", columns, rows, notes)))


def _floors(given: list[str]) -> dict[str, float]:
    from autoreproduce.eval.scorers import LEVELS

    floors = {}
    for text in given:
        level, _, value = text.partition("=")
        try:
            floors[level] = float(value)
        except ValueError:
            raise UsageError(f"--fail-under {text}: write LEVEL=VALUE, e.g. mixed=60") from None
        if math.isnan(floors[level]):
            raise UsageError(f"--fail-under {text}: nothing is below it: write a number, e.g. mixed=60")
        if level not in LEVELS:
            raise UsageError(f"--fail-under {text}: there is no level {level!r}: choose among {', '.join(LEVELS)}")
    return floors


def _exit_code(scored: list[Scored], floors: dict[str, float]) -> int:
    """1 where a score is below its floor (a gap above it), 3 where one that was asked for could not be had."""
    below = [
        score
        for one in scored
        for score in one.scores
        if score.scorer in floors and score.value is not None and _worse(score.scorer, score.value, floors)
    ]  # fmt: skip
    missing = any(one.missing or floors.keys() - _had(one) for one in scored)  # a floor asks for its score too
    return 1 if below else 3 if missing else 0


def _had(one: Scored) -> set[str]:
    """The levels that have a score."""
    return {score.scorer for score in one.scores if score.value is not None}


def _worse(level: str, value: float, floors: dict[str, float]) -> bool:
    """Beyond the bound on the bad side; of a gap and a cost more is worse."""
    return value > floors[level] if level in ("gap", "cost") else value < floors[level]


def _say(one: Scored, json: bool) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    if json:
        scores = [{"level": s.scorer, "value": s.value, "reason": s.reason} for s in one.scores]
        print(json_module.dumps({"folder": str(one.folder), "task": one.task.id, "scores": scores}))
        return
    table = Table("level", "score", "spread", "what came of it", box=None, header_style="bold", title_justify="left",
                  title=Text(str(one.folder)))  # fmt: skip
    for score in one.scores:
        spread = score.details.get("spread")
        table.add_row(score.scorer, _number(score.value), _number(spread, ""), Text(score.reason))
    Console().print(table)
    print(f"Scores: {one.folder / 'scores.json'}  Page: {one.page}")


def _number(value: Any, without: str = "–") -> str:
    return without if value is None else f"{value:.4g}"

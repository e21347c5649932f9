"""The commands of AutoExperiment: `mask` makes tasks out of a repository, `dataset` says what a data folder holds."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.options import settings_options

app = typer.Typer(pretty_exceptions_enable=False, rich_markup_mode=None)


@app.command()
@settings_options
def mask(
    settings: Settings,
    repo: Annotated[Path, typer.Argument(help="the repository's folder")],
    command: Annotated[list[str], typer.Option(help="bash line of an experiment, with {seed} or $SEED; repeatable")],
    functions: Annotated[list[str] | None, typer.Option(help="FILE::NAME or FILE::CLASS.NAME; repeatable")] = None,
    n: Annotated[str, typer.Option(help="how many functions at once: 1..5, 2 or 1,3")] = "1..5",
    results: Annotated[str | None, typer.Option(help="JSON file that the command writes; else what it prints")] = None,
    out: Annotated[Path, typer.Option(help="the task set's folder, made or added to")] = Path("taskset"),
    paper: Annotated[Path | None, typer.Option(help="the paper's text: .txt or .md")] = None,
    paper_id: Annotated[str | None, typer.Option(help="its id in the set [the repository's name]")] = None,
    title: Annotated[str, typer.Option(help="the paper's title")] = "",
    seeds: Annotated[int, typer.Option(min=1, help="runs for the gold values")] = 3,
    most: Annotated[int, typer.Option(min=1, help="functions to choose where none are named")] = 6,
    sample: Annotated[int, typer.Option(min=1, help="tasks of each n")] = 10,
    timeout: Annotated[float, typer.Option(min=1, help="seconds for one run of a command")] = 600.0,
    data: Annotated[Path | None, typer.Option(help="folder with the data, $DATA_DIR in the sandbox")] = None,
    describe: Annotated[bool, typer.Option("--describe", help="by --model, not from docstrings")] = False,
) -> None:  # fmt: skip
    """Make proven tasks out of any repository: functions masked, a command to run, its numbers to reach."""
    from autoreproduce.autoexperiment.making import made_text, make_tasks
    from autoreproduce.autoexperiment.outcome import Place
    from autoreproduce.autoexperiment.trying import Asked
    from autoreproduce.runner.describing import describer
    from autoreproduce.runner.find import data_folder

    name = paper_id or re.sub(r"[^A-Za-z0-9.-]+", "-", repo.resolve().name).strip("-.")
    if data is not None:
        data_folder(data)
    asked = Asked(
        repo, tuple(command), out, name, tuple(functions or ()), numbers(n), results, _text(paper), title, seeds,
        most, sample, timeout,
    )  # fmt: skip
    place = Place(settings, settings.cache_dir / "packages" / "mask", data, "mask", trusted=True, note=_say)
    writer = describer(settings, settings.runs_dir / "descriptions") if describe else None
    made = make_tasks(asked, place, writer)
    print(made_text(made))
    raise typer.Exit(0 if made.proven else 1)


@app.command()
def dataset(
    folder: Annotated[Path, typer.Argument(help="a clone of the public repository, or a set made by mask")],
) -> None:
    """Say what an AutoExperiment dataset holds, and name every fault of it."""
    from autoreproduce.autoexperiment.audit import audit, audit_text
    from autoreproduce.autoexperiment.dataset import load_dataset
    from autoreproduce.autoexperiment.selection import counts

    found = load_dataset(folder)
    print(audit_text(found, audit(found)))
    print("all combinations: " + ", ".join(f"n={n}: {count}" for n, count in counts(found).items()))


@app.command()
@settings_options
def passes(
    settings: Settings,
    folder: Annotated[Path, typer.Argument(help="a suite's folder with attempts on masked functions")],
    at: Annotated[str, typer.Option(help="Pass@k for these, e.g. 1,3")] = "1",
    by: Annotated[str, typer.Option(help="verify by agreement,checker,reader")] = "",
) -> None:
    """Pass@1 and Pass@k by agent and n, with intervals; a verifier over the same attempts."""
    from autoreproduce.eval.tables.write import markdown, write_tables
    from autoreproduce.runner.pass_tables import draw_passes, pass_tables
    from autoreproduce.runner.passes import WAYS, read_attempts, verify

    ways = [way for way in by.split(",") if way]
    if wrong := [way for way in ways if way not in WAYS]:
        raise UsageError(f"--by {wrong[0]}: there is {', '.join(WAYS)}")
    if not all(ks := numbers(at, "--at")):
        raise UsageError(f"--at {at}: Pass@k is of one attempt or more, so k begins at 1")
    attempts = [attempt for _, _, attempt in read_attempts(folder)]
    tables = pass_tables(attempts, ks)
    if ways:
        tables.append(verify(folder, [way for way in WAYS if way in ways], settings.model, settings, _say))
    for table in tables:
        print(markdown(table))
    write_tables(tables, folder / "tables")
    print(f"The curve over n: {draw_passes(attempts, folder / 'tables' / 'passes.svg')}")


def numbers(text: str, flag: str = "--n") -> tuple[int, ...]:
    """`1..5`, `2` or `1,3` as numbers. Raises UsageError."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:\s*\.\.\s*(\d+))?\s*", part)
        if match is None or (match[2] and int(match[2]) < int(match[1])):
            raise UsageError(f"{flag} {text} is not understood: write 1..5, 2 or 1,3")
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return tuple(dict.fromkeys(found))


def _text(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"--paper {path} cannot be read ({error}): give it as UTF-8 text") from None


def _say(text: str) -> None:
    import sys

    print(text, file=sys.stderr)

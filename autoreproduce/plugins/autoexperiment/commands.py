"""The commands `passes` and `dataset`: masked functions (AutoExperiment)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated

import typer

from autoreproduce.cli.help import CommandApp
from autoreproduce.cli.options import settings_options
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError

app = CommandApp()


@app.command()
@settings_options(also=("cache_dir",))
def dataset(
    *,
    folder: Annotated[
        Path, typer.Argument(help="a clone of the public repository, or a set made by maskmaker")
    ],
    harbor: Annotated[
        Path | None, typer.Option(help="write tasks for Harbor, with --n and --sample")
    ] = None,
    n: Annotated[str, typer.Option(help="for --harbor: masked functions")] = "0..3",
    sample: Annotated[
        int | None, typer.Option(min=1, help="for --harbor: tasks for each n")
    ] = None,
    data: Annotated[Path | None, typer.Option(help="for --harbor: the data, $DATA_DIR")] = None,
    settings: Settings,
) -> None:
    """Show what an AutoExperiment dataset holds, or export it."""
    from autoreproduce.evaluation.report.wording import plural
    from autoreproduce.plugins.autoexperiment.dataset import load_dataset
    from autoreproduce.plugins.autoexperiment.selection import counts, select_tasks

    found = load_dataset(folder)
    if harbor is not None:
        from autoreproduce.plugins.autoexperiment.harbor import export_tasks

        tasks = select_tasks(found, numbers(n), sample=sample)
        print(*export_tasks(tasks, harbor, settings.cache_dir, data), sep="\n")
        return
    print(f"{plural(len(found.papers), 'paper')}")
    print("all combinations: " + ", ".join(f"n={n}: {count}" for n, count in counts(found).items()))
    for fault in found.faults.found:
        print(fault)


@app.command()
def passes(
    *,
    folder: Annotated[Path, typer.Argument(help="a suite's folder")],
    at: Annotated[str, typer.Option(help="Pass@k for these, e.g. 1,3")] = "1",
) -> None:
    """Pass@1 and Pass@k with intervals."""
    from autoreproduce.evaluation.tables.model import can_draw
    from autoreproduce.evaluation.tables.write import markdown, write_tables
    from autoreproduce.plugins.autoexperiment.attempts import read_attempts
    from autoreproduce.plugins.autoexperiment.pass_tables import draw_passes, pass_tables
    from autoreproduce.runner.api_results import note_to_stderr

    if not all(ks := numbers(at, "--at")):
        raise UsageError(f"--at {at}", fix="Pass@k is of one attempt or more, so k begins at 1")
    attempts = [attempt for _, _, attempt in read_attempts(folder, note_to_stderr)]
    tables = pass_tables(attempts, ks)
    for table in tables:
        print(markdown(table))
    write_tables(tables, folder / "tables")
    if can_draw():
        print(f"The curve over n: {draw_passes(attempts, folder / 'tables' / 'passes.svg')}")


def numbers(text: str, flag: str = "--n") -> tuple[int, ...]:
    """`1..5`, `2` or `1,3` as numbers. Raises UsageError."""
    found: list[int] = []
    for part in text.split(","):
        match = re.fullmatch(r"\s*(\d+)(?:\s*\.\.\s*(\d+))?\s*", part)
        if match is None or (match[2] and int(match[2]) < int(match[1])):
            raise UsageError(f"{flag} {text} is not understood", fix="write 1..5, 2 or 1,3")
        found += range(int(match[1]), int(match[2] or match[1]) + 1)
    return tuple(dict.fromkeys(found))

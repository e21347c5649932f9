"""The program `maskmaker`: `mask` makes a set of a repository, `prove` runs the proofs of one."""

from __future__ import annotations

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Literal

import typer

from autoreproduce.cli.help import CommandApp
from autoreproduce.cli.options import ADVANCED, settings_options
from autoreproduce.config import Settings
from autoreproduce.errors import AutoReproduceError, UsageError
from autoreproduce.plugins.autoexperiment.commands import numbers

app = CommandApp()
Commands = Annotated[
    list[str] | None,
    typer.Option(help="bash line of an experiment, with {seed} or $SEED; repeatable"),
]
Results = Annotated[
    str | None, typer.Option(help="JSON file that the command writes; else what it prints")
]
Functions = Annotated[
    list[str] | None, typer.Option(help="FILE::NAME or FILE::CLASS.NAME; repeatable")
]
Requirements = Annotated[Path | None, typer.Option(help="file of packages: h5py, yacs==0.1.8")]
Most = Annotated[
    int, typer.Option(min=1, help="functions to choose if none are named", rich_help_panel=ADVANCED)
]
Sample = Annotated[int, typer.Option(min=1, help="tasks of each n", rich_help_panel=ADVANCED)]
Timeout = Annotated[
    float, typer.Option(min=1, help="seconds for one run of a command", rich_help_panel=ADVANCED)
]
Described = Annotated[bool, typer.Option("--describe", help="with --model, not from docstrings")]
Rewritten = Annotated[
    bool, typer.Option("--rewrite", help="faulty bodies with --model too, for the proofs")
]
PaperId = Annotated[
    str | None,
    typer.Option(help="its id in the set [the repository's name]", rich_help_panel=ADVANCED),
]
Workers = Annotated[int, typer.Option(min=1, help="proofs at once")]


@app.command()
@settings_options("model", "sandbox", also=("retrieval",), main=("sandbox",))
def mask(
    *,
    repo: Annotated[Path, typer.Argument(help="the repository's folder")],
    command: Commands = None,
    functions: Functions = None,
    n: Annotated[str, typer.Option(help="how many functions at once: 1..5, 2 or 1,3")] = "1..5",
    results: Results = None,
    out: Annotated[Path, typer.Option(help="the task set's folder, made or added to")] = Path(
        "taskset"
    ),
    paper: Annotated[Path | None, typer.Option(help="the paper's text: .txt or .md")] = None,
    data: Annotated[Path | None, typer.Option(help="the data, $DATA_DIR in the sandbox")] = None,
    requirements: Requirements = None,
    workers: Workers = 1,
    describe: Described = False,
    rewrite: Rewritten = False,
    settings: Settings,
    paper_id: PaperId = None,
    title: Annotated[str, typer.Option(help="the paper's title", rich_help_panel=ADVANCED)] = "",
    seeds: Annotated[
        int, typer.Option(min=1, help="runs for the gold values", rich_help_panel=ADVANCED)
    ] = 3,
    most: Most = 6,
    sample: Sample = 10,
    timeout: Timeout = 600.0,
) -> None:
    """Make tasks of any repository: functions masked, proven.

    A task is a command to run and its numbers to reach.
    """
    from autoreproduce.runner.api_results import note_to_stderr
    from autoreproduce.runner.find import data_folder
    from autoreproduce.sandboxes.package_lists import read_requirements, with_packages
    from autoreproduce.sandboxes.setup import SandboxSetup
    from maskmaker.describe import FunctionWriter
    from maskmaker.making import made_text, make_tasks
    from maskmaker.measure_original import MaskRequest

    name = paper_id or re.sub(r"[^A-Za-z0-9.-]+", "-", repo.resolve().name).strip("-.")
    if not repo.is_dir():
        raise UsageError(f"{repo} isn't a folder that exists", fix="name a repository's folder")
    if data is not None:
        data_folder(data)
    packages = read_requirements(requirements) if requirements else ()
    asked = MaskRequest(
        repo,
        tuple(command or ()),
        out,
        name,
        tuple(functions or ()),
        numbers(n),
        results,
        _paper_text(paper),
        title,
        seeds,
        most,
        sample,
        timeout,
        workers=workers,
        data_dir=data,
        packages=packages,
    )
    cache = settings.cache_dir / "packages" / "mask"
    plain = SandboxSetup(settings, cache, data, "mask", note=note_to_stderr)
    place = with_packages(plain, packages)
    if describe or rewrite:
        writer = FunctionWriter(settings, settings.runs_dir / "descriptions")
        asked = replace(asked, rewrite=writer.rewrite if rewrite else None)
    made = make_tasks(asked, place, writer.describe if describe else None)
    print(made_text(made))
    raise typer.Exit(0 if made.proven else 1)


@app.command()
@settings_options("sandbox", main=("sandbox",))
def prove(
    *,
    folder: Annotated[
        Path, typer.Argument(help="a clone of the public repository, or a set made by mask")
    ],
    n: Annotated[str, typer.Option(help="masked functions")] = "0..3",
    sample: Annotated[int | None, typer.Option(min=1, help="tasks for each n")] = None,
    workers: Workers = 1,
    data: Annotated[Path | None, typer.Option(help="the data, $DATA_DIR")] = None,
    gold: Annotated[
        Literal["set", "here"], typer.Option(help="here uses this machine's numbers")
    ] = "set",
    settings: Settings,
) -> None:
    """Run each task of a set: masked it must fail, restored it must pass.

    Writes proofs.jsonl.
    """
    from autoreproduce.plugins.autoexperiment.dataset import load_dataset
    from autoreproduce.plugins.autoexperiment.environment import places_of_papers
    from autoreproduce.runner.api_results import note_to_stderr
    from maskmaker.proving import proofs_text, prove_set

    place = places_of_papers(settings, data, note_to_stderr)
    found = load_dataset(folder)
    made = prove_set(found, numbers(n), place, workers, note_to_stderr, sample, gold == "here")
    print(proofs_text(made))
    raise typer.Exit(0 if all(each.proven for each in made) else 1)


def _paper_text(path: Path | None) -> str:
    if path is None:
        return ""
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(
            f"--paper {path} cannot be read ({error})", fix="give it as UTF-8 text"
        ) from None


def main() -> None:
    """Run the command line; an error of ours is one line on stderr and its exit code."""
    from autoreproduce.runner.signals import interrupting

    try:
        with interrupting():
            app()
    except AutoReproduceError as error:
        print(f"maskmaker: {error}", file=sys.stderr)
        sys.exit(error.exit_code)


if __name__ == "__main__":
    main()

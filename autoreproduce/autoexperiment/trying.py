"""The commands of a new task set tried out on the code as it is: what they reach, and what they report by seed."""

from __future__ import annotations

import tempfile
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from autoreproduce import Sandbox
from autoreproduce.autoexperiment.failing import why_failed
from autoreproduce.autoexperiment.gold import FLOOR, Gold, gold_of
from autoreproduce.autoexperiment.layout import copy_code
from autoreproduce.autoexperiment.outcome import Place, open_place, seeded
from autoreproduce.autoexperiment.parsing import Read, read_output, read_results_file
from autoreproduce.autoexperiment.reach import Reached, reach, shown
from autoreproduce.errors import SandboxError, UsageError


@dataclass(frozen=True)
class Asked:
    """What `mask` is asked for. `commands` are one experiment each; `{seed}` in one, or $SEED, is the seed."""

    repository: Path
    commands: tuple[str, ...]
    out: Path
    paper_id: str
    functions: tuple[str, ...] = ()
    n: tuple[int, ...] = (1, 2, 3, 4, 5)
    results: str | None = None
    paper: str = ""
    title: str = ""
    seeds: int = 3
    most_functions: int = 6
    sample: int | None = 10
    timeout: float = 600.0
    floor: float = FLOOR


@dataclass
class Run:
    """One command tried out: the functions it reaches, its results by seed, the seconds of the longest run."""

    command: str
    reached: list[Reached]
    results: list[Any]
    seconds: float


def tried(asked: Asked, place: Place, notes: list[str]) -> list[Run]:
    """Every command in fresh copies: once under the tracer, then for each seed. One that fails is noted and left."""
    runs = []
    for command in asked.commands:
        with tempfile.TemporaryDirectory(prefix="mask-") as made:
            try:
                runs.append(_try(asked, place, command, Path(made)))
            except UsageError as error:
                notes.append(str(error))
    if not runs:
        raise UsageError("; ".join(notes))
    return runs


def _try(asked: Asked, place: Place, command: str, made: Path) -> Run:
    workspace = made / "reach"
    copy_code(asked.repository, workspace)
    with closing(open_place(place, workspace)) as sandbox:
        done, reached = reach(sandbox, workspace, seeded(command, 0), asked.timeout)
    if not done.ok:
        kind, reason = why_failed(done)
        raise UsageError(f"the command `{shown(command)}` does not run on the code as it is ({kind}): {reason}")
    results, seconds = [], 0.0
    for number, seed in enumerate(range(asked.seeds) if asked.seeds > 1 else (0, 0)):  # one run tells of no spread
        folder = made / f"run{number}"
        copy_code(asked.repository, folder)
        read, took = _results(asked, place, command, folder, seed)
        results.append(read)
        seconds = max(seconds, took)
    return Run(command, reached, results, seconds)


def _results(asked: Asked, place: Place, command: str, folder: Path, seed: int) -> tuple[Any, float]:
    with closing(open_place(place, folder)) as sandbox:
        done = sandbox.execute(seeded(command, seed), asked.timeout)
        if not done.ok:
            kind, reason = why_failed(done)
            raise UsageError(f"the command `{shown(command)}` fails for seed {seed} ({kind}): {reason}")
        read = _read(asked.results, done.stdout, sandbox)
    if read.value is None:
        raise UsageError(f"the command `{shown(command)}` reports no result: {read.how}, or name a file by --results")
    return read.value, done.seconds


def _read(results: str | None, output: str, sandbox: Sandbox) -> Read:
    if results is None:
        return read_output(output)
    try:
        return read_results_file(sandbox.read(results))
    except (FileNotFoundError, SandboxError) as error:
        return Read(None, f"{results} was not written ({error})")


def together(runs: Sequence[Run]) -> list[Reached]:
    """What any of the commands reaches, with all its callers."""
    found: dict[tuple[str, str], Reached] = {}
    for each in (reached for run in runs for reached in run.reached):
        key = (each.file, each.function.address)
        known = found.get(key)
        found[key] = replace(each, callers=each.callers | known.callers) if known else each
    return list(found.values())


def golds_of(asked: Asked, runs: Sequence[Run], notes: list[str]) -> list[tuple[Run, Gold]]:
    """Gold and tolerances of each command; one whose results cannot be judged is noted and left."""
    found = []
    for run in runs:
        try:
            gold = gold_of(run.results, asked.floor)
        except UsageError as error:
            notes.append(f"`{shown(run.command)}`: {error}")
            continue
        notes += [f"`{shown(run.command)}`: {note}" for note in gold.notes]
        found.append((run, gold))
    return found

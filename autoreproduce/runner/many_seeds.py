"""Many seeds of a fast program, one after the other in one process, by its own `--seed`.

Importing what a program needs may take longer than its run, and a journal step for each would be
long too; so where a distribution is asked of a program that ends within seconds, a driver runs it
again and again in a fresh copy: the same command with another seed, the program's own modules
loaded anew, and what it left behind removed. The first seed runs twice: if the second time gives
another number, the program keeps something from run to run, and each seed takes a process.
"""

from __future__ import annotations

import json
import math
import re
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from autoreproduce.claims.verdicts.trial_verdict import SeedRun
from autoreproduce.errors import SandboxError
from autoreproduce.files.bounded import is_number, is_usable, parse_json
from autoreproduce.files.tree import Tree
from autoreproduce.trials.steps import ExecutionResult

if TYPE_CHECKING:
    from pathlib import Path

    from autoreproduce.runner.repeater import Repeater

DRIVER, ASKED, FOUND = "many_seeds.py", "many_seeds.json", "many_seeds.jsonl"
LEAST_SECONDS, MOST_SECONDS = 120.0, 600.0  # for all that nobody asked for
MOST_UNASKED = 200  # seeds
GRACE = 30.0  # seconds beside the driver's own deadline
LARGEST = 64_000_000  # bytes of what it found
MOST_NUMBERS = 1000  # of one run
SAME = 1e-3  # relative: some numbers of the first run were recomputed
_PLAIN = re.compile(r"[\w./=:,+@% -]+")

SOURCE = '''"""Runs a program with one seed after the other in this process."""
import contextlib, json, os, runpy, sys, time

began, here = time.monotonic(), os.getcwd()
with open("ASKED") as file:
    asked = json.load(file)


def files():
    return {os.path.join(folder, name) for folder, _, names in os.walk(here) for name in names}


def run(argv):
    """What the program writes under `metrics`; its own modules are loaded anew."""
    for name, module in list(sys.modules.items()):
        path = getattr(module, "__file__", None) or ""
        if name != "__main__" and path.startswith(here + os.sep) and "site-packages" not in path:
            del sys.modules[name]
    sys.argv = list(argv)
    with open(os.devnull, "w") as nothing, contextlib.redirect_stdout(nothing):
        try:
            runpy.run_path(argv[0], run_name="__main__")
        except SystemExit as end:
            if end.code not in (None, 0):
                raise RuntimeError(f"it ended with {end.code}")
        finally:
            os.chdir(here)
    with open("metrics.json") as file:
        metrics = json.load(file)["metrics"]
    for path in files() - there:
        os.remove(path)
    return metrics


with open("FOUND", "w") as out:
    there = files()
    longest, before = 0.0, []
    for seed, argv in asked["runs"]:
        start = time.monotonic()
        if start - began + longest > asked["seconds"]:
            break
        metrics = run(argv)
        took = time.monotonic() - start
        longest = max(longest, took)
        out.write(json.dumps({"seed": seed, "seconds": took, "metrics": metrics}) + "\\n")
        out.flush()
        before.append(metrics)
        if len(before) == 3 and (before[2] != before[0] or before[1] == before[0]):
            break  # it keeps something from run to run, or the seed moves nothing
'''.replace("ASKED", ASKED).replace("FOUND", FOUND)


def many_seeds(
    repeater: Repeater,
    folder: Path,
    first: SeedRun,
    seeds: Sequence[int],
    seconds: float,
    arguments: str = "",
) -> list[SeedRun] | None:
    """What runs with these seeds gave within about so many seconds. `first`: the run in a process
    of its own, whose numbers its seed must give here too.

    [] where another seed gives the same numbers; None where the program can't be run so, or keeps
    something from run to run. Raises SandboxError if no sandbox works.
    """
    asked = [first.seed, *seeds[:1], first.seed, *seeds[1:]]
    argvs = [(seed, _argv(repeater.seeded(seed, arguments))) for seed in asked]
    if not seeds or not all(argv for _, argv in argvs):
        return None
    text = json.dumps({"runs": argvs, "seconds": seconds})
    driven = replace(
        repeater, limit=seconds + GRACE, changed={**repeater.changed, DRIVER: SOURCE, ASKED: text}
    )
    command = f"python {DRIVER}"
    named = f"{arguments}, " if arguments else ""
    repeater.trial.added_step(
        ExecutionResult,
        "sandbox",
        f"{named}seeds {seeds[0]} to {seeds[-1]} in one process",
        {"command": command, "files": {**driven.files, **driven.changed}},
        lambda: driven.run_in_copy(folder, command),
    )
    found = _read(folder / "workspace", repeater.task.metric.name)
    if len(found) < 3:
        return None
    one, other, again = (run.metrics for run in found[:3])
    if one != again or not _alike(one, first.metrics):
        return None
    return [] if one == other else [found[1], *found[3:]]


def _alike(one: Mapping[str, float], other: Mapping[str, float]) -> bool:
    """Whether two runs gave the same numbers under the names that both have."""
    return all(
        math.isclose(value, other[name], rel_tol=SAME, abs_tol=1e-12)
        for name, value in one.items()
        if name in other
    )


def _argv(command: str) -> list[str]:
    """The script and its arguments, of `python main.py --seed 3`; [] of any other command."""
    if not _PLAIN.fullmatch(command):
        return []
    python, *argv = shlex.split(command)
    return argv if python in ("python", "python3") and argv and argv[0].endswith(".py") else []


def _read(workspace: Path, metric: str) -> list[SeedRun]:
    """The runs that the driver wrote down, as a program may have written anything."""
    try:
        lines = Tree(workspace).read_text(FOUND, LARGEST).splitlines()
    except (FileNotFoundError, SandboxError):
        return []
    found = []
    for line in lines:
        try:
            content = parse_json(line)
            seed, seconds, numbers = content["seed"], content["seconds"], content["metrics"]
            metrics = _usable(numbers)
            run = SeedRun(
                seed=seed,
                value=metrics.get(metric),
                metrics=metrics,
                seconds=seconds,
                in_process=True,
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            break
        found.append(run)
    return found


def _usable(numbers: Mapping[str, object]) -> dict[str, float]:
    return {
        str(name): float(value)
        for name, value in list(numbers.items())[:MOST_NUMBERS]
        if is_number(value) and is_usable(value)
    }

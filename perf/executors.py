"""What it costs to spread trials over machines: overhead a trial by executor, and a simulation.

    python perf/executors.py [--trials 10 100 1000] [--executors local slurm ray]

Trials of a tiny solver (the suites' steps_solver) of one call that takes a second, at an
endpoint in a process of its own. SLURM_CONF and RAY_ADDRESS name the clusters, which
`.ci/slurm_cluster.sh start` and `.ci/ray_cluster.sh start` make: their nodes are processes of this
machine. The simulation is fitted to the first two sizes and checked at the others. Prints Markdown
with date and machine; the figures in docs/machines.md are its output. What a killed node and a
killed runner cost is held by tests/plugins/suites/test_clusters.py; what grows with a suite's
folder is measured by perf/many_trials.py.
"""

from __future__ import annotations

import argparse
import heapq
import itertools
import json
import os
import platform
import statistics
import sys
import tempfile
from collections.abc import Iterator
from datetime import date, datetime
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
sys.path[:0] = [str(ROOT), str(ROOT / "perf"), str(TESTS), str(TESTS / "plugins/suites")]
import suite_world as world  # noqa: E402
from suites import endpoint, measured, stats  # noqa: E402

SECONDS = 1.0  # that the one call of a trial takes


class Overhead(NamedTuple):
    """Of one suite: seconds by the clock, and medians of a trial's two ways."""

    trials: int
    wall: float
    to_first_step: float
    to_row: float
    repeated: int


def suite_on(executor: str, folder: Path, trials: int, at_once: int, **how: Any) -> Overhead:
    """Run a suite to its end and read its times."""
    options = {"poll_seconds": 1.0} if executor == "slurm" else {}
    file = world.lay_out(
        folder,
        trials=trials,
        how={"calls": 1, **how},
        settings={"cpus": 1, "memory_gb": 0.5},
        executor={executor: options},
    )
    with endpoint("--seconds", str(SECONDS)) as url:
        cost = measured(world.command(file, url, "--workers", str(at_once)), folder)
        asked = stats(url)["asked"]
    firsts, rows = [], []
    for place in sorted((folder / "out").glob("trials/*/*/*")):
        step = json.loads((place / "steps.jsonl").read_text().splitlines()[0])
        submitted = (place / "job.json").stat().st_mtime
        began = datetime.fromisoformat(step["at"]).timestamp() - step["seconds"]
        firsts.append(max(began - submitted, 0.0))
        row = (place / "ended.json").stat().st_mtime
        rows.append(max(row - began - SECONDS, 0.0))
    return Overhead(
        trials, cost.wall, statistics.median(firsts), statistics.median(rows), asked - trials
    )


def row(executor: str, one: Overhead) -> str:
    """A row of the table of what was measured, with the machine's load at the end of the suite."""
    load = os.getloadavg()[0]
    return (
        f"| {executor} | {one.trials:,} | {load:.0f} | {one.wall:.0f} s | "
        f"{one.to_first_step:.1f} s | {one.to_row:.1f} s | {one.repeated} |"
    )


def checked(
    executor: str, suites: list[Overhead], at_once: int, cores: int, predicted: list[int]
) -> Iterator[str]:
    """Rows of what the model says, fitted to the first two suites of an executor."""
    start, work = fitted(suites[0], suites[1], at_once, cores)
    walls = {one.trials: f"{one.wall:.0f} s" for one in suites}
    for trials in sorted({*walls, *predicted}):
        used = " (fitted)" if trials in (suites[0].trials, suites[1].trials) else ""
        here = start + simulated(trials, at_once, work, cores)
        there = start + simulated(trials, at_once, work, at_once)
        measured_wall = walls.get(trials, "–")
        yield f"| {executor} | {trials:,} | {measured_wall} | {here:.0f} s{used} | {there:.0f} s |"
    yield f"| | | | {start:.1f} s once, {work:.2f} s of a core a trial | |"


def simulated(trials: int, at_once: int, work: float, cores: float) -> float:
    """The wall time of a suite by a plain model: each of `at_once` places takes the next trial as
    soon as it is free. A trial needs `work` seconds of a core, which those that work share evenly,
    and then waits SECONDS for its call.
    """
    clock, left = 0.0, trials
    working: list[float] = []  # seconds of a core that each still needs
    waiting: list[float] = []  # when each call ends
    while left or working or waiting:
        begun = min(left, at_once - len(working) - len(waiting))
        working += [work] * begun
        left -= begun
        share = min(1.0, cores / len(working)) if working else 1.0
        ends = [min(working) / share] if working else []
        ends += [waiting[0] - clock] if waiting else []
        step = min(ends)
        clock += step
        rest = [need - step * share for need in working]
        working = [need for need in rest if need > 1e-9]
        for _ in range(len(rest) - len(working)):
            heapq.heappush(waiting, clock + SECONDS)
        while waiting and waiting[0] <= clock + 1e-9:
            heapq.heappop(waiting)
    return clock


def fitted(small: Overhead, large: Overhead, at_once: int, cores: int) -> tuple[float, float]:
    """Seconds that are paid once and seconds of a core a trial, by which the model gives the wall
    times of two suites; no work where the larger one took no longer than its calls.
    """
    low, high = 0.0, 60.0
    for _ in range(50):
        work = (low + high) / 2
        between = simulated(large.trials, at_once, work, cores) - simulated(
            small.trials, at_once, work, cores
        )
        low, high = (work, high) if between < large.wall - small.wall else (low, work)
    return small.wall - simulated(small.trials, at_once, low, cores), low


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", nargs="+", type=int, default=[10, 100])
    parser.add_argument("--predict", nargs="+", type=int, default=[1_000, 10_000])
    parser.add_argument("--executors", nargs="+", default=["local", "slurm", "ray"])
    parser.add_argument("--at-once", type=int, default=12)
    given = parser.parse_args()
    if len(given.trials) < 2:
        parser.error("--trials: name two sizes at least, to which the simulation is fitted")
    cores = len(os.sched_getaffinity(0))
    print(f"{date.today()}, {platform.machine()}, {cores} processors, ", end="")
    print(f"Python {platform.python_version()}, `python {' '.join(sys.argv)}`\n", flush=True)
    print(
        f"**Trials of one call of {SECONDS:g} s, {given.at_once} at once** (medians of a trial)\n"
    )
    ways = "submit to first step | first step to end, less the call | calls repeated"
    print(
        f"| executor | trials | load | wall | {ways} |\n|---|---|---|---|---|---|---|", flush=True
    )
    found: dict[str, list[Overhead]] = {name: [] for name in given.executors}
    with tempfile.TemporaryDirectory(prefix="executors-") as scratch:
        for executor, trials in itertools.product(given.executors, given.trials):
            folder = Path(scratch) / f"{executor}-{trials}"
            found[executor].append(suite_on(executor, folder, trials, given.at_once))
            print(row(executor, found[executor][-1]), flush=True)
    print(f"\n**By simulation**, {given.at_once} at once, on {cores} cores and on one each\n")
    print("| executor | trials | measured | simulated | simulated, a core each |")
    print("|---|---|---|---|---|")
    for executor, suites in found.items():
        for line in checked(executor, suites, given.at_once, cores, given.predict):
            print(line)


if __name__ == "__main__":
    main()

"""What grows with a suite's folder, up to ten thousand trials: where many trials break first.

    python perf/many_trials.py [--trials 100 1000 10000] [--only folder ledger slurm ray]

One real trial of a tiny solver (the suites' steps_solver) is attempted, and its folder is
repeated by hard links, so that what reads a suite meets as many folders as after a real run. The
ledger is asked by processes at once, Slurm holds that many jobs back, and Ray's keeper takes what
tasks send after each step. SLURM_CONF and RAY_ADDRESS name the clusters, as for perf/executors.py.
Prints Markdown with date and machine.
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import platform
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import date
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
sys.path[:0] = [str(ROOT), str(ROOT / "perf"), str(TESTS), str(TESTS / "plugins/suites")]
import suite_world as world  # noqa: E402
from suites import endpoint, measured  # noqa: E402

from autoreproduce.models.budget import Budget, Cost  # noqa: E402
from autoreproduce.plugins.suites.clusters.travelling import TravellingFolder  # noqa: E402
from autoreproduce.plugins.suites.finished_trials import spent, trial_folders  # noqa: E402
from autoreproduce.plugins.suites.ledger import Ledger  # noqa: E402
from autoreproduce.plugins.suites.results import write_results  # noqa: E402

CALLS = 10  # of the trial, about as many as a real one makes
SECONDS = 5.0  # that each rate is measured


def one_trial(folder: Path) -> Path:
    """A finished trial, attempted for real; its folder in its suite's."""
    file = world.lay_out(folder, how={"calls": CALLS, "text": 4000})
    with endpoint("--seconds", "0") as url:
        measured(world.command(file, url), folder)
    return next((folder / "out").glob("trials/*/*/*"))


def repeated(trial: Path, suite: Path, trials: int) -> Path:
    """A suite's folder with so many trials, whose files are those of `trial`."""
    for n in range(1, trials + 1):
        shutil.copytree(trial, suite / f"trials/one/default/{n}", copy_function=os.link)
    content = json.loads((trial.parents[3] / "suite.json").read_text())
    content["trials"] = [["one", "default", n] for n in range(1, trials + 1)]
    (suite / "suite.json").write_text(json.dumps(content, indent=1))
    return suite


def seconds_of(act: Callable[[], object]) -> float:
    """By the clock."""
    began = time.perf_counter()
    act()
    return time.perf_counter() - began


def folder_rows(scratch: Path, sizes: list[int]) -> Iterator[str]:
    """Files, bytes, and the seconds of what reads all trials."""
    trial = one_trial(scratch / "one")
    files = [path for path in trial.rglob("*") if path.is_file()]
    size = sum(path.stat().st_size for path in files)
    yield f"A trial of {CALLS} calls: {len(files)} files, {size / 1000:.0f} KB\n"
    yield "| trials | files | find what is finished | what all spent | tables of results | CSV |"
    yield "|---|---|---|---|---|---|"
    for trials in sizes:
        suite = repeated(trial, scratch / f"suite-{trials}", trials)
        found = seconds_of(lambda suite=suite: list(trial_folders(suite)))  # type: ignore[misc]
        sums = seconds_of(lambda suite=suite: list(spent(suite)))  # type: ignore[misc]
        tables = seconds_of(lambda suite=suite: write_results(suite))  # type: ignore[misc]
        table = (suite / "results.csv").stat().st_size / 1e6
        yield (
            f"| {trials:,} | {trials * len(files):,} | {found:.1f} s | {sums:.1f} s | "
            f"{tables:.1f} s | {table:.1f} MB |"
        )
        shutil.rmtree(suite)


def ask_ledger(folder: Path, trial: str, until: float) -> int:
    """The grants that a worker got until then."""
    ledger, grants = Ledger(folder), 0
    while time.time() < until:
        ledger.refill(trial, Cost(120, 0.001), 0.0, 500.0)
        grants += 1
    return grants


def ledger_rows(scratch: Path, sizes: list[int]) -> Iterator[str]:
    """Grants a second, by the trials under way and the workers that ask at once."""
    yield "\n| trials under way | workers that ask at once | grants a second, together |"
    yield "|---|---|---|"
    for trials in sizes:
        ledger = Ledger(scratch)
        ledger.begin(Budget(limit_tokens=10**12), [], lambda key: Cost(0, 0.0))
        for n in range(min(trials, 1000)):
            ledger.enter(f"one/default/{n}", Cost(0, 0.0))
        for workers in (1, 12):
            until = time.time() + SECONDS
            given = [(scratch, f"one/default/{n}", until) for n in range(workers)]
            with multiprocessing.get_context("fork").Pool(workers) as pool:
                grants = sum(pool.starmap(ask_ledger, given))
            yield f"| {min(trials, 1000):,} | {workers} | {grants / SECONDS:.0f} |"


def slurm_rows(scratch: Path, sizes: list[int]) -> Iterator[str]:
    """Seconds that one look at the queue takes, by the jobs in it."""
    yield "\n| jobs in Slurm's queue | submit them | one `squeue` |\n|---|---|---|"
    name = f"autoreproduce-many-{os.getpid()}"
    hold = ["sbatch", "--hold", "--output=/dev/null", f"--job-name={name}", "--wrap=true"]
    for trials in (each for each in sizes if each <= 10_000):
        arrays = [[*hold, f"--array=0-{min(1000, trials - n) - 1}"] for n in range(0, trials, 1000)]
        submit = seconds_of(lambda arrays=arrays: [_quiet(each) for each in arrays])  # type: ignore[misc]
        look = seconds_of(lambda: _quiet(["squeue", "-h", "-r", "-o", "%i %r", f"--name={name}"]))
        _quiet(["scancel", f"--name={name}"])
        yield f"| {trials:,} | {submit:.1f} s | {look:.2f} s |"


def ray_rows(scratch: Path, sizes: list[int]) -> Iterator[str]:
    """Steps a second that one keeper writes into the suite's folder."""
    import ray

    from autoreproduce.plugins.suites.clusters.ray_keeper import Keeper

    trial = one_trial(scratch / "ray")
    parts = [*TravellingFolder(trial).pack(whole=True), b""]
    ray.init(address="auto", namespace="many", log_to_driver=False)
    keeper = ray.remote(Keeper).options(num_cpus=0, max_concurrency=200)
    actor = keeper.remote(str(scratch / "kept"), "keeper-many", "many", {})
    ray.get(actor.start.remote("one/default/0"))
    until = time.time() + SECONDS

    def send(n: int) -> int:
        key, sent = f"one/default/{n}", 0
        number = ray.get(actor.start.remote(key))
        while time.time() < until:
            place = 0
            for part in parts:
                ray.get(actor.sync.remote(key, number, place, part))
                place += len(part)
            sent += 1
        return sent

    with ThreadPoolExecutor(12) as pool:
        steps = sum(pool.map(send, range(12)))
    ray.kill(actor)
    size = sum(map(len, parts))
    yield (
        f"\nRay's keeper writes {steps / SECONDS:.0f} archives of {size / 1000:.0f} KB "
        "(a whole trial, more than a step) a second, sent by 12 at once."
    )


def _quiet(command: list[str]) -> None:
    subprocess.run(command, check=True, stdout=subprocess.DEVNULL)


def main() -> None:
    """Measure and print."""
    parts = {"folder": folder_rows, "ledger": ledger_rows, "slurm": slurm_rows, "ray": ray_rows}
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--trials", nargs="+", type=int, default=[100, 1_000, 10_000])
    parser.add_argument("--only", nargs="+", choices=parts, default=list(parts))
    given = parser.parse_args()
    loads = " ".join(f"{load:.0f}" for load in os.getloadavg())
    cores = len(os.sched_getaffinity(0))
    print(f"{date.today()}, {platform.machine()}, {cores} processors, load {loads}, ", end="")
    print(f"Python {platform.python_version()}, `python {' '.join(sys.argv)}`\n", flush=True)
    for part in given.only:
        with tempfile.TemporaryDirectory(prefix="many-") as scratch:
            for line in parts[part](Path(scratch), given.trials):
                print(line, flush=True)


if __name__ == "__main__":
    main()

"""What running suites costs: throughput, a step's CPU and bytes, resuming, a refusing provider,
containers, growth.

    python perf/suites.py [--inspect PYTHON] [--seconds 1 5]
                                [--only throughput resume refused containers growth]

Trials of a tiny solver (the suites' steps_solver) through the command line, model calls over
HTTP to an endpoint in a process of its own (perf/endpoint.py). `--inspect` names a Python
with inspect_ai and openai installed: then it makes the same calls beside. `--seconds` is how long
the endpoint takes to answer, one run each. Prints Markdown with date and machine; the figures in
docs/results-log.md are its output.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import platform
import re
import signal
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
sys.path[:0] = [str(ROOT), str(TESTS), str(TESTS / "plugins/suites")]
import suite_world as world  # noqa: E402

TRIALS, STEPS, AT_ONCE = 200, 20, 100


class Cost(NamedTuple):
    """Of one process: seconds by the clock and of CPU, peak memory in MB."""

    wall: float
    cpu: float
    peak: float
    output: str


@contextmanager
def endpoint(*flags: str) -> Iterator[str]:
    """The address of an endpoint that runs while the block does."""
    command = [sys.executable, str(ROOT / "perf/endpoint.py"), *flags]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout
        try:
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def stats(url: str, what: str = "stats") -> dict[str, Any]:
    """What the endpoint counted."""
    with urllib.request.urlopen(url.removesuffix("/v1") + f"/{what}") as answer:
        found: dict[str, Any] = json.loads(answer.read())
    return found


def measured(command: list[str], folder: Path) -> Cost:
    """Run to the end. Raises SystemExit with its output where it failed."""
    began = time.perf_counter()
    with (folder / "output.txt").open("w+") as output:
        env = {**world.environment(folder), "OMP_NUM_THREADS": "1"}
        process = subprocess.Popen(
            command, cwd=folder, env=env, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if process.returncode:
        raise SystemExit(f"{command} failed:\n{text[-3000:]}")
    return Cost(
        time.perf_counter() - began, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024, text
    )


def run_suite(folder: Path, url: str, trials: int, steps: int, at_once: int, **more: Any) -> Cost:
    """One suite of the tiny solver to its end."""
    file = world.lay_out(folder, trials=trials, how={"calls": steps, "text": 4000}, **more)
    return measured(world.command(file, url, "--workers", str(at_once)), folder)


def run_inspect(python: str, folder: Path, url: str, trials: int, steps: int, at_once: int) -> Cost:
    """The same calls by Inspect AI."""
    folder.mkdir()
    script = str(ROOT / "perf/inspect_side.py")
    return measured(
        [python, script, url, str(trials), str(steps), str(at_once), str(folder)], folder
    )


def bytes_below(folder: Path) -> int:
    """Of all files."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def throughput(scratch: Path, inspect: str | None, seconds: float) -> Iterator[str]:
    """(1) Many trials at once. The clock runs from the first call to the last answer, as the
    endpoint saw them; the CPU of the start is taken off by a run of one call.
    """
    ideal = TRIALS * STEPS * seconds / AT_ONCE
    yield (
        f"**{TRIALS} trials of {STEPS} steps, {AT_ONCE} at once, an endpoint that answers in "
        f"{seconds} s** (ideal: {ideal:.1f} s)\n"
    )
    yield "| | wall | of the ideal | CPU a step | on disk a step | peak memory |"
    yield "|---|---|---|---|---|---|"
    sides: dict[str, Any] = {"autoreproduce": run_suite}
    if inspect:
        sides["Inspect AI"] = lambda *given: run_inspect(inspect, *given)
    for side, run in sides.items():
        with endpoint("--seconds", str(seconds)) as url:
            start = run(scratch / f"{side} {seconds} one", url, 1, 1, 1)
            folder = scratch / f"{side} {seconds}"
            stats(url, "reset")
            cost = run(folder, url, TRIALS, STEPS, AT_ONCE)
            served = stats(url)
        assert served["answered"] == TRIALS * STEPS + 1, served["answered"]
        version = re.search(r"inspect_ai (\S+)", cost.output)
        wall, cpu = (
            served["last"] - served["first"],
            1000 * (cost.cpu - start.cpu) / (TRIALS * STEPS),
        )
        disk = bytes_below(folder / "out" if run is run_suite else folder) / (TRIALS * STEPS)
        name = f"{side} {version[1]}" if version else side
        yield (
            f"| {name} | {wall:.1f} s | {100 * ideal / wall:.0f} % | {cpu:.1f} ms | "
            f"{disk / 1000:.1f} KB | {cost.peak:.0f} MB |"
        )
    yield ""


def resume(scratch: Path) -> Iterator[str]:
    """(2) Killed at half."""
    folder, trials = scratch / "resume", 40
    file = world.lay_out(folder, trials=trials, how={"calls": STEPS, "text": 4000})
    with endpoint() as url:
        with world.start(file, url, "--workers", "20") as running:
            while stats(url)["answered"] < trials * STEPS / 2:
                time.sleep(0.02)
            os.killpg(running.pid, signal.SIGKILL)
        known = world.answered(folder / "out")
        unanswered = stats(url)["asked"] - len(known)
        stats(url, "reset")
        began = time.time()
        measured(world.command(file, url, "--workers", "20"), folder)
        served = stats(url)
    repeated = sum(served["calls"][f"{name}/{n}"] - 1 for name, n in known)
    yield f"**Killed (SIGKILL) at half of {trials} trials of {STEPS} steps, 20 at once**\n"
    yield "| | |\n|---|---|"
    yield f"| calls that were written down | {len(known)} |"
    yield f"| of them made again | {repeated} |"
    yield f"| calls under way at the kill, made again | {unanswered} |"
    waited = served["first"] - began
    yield f"| from the start of the command to the first new call | {waited:.1f} s |\n"


def refused(scratch: Path) -> Iterator[str]:
    """(3) A provider that refuses a share of all calls."""
    yield (
        "**A provider that answers 30 % of all calls with 429; 40 trials of 20 steps, 20 at once, "
        "1 s a call**\n"
    )
    yield "| | calls a second that succeeded | refused | trials scored |\n|---|---|---|---|"
    for share in (0.0, 0.3):
        folder = scratch / f"refused {share}"
        with endpoint("--refuse", str(share), "--seconds", "1") as url:
            run_suite(folder, url, 40, STEPS, 20)
            served = stats(url)
        rows = (folder / "out/results.csv").read_text().count(",measured,")
        wall = served["last"] - served["first"]
        rate = 40 * STEPS / wall
        yield f"| {100 * share:.0f} % refused | {rate:.1f} | {served['refused']} | {rows} of 40 |"
    yield ""


def containers(scratch: Path) -> Iterator[str]:
    """(4) A hundred trials at once, each with a command in a container, in an Engine of their
    own.
    """
    from own_engine import IMAGE, own_engine, why_not

    yield "**100 trials at once, each in a container of its own**\n"
    if reason := why_not():
        yield f"Not measured: {reason}\n"
        return
    yield "| starting at once | until all had run | trials that failed | containers left |"
    yield "|---|---|---|---|"
    with (
        tempfile.TemporaryDirectory(prefix="ar-") as short,
        own_engine(Path(short) / "e") as engine,
    ):
        os.environ["DOCKER_HOST"] = engine.host
        for starts in (4, 100):
            folder = scratch / f"containers {starts}"
            settings = {"sandbox": "docker", "image": IMAGE, "memory_gb": 0.1, "cpus": 1}
            file = world.lay_out(
                folder,
                trials=100,
                how={"calls": 1, "command": "sleep 1"},
                settings=settings,
                starts=starts,
            )
            with endpoint() as url:
                cost = measured(world.command(file, url, "--workers", "100"), folder)
            bad = 100 - (folder / "out/results.csv").read_text().count(",measured,")
            yield f"| {starts} | {cost.wall:.0f} s | {bad} | {engine.containers()} |"
        del os.environ["DOCKER_HOST"]
    yield ""


def growth(scratch: Path) -> Iterator[str]:
    """(5) The same operations over ten, a hundred, a thousand finished trials."""
    yield "**Growth with the number of trials** (each command from its start to its end)\n"
    yield "| trials | plan (`--dry-run`) | resume (all finished) | rows on disk | peak memory |"
    yield "|---|---|---|---|---|"
    for trials in (10, 100, 1000):
        folder = scratch / f"growth {trials}"
        with endpoint("--seconds", "0") as url:
            file = world.lay_out(folder, trials=trials, how={"calls": 1})
            command = world.command(file, url, "--workers", "4")
            plan = measured([*command, "--dry-run"], folder)
            measured(command, folder)
            again = measured(command, folder)
        from autoreproduce.plugins.suites.results import write_results

        began = time.perf_counter()
        assert len(write_results(folder / "out")) == trials
        rows = time.perf_counter() - began
        walls = f"{plan.wall:.1f} s | {again.wall:.1f} s | {rows:.2f} s"
        yield f"| {trials} | {walls} | {again.peak:.0f} MB |"
    yield ""


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--inspect", help="a Python with inspect_ai and openai")
    parser.add_argument("--seconds", nargs="+", type=float, default=[1.0, 5.0])
    parser.add_argument(
        "--only", nargs="+", default=["throughput", "resume", "refused", "containers", "growth"]
    )
    given = parser.parse_args()
    cpus = len(os.sched_getaffinity(0))
    print(f"{date.today()}, {platform.machine()}, {cpus} processors", end=", ")
    print(f"Python {platform.python_version()}", end=", ")
    print(f"`python {' '.join(sys.argv)}`\n")
    with tempfile.TemporaryDirectory(prefix="suites-") as name:
        scratch = Path(name)
        parts = {
            "throughput": lambda: itertools.chain.from_iterable(
                throughput(scratch, given.inspect, seconds) for seconds in given.seconds
            ),
            "resume": lambda: resume(scratch),
            "refused": lambda: refused(scratch),
            "containers": lambda: containers(scratch),
            "growth": lambda: growth(scratch),
        }
        for part in given.only:
            for line in parts[part]():
                print(line, flush=True)


if __name__ == "__main__":
    main()

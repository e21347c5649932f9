"""Suites for tests: tasks of a tiny solver against a chat server on loopback."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from sandbox_helpers import BUILD

from autoreproduce.plugins.suites.plan import Plan, parse_changes
from autoreproduce.plugins.suites.results import read_rows
from autoreproduce.plugins.suites.run import SuiteRun, SuiteSummary
from autoreproduce.plugins.suites.suite_file import read_suite

HERE = Path(__file__).parent
ASKED = re.compile(r"Trial (\S+), call (\d+)")


def lay_out(
    folder: Path,
    tasks: Sequence[str] = ("one",),
    trials: int = 1,
    variants: Any = None,
    **more: Any,
) -> Path:
    """A suite's file with tasks of the tiny solver, or `tasks_` as they are given.

    `how` says what each trial does; other fields are the file's.
    """
    how = {"calls": 3, **more.pop("how", {})}
    settings = {
        "model": "scripted",
        "sandbox": "process",
        "max_output_tokens": 20,
        **more.pop("settings", {}),
    }
    folder.mkdir(exist_ok=True, parents=True)
    (folder / "paper.md").write_text("# Counting\nWe count.\n")
    entries = [
        {
            "name": name,
            "metric": "value:higher",
            "paper": "paper.md",
            "instruction": json.dumps(how),
        }
        for name in tasks
    ]
    content = {
        "name": "counting",
        "solver": "steps_solver:Steps",
        "tasks": more.pop("tasks_", entries),
        "trials": trials,
        "variants": variants or {"default": {}},
        "settings": settings,
        "retry_after": [],
        **more,
    }
    (folder / "suite.yaml").write_text(yaml.safe_dump(content, sort_keys=False, width=10_000))
    return folder / "suite.yaml"


def run(
    file: Path,
    base_url: str,
    *changes: str,
    workers: int = 4,
    budget: str | None = None,
    view: Any = None,
    **some: Any,
) -> SuiteSummary:
    """Run a suite in this process, in the folder `out` beside its file."""
    plan = Plan(read_suite(file), parse_changes([f"base_url={base_url}", *changes]))
    plan.choose(**some)
    return SuiteRun(plan, file.parent / "out", workers=workers, budget=budget, view=view).run()


def command(file: Path, base_url: str, *flags: str) -> list[str]:
    """The command line of the same."""
    where = ["--base-url", base_url, "--out", str(file.parent / "out")]
    suite = [sys.executable, "-m", "autoreproduce", "suite", "--trust", str(file)]
    return [*suite, *where, *flags]


def environment(folder: Path) -> dict[str, str]:
    """The tiny solver can be imported; the cache is the test's own."""
    return {
        **os.environ,
        **BUILD,
        "PYTHONPATH": os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")]),
        "AUTOREPRODUCE_CACHE_DIR": str(folder / "cache"),
    }


@contextmanager
def start(file: Path, base_url: str, *flags: str, **more: Any) -> Iterator[subprocess.Popen[str]]:
    """The command in a process group of its own, killed at the end where it still runs."""
    with subprocess.Popen(
        command(file, base_url, *flags),
        cwd=file.parent,
        env=environment(file.parent),
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
        **more,
    ) as running:
        try:
            yield running
        finally:
            with suppress(ProcessLookupError):
                os.killpg(running.pid, signal.SIGKILL)


def finish(
    file: Path, base_url: str, *flags: str, seconds: float = 100
) -> subprocess.CompletedProcess[str]:
    """The command, run to its end."""
    return subprocess.run(
        command(file, base_url, *flags),
        cwd=file.parent,
        env=environment(file.parent),
        text=True,
        capture_output=True,
        timeout=seconds,
    )


def asked(server: Any) -> Counter[tuple[str, int]]:
    """How often each call of each trial was made."""
    found = [ASKED.search(request.prompt) for request in server.requests]
    return Counter((match[1], int(match[2])) for match in found if match)


def answered(folder: Path) -> set[tuple[str, int]]:
    """The calls whose answer is written down in some trial's journal."""
    calls = set()
    for prompt in folder.glob("trials/*/*/*/prompts/*.md"):
        steps = prompt.parents[1] / "steps.jsonl"
        kept = steps.read_text().count("\n") if steps.exists() else 0
        if int(prompt.name.partition("-")[0]) < kept:
            match = ASKED.search(prompt.read_text())
            assert match
            calls.add((match[1], int(match[2])))
    return calls


def counts(folder: Path) -> dict[str, int]:
    """How many trials of a suite's folder have each status."""
    return dict(Counter(row["status"] for row in read_rows(folder)))


def wait_for(true: Callable[[], object], seconds: float = 40.0) -> None:
    """Wait until `true()`; a failure after so many seconds."""
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.02)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[None]:
    """A file system of that size at `folder`. Skips where mounting is not allowed."""
    folder.mkdir()
    done = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True
    )
    if done.returncode:
        pytest.skip(f"a file system cannot be mounted here: {done.stderr.decode().strip()}")
    try:
        yield
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def handed_suite(folder: Path, **fields: object) -> Path:
    """A suite's file with one task, and `fields`."""
    folder.mkdir(exist_ok=True)
    content = {"name": "theirs", "tasks": ["lsm"], **fields}
    (folder / "s.yaml").write_text(yaml.safe_dump(content))
    return folder / "s.yaml"

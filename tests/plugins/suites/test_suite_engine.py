"""Suites in Docker: the Engine killed in the middle, containers of a killed runner, and few starts
at once.

The Engine is the test's own, started beside the machine's; nobody else's containers are touched.
"""

import json
import os
import shutil
import signal
import tempfile
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from chat_server import chat_server
from own_engine import IMAGE, Engine, own_engine, why_not
from suite_world import answered, asked, lay_out, run, start

from autoreproduce.plugins.suites.plan import Plan
from autoreproduce.plugins.suites.results import read_rows
from autoreproduce.plugins.suites.run import SuiteRun
from autoreproduce.plugins.suites.suite_file import read_suite

pytestmark = [
    pytest.mark.docker,
    pytest.mark.slow,
    pytest.mark.skipif(bool(why_not()), reason=why_not()),
    # The Engine's client leaves its socket open, for the garbage collector, where nobody listens.
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
]
SETTINGS = {"sandbox": "docker", "image": IMAGE, "memory_gb": 0.25, "cpus": 1}


@pytest.fixture
def engine(monkeypatch: pytest.MonkeyPatch) -> Iterator[Engine]:
    short = Path(tempfile.mkdtemp(prefix="ar-"))  # a socket's path is short
    with own_engine(short / "e") as made:
        monkeypatch.setenv("DOCKER_HOST", made.host)
        yield made
    shutil.rmtree(short, ignore_errors=True)


def wait_for(true: Any, seconds: float = 60.0) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "waited too long"
        time.sleep(0.05)


def begun(folder: Path) -> int:
    return len(list(folder.glob("out/trials/*/default/*/workspace/begun")))


def test_kill_9_of_the_engine_costs_no_score(tmp_path: Path, engine: Engine) -> None:
    """Killed while two trials are in a program, started again three seconds later: they are tried
    again and end.
    """
    how = {"calls": 3, "command": "echo x > begun; sleep 4"}
    file = lay_out(
        tmp_path,
        ("one", "two", "three"),
        how=how,
        settings=SETTINGS,
        retry_after=[1, 2, 4, 8, 8],
        workers=2,
    )

    def kill() -> None:
        wait_for(lambda: begun(tmp_path) == 2)
        engine.kill()
        time.sleep(3)
        engine.start()

    killer = threading.Thread(target=kill)
    killer.start()
    with chat_server(lambda request: "7") as server:
        summary = run(file, server.base_url, workers=2)
        killer.join()
    assert summary.exit_code == 0, summary.reason
    rows = read_rows(tmp_path / "out")
    assert [row["status"] for row in rows] == ["measured"] * 3
    assert max(row["attempts"] for row in rows) > 1
    assert set(asked(server).values()) == {1}
    assert engine.containers() == 0


def test_an_engine_that_stays_away_leaves_trials_without_a_score(
    tmp_path: Path, engine: Engine
) -> None:
    how = {"calls": 3, "command": "echo x > begun; sleep 4"}
    file = lay_out(tmp_path, ("one", "two"), how=how, settings=SETTINGS, retry_after=[0.2])
    killer = threading.Thread(
        target=lambda: (wait_for(lambda: begun(tmp_path) == 2), engine.kill())
    )
    killer.start()
    with chat_server(lambda request: "7") as server:
        summary = run(file, server.base_url, workers=2)
        killer.join()
        assert (summary.exit_code, summary.snapshot["counts"]["not scored"]) == (4, 2)
        assert "Docker" in summary.reason
        engine.start()
        assert run(file, server.base_url, workers=2).exit_code == 0
        assert set(asked(server).values()) == {1}
    assert engine.containers() == 0


def test_containers_of_a_killed_runner_are_found_and_removed(
    tmp_path: Path, engine: Engine
) -> None:
    how = {"calls": 2, "command": "echo x > begun; sleep 3"}
    file = lay_out(tmp_path, ("one", "two", "three"), how=how, settings=SETTINGS)
    with chat_server(lambda request: "7") as server:
        with start(file, server.base_url, "--workers", "2") as running:
            wait_for(lambda: begun(tmp_path) == 2)
            os.killpg(running.pid, signal.SIGKILL)
        assert engine.containers() == 2
        known = answered(tmp_path / "out")
        view = Lines()
        assert run(file, server.base_url, workers=2, view=view).exit_code == 0
        assert all(asked(server)[call] == 1 for call in known)
    assert any("removed 2 containers" in line for line in view.notes)
    assert engine.containers() == 0


def test_kill_9_of_a_container_leaves_the_count_right(tmp_path: Path, engine: Engine) -> None:
    how = {"calls": 2, "command": "echo x > begun; sleep 5"}
    file = lay_out(tmp_path, ("one", "two"), how=how, settings=SETTINGS)

    def kill() -> None:
        wait_for(lambda: begun(tmp_path) == 2)
        client = engine.client()
        for container in client.containers.list():
            container.kill()
        client.close()

    killer = threading.Thread(target=kill)
    killer.start()
    with chat_server(lambda request: "7") as server:
        summary = run(file, server.base_url, workers=2)
        killer.join()
    assert summary.exit_code == 0
    assert summary.snapshot["counts"]["measured"] == 2
    lines = (tmp_path / "out/trials/one/default/1/steps.jsonl").read_text().splitlines()
    assert [
        s["result"]["exit_code"] for s in map(json.loads, lines) if s["result"]["kind"] == "execute"
    ] == [137]
    assert engine.containers() == 0


def test_each_container_waits_for_its_turn_to_start(tmp_path: Path, engine: Engine) -> None:
    file = lay_out(
        tmp_path,
        ("one",),
        trials=6,
        how={"calls": 1, "command": "sleep 1"},
        settings=SETTINGS,
        starts=2,
    )
    plan = Plan(read_suite(file))
    turns = Turns(2)
    with chat_server(lambda request: "7") as server:
        plan.changed["base_url"] = server.base_url
        plan.choose()
        suite = SuiteRun(plan, tmp_path / "out", workers=6)
        suite.starts = turns
        assert suite.run().exit_code == 0
    assert turns.taken == 6
    assert engine.containers() == 0


class Turns(threading.BoundedSemaphore):
    """Counts how often it was taken."""

    taken = 0

    def __enter__(self) -> bool:
        self.taken += 1
        return self.acquire()


class Lines:
    """A view that keeps the notes."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note(self, text: str) -> None:
        self.notes.append(text)

    def __getattr__(self, name: str) -> Any:
        return lambda *_: None

"""What one sees of a suite: redrawn in a terminal, a line a trial elsewhere, objects for machines;
and from outside.
"""

import io
import json
import os
import pty
import re
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from chat_server import Answer, chat_server
from suite_world import command, environment, finish, lay_out, run

from autoreproduce.errors import UsageError
from autoreproduce.models.budget import Budget
from autoreproduce.plugins.suites.finished_trials import EndedTrial
from autoreproduce.plugins.suites.plan import Planned
from autoreproduce.plugins.suites.progress import SuiteProgress, watch, write_state
from autoreproduce.plugins.suites.view import (
    JsonSuite,
    PlainSuite,
    SuiteView,
    open_suite_view,
    picture,
    sums,
)

TRIALS = [
    Planned(task, variant, 1, "x")
    for task in ("lsm", "bspm")
    for variant in ("whole", "no-lineage")
]


def drawn(state: dict[str, Any], height: int = 40) -> str:
    from rich.console import Console

    stream = io.StringIO()
    Console(file=stream, width=110).print(picture(state, height))
    return stream.getvalue()


def some(kept: int = 0) -> SuiteProgress:
    return SuiteProgress(
        "ablations", TRIALS, dict.fromkeys(TRIALS[:kept], EndedTrial(status="measured")), 2
    )


def test_the_table_counts_what_is_done_running_failed_and_left() -> None:
    progress = some(kept=1)
    progress.begin(TRIALS[1])
    progress.begin(TRIALS[2])
    progress.running[TRIALS[1]].phase = "method_replication"
    time.sleep(0.05)
    progress.end(TRIALS[2], EndedTrial(status="failed"))
    state = progress.snapshot(Budget(limit_dollars=50, spent_dollars=1.5, spent_tokens=12_345))
    shown = drawn(state)
    assert re.search(r"lsm +no-lineage +0/1 +1 ", shown)
    assert re.search(r"all +2/4 +1 +1 +1 +1", shown)
    assert "ablations: 4 trials, 1 finished before, 2 at once" in shown
    assert "▸ lsm · no-lineage · 1: method replication" in shown
    assert "cost $1.50 of $50.00 · 12.3k tokens" in shown
    assert re.search(r"about 0\.[0-9] s left", shown)


def test_the_last_trial_takes_its_own_time_however_many_may_run() -> None:
    progress = SuiteProgress("ablations", TRIALS[:2], {}, 8)
    progress.begin(TRIALS[0])
    time.sleep(0.4)
    progress.end(TRIALS[0], EndedTrial(status="measured"))
    assert progress.snapshot(Budget())["seconds_left"] == pytest.approx(0.4, abs=0.11)


def test_what_is_not_known_is_called_unknown() -> None:
    budget = Budget()
    state = some().snapshot(budget)
    assert "time left unknown" in sums(state)
    budget.dollars_known = False
    assert "cost unknown" in sums(some().snapshot(budget))


def test_a_large_suite_stays_on_the_screen() -> None:
    trials = [Planned(f"task{n}", v, 1, "x") for n in range(100) for v in "ab"]
    progress = SuiteProgress("large", trials, {}, 60)
    for trial in trials[:60]:
        progress.begin(trial)
    shown = drawn(progress.snapshot(Budget()), height=24)
    assert len(shown.splitlines()) <= 24
    assert "all tasks" in shown


@pytest.fixture
def one(tmp_path: Path) -> dict[str, Any]:
    """The same suite watched by lines and by objects."""
    streams = {"plain": io.StringIO(), "json": io.StringIO()}
    with chat_server(
        lambda request: "7" if "one/" in request.prompt else "none\n\x1b[Kred"
    ) as server:
        run(
            lay_out(tmp_path / "a", ("one", "two")),
            server.base_url,
            view=PlainSuite(streams["plain"]),
        )
        run(
            lay_out(tmp_path / "b", ("one", "two")),
            server.base_url,
            view=JsonSuite(streams["json"]),
        )
    return {**streams, "folder": tmp_path}


@pytest.mark.slow
def test_lines_and_objects_tell_each_trial_once(one: dict[str, Any]) -> None:
    lines = one["plain"].getvalue().splitlines()
    assert lines[0] == "counting: 2 trials, 4 at once"
    assert sorted(re.sub(r"^\[\d/2\] ", "", line).partition(",")[0] for line in lines[1:]) == [
        "one · default · 1: measured",
        "two · default · 1: failed",
    ]
    events = [json.loads(line) for line in one["json"].getvalue().splitlines()]
    assert [event["event"] for event in events] == ["begin", "trial", "trial"]
    assert {(event["task"], event["status"]) for event in events[1:]} == {
        ("one", "measured"),
        ("two", "failed"),
    }


def test_a_stream_that_breaks_does_not_end_the_suite(tmp_path: Path) -> None:
    class Gone(io.StringIO):
        def write(self, text: str) -> int:
            raise BrokenPipeError

    with chat_server(lambda request: "7") as server:
        assert run(lay_out(tmp_path), server.base_url, view=PlainSuite(Gone())).exit_code == 0


@pytest.mark.slow
def test_watch_tells_the_end_and_refuses_what_is_no_suite(
    one: dict[str, Any], tmp_path: Path
) -> None:
    stream = io.StringIO()
    assert watch(one["folder"] / "a/out", stream)
    assert "1 measured, 1 failed" in stream.getvalue()
    assert "ended: complete" in stream.getvalue()
    for _ in range(2):
        with pytest.raises(UsageError, match=r"state\.json"):
            watch(tmp_path, stream)
        (tmp_path / "state.json").write_text("{}")


def test_watch_says_that_the_runner_is_gone(tmp_path: Path) -> None:
    state = some().snapshot(Budget())
    place, pid, began = state["owner"].rsplit("/", 2)
    write_state(tmp_path, {**state, "owner": f"{place}/{pid}/{int(began) - 1}"})
    stream = io.StringIO()
    assert not watch(tmp_path, stream)
    assert "its runner is gone" in stream.getvalue()


def test_watch_follows_a_suite_that_runs(tmp_path: Path) -> None:
    """From another thread: the lines change as trials end, and the watching ends with the suite."""
    stream, hold = io.StringIO(), threading.Event()
    with chat_server(lambda request: Answer("7") if hold.wait(20) else Answer("late")) as server:
        file = lay_out(tmp_path, ("one", "two"))
        running = threading.Thread(target=lambda: run(file, server.base_url, workers=1))
        running.start()
        while not (tmp_path / "out/state.json").exists():
            time.sleep(0.02)
        watching = threading.Thread(
            target=watch, args=(tmp_path / "out", stream), kwargs={"pause": 0.05}
        )
        watching.start()
        while "1 running" not in stream.getvalue():
            time.sleep(0.02)
        hold.set()
        running.join(20)
        watching.join(20)
    assert "1 running, 1 waiting" in stream.getvalue()
    assert "2 measured" in stream.getvalue().splitlines()[-2]


def test_whoever_watches_from_the_first_moment_of_a_second_run_sees_that_run(
    tmp_path: Path,
) -> None:
    seen: list[str] = []

    class Looks(SuiteView):
        def begin(self, state: dict[str, Any]) -> None:
            seen.append(json.loads((tmp_path / "out/state.json").read_text())["ended"])

    with chat_server(lambda request: "7") as server:
        file = lay_out(tmp_path)
        for trials in (1, 2):
            run(file, server.base_url, trials=trials, view=Looks(io.StringIO()))
    assert seen == ["", ""]


def test_auto_is_plain_where_nobody_can_redraw() -> None:
    assert isinstance(open_suite_view("auto", io.StringIO()), PlainSuite)


@pytest.mark.slow
def test_in_a_terminal_the_table_is_redrawn_and_watched_from_another(tmp_path: Path) -> None:
    """Two real pseudo-terminals: one runs the suite, the other watches it."""

    def in_terminal(arguments: list[str]) -> tuple[subprocess.Popen[bytes], int]:
        inner, outer = pty.openpty()
        env = {**environment(tmp_path), "TERM": "xterm", "COLUMNS": "110", "LINES": "40"}
        process = subprocess.Popen(
            arguments, cwd=tmp_path, env=env, stdout=outer, stderr=outer, stdin=outer
        )
        os.close(outer)
        return process, inner

    def read(terminal: int) -> str:
        text = b""
        try:
            while piece := os.read(terminal, 65536):
                text += piece
        except OSError:  # the other side is closed
            pass
        os.close(terminal)
        return text.decode(errors="replace")

    file = lay_out(tmp_path, ("one", "two", "three"), how={"calls": 8})
    with chat_server(lambda request: Answer("7", hang=0.4)) as server:
        runner, screen = in_terminal(command(file, server.base_url, "--workers", "1"))
        texts: list[str] = []
        reader = threading.Thread(target=lambda: texts.append(read(screen)))
        reader.start()
        while not (tmp_path / "out/state.json").exists():
            assert runner.poll() is None
            time.sleep(0.1)
        watcher, other = in_terminal(
            [sys.executable, "-m", "autoreproduce", "watch", str(tmp_path / "out")]
        )
        seen = read(other)
        assert runner.wait(60) == 0
        assert watcher.wait(20) == 0
        reader.join(10)
    for text in (texts[0], seen):
        assert "\x1b[" in text
        assert re.search(r"1/3", text)
        assert "3/3" in text
    assert "ended: complete" in seen


@pytest.mark.slow
def test_the_command_line_from_plan_to_rows(tmp_path: Path) -> None:
    file = lay_out(tmp_path, ("one", "two"), variants={"a": {}, "b": {"settings": {"k": 5}}})
    with chat_server(lambda request: "7") as server:
        plan = finish(file, server.base_url, "--dry-run", "--tasks", "one")
        assert plan.returncode == 0, plan.stderr
        assert re.search(r"one +a +1 +1 +unknown", plan.stdout)
        assert not server.requests
        done = finish(
            file, server.base_url, "--tasks", "one", "--variants", "a,b", "--workers", "1"
        )
        assert done.returncode == 0, done.stderr
        assert "[2/2]" in done.stdout
        assert "results.csv" in done.stdout
        wrong = finish(file, server.base_url, "--set", "k=9", "--variants", "a")
        assert wrong.returncode == 2
        assert "settings k: 3 → 9" in wrong.stderr
        again = finish(file, server.base_url, "--json")
        events = [json.loads(line) for line in again.stdout.splitlines()]
        assert (events[0]["state"]["finished_before"], events[-1]["event"], events[-1]["why"]) == (
            2,
            "end",
            "",
        )
        assert len(server.requests) == 4 * 3

"""Notifications and what may be left: what a receiver gets, and that its faults cost nothing."""

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, HTTPServer
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from records import trial_record
from trial_results import trial_result
from typer.testing import CliRunner

from autoreproduce.cli.app import app
from autoreproduce.cli.console import notify as module
from autoreproduce.cli.console.notify import notify, trial_event
from autoreproduce.errors import UsageError
from autoreproduce.runner.api_results import Reproduction
from autoreproduce.runner.estimate import earlier_trials
from autoreproduce.runner.remaining_time import RemainingTime, earlier_outcomes
from autoreproduce.runner.views import PlainView
from autoreproduce.task import Metric, Task
from autoreproduce.trials.steps import ExecutionResult, Step
from autoreproduce.trials.trial import Trial

TASK = Task(id="lsm", instruction="", metric=Metric(name="e"), method="LSM", profile="small")
DONE = Reproduction(
    Path("runs/lsm"),
    trial_result(status="measured", reason="", metric=0.03),
    Path("report.html"),
    TASK,
)


@pytest.fixture
def receiver() -> Iterator[tuple[str, list[Any], list[int]]]:
    """An address, what it got, and the status that it answers."""
    got: list[Any] = []
    status = [200]

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            got.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status[0])
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: Any) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/hook", got, status
    server.shutdown()
    server.server_close()
    thread.join()


def test_the_end_of_a_trial_is_sent_and_a_fault_is_one_line(receiver: Any) -> None:
    address, got, status = receiver
    notes: list[str] = []
    notify(address, trial_event(DONE), notes.append)
    assert got[0]["event"] == "trial" and got[0]["metric"] == 0.03 and notes == []
    status[0] = 500
    notify(address, {}, notes.append)
    notify("http://127.0.0.1:9/nobody", {}, notes.append)
    assert notes[0] == "the notification was answered with 500"
    assert notes[1].startswith("the notification was not delivered (ConnectError")


def test_a_receiver_that_never_ends_its_answer_is_not_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(module, "SECONDS", 0.1)
    stopped = threading.Event()

    def drip() -> None:
        connection = listening.accept()[0]
        with connection, suppress(OSError):
            connection.sendall(b"HTTP/1.1 ")
            while not stopped.wait(0.02):
                connection.sendall(b"2")

    with socket.create_server(("127.0.0.1", 0)) as listening:
        thread = threading.Thread(target=drip)
        thread.start()
        notes: list[str] = []
        notify(f"http://127.0.0.1:{listening.getsockname()[1]}/", {}, notes.append)
        stopped.set()
        thread.join()
    assert notes == ["the notification was not answered in time"]


def test_the_bell_rings_on_stderr(capsys: pytest.CaptureFixture[str]) -> None:
    notify("bell", {}, print)
    assert capsys.readouterr() == ("", "\a")


def test_an_address_that_is_none_is_refused_before_anything_begins() -> None:
    commands = ["reproduce --task lsm", "suite reproducebench", "verify . --paper paper.md"]
    for command in map(str.split, commands):
        error = CliRunner().invoke(app, [*command, "--notify", "mailto:me"]).exception
        assert isinstance(error, UsageError) and "write bell, or an address" in str(error)


def earlier(folder: Path, whole: float, run: float, **changes: Any) -> None:
    record = trial_record(
        **{
            **{"task": "lsm", "profile": "small", "solver": "autoreproduce", "model": "m"},
            **{"task_digest": "d", "created": "2026-11-22T10:00:00+00:00", "settings": {}},
            **changes,
        }
    )
    trial = Trial.open(folder, record)
    phases = {"full_run": {"seconds": run}}
    trial.write_result(trial_result(status="measured", reason="", seconds=whole, phases=phases))
    trial.close()


def test_what_is_left_is_the_middle_of_earlier_trials_of_the_same(tmp_path: Path) -> None:
    for number, (whole, run) in enumerate([(100, 50), (200, 80), (900, 700)]):
        earlier(tmp_path / f"a{number}", whole, run)
    earlier(tmp_path / "other", 5000, 1, profile="full")
    earlier(tmp_path / "replay", 5000, 1, settings={"model": "tape"})
    (tmp_path / "damaged").mkdir()
    (tmp_path / "damaged" / "trial.json").write_text("{")
    found = earlier_outcomes(tmp_path, TASK, "autoreproduce")
    assert sorted(one.cost.seconds for one in found) == [100, 200, 900]
    assert len(earlier_trials(tmp_path)) == 4  # the replay is none of what a trial takes
    left = RemainingTime(found)
    assert left.seconds(50) == 150
    left.phase("full_run", 120)
    assert left.seconds(130) == 190  # 70 of the full run, and 120 for what follows
    assert left.seconds(321) is None  # it takes longer than was expected


def dry_run() -> Step:
    """A run of 2 s that says what a step took, 0.5 s, and that 1000 are planned."""
    said = {"planned_steps": 1000, "seconds_per_step": 0.5}
    metrics = {"metrics": {"e": 1.0}, "history": [], "settings": said}
    result = ExecutionResult(
        command="python main.py --dry-run",
        exit_code=0,
        seconds=2.0,
        metrics_json=json.dumps(metrics),
    )
    given = {"index": 0, "phase": "experiment_execution", "role": "sandbox", "name": "run"}
    return Step(**given, digest="d", at="2026-11-22T10:00:00+00:00", seconds=9, result=result)


def test_the_console_says_what_the_dry_run_s_rate_leaves() -> None:
    stream = StringIO()
    view = PlainView(stream, clock=iter(range(0, 10_000, 10)).__next__)
    view.progress.remaining = RemainingTime([])
    view.step(dry_run(), False)
    view.phase("full_run")
    assert "Full run, about 8 min left of this run" in stream.getvalue()
    view.step(dry_run().model_copy(update={"phase": "full_run"}), False)
    assert view.progress.left_words == "", "of our reference's run, which follows, nothing is known"


def test_steps_from_the_journal_count_as_done() -> None:
    left = RemainingTime([trial_result(status="measured", reason="", seconds=100.0)])
    left.step(dry_run().model_copy(update={"seconds": 60.0}), True)
    assert left.seconds(10) == 30

"""Kills: of the runner, of a sandbox's program, of the Docker Engine, and a full disk.

After each: nothing finished is lost or repeated, nothing is left behind, and the count is right at
the end.
"""

import json
import os
import shutil
import signal
import subprocess
import threading
import time
from pathlib import Path

import pytest
from chat_server import Answer, chat_server
from suite_world import answered, asked, counts, finish, lay_out, run, small_disk, start, wait_for

pytestmark = pytest.mark.slow


def test_kill_9_of_the_runner_repeats_no_finished_call(tmp_path: Path) -> None:
    """Killed three times at different moments; calls whose answer was not written down yet are owed
    again.
    """
    file = lay_out(tmp_path, ("one", "two"), trials=4, how={"calls": 6}, workers=4)
    out, owed = tmp_path / "out", 0
    with chat_server(lambda request: Answer("7", hang=0.05)) as server:
        for part in (5, 20, 34):
            with start(file, server.base_url) as running:
                wait_for(lambda part=part: len(server.requests) >= part)
                os.killpg(running.pid, signal.SIGKILL)
            owed += len(server.requests) - owed - len(answered(out))
        ended = finish(file, server.base_url)
        assert ended.returncode == 0, ended.stdout + ended.stderr
        made = asked(server)
    assert set(made) == {
        (f"{task}/3/{seed}", n) for task in ("one", "two") for seed in range(4) for n in range(6)
    }
    assert sum(made.values()) == 48 + owed
    assert 0 <= owed <= 3 * 4
    assert counts(out) == {"measured": 8}
    assert "[8/8]" in ended.stdout


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_ends_soon_writes_the_rows_and_the_same_command_goes_on(
    tmp_path: Path, number: int
) -> None:
    """One trial waits for its model, one is in a program that prints, one has not begun."""
    mark = f"while sleep 0.1; do echo {tmp_path}; done"
    file = lay_out(tmp_path, ("one", "two", "three"), how={"calls": 2, "command": mark})
    file.write_text(file.read_text().replace(mark, "seq 3", 1))
    out = tmp_path / "out"
    hang = [True]
    with chat_server(
        lambda r: Answer("7", hang=60 * hang[0] * ("one/" in r.prompt and "call 1" in r.prompt))
    ) as server:
        with start(file, server.base_url, "--workers", "2") as running:
            wait_for(lambda: len(server.requests) >= 3)
            time.sleep(0.5)
            assert subprocess.run(["pgrep", "-f", mark], capture_output=True).stdout
            began = time.monotonic()
            running.send_signal(number)
            assert running.wait(60) == 130
            assert time.monotonic() - began < 25
        assert counts(out) == {"stopped": 2, "not run": 1}
        assert not subprocess.run(["pgrep", "-f", mark], capture_output=True).stdout
        assert "stopped by the user" in json.loads((out / "state.json").read_text())["ended"]
        hang[0] = False
        file.write_text(file.read_text().replace(mark, "seq 3"))
        shutil.rmtree(out / "trials/two")  # its content is another now
        assert finish(file, server.base_url).returncode == 0
        assert counts(out) == {"measured": 3}
        assert asked(server)["one/3/0", 0] == 1
        assert asked(server)["one/3/0", 1] == 2


def test_kill_9_of_a_sandboxs_program_leaves_the_count_right(tmp_path: Path) -> None:
    """The program's supervisor and all below it are killed from outside, in the middle of a
    trial.
    """
    mark = f"sleep 31.{os.getpid()}"
    file = lay_out(
        tmp_path, ("one", "two"), how={"calls": 3, "command": f"echo begun > begun; {mark}"}
    )

    def kill() -> None:
        wait_for(
            lambda: len(list((tmp_path / "out").glob("trials/*/default/1/workspace/begun"))) == 2
        )
        subprocess.run(["pkill", "-9", "-f", mark], check=True)

    killer = threading.Thread(target=kill)
    killer.start()
    with chat_server(lambda request: "7") as server:
        summary = run(file, server.base_url)
        killer.join()
        assert summary.exit_code == 0
        assert counts(tmp_path / "out") == {"measured": 2}
        assert set(asked(server).values()) == {1}
    journal = (tmp_path / "out/trials/one/default/1/steps.jsonl").read_text().splitlines()
    commands = [json.loads(line)["result"] for line in journal if '"kind":"execute"' in line]
    assert [command["exit_code"] for command in commands] != [0]


def test_a_full_disk_loses_nothing_and_goes_on_once_there_is_room(tmp_path: Path) -> None:
    """Prompts of 60 KB fill 1.5 MB on the way; what was finished by then stays, and is not done
    again.
    """
    disk = tmp_path / "disk"
    with small_disk(disk, "1500k"), chat_server(lambda request: "7") as server:
        file = lay_out(
            disk, trials=8, how={"calls": 4, "text": 60_000}, settings={"max_output_tokens": 20}
        )
        summary = run(file, server.base_url, workers=2)
        assert summary.exit_code == 4
        assert "No space left" in summary.reason
        full = summary.snapshot["counts"]
        assert 0 < full["measured"] < 8
        assert full["not scored"] > 0
        kept, known = asked(server), answered(disk / "out")
        subprocess.run(["mount", "-o", "remount,size=64m", str(disk)], check=True)
        again = run(file, server.base_url, workers=2)
        assert again.exit_code == 0
        assert again.snapshot["finished_before"] == full["measured"]
        assert counts(disk / "out") == {"measured": 8}
        repeated = asked(server) - kept
        assert not set(repeated) & known


def test_two_hundred_trials_that_wait_take_no_more_memory_than_twenty(tmp_path: Path) -> None:
    """Measured in processes of their own: the most memory of a suite in which one trial runs and
    the others wait.
    """
    peaks = {}
    for trials in (20, 200):
        file = lay_out(tmp_path / str(trials), trials=trials, how={"calls": 1})
        with (
            chat_server(lambda request: Answer("7", hang=30)) as server,
            start(file, server.base_url, "--workers", "1") as running,
        ):
            wait_for(lambda server=server: server.requests)
            time.sleep(0.5)
            status = Path(f"/proc/{running.pid}/status").read_text()
            peaks[trials] = int(
                next(line for line in status.splitlines() if line.startswith("VmHWM")).split()[1]
            )
    assert peaks[200] - peaks[20] < 2_000, peaks  # KB

"""The run that counts sees decoys, and what it does is seen from outside."""

import sys
from pathlib import Path

import pytest
from sandbox_fixtures import Make, make
from sandbox_helpers import ALL

from autoreproduce import Sandbox
from autoreproduce.sandboxes.counted import CountedData, OpenedFiles, TrialSandbox, execute_counted

__all__ = ["make"]


@pytest.fixture(params=ALL)
def sandbox(request: pytest.FixtureRequest, make: Make) -> Sandbox:
    return make(request.param)


@pytest.mark.slow
def test_seconds_of_processor_are_counted(sandbox: Sandbox) -> None:
    busy = "import time\nend = time.process_time() + 0.6\nwhile time.process_time() < end: pass"
    spent = sandbox.execute(f"python -c '{busy}'", 20).cpu_seconds
    idle = sandbox.execute("sleep 0.3", 20).cpu_seconds
    if sandbox.name == "docker" and spent is None:
        pytest.skip("the Engine's cgroups are not seen from here")
    assert spent is not None and idle is not None
    assert 0.3 < spent < 5 and idle < 0.3


@pytest.mark.skipif(sys.platform != "linux", reason="inotify is Linux's")
def test_a_run_that_opens_data_is_seen_and_one_that_lists_them_is_not(
    sandbox: Sandbox, tmp_path: Path
) -> None:
    trial = TrialSandbox(sandbox, tmp_path / "data")
    done = execute_counted(trial, 'cat "$DATA_DIR/train.txt"', 20)
    assert (done.files_opened, done.decoys) == (1, False)
    assert execute_counted(trial, 'ls "$DATA_DIR" && sleep 0.1', 20).files_opened == 0
    assert trial.execute("true", 20).files_opened is None


def test_only_the_run_that_counts_sees_decoys(make: Make, tmp_path: Path) -> None:
    plain = make("bubblewrap")
    (tmp_path / "data" / "train.txt").write_text("the truth")
    decoys = tmp_path / "decoys"
    decoys.mkdir()
    (decoys / "train.txt").write_text("a decoy")

    asked: list[str] = []

    def counted_data(draw: str) -> CountedData:
        asked.append(draw)
        return CountedData(decoys, draw or "new")

    def over(folder: Path) -> Sandbox:
        other = make("bubblewrap")
        other._data = folder  # type: ignore[attr-defined]
        return other

    trial = TrialSandbox(plain, tmp_path / "data", counted_data, over)
    show = 'cat "$DATA_DIR/train.txt"; echo seen > note'
    assert trial.execute(show, 20).stdout == "the truth"
    counted = execute_counted(trial, show, 20)
    assert (counted.stdout, counted.decoys, counted.files_opened) == ("a decoy", True, 1)
    assert counted.draw == "new"
    assert execute_counted(trial, show, 20, draw="the first").draw == "the first"
    assert asked == ["", "the first"]
    assert trial.read("note") == b"seen\n" and trial.execute(show, 20).stdout == "the truth"


def test_a_sandbox_that_withholds_nothing_runs_as_ever(make: Make) -> None:
    done = execute_counted(make("process"), "echo here", 20)
    assert done.stdout == "here\n" and not done.decoys and done.files_opened is None


def test_a_folder_that_cannot_tell_gives_no_count(tmp_path: Path) -> None:
    for folder in (None, tmp_path, tmp_path / "missing"):
        with OpenedFiles(folder) as opened:
            pass
        assert opened.count is None

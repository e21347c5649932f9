"""The run that counts sees decoys, and what it does is seen from outside."""

import json
import re
import sys
from pathlib import Path

import pytest
from sandbox_fixtures import Make
from sandbox_helpers import ALL, ISOLATING, POLLING

from autoreproduce import Sandbox
from autoreproduce.sandboxes.counted_run import (
    CountedData,
    OpenedFiles,
    TrialSandbox,
    execute_counted,
    view_of,
)


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", [*ALL, *POLLING], indirect=True)
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


LOOK = """
import json, os, re
data = os.environ["DATA_DIR"]
stats = [os.stat(at) for at in [data, *sorted(os.path.join(*each) for each in
         ((at, name) for at, folders, names in os.walk(data) for name in folders + names))]]
text = open("/proc/1/cmdline").read() + "".join(
    line.split(" ", 3)[3] for line in open("/proc/self/mountinfo") if " /data " in line)
seen = [sorted(name for _, _, names in os.walk(data) for name in names),
        [(one.st_size, one.st_mtime_ns, one.st_nlink, one.st_mode, one.st_uid) for one in stats],
        sorted(os.listdir("/proc/self/fd")), dict(os.environ)]
print(json.dumps([seen, max(one.st_ctime for one in stats) - min(one.st_ctime for one in stats),
      re.sub("scratch-[^/]*", "", text).replace(chr(0), " "), text.count("decoys"), text.count("raw")]))
"""


@pytest.mark.parametrize("kind", ISOLATING)
def test_names_times_and_arguments_do_not_tell_the_run_that_counts(
    make: Make, tmp_path: Path, kind: str
) -> None:
    plain = make(kind)
    data, decoys = tmp_path / "data", tmp_path / "decoys"
    (data / "more").mkdir()
    (data / "raw.txt").write_text("what was fetched")
    (data / "more" / "test.txt").write_text("the truth")
    (decoys / "more").mkdir(parents=True)
    (decoys / "train.txt").hardlink_to(data / "train.txt")
    (decoys / "more" / "test.txt").write_text("a decoy..")
    (tmp_path / "data" / "data.json").write_text("{}")

    def over(folder: Path) -> Sandbox:
        other = make(kind)
        other._data = folder  # type: ignore[attr-defined]
        return other

    files = ("train.txt", "more/*")
    trial = TrialSandbox(plain, data, lambda draw: CountedData(decoys, "new"), over, files)
    trial.write("look.py", LOOK.encode())
    runs = [trial.execute, lambda *given: execute_counted(trial, *given)]
    plain_run, counted = (json.loads(run("python look.py", 20).stdout) for run in runs)
    assert plain_run[0] == counted[0] and plain_run[0][0] == ["test.txt", "train.txt"]
    assert max(plain_run[1], counted[1]) < 5
    words = [re.sub(r"/tmp/autoreproduce-[^ ]*|\d+", "", each[2]) for each in (plain_run, counted)]
    assert words[0] == words[1] and plain_run[3:] == counted[3:] == [0, 0]


@pytest.mark.parametrize("most", [2**28, 4])
def test_a_view_holds_what_is_named_of_a_folder_unless_it_is_large(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, most: int
) -> None:
    monkeypatch.setattr("autoreproduce.sandboxes.counted_run.LARGEST_VIEW", most)
    (tmp_path / "one.txt").write_text("first")
    (tmp_path / "raw.txt").write_text("other")
    with view_of(tmp_path, ("one*",)) as view:
        assert (view / "one.txt").read_text() == "first"
        assert (view == tmp_path) == (most == 4) == (view / "raw.txt").exists()
    assert view.exists() == (most == 4)


def test_a_sandbox_that_withholds_nothing_runs_as_ever(make: Make) -> None:
    done = execute_counted(make("process"), "echo here", 20)
    assert done.stdout == "here\n" and not done.decoys and done.files_opened is None


def test_a_folder_that_cannot_tell_gives_no_count(tmp_path: Path) -> None:
    for folder in (None, tmp_path, tmp_path / "missing"):
        with OpenedFiles(folder) as opened:
            pass
        assert opened.count is None

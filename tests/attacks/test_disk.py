"""Programs that fill the disk where no walk over folders sees it."""

import time

import pytest
from sandbox_helpers import DOCKER

UNSEEN = """
import os, time
handles = []
for number in range(12):
    handles.append(os.open(f"file{number}", os.O_CREAT | os.O_RDWR))
    os.unlink(f"file{number}")
    os.write(handles[-1], bytes(10_000_000))
print("written", flush=True)
time.sleep(30)
print("went on", flush=True)
"""


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["bubblewrap", "bubblewrap-polling", "process", DOCKER])
def test_files_deleted_while_open_count(make, kind: str) -> None:
    sandbox = make(kind, memory_gb=1, cpus=1, processes=64, disk_gb=0.05)
    sandbox.write("unseen.py", UNSEEN.encode())
    began = time.monotonic()
    done = sandbox.execute("python unseen.py", 60)
    assert done.stopped == "disk" and "went on" not in done.stdout
    assert time.monotonic() - began < 25
    assert sandbox.execute("echo on", 20).stdout == "on\n"


@pytest.mark.slow
def test_no_room_on_the_disk_stops_a_program(make, monkeypatch: pytest.MonkeyPatch) -> None:
    from autoreproduce.sandboxes import watch

    sandbox = make("bubblewrap")
    monkeypatch.setattr(watch, "FLOOR", 2**62)  # more than any disk has
    done = sandbox.execute("echo more > file; sleep 20", 30)
    assert done.stopped == "disk" and "left no room" in done.stderr
    assert sandbox.execute("cat file; sleep 2", 30).stopped == ""  # what only reads is not blamed

"""What is kept of output, the reading of cgroup counters, and who owns what."""

import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreproduce.files.owner import owner, stale
from autoreproduce.files.tree import Tree
from autoreproduce.sandboxes.cgroups import Cgroup
from autoreproduce.sandboxes.watch import STDERR, STDOUT, HeadAndTail, Output


@given(st.lists(st.binary(max_size=40), max_size=40), st.integers(2, 60))
def test_kept_is_head_and_tail(chunks: list[bytes], limit: int) -> None:
    kept, whole, half = HeadAndTail(limit), b"".join(chunks), limit // 2
    for chunk in chunks:
        kept.feed(chunk)
    if len(whole) <= 2 * half:
        assert kept.text() == whole.decode(errors="replace")
        return
    missing = len(whole) - 2 * half
    head, tail = whole[:half].decode(errors="replace"), whole[-half:].decode(errors="replace")
    assert kept.text() == f"{head}\n[… {missing:,} bytes are missing here …]\n{tail}"


def test_memory_of_a_flood_is_bounded() -> None:
    kept = HeadAndTail(1000)
    for _ in range(1000):
        kept.feed(b"x" * 10_000)
    assert kept.total == 10_000_000 and len(kept._tail) < 20_000


def test_flood_is_the_sum_of_both_streams() -> None:
    heard: list[str] = []
    output = Output(100, 1000, heard.append)
    output.feed(STDOUT, b"a" * 600)
    assert not output.flooded
    output.feed(STDERR, b"b" * 600)
    assert output.flooded
    output.feed(STDOUT, b"c" * 600)
    assert "".join(heard) == "a" * 600 + "b" * 600


def test_letters_cut_between_chunks_arrive_whole() -> None:
    heard: list[str] = []
    output = Output(100, 1000, heard.append)
    for byte in "né".encode():
        output.feed(STDOUT, bytes([byte]))
    assert heard == ["n", "é"] and output.text(STDOUT) == "né"


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (
            "memory.events",
            "low 0\nhigh 0\nmax 12\noom 1\noom_kill 3\noom_group_kill 0\n",
        ),  # version 2
        ("memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 3\n"),  # version 1
    ],
)
def test_counters_of_both_versions(tmp_path: Path, file: str, text: str) -> None:
    (tmp_path / file).write_text(text)
    (tmp_path / "pids.events").write_text("max 7\n")
    group = Cgroup({"memory": tmp_path, "pids": tmp_path})
    assert group.memory_kills() == 3 and group.refused_forks() == 7
    assert group.procs == [tmp_path / "cgroup.procs"]


def test_reclaim_takes_what_is_new_and_large(tmp_path: Path) -> None:
    (tmp_path / "old").write_bytes(b"x" * 5_000_000)
    since = (tmp_path / "old").stat().st_ctime + 0.01
    while not (tmp_path / "small").exists() or (tmp_path / "small").stat().st_ctime < since:
        (tmp_path / "small").write_bytes(b"x" * 1000)
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep" / "large").write_bytes(b"x" * 1_000_000)
    (tmp_path / "link").symlink_to("/etc/passwd")
    before = Tree(tmp_path).used()
    assert before > 6_000_000
    assert [name.split(" (")[0] for name in Tree(tmp_path).reclaim(since, before - 500_000)] == [
        "deep/large"
    ]
    assert (tmp_path / "old").exists() and (tmp_path / "small").exists()


def test_an_owner_is_stale_when_its_process_is_gone() -> None:
    assert not stale(owner())
    code = "from autoreproduce.files.owner import owner; print(owner())"
    gone = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, text=True
    ).stdout.strip()
    assert stale(gone)
    place, number, _ = owner().rsplit("/", 2)
    assert stale(f"{place}/{number}/1")  # the number was given to another process since
    for unknown in ("", "x", "another-machine/4026531836/1/1"):
        assert not stale(unknown)

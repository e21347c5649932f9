"""The door to a workspace, tried on trees of every hostile kind: nothing outside changes, nothing hangs or escapes."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import tempfile
import traceback
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from autoreproduce.errors import SandboxError
from autoreproduce.files.tree import Tree

KINDS = (
    "file",
    "folder",
    "link out",
    "link in",
    "link to folder",
    "dangling",
    "loop",
    "pipe",
    "socket",
    "hard link",
)
NAMES = [
    "a",
    "b",
    "c.py",
    "new\nline",
    "caf\udce9",
    "metrics.json",
    ".git",
    "x" * 255,
    '"quoted"',
    "-n",
    " ",
]
PATHS = [
    *NAMES,
    "a/b",
    "a/b/c.py",
    "b/a/metrics.json",
    "b/" + "y" * 255,
    "c.py/a",
    "/workspace/a",
    "./a",
]
REFUSED = ["..", "../host/key", "a/../../host/key", "/etc/passwd", "", ".", "/", "/workspace", "/workspace/../etc",
           "nul\0byte", "half\ud800", "/workspacex/a", "z" * 300]  # fmt: skip
SECONDS = 20

entry = st.tuples(st.lists(st.sampled_from(NAMES), min_size=1, max_size=3), st.sampled_from(KINDS),
                  st.sampled_from([0o000, 0o400, 0o500, 0o755]))  # fmt: skip


class Slow(Exception):
    """An operation hung."""


@contextmanager
def at_once() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise Slow

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def build(root: Path, host: Path, entries: list[tuple[list[str], str, int]]) -> None:
    """Make the entries as far as they can be made: one may stand where another needs a folder."""
    for names, kind, mode in entries:
        path = root.joinpath(*names)
        with suppress(OSError, RuntimeError):  # the latter for a circle of links
            inside(path.parent, root).mkdir(parents=True, exist_ok=True)
            place(path, kind, host)
            if kind in ("file", "folder", "pipe"):  # a link's other end is the host's
                path.chmod(mode)


def inside(folder: Path, root: Path) -> Path:
    """The folder, where no link leads out on the way to it: what builds the tree must not attack the host itself."""
    if not folder.resolve().is_relative_to(root):
        raise OSError
    return folder


def place(path: Path, kind: str, host: Path) -> None:
    links = {"link out": host / "key", "link in": "a", "link to folder": host, "dangling": host / "made",
             "loop": path.name}  # fmt: skip
    if kind in links:
        path.symlink_to(links[kind])
    elif kind == "file":
        with path.open("xb") as made:  # a pipe that stands there would block us
            made.write(b"own")
    elif kind == "folder":
        path.mkdir()
    elif kind == "pipe":
        os.mkfifo(path)
    elif kind == "hard link":
        path.hardlink_to(host.parent / "shared")
    else:
        here = os.open(path.parent, os.O_PATH)
        try:
            with socket.socket(socket.AF_UNIX) as bound:
                bound.bind(f"/proc/self/fd/{here}/{path.name}")
        finally:
            os.close(here)


def picture(host: Path) -> list[tuple[Any, ...]]:
    """All that could be changed outside."""
    found = []
    for path in [host.parent / "shared", host, *sorted(host.rglob("*"))]:
        status = path.lstat()
        content = path.read_bytes() if path.is_file() else b""
        found.append(
            (path.name, status.st_mode, status.st_ino, status.st_mtime_ns, status.st_size, content)
        )
    return found


def operations(tree: Tree, name: str, target: Path) -> dict[str, Callable[[], object]]:
    return {
        "kind": lambda: tree.kind(name), "read": lambda: tree.read(name, 100), "text": lambda: tree.read_text(name),
        "sha256": lambda: tree.sha256(name), "holds": lambda: tree.holds(name, b"own"),
        "used": tree.used, "walk": lambda: list(tree.walk()), "entries": tree.entries, "files": tree.files,
        "copy out": lambda: tree.copy_out(target), "copy one out": lambda: tree.copy_out(target, [name]),
        "reclaim": lambda: tree.reclaim(0, 10**9), "write": lambda: tree.write(name, b"ours"),
        "make": lambda: tree.make_folder(name),
        "remove": lambda: tree.remove(name), "clear": tree.clear,
    }  # fmt: skip


def attempt(tmp: Path, entries: list[tuple[list[str], str, int]], name: str, chosen: str) -> None:
    """One operation on one tree; the same as this process may do it, root or not."""
    root, host, target = tmp / "root", tmp / "host", tmp / "target"
    for folder in (root, host, target):
        folder.mkdir()
    (host / "key").write_text("private")
    (host / "folder").mkdir()
    (tmp / "shared").write_bytes(b"shared")
    tree = Tree(root)
    build(root, host, entries)
    if chosen == "copy in":
        with suppress(SandboxError):  # a file that is closed to us
            tree.copy_out(target)
    before, open_files = picture(host), set(Path("/proc/self/fd").iterdir())
    with at_once(), suppress(SandboxError, FileNotFoundError):
        operations(tree, name, target)[chosen]()
        check_done(tree, name, chosen)
    assert picture(host) == before
    # none is left open; one of an earlier test may be closed by the garbage collector meanwhile
    assert set(Path("/proc/self/fd").iterdir()) <= open_files
    if chosen in ("copy out", "copy one out"):
        assert all(entry.kind in ("file", "folder") for entry in Tree(target).walk())
    Tree(tmp).clear()


def check_done(tree: Tree, name: str, chosen: str) -> None:
    if chosen == "write":
        assert tree.read(name) == b"ours" and tree.kind(name) == "file"
    elif chosen == "remove":
        assert tree.kind(name) == ""
    elif chosen == "clear":
        assert not tree.entries()
    elif chosen == "make":
        assert tree.kind(name) == "folder"


OPERATIONS = list(operations(Tree(Path()), "", Path()))


@pytest.mark.parametrize("chosen", OPERATIONS)
@settings(max_examples=25, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(entries=st.lists(entry, max_size=8), name=st.sampled_from([*PATHS, *REFUSED]))
def test_nothing_outside_changes(
    tmp_path: Path, chosen: str, entries: list[tuple[list[str], str, int]], name: str
) -> None:
    attempt(Path(tempfile.mkdtemp(dir=tmp_path)), entries, name, chosen)


def as_nobody(do: Callable[[], None], told: Path) -> bool:
    """True where `do` raises nothing in a process without root's rights; `told` says what it raised."""
    if (child := os.fork()) == 0:
        try:
            os.setgroups([])
            os.setgid(65534)
            os.setuid(65534)
            do()
        except BaseException:
            told.write_text(traceback.format_exc())
            os._exit(1)
        os._exit(0)
    return os.waitpid(child, 0)[1] == 0


@pytest.fixture
def open_to_all() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="tree-"))
    folder.chmod(0o777)
    yield folder
    Tree(folder.parent).remove(folder.name)


@pytest.mark.slow
@pytest.mark.skipif(os.getuid() != 0, reason="the test above runs as no root then")
@settings(max_examples=200, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    entries=st.lists(entry, max_size=8), name=st.sampled_from(PATHS), chosen=st.sampled_from(OPERATIONS)
)  # fmt: skip
def test_the_same_for_whom_rights_bind(
    open_to_all: Path, entries: list[tuple[list[str], str, int]], name: str, chosen: str
) -> None:
    tmp = Path(tempfile.mkdtemp(dir=open_to_all))
    tmp.chmod(0o777)
    assert as_nobody(lambda: attempt(tmp, entries, name, chosen), told := tmp / "told"), (
        told.read_text()
    )


@pytest.mark.parametrize("name", REFUSED)
def test_names_that_lead_out_are_refused(tmp_path: Path, name: str) -> None:
    tree = Tree(tmp_path)
    for chosen in (
        tree.read,
        tree.remove,
        tree.kind,
        tree.make_folder,
        lambda name: tree.write(name, b""),
    ):
        with pytest.raises(SandboxError):
            chosen(name)


def test_a_root_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "file").write_text("x")
    (tmp_path / "link").symlink_to("real")
    for do in (Tree(tmp_path / "link").clear, lambda: Tree(tmp_path / "link").write("file", b"y")):
        with pytest.raises(SandboxError):
            do()
    assert (tmp_path / "real" / "file").read_text() == "x"


def test_copies_out_are_bounded(tmp_path: Path) -> None:
    tree = Tree(tmp_path / "root")
    for number in range(5):
        tree.write(f"deep/{number}", b"x" * 10)
    tree.copy_out(tmp_path / "all")
    assert len(list((tmp_path / "all" / "deep").iterdir())) == 5
    for limits in ({"most": 49}, {"count": 4}):
        with pytest.raises(SandboxError, match="over the limit"):
            tree.copy_out(tmp_path / "some", **limits)


def test_reads_are_bounded(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.write("file", b"x" * 11)
    os.truncate(tmp_path / "file", 2**40)
    with pytest.raises(SandboxError, match="more than 10 bytes"):
        tree.read("file", 10)
    with pytest.raises(SandboxError, match="more than"):
        tree.sha256("file")


def test_a_write_keeps_the_rights_and_leaves_no_other_file(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.write("run.sh", "one")
    (tmp_path / "run.sh").chmod(0o755)
    tree.write("run.sh", "two")
    assert (tmp_path / "run.sh").stat().st_mode & 0o777 == 0o755
    assert [path.name for path in tmp_path.iterdir()] == ["run.sh"]


def test_a_write_that_fails_leaves_what_was_there(tmp_path: Path) -> None:
    tree = Tree(tmp_path)
    tree.write("file", b"before")
    code = f"""
import resource, signal
from pathlib import Path
from autoreproduce.files.tree import Tree
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100))
Tree(Path({str(tmp_path)!r})).write("file", b"x" * 1000)
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert "SandboxError" in done.stderr and "File too large" in done.stderr
    assert [path.name for path in tmp_path.iterdir()] == ["file"] and tree.read("file") == b"before"

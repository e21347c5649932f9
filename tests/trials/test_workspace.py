"""The workspace's history: written by us alone, out of the program's reach."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from autoreproduce.errors import TrialError
from autoreproduce.trials.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    made.open()
    return made


def test_the_same_content_makes_no_second_commit(workspace: Workspace) -> None:
    first = "method: EDIT 1 0 main.py"
    workspace.commit({"main.py": "x = 1\n"}, first, "the first version")
    workspace.commit({"main.py": "x = 1\n"}, "again")
    workspace.commit({"main.py": "x = 2\n"}, "changed")
    assert workspace.git("log", "--format=%s").splitlines()[:2] == ["changed", first]


def test_opening_again_restores_tracked_files_and_keeps_others(workspace: Workspace) -> None:
    workspace.commit({"main.py": "x = 1\n"}, "one")
    (workspace.folder / "main.py").write_text("torn")
    (workspace.folder / "metrics.json").write_text("{}")
    workspace.open()
    assert workspace.read("main.py") == "x = 1\n"
    assert workspace.read("metrics.json") == "{}"


@pytest.mark.parametrize("left", ["index.lock", "HEAD.lock", "refs/heads/main.lock"])
def test_a_lock_that_a_killed_git_left_is_taken_away(workspace: Workspace, left: str) -> None:
    workspace.commit({"main.py": "x = 1\n"}, "one")
    (workspace.history / left).touch()
    workspace.open()
    workspace.commit({"main.py": "x = 2\n"}, "two")
    assert workspace.git("log", "--format=%s").splitlines() == ["two", "one", "an empty workspace"]


def test_a_history_that_was_killed_before_its_first_commit_is_gone_on_with(tmp_path: Path) -> None:
    subprocess.run(
        ["git", "init", "-q", "--bare", "-b", "main", tmp_path / "history.git"], check=True
    )
    workspace = Workspace(tmp_path)
    workspace.open()
    workspace.commit({"main.py": "x = 1\n"}, "one")
    assert workspace.git("log", "--format=%s").splitlines() == ["one", "an empty workspace"]


def test_without_git_the_error_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(TrialError, match="install git"):
        Workspace(tmp_path).open()


def test_a_program_cannot_plant_a_hook(workspace: Workspace) -> None:
    """A .git folder or hooks that a program writes into the workspace are never used."""
    hooks = workspace.folder / ".git" / "hooks"
    hooks.mkdir(parents=True)
    trap = workspace.folder / "trapped"
    (hooks / "pre-commit").write_text(f"#!/bin/sh\ntouch {trap}\n")
    (hooks / "pre-commit").chmod(0o755)
    (workspace.folder / ".git" / "config").write_text(f"[core]\n\tfsmonitor = touch {trap}\n")
    workspace.commit({"main.py": "x = 1\n"}, "one")
    workspace.open()
    assert not trap.exists()


@pytest.mark.parametrize(
    "name",
    [
        "a b.py",
        "ä.py",
        'quo"te\\.py',
        "new\nline.py",
        "-n",
        "sub/.git/x",
        ".GIT%/.git",
        "caf\udce9",
    ],
)
def test_any_name_and_text_comes_back(workspace: Workspace, tmp_path: Path, name: str) -> None:
    text = "x\r\n\0ä$Id$ half \ud800 end without newline"
    workspace.commit({name: text, "other.py": ""}, "two\n\nlines\0", "why\n\n\n# not a comment  ")
    again = Workspace(tmp_path)
    again.open()
    assert again.committed() == {name: text.encode("utf-8", "replace"), "other.py": b""}
    again.commit({name: text}, "the same")
    assert workspace.git("log", "-1", "--format=%s%n%b").split("\n")[:2] == ["two", "lines"]


def test_a_folder_in_a_files_place_and_back(workspace: Workspace, tmp_path: Path) -> None:
    for files in ({"a": "1"}, {"a/b": "2", "c": "3"}, {"a": "4"}):
        workspace.commit(files, "next")
        again = Workspace(tmp_path)
        again.open()
        assert {name: again.read(name) for name in files} == files
    assert again.committed() == {"a": b"4", "c": b"3"}


def test_files_that_did_not_change_are_left_alone(workspace: Workspace, tmp_path: Path) -> None:
    workspace.commit({"main.py": "x = 1\n"}, "one")
    before = (workspace.folder / "main.py").stat()
    Workspace(tmp_path).open()
    assert (workspace.folder / "main.py").stat().st_ino == before.st_ino


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 256 KB, which only root can make."""
    folder = tmp_path / "small"
    folder.mkdir()
    made = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=256k", "none", folder], capture_output=True, text=True
    )
    if made.returncode:
        pytest.skip(f"no file system can be made here: {made.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=True)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="tmpfs is Linux's")
def test_a_disk_that_fills_at_any_place_leaves_what_works_once_there_is_room(
    small_disk: Path,
) -> None:
    failed = 0
    for pages in range(0, 34, 2):
        trial = small_disk / f"trial{pages}"
        trial.mkdir()
        free = os.statvfs(small_disk)
        filler = small_disk / "filler"
        filler.write_bytes(b"x" * max(free.f_bavail * free.f_frsize - pages * 4096, 0))
        try:
            Workspace(trial).open()
        except TrialError as error:
            assert "make room" in str(error)
            failed += 1
        filler.unlink()
        workspace = Workspace(trial)
        workspace.open()
        workspace.commit({"main.py": "x = 1\n"}, "one")
        assert workspace.git("log", "--format=%s").splitlines() == ["one", "an empty workspace"]
        subprocess.run(["rm", "-r", trial], check=True)
    assert 2 < failed < 17

"""The workspace's history: written by us alone, out of the program's reach."""

import subprocess
from pathlib import Path

import pytest

from autoreproduce.errors import TrialError
from autoreproduce.workspace import Workspace


@pytest.fixture
def workspace(tmp_path: Path) -> Workspace:
    made = Workspace(tmp_path)
    made.open()
    return made


def test_the_same_content_makes_no_second_commit(workspace: Workspace) -> None:
    first = workspace.commit({"main.py": "x = 1\n"}, "method: EDIT 1 0 main.py", "the first version")
    assert workspace.commit({"main.py": "x = 1\n"}, "again") == first
    assert workspace.commit({"main.py": "x = 2\n"}, "changed") != first
    assert workspace.git("log", "--format=%s").splitlines()[0] == "changed"


def test_opening_again_restores_tracked_files_and_keeps_others(workspace: Workspace) -> None:
    workspace.commit({"main.py": "x = 1\n"}, "one")
    (workspace.folder / "main.py").write_text("torn")
    (workspace.folder / "metrics.json").write_text("{}")
    workspace.open()
    assert workspace.read("main.py") == "x = 1\n"
    assert workspace.read("metrics.json") == "{}"


@pytest.mark.parametrize("left", ["HEAD.lock", "refs/heads/main.lock"])
def test_a_lock_that_a_killed_git_left_is_taken_away(workspace: Workspace, left: str) -> None:
    workspace.commit({"main.py": "x = 1\n"}, "one")
    (workspace.history / left).touch()
    workspace.open()
    workspace.commit({"main.py": "x = 2\n"}, "two")
    assert workspace.git("log", "--format=%s").splitlines() == ["two", "one", "an empty workspace"]


def test_a_history_that_was_killed_before_its_first_commit_is_gone_on_with(tmp_path: Path) -> None:
    subprocess.run(["git", "init", "-q", "--bare", "-b", "main", tmp_path / "history.git"], check=True)
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
    workspace.git("status")
    assert not trap.exists()


def test_a_lock_left_by_a_killed_process_does_not_block(workspace: Workspace) -> None:
    (workspace.history / "index.lock").touch()
    workspace.open()
    workspace.commit({"main.py": "x = 1\n"}, "one")

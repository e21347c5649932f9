"""Trials, suites and submissions of others: what is read of them, written for them and signalled."""

import math
import os
import subprocess
from pathlib import Path

import pytest
from matplotlib.cbook import is_math_text

from autoreproduce.errors import TrialError
from autoreproduce.evaluation.report import versions
from autoreproduce.evaluation.report.wording import duration
from autoreproduce.evaluation.tables.model import plot_label
from autoreproduce.files.owner import owner, process_id, stale
from autoreproduce.trials import workspace


@pytest.mark.parametrize("name", ["$x^{$", "a$b$", r"\$a$b$", "$$", "_hidden", "a" * 900])
def test_a_name_is_no_formula_in_a_plot(name: str) -> None:
    label = plot_label(name)
    assert not is_math_text(label) and not label.startswith("_") and len(label) < 100


@pytest.mark.parametrize("seconds", [math.inf, -math.inf, math.nan])
def test_a_step_that_took_for_ever_has_no_duration(seconds: float) -> None:
    assert duration(seconds) == "–"


def test_no_process_is_signalled_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = owner().rsplit("/", 2)[0]
    assert process_id(owner()) == os.getpid()
    for number in ("0", "-1", "²", "٣", "9999999999", "1" * 5000, "", "1/.."):
        assert process_id(f"{machine}/{number}/None") is None
        assert stale(f"{machine}/{number}/None") in (True, False)


@pytest.mark.slow
def test_a_history_of_a_few_bytes_lists_no_billion_files(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = workspace.Workspace(tmp_path / "t")
    space.open()

    def git(*words: str, given: str = "") -> str:
        command = ["git", f"--git-dir={space.history}", *words]
        return subprocess.check_output(command, input=given, text=True).strip()

    tree = git("hash-object", "-w", "--stdin", given="x" * 1000)
    for depth in range(8):
        kind = "040000 tree" if depth else "100644 blob"
        tree = git("mktree", given="".join(f"{kind} {tree}\tf{n}\n" for n in range(10)))
    author = ["-c", "user.name=a", "-c", "user.email=a@b"]
    git("update-ref", workspace.BRANCH, git(*author, "commit-tree", tree, "-m", "all"))
    monkeypatch.setattr(workspace, "LARGEST_LISTING", 2**20)
    monkeypatch.setattr(workspace, "GIT_MEMORY", 2**27)
    with pytest.raises(TrialError, match="prints over 1 MiB: the repository holds too many files"):
        versions.tracked_files(tmp_path / "t")
    problems: list[str] = []
    assert (
        versions.read_commits(tmp_path / "t", problems) == [] and "git show failed" in problems[0]
    )

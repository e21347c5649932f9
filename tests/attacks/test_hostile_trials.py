"""Trials, suites and submissions of others: what is read of them, written for them and signalled."""

import json
import math
import os
from pathlib import Path

import pytest
from matplotlib.cbook import is_math_text
from pydantic import ValidationError

from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.errors import SandboxError, UsageError
from autoreproduce.evaluation.judging.program import Program
from autoreproduce.evaluation.report.wording import duration
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.evaluation.tables.model import plot_label
from autoreproduce.files.owner import owner, process_id, stale
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.integrations.inspect_export import _file_date, _prompt_of
from autoreproduce.plugins.integrations.jobs import JobRecord, Jobs
from autoreproduce.plugins.paperbench.reproduction import UNHASHED, _digests_after, hand_in
from autoreproduce.plugins.paperbench.rerun import RerunRequest, rerun
from autoreproduce.plugins.view import processes
from autoreproduce.plugins.view.library import Library
from autoreproduce.plugins.view.pages import index
from autoreproduce.trials.steps import ModelResult
from autoreproduce.trials.trial import Trial


@pytest.mark.parametrize("notes", [5, "x", {"a": 1}, [1], None, True])
def test_a_suite_of_others_takes_no_page_down(tmp_path: Path, notes: object) -> None:
    (suite := tmp_path / "suite").mkdir()
    (suite / "suite.json").write_text("{}")
    (suite / "state.json").write_text(json.dumps({"notes": notes, "counts": notes, "cost": notes}))
    [(_, facts)] = index(Library(tmp_path))["suites"]
    assert facts["notes"] == (["1"] if notes == [1] else [])


@pytest.mark.parametrize("name", ["$x^{$", "a$b$", r"\$a$b$", "$$", "_hidden", "a" * 900])
def test_a_name_is_no_formula_in_a_plot(name: str) -> None:
    label = plot_label(name)
    assert not is_math_text(label) and not label.startswith("_") and len(label) < 100


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "a" * 3_000_000])
def test_a_job_that_cannot_be_started_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="cannot be started"):
        Jobs(tmp_path).start("reproduce", [f"--task={text}"])


@pytest.mark.parametrize("seconds", [math.inf, -math.inf, math.nan])
def test_a_step_that_took_for_ever_has_no_duration(seconds: float) -> None:
    assert duration(seconds) == "–"


def test_no_process_is_signalled_that_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    machine = owner().rsplit("/", 2)[0]
    assert process_id(owner()) == os.getpid()
    for number in ("0", "-1", "²", "٣", "9999999999", "1" * 5000, "", "1/.."):
        assert process_id(f"{machine}/{number}/None") is None
        assert stale(f"{machine}/{number}/None") in (True, False)
    for pid in (0, -1):
        with pytest.raises(ValidationError):
            JobRecord(id="plan-00000000", arguments=[], pid=pid, started="")


def test_a_file_of_another_user_names_no_process_to_be_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (file := tmp_path / "live.json").touch()
    signalled: list[int] = []
    monkeypatch.setattr(os, "kill", lambda process, _: signalled.append(process))
    user = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: user + 1)
    with pytest.raises(UsageError, match="another user"):
        processes._interrupt(os.getpid(), file)
    monkeypatch.setattr(os, "getuid", lambda: user)
    processes._interrupt(os.getpid(), file)
    assert signalled == [os.getpid()]


def test_a_trials_date_is_no_path_and_a_linked_prompt_is_not_exported(tmp_path: Path) -> None:
    assert _file_date("2026-11-22T10:00:00+00:00") == "2026-11-22T10-00-00"
    assert "/" not in _file_date("/tmp/x") and "." not in _file_date("../../x")
    trial = lay_out(tmp_path / "t", Program({"main.py": "x = 1\n"}), load_task("lsm"))
    trial.keep_prompt("ask", "the prompt")
    trial.step(ModelResult, "code", "ask", "asked", lambda: ModelResult(reply="x"))
    trial.close()
    read = Trial.read(tmp_path / "t")
    assert _prompt_of(read, read.steps[0]) == "the prompt"
    [prompt] = (tmp_path / "t" / "prompts").iterdir()
    prompt.unlink()
    prompt.symlink_to("/etc/hostname")
    assert _prompt_of(read, read.steps[0]) == ""


def test_files_with_holes_are_not_read_for_their_digests(tmp_path: Path) -> None:
    (mine := tmp_path / "mine").mkdir()
    (mine / "same.csv").write_text("1")
    (mine / "grown.csv").write_text("1")
    before = hand_in(mine, tmp_path)
    Tree(tmp_path / "submission").copy_out(tmp_path / "workspace")
    for name in ("grown.csv", "aaa", "new"):
        with (tmp_path / "workspace" / name).open("wb") as file:
            file.truncate(2**42)
    (tmp_path / "workspace" / "short").write_text("1")
    after = _digests_after(tmp_path)
    assert after["same.csv"] == after["short"] == before["same.csv"]
    assert after["grown.csv"] == after["aaa"] == after["new"] == UNHASHED


def test_a_trials_workspace_that_is_a_link_is_not_handed_in(tmp_path: Path) -> None:
    (tmp_path / "private").mkdir()
    (tmp_path / "private" / "key").write_text("secret")
    (tmp_path / "t").mkdir()
    (tmp_path / "t" / "trial.json").write_text("{}")
    (tmp_path / "t" / "workspace").symlink_to(tmp_path / "private")
    with pytest.raises(SandboxError, match="plain folders"):
        rerun(RerunRequest(str(tmp_path / "t"), None, out=tmp_path / "out"))  # type: ignore[arg-type]

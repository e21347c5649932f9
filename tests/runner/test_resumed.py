"""What `resume` asks for, read from a trial's folder."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from autoreproduce.cli.app import app
from autoreproduce.cli.report import write_badge
from autoreproduce.config import Settings
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.job import Job, Program, read_job, task_digest
from autoreproduce.runner.api import resumed
from autoreproduce.runner.find import find_or_make_task
from autoreproduce.runner.settings import load_settings
from autoreproduce.task import Task
from autoreproduce.trials.begun import note_begun
from autoreproduce.trials.trial import Trial, TrialRecord


def begin(folder: Path, instruction: str = "", *claims: str, **settings: Any) -> Task:
    """A trial of LSM on Darcy that was begun here and left."""
    here = load_settings({"model": "x", **settings})
    task = find_or_make_task("Darcy", None, None, None, instruction, "small", claims)
    record = TrialRecord(job=Job(task=task, settings=here).fixed(), model="x", created="now")
    Trial.open(folder, record, begun=lambda: note_begun(here.cache_dir, folder)).close()
    return task


def test_a_trial_with_an_instruction_of_the_user_goes_on_with_it(tmp_path: Path) -> None:
    task = begin(tmp_path / "t", "Take seed 1.")
    assert task_digest(resumed(tmp_path / "t", load_settings({})).of_task) == task_digest(task)


def test_a_trial_with_claims_of_the_user_goes_on_with_them(tmp_path: Path) -> None:
    task = begin(tmp_path / "t", "", "relative_l2 = 0.03")
    again = resumed(tmp_path / "t", load_settings({})).of_task
    assert again.user_claims == ["relative_l2 = 0.03"]
    assert task_digest(again) == task_digest(task) != task_digest(begin(tmp_path / "other"))


def test_a_flag_that_would_make_it_another_trial_is_refused(tmp_path: Path) -> None:
    begin(tmp_path / "t")
    done = CliRunner().invoke(app, ["resume", str(tmp_path / "t"), "--budget", "5", "--k", "7"])
    assert isinstance(done.exception, UsageError)
    assert "resume has no option --k" in str(done.exception)
    assert "it belongs to reproduce, lineage" in str(done.exception)


def test_what_a_file_of_settings_says_and_flags_as_before_change_nothing(in_folder: Path) -> None:
    begin(in_folder / "trial")
    (in_folder / "autoreproduce.toml").write_text("k = 9\n")
    assert resumed(in_folder / "trial", load_settings({"model": "x"})).settings.method.k == 3


def test_what_was_given_is_given_again_unless_it_is_given_anew(tmp_path: Path) -> None:
    """An address, a sandbox, a budget: without them it would be another trial for its user."""
    url = "http://127.0.0.1:9/v1"
    begin(tmp_path / "t", base_url=url, sandbox="process", budget="5", memory_gb=3)
    same = resumed(tmp_path / "t", load_settings({})).settings
    assert (same.model.base_url, same.sandbox.name) == (url, "process")
    assert (same.budget.total, same.sandbox.limits.memory_gb) == ("5", 3)
    other = resumed(tmp_path / "t", load_settings({"budget": "9", "base_url": f"{url}/b"})).settings
    assert (other.budget.total, other.model.base_url) == ("9", f"{url}/b")
    assert other.sandbox.name == "process"


def test_a_job_holds_no_secret_and_asks_for_it_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    secret = "http://me:hidden-canary@127.0.0.1:9/v1"
    begin(tmp_path / "t", base_url=secret, api_key="key-canary", github_token="token-canary")
    assert "canary" not in (tmp_path / "t" / "job.json").read_text()
    with pytest.raises(UsageError, match="set AUTOREPRODUCE_BASE_URL"):
        resumed(tmp_path / "t", load_settings({}))
    monkeypatch.setenv("AUTOREPRODUCE_BASE_URL", secret)
    assert resumed(tmp_path / "t", load_settings({})).settings.model.base_url == secret


def test_a_job_is_what_it_was_after_it_was_stored(tmp_path: Path) -> None:
    begin(tmp_path / "t", k=5, profile="small")
    job = read_job(tmp_path / "t" / "job.json")
    text = job.model_dump_json()
    assert Job.model_validate_json(text).model_dump_json() == text
    assert Job.model_validate_json(text).decides() == job.decides()


def test_a_folder_of_an_earlier_version_gets_one_line(tmp_path: Path) -> None:
    begin(tmp_path / "t")
    (tmp_path / "t" / "job.json").unlink()
    old = {"task": "lsm", "profile": "small", "solver": "autoreproduce", "settings": {"k": 3}}
    (tmp_path / "t" / "trial.json").write_text(json.dumps({**old, "model": "x", "created": "n"}))
    for look in (
        lambda: resumed(tmp_path / "t", load_settings({})),
        lambda: Trial.read(tmp_path / "t"),
        lambda: write_badge(tmp_path / "t"),
    ):
        with pytest.raises(TrialError, match="made by an earlier version"):
            look()


def test_a_trial_that_was_not_begun_here_takes_trust(tmp_path: Path) -> None:
    """A copy of one's own is none either: nothing says who altered it since."""
    begin(tmp_path / "t")
    shutil.copytree(tmp_path / "t", tmp_path / "copy")
    for command in (["resume", str(tmp_path / "copy")],):
        done = CliRunner().invoke(app, command)
        assert isinstance(done.exception, UsageError) and "--trust" in str(done.exception)
    assert resumed(tmp_path / "copy", load_settings({}), trust=True).out == tmp_path / "copy"
    assert resumed(tmp_path / "copy", load_settings({})).out == tmp_path / "copy"  # from then on


@pytest.mark.parametrize("name", ["paper", "data", "tape", "paper_folder", "program"])
def test_a_job_that_was_altered_is_no_longer_ours_and_reads_no_file_of_ours(
    tmp_path: Path, name: str
) -> None:
    begin(tmp_path / "trial")
    (secret := tmp_path / "secret.md").write_text("mine")
    file = tmp_path / "trial" / "job.json"
    program = {"code": "x", "requirements": str(secret), "beside": [str(secret)]}
    named = program if name == "program" else str(secret)
    file.write_text(json.dumps({**json.loads(file.read_text()), name: named}))
    with pytest.raises(UsageError, match="was not begun here, or was moved since"):
        resumed(tmp_path / "trial", load_settings({}))
    if name == "data":
        with pytest.raises(UsageError, match="with --data"):
            resumed(tmp_path / "trial", load_settings({}), trust=True)
        return
    job = resumed(tmp_path / "trial", load_settings({}), trust=True)
    assert (job.paper, job.tape, job.paper_folder) == (None, None, None)
    assert job.program in (None, Program(code="x"))


def test_settings_of_a_job_are_checked(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="isn't a setting that it may have"):
        Job.model_validate({"settings": {"papers": {"github_url": "http://evil.invalid"}}})
    assert Job(settings=Settings(k=2)).settings.method.k == 2

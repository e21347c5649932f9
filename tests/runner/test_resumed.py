"""What `resume` asks for, read from a trial's folder."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from autoreproduce.cli.app import app
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.runner.find import find_or_make_task
from autoreproduce.runner.open_models import ModelChoice
from autoreproduce.runner.request import Request, record_of, resumed, task_digest
from autoreproduce.task import Task
from autoreproduce.trials.trial import Trial


def begin(folder: Path, instruction: str = "", *claims: str) -> Task:
    """A trial of LSM on Darcy that was begun and left."""
    settings = Settings(model="x")
    task = find_or_make_task("Darcy", None, None, None, instruction, "small", claims)
    Trial.open(
        folder, record_of(Request(task, settings), task, settings, ModelChoice("x", settings))
    ).close()
    return task


def test_a_trial_with_an_instruction_of_the_user_goes_on_with_it(tmp_path: Path) -> None:
    task = begin(tmp_path, "Take seed 1.")
    assert task_digest(resumed(tmp_path, Settings()).task) == task_digest(task)


def test_a_trial_with_claims_of_the_user_goes_on_with_them(tmp_path: Path) -> None:
    task = begin(tmp_path, "", "relative_l2 = 0.03")
    again = resumed(tmp_path, Settings()).task
    assert again.user_claims == ["relative_l2 = 0.03"]
    assert task_digest(again) == task_digest(task) != task_digest(begin(tmp_path / "other"))


def test_a_flag_that_would_make_it_another_trial_is_refused(tmp_path: Path) -> None:
    begin(tmp_path)
    done = CliRunner().invoke(app, ["resume", str(tmp_path), "--budget", "5", "--k", "7"])
    assert isinstance(done.exception, UsageError)
    assert "resume has no option --k" in str(done.exception)


def test_what_a_file_of_settings_says_and_flags_as_before_change_nothing(in_folder: Path) -> None:
    begin(in_folder / "trial")
    (in_folder / "autoreproduce.toml").write_text("k = 9\n")
    assert resumed(in_folder / "trial", Settings(model="x")).settings.method.k == 3


@pytest.mark.parametrize("digest", [None, "0" * 16])
def test_a_trial_of_others_has_no_file_of_this_machine_read(
    tmp_path: Path, digest: str | None
) -> None:
    begin(tmp_path / "trial")
    (secret := tmp_path / "secret.md").write_text("mine")
    file = tmp_path / "trial" / "trial.json"
    record = json.loads(file.read_text())
    record["inputs"] |= {"paper_file": str(secret), "paper_digest": digest}
    file.write_text(json.dumps(record))
    with pytest.raises(UsageError, match="is not the paper that"):
        resumed(tmp_path / "trial", Settings())

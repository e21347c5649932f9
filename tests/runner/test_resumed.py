"""What `resume` asks for, read from a trial's folder."""

from pathlib import Path

from typer.testing import CliRunner

from autoreproduce.cli import app
from autoreproduce.config import Settings
from autoreproduce.errors import TrialError
from autoreproduce.runner.attempt import Request, _record, resumed, task_digest
from autoreproduce.runner.choose import ModelChoice
from autoreproduce.runner.find import find_or_make_task
from autoreproduce.task import Task
from autoreproduce.trial import Trial


def begin(folder: Path, instruction: str = "") -> Task:
    """A trial of LSM on Darcy that was begun and left."""
    settings = Settings(model="x")
    task = find_or_make_task("Darcy", None, None, None, instruction, "small")
    Trial.open(folder, _record(Request(task, settings), task, settings, ModelChoice("x", settings))).close()
    return task


def test_a_trial_with_an_instruction_of_the_user_goes_on_with_it(tmp_path: Path) -> None:
    task = begin(tmp_path, "Take seed 1.")
    assert task_digest(resumed(tmp_path, Settings()).task) == task_digest(task)


def test_a_flag_that_would_make_it_another_trial_is_refused_with_the_difference(tmp_path: Path) -> None:
    begin(tmp_path)
    done = CliRunner().invoke(app, ["resume", str(tmp_path), "--k", "7", "--no-debug", "--budget", "5"])
    assert isinstance(done.exception, TrialError)
    assert "k: 3 → 7; debug: True → False" in str(done.exception)
    assert "budget" not in str(done.exception)


def test_what_a_file_of_settings_says_and_flags_as_before_change_nothing(in_folder: Path) -> None:
    begin(in_folder / "trial")
    (in_folder / "autoreproduce.toml").write_text("k = 9\n")
    assert resumed(in_folder / "trial", Settings(model="x"), ["model"]).settings.k == 3

"""What `resume` asks for, read from a trial's folder."""

from pathlib import Path

from autoreproduce.config import Settings
from autoreproduce.runner.attempt import Request, _record, resumed, task_digest
from autoreproduce.runner.choose import ModelChoice
from autoreproduce.runner.find import find_or_make_task
from autoreproduce.trial import Trial


def test_a_trial_with_an_instruction_of_the_user_goes_on_with_it(tmp_path: Path) -> None:
    settings = Settings()
    task = find_or_make_task("Darcy", None, None, None, "Take seed 1.", "small")
    Trial.open(tmp_path, _record(Request(task, settings), task, settings, ModelChoice("x", settings))).close()
    assert task_digest(resumed(tmp_path, settings).task) == task_digest(task)

"""Jobs and trials of others: what is started, and what is exported."""

from pathlib import Path

import pytest
from pydantic import ValidationError

from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.config import digest
from autoreproduce.errors import TrialError, UsageError
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.plugins.integrations.inspect_export import _file_date, _prompt_of
from autoreproduce.runner.background import Jobs, ProcessRecord
from autoreproduce.trials.steps import ModelResult
from autoreproduce.trials.trial import Trial


@pytest.mark.parametrize("text", ["a\0b", "\ud800", "a" * 3_000_000])
def test_a_job_that_cannot_be_started_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(UsageError, match="cannot be started"):
        Jobs(tmp_path).start("reproduce", [f"--task={text}"])


def test_a_trials_date_is_no_path_and_a_linked_prompt_is_not_exported(tmp_path: Path) -> None:
    assert _file_date("2026-11-22T10:00:00+00:00") == "2026-11-22T10-00-00"
    assert "/" not in _file_date("/tmp/x") and "." not in _file_date("../../x")
    trial = lay_out(tmp_path / "t", Sources({"main.py": "x = 1\n"}), load_task("lsm"))
    trial.keep_prompt("ask", "the prompt")
    trial.step(ModelResult, "code", "ask", "asked", lambda: ModelResult(reply="x"))
    trial.close()
    read = Trial.read(tmp_path / "t")
    assert _prompt_of(read, read.steps[0]) == "the prompt"
    [prompt] = (tmp_path / "t" / "prompts").iterdir()
    prompt.unlink()
    prompt.symlink_to("/etc/hostname")
    assert _prompt_of(read, read.steps[0]) == ""


@pytest.mark.parametrize("pid", [0, -1])
def test_a_job_names_a_process_that_can_be_one(pid: int) -> None:
    with pytest.raises(ValidationError):
        ProcessRecord(id="plan-00000000", arguments=[], pid=pid, started="")


@pytest.mark.parametrize("name", ["stdout.jsonl", "stderr.txt", "lock", "process.json", ""])
def test_a_link_in_a_folder_of_runs_is_neither_written_nor_shown(tmp_path: Path, name: str) -> None:
    (secret := tmp_path / "secret").mkdir()
    (secret / "key").write_text("the-secret")
    jobs = Jobs(tmp_path / "runs")
    job = f"plan-{digest(['plan', '--help'])[:8]}"
    folder = jobs.folder / job
    if name:
        folder.mkdir(parents=True)
        (folder / "process.json").write_text("{}")
        (folder / name).unlink(missing_ok=True)
        (folder / name).symlink_to(secret / "key")
    else:
        (tmp_path / "runs").mkdir()
        jobs.folder.symlink_to(secret)
    with pytest.raises(TrialError, match="is a link"):
        jobs.start("plan", ["--help"])
    with pytest.raises((TrialError, UsageError)):
        jobs.state(job)
    assert (secret / "key").read_text() == "the-secret" and len(list(secret.iterdir())) == 1

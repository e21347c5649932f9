"""A program may leave files called as ours are in its workspace, and folders nested without end:
none is a trial.
"""

import os
from pathlib import Path

import pytest
from trial_results import trial_result
from typer.testing import CliRunner

from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.cli.app import app
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.evaluation.tables.rows import read_rows
from autoreproduce.runner.estimate import earlier_trials
from autoreproduce.trials.folders import trials_below

PLACES = ("one", "trials/lsm/full/1", "suites/s/trials/lsm/full/2", "s/trials/lsm/full/3")


def trial_in(folder: Path) -> Path:
    trial = lay_out(folder, Sources({"main.py": "x = 1\n"}), load_task("lsm"))
    trial.write(
        "result.json", trial_result(status="measured", reason="", metric=0.03).model_dump_json()
    )
    trial.close()
    return folder


def nested(folder: Path) -> None:
    """A chain of folders whose path is longer than the system takes."""
    here = os.open(folder, os.O_RDONLY)
    for _ in range(50):
        os.mkdir("d" * 100, dir_fd=here)
        here, before = os.open("d" * 100, os.O_RDONLY, dir_fd=here), here
        os.close(before)
    os.close(here)


@pytest.fixture
def runs(tmp_path: Path) -> Path:
    """A runs folder with a trial at each place that the layout has, all of them hostile."""
    for place in PLACES:
        folder = trial_in(tmp_path / "runs" / place)
        for inner in (
            "workspace/mine",
            "workspace/trials/lsm/full/9",
            "trials/lsm/full/9",
            "forged",
        ):
            forged = folder / inner
            forged.mkdir(parents=True)
            for name in ("trial.json", "result.json"):
                (forged / name).write_bytes((folder / name).read_bytes())
        nested(folder / "workspace")
    return tmp_path / "runs"


def test_a_table_holds_the_trials_and_none_that_a_program_wrote(runs: Path) -> None:
    assert {row.trial for row in read_rows(runs)} == set(PLACES)
    assert {each.parent for each in trials_below(runs / "one")} == {runs}
    assert len(earlier_trials(runs)) == len(PLACES)


@pytest.mark.slow
@pytest.mark.parametrize("command", ["table", "score", "report"])
def test_folders_nested_without_end_end_no_command(runs: Path, command: str) -> None:
    levels = ["--levels", "cost", "--json"] if command == "score" else []
    done = CliRunner().invoke(app, [command, str(runs), *levels])
    assert done.exit_code == (3 if command == "score" else 0), done.output  # 3: it spent nothing
    if levels:
        assert len(done.stdout.splitlines()) == len(PLACES)


def test_a_folder_without_a_trial_at_its_place_says_what_to_name(runs: Path) -> None:
    with pytest.raises(UsageError, match="name a suite's folder, or a folder of trials"):
        read_rows(runs / "one" / "workspace" / "trials" / "lsm")

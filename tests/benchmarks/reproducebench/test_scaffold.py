"""A new task's folder works from its first minute and says what it lacks."""

import json
import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from autoreproduce import content
from autoreproduce.benchmarks.reproducebench import task_code
from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.benchmarks.reproducebench.curated import LineageFile, Points, Rubric
from autoreproduce.benchmarks.reproducebench.scaffold import new_task, still_to_fill
from autoreproduce.benchmarks.reproducebench.task_yaml import read_yaml
from autoreproduce.benchmarks.reproducebench.tasks import task_file
from autoreproduce.cli.app import app
from autoreproduce.errors import UsageError

WHAT = {
    "arxiv": "2001.00001",
    "title": 'A "title": of it',
    "method": "M",
    "dataset": "D",
    "metric": "error",
}


def test_the_folder_fits_the_schema_and_its_example_runs(tmp_path):
    made = new_task("mine", into=tmp_path, **WHAT)
    file = task_file(made)
    assert (file.id, file.arxiv, file.title, file.metric.name) == (
        "mine",
        "2001.00001",
        'A "title": of it',
        "error",
    )
    for name, schema in (("points", Points), ("rubric", Rubric), ("lineage", LineageFile)):
        read_yaml(made / f"{name}.yaml", schema)
    data, space = tmp_path / "data", tmp_path / "space"
    data.mkdir()
    task_code.load_module(made / "prepare.py").prepare(data, "small", print)
    space.mkdir()
    for path in (made / "preprocess.py", made / "reference" / "main.py"):
        (space / path.name).write_text(path.read_text())
    environment = {**os.environ, "DATA_DIR": str(data)}
    subprocess.run([sys.executable, "main.py"], cwd=space, env=environment, check=True)
    value = json.loads((space / "metrics.json").read_text())["metrics"]["error"]
    assert task_code.load_module(made / "metric.py").metric(
        space / "predictions.npz", data
    ) == pytest.approx(value)
    assert value < 0.02


def test_what_is_still_to_be_written_is_counted(tmp_path):
    made = new_task("mine", into=tmp_path, **WHAT)
    before = still_to_fill(made)
    assert before["points.yaml"] > 5 and "metric.py" not in before
    (made / "points.yaml").write_text("points: []\n")
    assert "points.yaml" not in still_to_fill(made)


@pytest.mark.parametrize(
    ("name", "changed", "said"),
    [
        ("Mine!", {}, "small letters"),
        ("mine", {"metric": "a b"}, "NAME:higher"),
        ("mine", {"metric": "a:up"}, "NAME:higher"),
        ("mine", {"arxiv": 'x"y'}, "an arXiv id"),
    ],
)
def test_bad_names_are_refused(tmp_path, name, changed, said):
    with pytest.raises(UsageError, match=said):
        new_task(name, into=tmp_path, **{**WHAT, **changed})
    assert not list(tmp_path.iterdir())


def test_a_folder_that_no_command_reads_is_said(in_folder):
    flags = [f"--{key}={value}" for key, value in WHAT.items()]
    made = CliRunner().invoke(app, ["bench", "new", "mine", *flags])
    assert f"Tasks are read from {content.folder('reproducebench')}" in made.output
    (in_folder / "file").touch()
    refused = CliRunner().invoke(app, ["bench", "new", "mine", *flags, "--into", "file"])
    assert isinstance(refused.exception, UsageError) and "--into" in str(refused.exception)


def test_a_folder_that_is_there_is_left_as_it_is(in_folder):
    flags = [f"--{key}={value}" for key, value in WHAT.items()]
    assert CliRunner().invoke(app, ["bench", "new", "mine", *flags]).exit_code == 0
    again = CliRunner().invoke(app, ["bench", "new", "mine", *flags])
    assert isinstance(again.exception, UsageError) and "edit that folder" in str(again.exception)


def test_no_task_that_ships_has_anything_left_to_fill():
    for path in reproducebench.task_folders():
        assert not still_to_fill(path), path.name


@pytest.mark.slow
def test_all_references_run_one_after_another_and_one_that_fails_stops_no_other(
    tmp_path, monkeypatch
):
    for name in ("broken", "whole"):
        new_task(name, into=tmp_path / "reproducebench", **WHAT)
    (tmp_path / "reproducebench" / "broken" / "reference" / "main.py").write_text(
        "raise SystemExit(3)\n"
    )
    monkeypatch.setattr(reproducebench, "folder", lambda name: tmp_path / name)
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(
        app,
        [
            "bench",
            "reference",
            "all",
            "--sandbox",
            "process",
            "--cache-dir",
            str(tmp_path / "cache"),
        ],
    )
    assert isinstance(
        done.exception, UsageError
    ) and "1 references were not measured (broken)" in str(done.exception)
    row = next(line for line in done.output.split("\n") if line.startswith("| whole"))
    assert "| error" in row and " s " in row


def test_ctrl_c_ends_all_references_and_not_one_seed(tmp_path, monkeypatch):
    for name in ("first", "second"):
        new_task(name, into=tmp_path / "reproducebench", **WHAT)
    monkeypatch.setattr(reproducebench, "folder", lambda name: tmp_path / name)
    monkeypatch.chdir(tmp_path)
    begun = []

    def interrupted(self, task, *_):
        begun.append(task.id)
        raise KeyboardInterrupt

    monkeypatch.setattr("autoreproduce.solvers.reference.ReferenceSolver.solve", interrupted)
    flags = ("--seeds", "2", "--sandbox", "process", "--cache-dir", str(tmp_path / "cache"))
    assert CliRunner().invoke(app, ["bench", "reference", "all", *flags]).exit_code == 130
    assert begun == ["first"]

"""The loader, on small folders made here."""

import multiprocessing
import os
import zipfile
from pathlib import Path

import numpy as np
import pytest
import yaml

from autoreproduce.benchmarks.reproducebench import prepared_data, recomputing
from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.errors import UsageError
from autoreproduce.trials import measurement

TASK = {
    "id": "toy",
    "arxiv": "0000.00000",
    "title": "A toy",
    "method": "Toy-Net",
    "dataset": "Marbles",
    "aliases": ["TN"],
    "licences": {"code": "none", "data": "none"},
    "metric": {"name": "error", "definition": "mean absolute error"},
    "instruction": "Replicate it.",
    "preprocess": "preprocess.py",
    "predictions": "predictions.npz",
    "results": {"paper": {"value": 1.0}},
    "profiles": {
        "small": {
            "instruction": "Two epochs.",
            "time_limit_minutes": 1,
            "hardware": "any",
            "measured": {"value": 1.0},
        },
        "full": {"time_limit_minutes": 9, "hardware": "a GPU", "not_run": "no GPU at hand"},
    },
}
PREPARE = """
def prepare(target, profile, note, given=None):
    note("preparing")
    with (target / "calls").open("a") as calls:
        calls.write("x")
"""
METRIC = """
import numpy as np
def metric(predictions, data_dir):
    with np.load(predictions, allow_pickle=False) as file:
        return abs(file["prediction"] - np.load(data_dir / "truth.npy")).mean()
"""


@pytest.fixture
def bench(tmp_path, monkeypatch):
    """A benchmark of one task, and its folder."""
    monkeypatch.setattr(reproducebench, "folder", lambda name: tmp_path / name)
    return write_task(tmp_path / "reproducebench" / "toy", TASK)


def write_task(path: Path, task: dict) -> Path:
    path.mkdir(parents=True)
    (path / "task.yaml").write_text(yaml.safe_dump(task))
    (path / "digest.md").write_text("The paper.")
    (path / "preprocess.py").write_text("# data code")
    (path / "prepare.py").write_text(PREPARE)
    (path / "metric.py").write_text(METRIC)
    return path


def change(path: Path, **fields) -> None:
    (path / "task.yaml").write_text(yaml.safe_dump({**TASK, **fields}))


@pytest.mark.parametrize("name", ["toy", "TOY", "marbles", "Toy-Net", "toynet", "tn"])
def test_a_task_answers_to_each_of_its_names(bench, name):
    assert reproducebench.find_task(name).id == "toy"


def test_a_task_has_what_a_solver_needs(bench):
    task = reproducebench.load_task("toy", "small")
    assert task.instruction == "Replicate it.\n\nTwo epochs."
    assert (task.preprocess, task.digest, task.folder) == ("# data code", "The paper.", bench)
    assert task.measured is not None and task.measured.value == 1.0
    assert reproducebench.load_task("toy", "full").measured is None


def test_a_task_says_whether_its_metric_is_recomputed(bench):
    assert reproducebench.load_task("toy").recomputes
    (bench / "metric.py").unlink()
    assert not reproducebench.load_task("toy").recomputes


def test_an_unknown_name_lists_what_there_is_and_what_was_meant(bench):
    with pytest.raises(
        UsageError, match=r"no task answers to Marbels: did you mean Marbles.* there is toy"
    ):
        reproducebench.find_task("Marbels")
    with pytest.raises(UsageError, match="there is toy"):
        reproducebench.find_task("quantum chromodynamics")
    with pytest.raises(UsageError, match="no profile tiny: it has"):
        reproducebench.find_task("toy", "tiny")


def test_two_tasks_of_one_dataset_must_be_named(bench):
    write_task(bench.parent / "toy2", {**TASK, "id": "toy2", "method": "Other", "aliases": []})
    with pytest.raises(UsageError, match="Marbles may be toy, toy2"):
        reproducebench.find_task("Marbles")
    assert reproducebench.find_task("Other").id == "toy2"


def test_errors_name_file_and_field(bench):
    change(bench, colour="red")
    with pytest.raises(UsageError, match=r"toy/task\.yaml does not fit its schema: colour"):
        reproducebench.find_task("toy")
    change(bench, metric={"name": "error", "direction": "sideways"})
    with pytest.raises(UsageError, match=r"metric\.direction"):
        reproducebench.find_task("toy")
    change(bench, id="other")
    with pytest.raises(UsageError, match="its folder is named toy"):
        reproducebench.find_task("toy")
    (bench / "task.yaml").write_text("a: [")
    with pytest.raises(UsageError, match="is not YAML"):
        reproducebench.find_task("toy")


def test_a_profile_is_measured_or_says_why_not(bench):
    change(bench, profiles={"small": {"time_limit_minutes": 1, "hardware": "any"}})
    with pytest.raises(UsageError, match=r"profiles\.small: .*not_run"):
        reproducebench.find_task("toy")


def test_a_named_file_that_is_missing_is_an_error(bench):
    (bench / "preprocess.py").unlink()
    with pytest.raises(UsageError, match=r"preprocess\.py is missing"):
        reproducebench.find_task("toy")


def test_data_are_prepared_once(bench, tmp_path):
    said: list[str] = []
    assert not prepared_data.is_prepared("toy", "small", tmp_path)
    data = prepared_data.prepare("toy", "small", tmp_path, said.append)
    assert (
        prepared_data.prepare("toy", "small", tmp_path, said.append)
        == data
        == tmp_path / "data/toy/small"
    )
    assert (data / "calls").read_text() == "x" and said == ["preparing"]
    assert prepared_data.is_prepared("toy", "small", tmp_path)


def test_a_changed_or_torn_stamp_prepares_again(bench, tmp_path):
    data = prepared_data.prepare("toy", "small", tmp_path, print)
    prepared_data.stamp_of(data).write_text('{"task"')
    prepared_data.prepare("toy", "small", tmp_path, print)
    (bench / "prepare.py").write_text(PREPARE + "# changed\n")
    prepared_data.prepare("toy", "small", tmp_path, print)
    assert (data / "calls").read_text() == "xxx"


def test_a_failed_preparation_is_no_preparation(bench, tmp_path):
    (bench / "prepare.py").write_text(
        "def prepare(target, profile, note, given=None):\n    raise ValueError('wrong checksum')\n"
    )
    with pytest.raises(UsageError, match="wrong checksum"):
        prepared_data.prepare("toy", "small", tmp_path, print)
    assert not prepared_data.is_prepared("toy", "small", tmp_path)


def test_what_a_preparation_imports_and_this_python_lacks_is_named_with_its_fix(bench, tmp_path):
    (bench / "prepare.py").write_text("import no_such_package\n")
    with pytest.raises(UsageError, match="no_such_package") as raised:
        prepared_data.prepare("toy", "small", tmp_path, print)
    assert "pip install" in raised.value.fix and "scipy" in raised.value.fix


def test_two_processes_prepare_once(bench, tmp_path):
    (bench / "prepare.py").write_text("import time\n" + PREPARE + "    time.sleep(0.5)\n")
    context = multiprocessing.get_context("fork")
    others = [
        context.Process(target=prepared_data.prepare, args=("toy", "small", tmp_path, str))
        for _ in range(2)
    ]
    for other in others:
        other.start()
    for other in others:
        other.join()
    assert [other.exitcode for other in others] == [0, 0]
    assert (tmp_path / "data/toy/small/calls").read_text() == "x"


@pytest.fixture
def scored(bench, tmp_path):
    """The task with its truth, and an empty workspace."""
    np.save(tmp_path / "truth.npy", np.ones((2, 3)))
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    return reproducebench.load_task("toy", "small").model_copy(
        update={"data_dir": tmp_path}
    ), workspace


def test_the_metric_is_recomputed(scored):
    task, workspace = scored
    np.savez(workspace / "predictions.npz", prediction=np.full((2, 3), 1.5))
    assert recomputing.recompute(task, workspace) == measurement.Recomputed(0.5)


@pytest.mark.slow
def test_bad_predictions_are_reasons(scored, monkeypatch):
    task, workspace = scored
    path = workspace / "predictions.npz"
    assert "was not written" in recomputing.recompute(task, workspace).reason
    path.write_bytes(b"nothing of the kind")
    assert "isn't an .npz file" in recomputing.recompute(task, workspace).reason
    np.savez(path, other=np.ones(2))
    assert "KeyError" in recomputing.recompute(task, workspace).reason
    np.savez(path, prediction=np.ones((7, 5)))
    assert "ValueError" in recomputing.recompute(task, workspace).reason
    np.savez(path, prediction=np.array([{}], dtype=object), allow_pickle=True)
    assert "allow_pickle" in recomputing.recompute(task, workspace).reason
    np.savez(path, prediction=np.full((2, 3), np.inf))
    assert "inf, which isn't a number" in recomputing.recompute(task, workspace).reason
    monkeypatch.setattr(recomputing, "LARGEST_PREDICTIONS", 10)
    assert "over the limit" in recomputing.recompute(task, workspace).reason


def test_links_and_pipes_are_not_opened(scored):
    task, workspace = scored
    path = workspace / "predictions.npz"
    np.savez(workspace / "elsewhere.npz", prediction=np.ones((2, 3)))
    path.symlink_to(workspace / "elsewhere.npz")
    assert "is a link" in recomputing.recompute(task, workspace).reason
    path.unlink()
    os.mkfifo(path)
    assert "is a pipe" in recomputing.recompute(task, workspace).reason


def test_a_header_that_lies_about_its_size_is_a_reason(scored):
    task, workspace = scored
    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000000,), }"
    head = b"\x93NUMPY\x01\x00" + len(header + b"\n").to_bytes(2, "little") + header + b"\n"
    with zipfile.ZipFile(workspace / "predictions.npz", "w") as archive:
        archive.writestr("prediction.npy", head)
    recomputed = recomputing.recompute(task, workspace)
    assert recomputed.value is None and "cannot be read within 16 GB" in recomputed.reason


def test_a_task_without_metric_code_says_so(scored, bench):
    task, workspace = scored
    (bench / "metric.py").unlink()
    assert recomputing.recompute(task, workspace) == measurement.Recomputed(None, possible=False)


def test_the_reference_is_laid_out_with_the_data_code(bench, tmp_path):
    task = reproducebench.load_task("toy", "small")
    with pytest.raises(UsageError, match="no reference"):
        reproducebench.reference_folder(task)
    (bench / "reference").mkdir()
    (bench / "reference" / "main.py").write_text("print()")
    reproducebench.lay_out_reference(task, tmp_path)
    assert (tmp_path / "main.py").read_text() == "print()"
    assert (tmp_path / "preprocess.py").read_text() == "# data code"

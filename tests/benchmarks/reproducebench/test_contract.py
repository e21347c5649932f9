"""What every task folder must hold; a new folder is found by itself."""

import json
import os
import shutil
import subprocess
import sys
from functools import cache
from pathlib import Path

import numpy as np
import pytest

from autoreproduce.benchmarks.reproducebench import prepared_data, recomputing, serving
from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.benchmarks.reproducebench.altered import with_mistake
from autoreproduce.benchmarks.reproducebench.draws import decoy_folder
from autoreproduce.benchmarks.reproducebench.serving import PREDICTIONS
from autoreproduce.errors import UsageError
from autoreproduce.task import Task
from autoreproduce.trials import served

GIVEN = (
    Path(os.environ["AUTOREPRODUCE_TEST_DATA"]) if "AUTOREPRODUCE_TEST_DATA" in os.environ else None
)
TWO_BATCHES = ("main.py", "--profile", "small", "--seed", "0", "--dry-run")
IDS = [path.name for path in reproducebench.task_folders()]
WITHHELD = [
    path.name
    for path in reproducebench.task_folders()
    if reproducebench.task_file(path).targets.withheld == "all"
]
SERVED = [
    path.name for path in reproducebench.task_folders() if reproducebench.task_file(path).served
]


@pytest.fixture(scope="module")
def prepared(prepared_cache):
    """Gives a task with its data at the small profile; each is prepared once."""

    def task(task_id: str) -> Task:
        try:
            data = prepared_data.prepare(task_id, "small", prepared_cache, print, GIVEN)
        except (UsageError, RuntimeError) as error:  # RuntimeError: tests reach loopback only
            if GIVEN is not None:
                raise
            pytest.skip(
                f"the data of {task_id} are fetched, and AUTOREPRODUCE_TEST_DATA is unset ({error})"
            )
        return reproducebench.load_task(task_id, "small").model_copy(update={"data_dir": data})

    return task


def run(task: Task, workspace: Path, *command: str) -> str:
    """Run Python in a workspace with the reference laid out, as a sandbox does; what it printed."""
    reproducebench.lay_out_reference(task, workspace)
    environment = {
        "DATA_DIR": str(task.data_dir),
        "OMP_NUM_THREADS": "1",
        "PATH": os.environ["PATH"],
    }
    done = subprocess.run(
        [sys.executable, *command],
        cwd=workspace,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def ran(prepared, tmp_path_factory):
    """Gives the workspace of two batches of a task's reference; each runs once."""
    pytest.importorskip("torch")

    @cache
    def workspace(task_id: str) -> Path:
        place = tmp_path_factory.mktemp(task_id)
        run(prepared(task_id), place, *TWO_BATCHES)
        return place

    return workspace


def test_there_are_tasks():
    assert "lsm" in IDS


@pytest.mark.parametrize("task_id", IDS)
def test_the_folder_is_whole(task_id):
    for profile in reproducebench.task_file(
        reproducebench.folder("reproducebench") / task_id
    ).profiles:
        task = reproducebench.load_task(task_id, profile)
        assert task.instruction and task.title and task.metric.definition and task.digest
        served = reproducebench.task_file(reproducebench.folder_of(task)).served
        asked = (
            ["weights.npz", "predict(weights, inputs)", f"as `{served.array}`"] if served else []
        )
        assert all(
            words in task.instruction for words in [*asked, *(served.inputs if served else ())]
        )
        assert len(reproducebench.points(task).points) == 5
        assert reproducebench.rubric(task).method
        assert task.reference is not None


@pytest.mark.parametrize("task_id", IDS)
def test_the_digest_can_serve_for_the_paper(task_id):
    digest = reproducebench.load_task(task_id, "small").digest
    assert digest is not None and digest.startswith("# ") and len(digest) > 4000
    assert digest.split("## References")[1].count("\n- ") >= 3


@pytest.mark.parametrize("task_id", IDS)
def test_a_proof_names_the_commit_and_the_date(task_id):
    file = reproducebench.task_file(reproducebench.folder("reproducebench") / task_id)
    assert file.proofs and len(file.breaking) >= 2
    for item in file.breaking:
        assert len(item.values) == len(item.seeds) > 0


@pytest.mark.parametrize("task_id", IDS)
def test_known_mistakes_can_be_put_in_and_name_the_points_that_they_break(task_id):
    task = reproducebench.load_task(task_id, "small")
    files = {
        path.name: path.read_text() for path in reproducebench.reference_folder(task).glob("*.py")
    }
    mistakes = [b for b in reproducebench.task_file(task.folder).breaking if b.edits]
    assert len(mistakes) >= 2
    for mistake in mistakes:
        broken = with_mistake(files, mistake)
        assert broken != files and {1, 2, 3, 4, 5} >= set(mistake.points) != set()
        for text in broken.values():
            compile(text, "reference", "exec")


@pytest.mark.parametrize("task_id", IDS)
def test_five_references_are_curated(task_id):
    references = reproducebench.references(reproducebench.load_task(task_id, "small"))
    assert len({reference.title for reference in references}) == 5
    assert sum(reference.repository is not None for reference in references) >= 2


@pytest.mark.parametrize("task_id", IDS)
def test_the_measured_band_holds_its_values(task_id):
    measured = reproducebench.load_task(task_id, "small").measured
    assert measured is not None and measured.low is not None and measured.high is not None
    assert len(measured.values) == len(measured.seeds) >= 3
    assert measured.low <= min(measured.values) and max(measured.values) <= measured.high
    assert measured.value == pytest.approx(np.mean(measured.values), rel=1e-3)
    assert (
        measured.source
        and measured.date
        and measured.machine
        and measured.versions
        and measured.seconds
    )


@pytest.mark.slow
@pytest.mark.parametrize("task_id", IDS)
def test_the_data_code_gives_the_shapes_it_promises(task_id, prepared, tmp_path):
    pytest.importorskip("torch")
    file = reproducebench.task_file(reproducebench.folder("reproducebench") / task_id)
    shapes = file.profiles["small"].shapes
    if file.loader is None:
        pytest.skip("the task gives no data code")
    program = (
        f"import json, os; from preprocess import {file.loader}; data = {file.loader}(os.environ['DATA_DIR'])\n"
        f"print(json.dumps({{name: list(getattr(data, name).shape) for name in {list(shapes)}}}))"
    )
    assert shapes and json.loads(run(prepared(task_id), tmp_path, "-c", program)) == shapes


@pytest.mark.slow
@pytest.mark.parametrize("task_id", IDS)
def test_the_reference_runs_two_batches_and_its_metric_is_recomputed(task_id, prepared, ran):
    written = json.loads((ran(task_id) / "metrics.json").read_text())
    recomputed = recomputing.recompute(task := prepared(task_id), ran(task_id))
    assert recomputed.reason == "" and recomputed.value is not None
    assert written["metrics"][task.metric.name] == pytest.approx(recomputed.value, rel=1e-4)
    assert written["history"] and written["settings"]["seed"] == 0


@pytest.mark.slow
@pytest.mark.parametrize("task_id", WITHHELD)
def test_an_honest_program_makes_the_same_predictions_over_decoys(
    task_id, prepared, ran, prepared_cache, tmp_path
):
    task, true = prepared(task_id), ran(task_id)
    decoys = decoy_folder(task_id, "small", task.data_dir, prepared_cache, print)
    run(task.model_copy(update={"data_dir": decoys}), tmp_path, *TWO_BATCHES)
    with np.load(true / PREDICTIONS) as ours, np.load(tmp_path / PREDICTIONS) as theirs:
        assert all(np.array_equal(ours[name], theirs[name]) for name in ours)
    value = recomputing.recompute(task, tmp_path, decoys).value
    assert value is not None and value != recomputing.recompute(task, true).value
    written = json.loads((tmp_path / "metrics.json").read_text())
    assert written["metrics"][task.metric.name] == pytest.approx(value, rel=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("task_id", SERVED)
def test_the_weights_of_the_reference_give_the_number_of_its_run(task_id, prepared, ran, tmp_path):
    task = prepared(task_id)
    file = reproducebench.task_file(reproducebench.folder_of(task))
    shutil.copytree(ran(task_id), tmp_path, dirs_exist_ok=True)
    saved = recomputing.recompute(task, tmp_path).value
    (tmp_path / "take.py").write_text(serving.TAKE_INPUTS)
    run(task, tmp_path, "take.py", file.loader, *file.served.inputs)
    (tmp_path / PREDICTIONS).unlink()
    (tmp_path / "call.py").write_text(serving.calling(file.served.array))
    run(task.model_copy(update={"data_dir": "/nowhere"}), tmp_path, "call.py")
    # Sampling begins with noise, of which a model that was hardly trained leaves much.
    same = 0.15 if task_id == "wcdm" else served.SAME
    assert recomputing.recompute(task, tmp_path).value == pytest.approx(saved, rel=same)


@pytest.mark.parametrize("task_id", IDS)
def test_what_a_program_is_given_needs_none_of_the_machine(task_id):
    folder = reproducebench.folder("reproducebench") / task_id
    for path in (
        folder / "preprocess.py",
        folder / "metric.py",
        *(folder / "reference").glob("*.py"),
    ):
        assert "autoreproduce" not in path.read_text(encoding="utf-8"), path

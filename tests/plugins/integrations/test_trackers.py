"""A trial in TensorBoard, MLflow and W&B, read back by their own readers."""

import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from records import Notes
from test_telemetry import CALL, RECORD, step
from trial_results import trial_result

from autoreproduce.errors import UsageError
from autoreproduce.plugins.integrations.trackers import tracked, wanted_trackers
from autoreproduce.trials.steps import ExecutionResult

HISTORY = [{"epoch": 1, "loss": 0.5}, {"epoch": 2, "loss": None}, {"epoch": 3, "loss": 0.125}]
RAN = ExecutionResult(
    command="python main.py",
    exit_code=0,
    metrics_json=json.dumps({"metrics": {"mse": 0.25}, "history": HISTORY}),
)
OUTCOME = trial_result(
    status="measured", reason="", metric=0.25, metrics={"mse": 0.25}, verdict="reproduced", cost=0.5
)


def run_trial(folder: Path, monkeypatch: pytest.MonkeyPatch, names: str) -> list[str]:
    """A trial of two steps, one of them replayed, with its files; what was noted."""
    monkeypatch.setenv("AUTOREPRODUCE_TRACK", names)
    (folder / "result").mkdir(parents=True)
    (folder / "result/main.py").write_text("print(1)\n")
    (folder / "result.json").write_text("{}")
    notes = Notes()
    observers: list[Any] = [notes]
    with tracked(RECORD, str(folder), observers) as watching:
        assert watching is not None and observers[1] is watching
        watching.step(step(CALL, index=0), True)
        watching.step(step(CALL, index=1), False)
        watching.step(step(RAN, index=2, phase="full_run", role="sandbox"), False)
        watching.close(OUTCOME)
    return notes.texts


def log_records(data: bytes) -> Iterator[bytes]:
    """The records of W&B's file: after its head of 7 bytes a LevelDB log, in blocks of 32 KB."""
    at, whole = 7, b""
    while at + 7 <= len(data):
        if 32768 - at % 32768 < 7:
            at += 32768 - at % 32768
            continue
        length, kind = struct.unpack("<HB", data[at + 4 : at + 7])
        whole += data[at + 7 : at + 7 + length]
        at += 7 + length
        if kind in (1, 4):  # whole, or the last part
            yield whole
            whole = b""


def test_it_is_off_unless_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AUTOREPRODUCE_TRACK", raising=False)
    with tracked(RECORD, str(tmp_path), []) as watching:
        assert watching is None
    monkeypatch.setenv("AUTOREPRODUCE_TRACK", "mlflow, mflow")
    with pytest.raises(UsageError, match="it takes tensorboard, mlflow, wandb"):
        wanted_trackers()


def test_a_tracker_that_fails_ends_no_trial(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Broken:
        def __init__(self, *_: Any) -> None: ...

        def numbers(self, *_: Any) -> None:
            raise OSError("the disk is full")

    path = "autoreproduce.plugins.integrations.trackers.TRACKERS"
    monkeypatch.setattr(path, {"tensorboard": Broken})
    said = run_trial(tmp_path, monkeypatch, "tensorboard")
    assert said == ["tensorboard gets nothing more of this trial (the disk is full)"]


@pytest.mark.slow
def test_tensorboard_reads_what_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("tensorboard", reason="the tensorboard extra is not installed")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    assert run_trial(tmp_path, monkeypatch, "tensorboard") == []
    found = EventAccumulator(str(tmp_path / "tensorboard"))
    found.Reload()
    assert [(e.step, e.value) for e in found.Scalars("full_run-1/loss")] == [(1, 0.5), (3, 0.125)]
    assert [e.value for e in found.Scalars("trial/tokens_in")] == [200, 200]  # counted, sent once
    assert found.Scalars("result/mse")[0].value == 0.25
    shown = found.Tensors("outcome")[0].tensor_proto.string_val[0].decode()
    assert "| verdict | reproduced |" in shown


@pytest.mark.slow
def test_mlflow_reads_what_was_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("mlflow", reason="the mlflow extra is not installed")
    monkeypatch.setenv("MLFLOW_TRACKING_URI", (tmp_path / "store").as_uri())
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    assert run_trial(tmp_path / "trial", monkeypatch, "mlflow") == []
    from mlflow import MlflowClient

    client = MlflowClient((tmp_path / "store").as_uri())
    experiment = client.get_experiment_by_name("autoreproduce")
    assert experiment is not None
    (run,) = client.search_runs([experiment.experiment_id])
    assert run.info.status == "FINISHED" and run.data.params["task"] == "lsm"
    assert run.data.tags["autoreproduce.verdict"] == "reproduced"
    curve = client.get_metric_history(run.info.run_id, "full_run-1/loss")
    assert sorted((point.step, point.value) for point in curve) == [(1, 0.5), (3, 0.125)]
    assert run.data.metrics["result/metric"] == 0.25
    kept = {file.path for file in client.list_artifacts(run.info.run_id)}
    assert kept == {"result.json", "main.py"}


@pytest.mark.slow
def test_wandb_keeps_it_offline(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("wandb", reason="the wandb extra is not installed")
    monkeypatch.setenv("WANDB_MODE", "offline")
    monkeypatch.setenv("WANDB_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setenv("WANDB_CONFIG_DIR", str(tmp_path / "config"))
    monkeypatch.setenv("WANDB_DIR", str(tmp_path))
    assert run_trial(tmp_path / "trial", monkeypatch, "wandb") == []
    assert not any(path.is_symlink() for path in (tmp_path / "trial").rglob("*")), "no trial's file"
    (file,) = (tmp_path / "wandb").glob("offline-run-*/run-*.wandb")
    import wandb
    from wandb.proto.wandb_internal_pb2 import Record

    wandb.teardown()  # its service flushes the file when it ends, as with the process
    records = [Record.FromString(data) for data in log_records(file.read_bytes())]
    rows = [{item.nested_key[0]: item.value_json for item in r.history.item} for r in records]
    losses = [
        (row["full_run-1/step"], row["full_run-1/loss"]) for row in rows if "full_run-1/loss" in row
    ]
    summary = {item.key: item.value_json for r in records for item in r.summary.update}
    (code,) = [r.exit.exit_code for r in records if r.HasField("exit")]
    assert losses == [("1", "0.5"), ("3", "0.125")]
    assert json.loads(summary["verdict"]) == "reproduced" and code == 0
    assert (file.parent / "files/main.py").exists()

"""The data with decoys: what they hold, and how they are made. That each task's own program runs the
same over them is in `test_contract.py`.
"""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autoreproduce.benchmarks.reproducebench import prepared_data
from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.benchmarks.reproducebench.draws import decoy_folder
from autoreproduce.benchmarks.reproducebench.scaffold import new_task
from autoreproduce.benchmarks.reproducebench.task_yaml import Targets
from autoreproduce.errors import UsageError

IDS = [path.name for path in reproducebench.task_folders()]
WHAT = {"arxiv": None, "title": "T", "method": "M", "dataset": "D", "metric": "error"}


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of the task that `bench new` writes."""
    made = new_task("tiny", into=tmp_path / "reproducebench", **WHAT)
    monkeypatch.setattr(reproducebench, "folder", lambda name: tmp_path / name)
    return made


def both(cache: Path) -> tuple[Path, Path]:
    """The prepared data, and the folder with decoys."""
    data = prepared_data.prepare("tiny", "small", cache, print)
    decoys = decoy_folder("tiny", "small", data, cache, print)
    assert decoys is not None
    return data, decoys


@pytest.mark.parametrize("task_id", IDS)
def test_every_task_declares_its_targets(task_id: str) -> None:
    path = reproducebench.task_folder(task_id)
    targets = reproducebench.task_file(path).targets
    assert targets.what != "not declared"
    assert (path / "decoys.py").exists() == (targets.withheld not in ("none", "samples"))


def test_decoys_stand_in_for_the_targets_alone(tiny: Path, tmp_path: Path) -> None:
    data, decoys = both(tmp_path)
    (data / "raw-test.txt").write_text("the true labels, as they were fetched")
    assert {path.name for path in decoys.iterdir()} == {"train.npz", "test.npz"}
    assert (decoys / "train.npz").samefile(data / "train.npz")
    with np.load(data / "test.npz") as true, np.load(decoys / "test.npz") as false:
        assert np.array_equal(true["x"], false["x"])
        assert true["y"].shape == false["y"].shape and true["y"].dtype == false["y"].dtype
        assert not np.isin(false["y"], true["y"]).any()


def test_decoys_are_made_once_for_each_preparation(tiny: Path, tmp_path: Path) -> None:
    data, decoys = both(tmp_path)
    before = (decoys / "test.npz").stat().st_mtime_ns
    assert both(tmp_path) == (data, decoys)
    assert (decoys / "test.npz").stat().st_mtime_ns == before
    with (tiny / "prepare.py").open("a") as file:
        file.write("# another recipe\n")
    assert both(tmp_path)[1] != decoys and decoys.is_dir()  # a trial may be running over it


def test_a_failure_leaves_nothing_half_made(tiny: Path, tmp_path: Path) -> None:
    whole = (tiny / "decoys.py").read_text()
    (tiny / "decoys.py").write_text(f"{whole}\n    raise ValueError('no such array')\n")
    with pytest.raises(UsageError, match=r"cannot make the decoys of tiny .*no such array"):
        both(tmp_path)
    (tiny / "decoys.py").write_text(whole)
    assert (both(tmp_path)[1] / "test.npz").exists()


def test_a_link_that_leads_out_of_the_data_is_refused(tiny: Path, tmp_path: Path) -> None:
    data = prepared_data.prepare("tiny", "small", tmp_path, print)
    (data / "extra.npz").symlink_to("/etc/hostname")
    with pytest.raises(UsageError, match="leads out"):
        decoy_folder("tiny", "small", data, tmp_path, print)


@pytest.mark.parametrize(
    "wrong",
    [
        {"withheld": "all", "why": "because", "files": ["a"]},
        {"withheld": "drawn", "files": ["a"]},
        {"withheld": "all"},
        {"withheld": "drawn", "why": "because"},
    ],
)
def test_targets_that_are_not_withheld_have_their_reason(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"why|files"):
        Targets.model_validate({"what": "y", **wrong})

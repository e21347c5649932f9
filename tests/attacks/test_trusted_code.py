"""Only what came with the package may run without isolation, however other code is named."""

import shutil
from pathlib import Path

import pytest

from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.config import Settings
from autoreproduce.errors import SandboxError
from autoreproduce.models.tape import find_tape
from autoreproduce.runner.open_models import choose_model
from autoreproduce.sandboxes import open_sandbox

URL = "http://127.0.0.1:9/v1"


def test_what_ships_is_trusted() -> None:
    task = load_task("lsm")
    assert choose_model(Settings(), task, "reference").trusted
    assert choose_model(Settings(model="tape"), task, "autoreproduce").trusted


@pytest.mark.parametrize("name", ["none", "reference", "tape of x", "shipped"])
def test_a_model_of_any_name_is_not(name: str) -> None:
    choice = choose_model(Settings(model=name, base_url=URL), load_task("lsm"), "autoreproduce")
    assert choice.name == name and not choice.trusted


def test_a_file_that_holds_the_shipped_tape_is_not(tmp_path: Path) -> None:
    task = load_task("lsm")
    shipped = find_tape("lsm", task.profile)
    assert shipped is not None
    copy = shutil.copy(shipped, tmp_path / "tape.jsonl")
    assert not choose_model(Settings(model=f"tape:{copy}"), task, "autoreproduce").trusted


@pytest.mark.parametrize("where", ["elsewhere/lsm", "elsewhere/reproducebench/lsm"])
def test_a_reference_that_lies_elsewhere_is_not(where: str, tmp_path: Path) -> None:
    task = load_task("lsm")
    for folder in (tmp_path / where, None):
        moved = task.model_copy(update={"folder": folder})
        assert not choose_model(Settings(), moved, "reference").trusted


def test_a_model_that_is_called_none_gets_a_sandbox_or_does_not_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("docker", "bubblewrap"):
        monkeypatch.setattr(
            f"autoreproduce.sandboxes.{name}.why_not", lambda _: SandboxError("not here", fix="no")
        )
    settings = Settings(model="none", base_url=URL, sandbox="auto")
    choice = choose_model(settings, load_task("lsm"), "autoreproduce")
    with pytest.raises(SandboxError, match="no sandbox works here"):
        open_sandbox(
            settings,
            tmp_path / "w",
            data_dir=None,
            packages=tmp_path / "p",
            label="x",
            trusted=choice.trusted,
            note=print,
        )

"""What an interrupted run with another seed left in its folder, whatever it is, is removed first."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.config import Settings
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.runner.repeater import Repeater
from autoreproduce.sandboxes.setup import SandboxSetup


def nested(place: Path) -> None:
    """Folders deeper than a recursive removal goes."""
    (place / "workspace").mkdir(parents=True)
    here = os.open(place / "workspace", os.O_RDONLY)
    for _ in range(1_100):
        os.mkdir("d", dir_fd=here)
        here, before = os.open("d", os.O_RDONLY, dir_fd=here), here
        os.close(before)
    os.close(here)


def locked(place: Path) -> None:
    """Folders without any right."""
    (place / "workspace" / "a" / "b").mkdir(parents=True)
    for folder in ("workspace/a/b", "workspace/a", "workspace"):
        (place / folder).chmod(0)


def without_workspace(place: Path) -> None:
    """Only the folder of the seed."""
    place.mkdir(parents=True)


@pytest.mark.parametrize(
    "left", [pytest.param(nested, marks=pytest.mark.slow), locked, without_workspace]
)
def test_what_an_interrupted_seed_left_is_removed(
    tmp_path: Path, left: Callable[[Path], None]
) -> None:
    place = tmp_path / "seeds" / "1"
    left(place)
    sandboxes = SandboxSetup(Settings(sandbox="process"), tmp_path / "packages", trusted=True)
    files = {"main.py": "open('metrics.json', 'w').write('{}')\n"}
    task = load_task("lsm")
    trial = lay_out(tmp_path / "trial", Sources(files), task)
    repeater = Repeater(trial, task, sandboxes, "python main.py", files, 60)
    done = repeater.run_in_copy(place, "python main.py")
    trial.close()
    assert done.ok and done.metrics_json == "{}"
    assert not (place / "workspace" / "d").exists() and not (place / "workspace" / "a").exists()

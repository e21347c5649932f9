"""Masked tasks as Harbor's folders, and their verifier run for real as root and `nobody`."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from autoreproduce.plugins.masked.answering import put_in
from autoreproduce.plugins.masked.harbor import export_tasks
from autoreproduce.plugins.masked.tasks import masked_task, shipped

TASK = "adaptive-rate_1"


@pytest.fixture
def exported(tmp_path: Path) -> Path:
    task = masked_task(shipped(), TASK)
    (found,) = export_tasks([task], tmp_path / "harbor", tmp_path / "cache", None)
    return found


def test_the_folder_is_as_harbor_wants_it_and_the_agent_sees_no_gold(exported: Path) -> None:
    config = tomllib.loads((exported / "task.toml").read_text())
    assert config["task"]["name"] == f"autoreproduce/{TASK}" and config["artifacts"] == ["/app"]
    app = exported / "environment" / "app"
    assert "NotImplementedError" in (app / "optimiser.py").read_text()
    assert {path.name for path in app.iterdir()} >= {"main.py", "paper.txt", "refsol.sh"}
    assert not list((exported / "environment").rglob("*.jsonl"))
    assert (exported / "tests" / "set" / "adaptive-rate" / "experiments.jsonl").is_file()
    assert "NotImplementedError" not in (exported / "solution/code/optimiser.py").read_text()
    assert "step_size" in (exported / "instruction.md").read_text()


BODIES = {
    "the original": ("return base_rate / (average**0.5 + eps)", 1),
    "another one": ("return base_rate / (average + eps)", 0),
    "one that reads the gold": ("import os; os.listdir({tests!r}); return 1.0", 0),
}


@pytest.mark.slow
@pytest.mark.skipif(
    os.getuid() != 0 or not shutil.which("setpriv") or not Path("/usr/bin/python3").exists(),
    reason="the verifier is root, and lowers its programs",
)
@pytest.mark.parametrize("name", BODIES)
def test_the_verifier_rewards_right_bodies_alone(exported: Path, tmp_path: Path, name: str) -> None:
    body, reward = BODIES[name]
    app, logs = tmp_path / "app", tmp_path / "logs"
    shutil.copytree(exported / "environment" / "app", app)
    code = f"def step_size(base_rate, average, eps):\n    {body.format(tests=str(exported / 'tests'))}\n"
    put_in(app, "optimiser.py", "step_size", code)
    tests = exported / "tests"
    for path in (tests / "set").rglob("*.jsonl"):  # `nobody` may not run the Python of a home
        path.write_text(path.read_text().replace("python main.py", "/usr/bin/python3 main.py"))
    done = subprocess.run(
        [sys.executable, str(tests / "judge.py"), str(tests), str(app), str(logs)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    found = json.loads((logs / "reward.json").read_text())
    outcome = json.loads((logs / "outcome.json").read_text())
    assert found["reward"] == reward, outcome["reason"]
    if "gold" in name:
        assert "Permission denied" in outcome["reason"]

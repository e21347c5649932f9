"""A task of ReproduceBench that runs in a second, with a band to lie in."""

from pathlib import Path

import pytest

from autoreproduce import content
from autoreproduce.benchmarks.reproducebench.scaffold import new_task

WHAT = {"arxiv": None, "title": "T", "method": "M", "dataset": "D", "metric": "error"}
MEASURED = "measured: {value: 0.02, low: 0.0, high: 1.0, source: this test, date: 2026-11-22}"


@pytest.fixture
def tiny_task(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """The id of a task that `bench new` wrote, where the package finds its tasks."""
    made = new_task("tiny", into=tmp_path / "reproducebench", **WHAT)
    file = made / "task.yaml"
    file.write_text(file.read_text().replace("not_run: not measured yet", MEASURED))
    shipped = content.folder

    def folder(name: str) -> Path:
        return tmp_path / name if name == "reproducebench" else shipped(name)

    monkeypatch.setattr("autoreproduce.benchmarks.reproducebench.tasks.folder", folder)
    monkeypatch.setenv("AUTOREPRODUCE_OFFLINE", "true")
    monkeypatch.setenv("AUTOREPRODUCE_SANDBOX", "process")
    monkeypatch.setenv("AUTOREPRODUCE_RUNS_DIR", str(tmp_path / "runs"))
    monkeypatch.setenv("AUTOREPRODUCE_CACHE_DIR", str(tmp_path / "cache"))
    return "tiny"

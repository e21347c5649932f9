"""Tasks of ReproduceBench as folders of Harbor: task.toml, instruction, environment, tests.

    task.toml  instruction.md
    environment/   Dockerfile, the files of the task, the data
    tests/         Dockerfile, test.sh, measure.py, the metric, true data and decoys
    solution/      solve.sh and our reference implementation

The verifier is a container of its own, to which /app is handed as an artifact: nothing that an
agent left running sees the true targets. The data are copied in, under their own licences.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

from autoreproduce import content
from autoreproduce.benchmarks.reproducebench.tasks import (
    folder_of,
    reference_folder,
    task_file,
    task_names,
)
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError
from autoreproduce.plugins.integrations.task_files import prepared_task, task_files
from autoreproduce.runner.api_results import note_to_stderr
from autoreproduce.task import Task

MINUTES = 120.0  # that an agent has
SCHEMA = "1.4"  # of task.toml, that of harbor 0.25
TEST = "#!/bin/bash\ncd / && exec python /tests/measure.py\n"
SOLVE = "#!/bin/bash\ncp /solution/reference/*.py /app/\n"
IMAGE = """FROM python:3.11-slim
COPY requirements.txt torch.txt /requirements/
RUN pip install --no-cache-dir -r /requirements/requirements.txt -r /requirements/torch.txt
"""
ENVIRONMENT = f"""{IMAGE}COPY data /data
COPY app /app
ENV DATA_DIR=/data
WORKDIR /app
"""
VERIFIER = f"""{IMAGE}COPY . /tests
WORKDIR /app
"""
NOTE = """
The data lie in /data, and you work in /app. What /app holds when you end is measured in another
container: `python main.py` is run there from the beginning.
"""


def export_tasks(names: Sequence[str], out: Path, settings: Settings) -> list[Path]:
    """Write a folder a task below `out`; `all` is every task. The folders.

    Raises UsageError for a task without a reference's band, or a folder that is there already.
    """
    named = task_names() if list(names) == ["all"] else names
    return [_export(name, out, settings) for name in named]


def _export(name: str, out: Path, settings: Settings) -> Path:
    task = prepared_task(name, settings, note_to_stderr)
    folder = out / f"{task.id}-{task.profile}"
    if folder.exists():
        raise UsageError(f"{folder} is there already", fix="move it away, or name another --out")
    facts = _facts(task)
    files = task_files(task, settings, note_to_stderr, MINUTES)
    _write(folder / "task.toml", _task_toml(task, settings))
    _write(folder / "instruction.md", files["TASK.md"].decode() + NOTE)
    _write_environment(folder / "environment", task, files)
    _write_tests(folder / "tests", task, facts)
    _write_solution(folder / "solution", task)
    return folder


def _facts(task: Task) -> dict[str, object]:
    """What measure.py must know. Raises UsageError without a band to lie in."""
    found = task.reference
    if found is None or found.low is None or found.high is None or task.data_dir is None:
        raise UsageError(
            f"{task.id} ({task.profile}) has no measured reference, so nothing could be rewarded",
            fix="export its other profile",
        )
    predictions = task_file(folder_of(task)).predictions or "predictions.npz"
    return {
        "metric": task.metric.name,
        "predictions": predictions,
        "band": [found.low, found.high],
        "minutes": task.time_limit_minutes,
    }


def _task_toml(task: Task, settings: Settings) -> str:
    """task.toml; every text is written as JSON, which TOML's basic strings contain."""
    limits, minutes = settings.sandbox.limits, task.time_limit_minutes
    title = " ".join(f"{task.title} ({task.method} on {task.dataset})".split())
    machine = [
        "build_timeout_sec = 3600.0",
        f"cpus = {max(round(limits.cpus), 1)}",
        f"memory_mb = {round(limits.memory_gb * 1024)}",
        f"storage_mb = {round(limits.disk_gb * 1024)}",
    ]
    lines = [
        f"schema_version = {json.dumps(SCHEMA)}",
        'artifacts = ["/app"]',
        "",
        "[task]",
        f"name = {json.dumps(f'autoreproduce/{task.id}-{task.profile}')}",
        f"description = {json.dumps(title, ensure_ascii=False)}",
        'keywords = ["reproduction", "machine-learning"]',
        "",
        "[metadata]",
        f"arxiv = {json.dumps(task.arxiv_id or '')}",
        f"metric = {json.dumps(task.metric.name)}",
        "",
        "[agent]",
        f"timeout_sec = {MINUTES * 60}",
        "",
        "[verifier]",
        'environment_mode = "separate"',
        f"timeout_sec = {minutes * 60 + 600}",
        "",
        "[verifier.environment]",
        *machine,
        "",
        "[environment]",
        *machine,
    ]
    return "\n".join(lines) + "\n"


def _write_environment(folder: Path, task: Task, files: dict[str, bytes]) -> None:
    _write(folder / "Dockerfile", ENVIRONMENT)
    _copy_requirements(folder)
    assert task.data_dir is not None
    shutil.copytree(task.data_dir, folder / "data")
    for name, data in files.items():
        _write(folder / "app" / name, data)


def _write_tests(folder: Path, task: Task, facts: dict[str, object]) -> None:
    _write(folder / "Dockerfile", VERIFIER)
    _write(folder / "test.sh", TEST)
    (folder / "test.sh").chmod(0o755)
    _write(folder / "facts.json", json.dumps(facts, indent=1))
    shutil.copy(content.folder("eval") / "harbor" / "measure.py", folder / "measure.py")
    shutil.copy(folder_of(task) / "metric.py", folder / "metric.py")
    _copy_requirements(folder)
    assert task.data_dir is not None
    shutil.copytree(task.data_dir, folder / "data")
    shutil.copytree(task.decoy_dir or task.data_dir, folder / "decoys")


def _write_solution(folder: Path, task: Task) -> None:
    _write(folder / "solve.sh", SOLVE)
    (folder / "solve.sh").chmod(0o755)
    for path in sorted(reference_folder(task).glob("*.py")):
        _write(folder / "reference" / path.name, path.read_bytes())


def _copy_requirements(folder: Path) -> None:
    recipe = content.folder("sandbox")
    shutil.copy(recipe / "requirements.txt", folder / "requirements.txt")
    shutil.copy(recipe / "torch-cpu.txt", folder / "torch.txt")


def _write(path: Path, text: str | bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())

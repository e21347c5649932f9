"""Masked tasks as folders of Harbor: the workspace for an agent, and our own rule as verifier.

    task.toml  instruction.md
    environment/   the set's recipe, the repository with stubs, the paper
    tests/         the paper of the set with its gold, this package, judge.py
    solution/      the original bodies' files

The verifier is a container of its own, to which /app is handed as an artifact.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from pathlib import Path

import autoreproduce
from autoreproduce.content import folder
from autoreproduce.errors import UsageError
from autoreproduce.plugins.autoexperiment.answering import question
from autoreproduce.plugins.autoexperiment.dataset import HELD_OUT
from autoreproduce.plugins.autoexperiment.environment import data_folder
from autoreproduce.plugins.autoexperiment.layout import copy_code, lay_out, recipe, wanted_pairs
from autoreproduce.plugins.autoexperiment.running import made_of
from autoreproduce.plugins.autoexperiment.selection import MaskedTask
from autoreproduce.plugins.autoexperiment.writer import write_lists, write_paper, write_text

SCHEMA = "1.4"  # of task.toml, that of harbor 0.25
MINUTES = 60.0  # that an agent has
JUDGE = "RUN pip install --no-cache-dir pydantic==2.* pyyaml==6.* platformdirs==4.*\n"
TEST = "#!/bin/bash\ncd / && exec python /tests/judge.py /tests /app /logs/verifier\n"
SOLVE = "#!/bin/bash\ncp -r /solution/code/. /app/\n"


def export_tasks(
    tasks: Sequence[MaskedTask], out: Path, cache: Path, data: Path | None
) -> list[Path]:
    """Write a folder a task below `out`; the folders.

    Raises UsageError for a folder that is there already, or data that cannot be had.
    """
    return [_export(task, out, cache, data) for task in tasks]


def _export(task: MaskedTask, out: Path, cache: Path, data: Path | None) -> Path:
    target = out / task.id.replace(",", "-").rstrip("_")
    if target.exists():
        raise UsageError(f"{target} is there already", fix="move it away, or name another folder")
    found = data_folder(task, cache, print, data)
    made = made_of(task)
    write_text(target / "task.toml", _task_toml(task, target.name))
    write_text(target / "instruction.md", f"{question(task)}\n\nYou work in /app.\n")
    given = "COPY data /data\nENV DATA_DIR=/data\n" if found else ""
    text = recipe(made).replace("WORKDIR /workspace\n", "")
    environment = f"{text}{given}COPY app /app\nWORKDIR /app\n"
    write_text(target / "environment" / "Dockerfile", environment)
    lay_out(task, target / "environment" / "app")
    tests = target / "tests"
    write_text(tests / "Dockerfile", f"{text}{JUDGE}COPY . /tests\nWORKDIR /app\n")
    write_text(tests / "test.sh", TEST)
    write_text(tests / "facts.json", json.dumps({"task": task.id}))
    shutil.copy(folder("eval") / "harbor" / "judge.py", tests / "judge.py")
    package = Path(autoreproduce.__file__).parent
    unneeded = shutil.ignore_patterns("__pycache__", "*.pyc", "_content")
    shutil.copytree(package, tests / "autoreproduce", ignore=unneeded)
    _write_set(task, tests / "set")
    for own in (target / "environment", tests) if found else ():
        shutil.copytree(str(found), own / "data")
    write_text(target / "solution" / "solve.sh", SOLVE)
    for file in dict.fromkeys(file for file, _ in wanted_pairs(task)):
        own = target / "solution" / "code" / file
        own.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(task.paper.code / file, own)
    for script in (tests / "test.sh", target / "solution" / "solve.sh"):
        script.chmod(0o755)
    return target


def _write_set(task: MaskedTask, out: Path) -> None:
    """A set of one task."""
    paper = task.paper
    copy_code(paper.code, out / paper.id / "code")
    write_text(out / paper.id / "paper.txt", paper.text)
    if paper.held_out:
        write_text(out / paper.id / HELD_OUT, paper.held_out)
    made = made_of(task).model_copy(update={"data": "", "data_dir": ""})
    write_paper(out, paper.id, paper.title, "", paper.functions, paper.experiments, made)
    write_lists(out, paper.id, [task])


def _task_toml(task: MaskedTask, name: str) -> str:
    """task.toml; every text is written as JSON, which TOML's basic strings contain."""
    title = " ".join(f"{task.paper.title}: {task.n} functions".split())
    return "\n".join(
        [
            f"schema_version = {json.dumps(SCHEMA)}",
            'artifacts = ["/app"]',
            "",
            "[task]",
            f"name = {json.dumps(f'autoreproduce/{name}')}",
            f"description = {json.dumps(title, ensure_ascii=False)}",
            'keywords = ["reproduction", "machine-learning"]',
            "",
            "[agent]",
            f"timeout_sec = {MINUTES * 60}",
            "",
            "[verifier]",
            'environment_mode = "separate"',
            f"timeout_sec = {made_of(task).timeout * 4 + 600}",
            "",
        ]
    )

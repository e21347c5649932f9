"""Masked functions for Inspect AI: any agent of Inspect's on a set, by our rule.

    inspect eval autoreproduce/autoexperiment -T dataset=./my_set -T n=1,2 --model openai/gpt-5

The agent works in Inspect's sandbox, a container by the set's own recipe without a network, on the
files that our solvers get. Then the files with the masked functions are taken from there, and their
bodies are judged in a sandbox of ours by end numbers and behaviour.
"""

from __future__ import annotations

import json
import tempfile
from base64 import b64encode
from pathlib import Path
from typing import Any

import anyio
from inspect_ai import Task as InspectTask
from inspect_ai import task
from inspect_ai.agent import react
from inspect_ai.dataset import MemoryDataset, Sample
from inspect_ai.scorer import Score, Target, mean, scorer, stderr
from inspect_ai.solver import TaskState
from inspect_ai.tool import bash, python
from inspect_ai.util import sandbox as agent_sandbox

from autoreproduce.errors import AutoReproduceError, UsageError
from autoreproduce.files.tree import LARGEST, Tree
from autoreproduce.plugins.autoexperiment.answering import question
from autoreproduce.plugins.autoexperiment.commands import numbers
from autoreproduce.plugins.autoexperiment.environment import data_folder, places_of_papers
from autoreproduce.plugins.autoexperiment.layout import lay_out, recipe, wanted_pairs
from autoreproduce.plugins.autoexperiment.outcome import judge
from autoreproduce.plugins.autoexperiment.running import made_of
from autoreproduce.plugins.autoexperiment.selection import MaskedTask, select_tasks
from autoreproduce.plugins.autoexperiment.tasks import masked_task, open_set, shipped
from autoreproduce.plugins.autoexperiment.writer import write_text
from autoreproduce.runner.api_results import note_to_stderr
from autoreproduce.runner.settings import load_settings

RULES = ("passed", "by_numbers", "by_behaviour", "public_rule")


@task
def autoexperiment(
    dataset: str = "", n: str = "1", tasks: str = "", sandbox: str = "docker", minutes: float = 60.0
) -> InspectTask:
    """Write the masked functions of a set, the one that ships by default; `tasks` by combined id.

    `sandbox`: docker or local, which confines nothing. `minutes` that an agent has for one task.
    """
    if sandbox not in ("docker", "local"):
        raise UsageError(f"sandbox={sandbox}", fix="choose docker or local")
    root = Path(dataset) if dataset else shipped()
    ids = [each.strip() for each in tasks.split(";") if each.strip()]
    found = select_tasks(open_set(root), numbers(str(n)), ids=ids)
    return InspectTask(
        dataset=MemoryDataset([_sample(each, root, sandbox) for each in found], name=root.name),
        solver=react(tools=[bash(timeout=600), python(timeout=600)]),
        scorer=judged(),
        time_limit=int(minutes * 60),
        version=1,
    )


def _sample(masked: MaskedTask, root: Path, sandbox: str) -> Sample:
    with tempfile.TemporaryDirectory(prefix="autoexperiment-") as folder:
        lay_out(masked, Path(folder))
        tree = Tree(Path(folder))
        files = {name: _as_url(tree.read(name)) for name in tree.files()}
    box: str | tuple[str, str] = "local"
    if sandbox == "docker":
        box = ("docker", str(_container(masked)))
    return Sample(
        input=question(masked),
        id=masked.id,
        metadata={"task": masked.id, "dataset": str(root.resolve())},
        sandbox=box,
        files=files,
    )


def _container(masked: MaskedTask) -> Path:
    """The compose file of a task's container: the set's recipe, its data read-only, no network."""
    cache = load_settings({}).cache_dir
    folder = cache / "inspect" / masked.paper.id
    service: dict[str, Any] = {
        "build": {"context": "."},
        "command": "sleep infinity",
        "init": True,
        "network_mode": "none",
    }
    if data := data_folder(masked, cache, note_to_stderr, None):
        service["volumes"] = [f"{data}:/data:ro"]
        service["environment"] = {"DATA_DIR": "/data"}
    write_text(folder / "Dockerfile", recipe(made_of(masked)))
    write_text(folder / "compose.yaml", json.dumps({"services": {"default": service}}))
    return folder / "compose.yaml"


def _as_url(data: bytes) -> str:
    """A data URL: a plain text could be taken for a file's name."""
    return f"data:application/octet-stream;base64,{b64encode(data).decode()}"


@scorer(metrics={name: [mean(), stderr()] for name in RULES})
def judged() -> Any:
    """Whether numbers and behaviour agree, each by itself, and the public rule."""

    async def score(state: TaskState, target: Target) -> Score:
        masked = masked_task(Path(state.metadata["dataset"]), state.metadata["task"])
        with tempfile.TemporaryDirectory(prefix="inspect-") as folder:
            tree = Tree(Path(folder))
            for file in dict.fromkeys(file for file, _ in wanted_pairs(masked)):
                try:
                    data = await agent_sandbox().read_file(file, text=False)
                except (OSError, RuntimeError, ValueError):  # what an agent left is its own
                    continue
                tree.write(file, data[:LARGEST])
            return await anyio.to_thread.run_sync(_score, masked, Path(folder))

    return score


def _score(masked: MaskedTask, submission: Path) -> Score:
    settings = load_settings({})
    try:
        found = judge(masked, submission, places_of_papers(settings, None, note_to_stderr)(masked))
    except AutoReproduceError as error:
        return Score(value=dict.fromkeys(RULES, 0), explanation=f"not scored: {error}")
    same = all(each.passed is not False for each in found.behaviour.values())
    values = (found.strict.passed, found.by_numbers, same, found.upstream.passed)
    return Score(
        value={name: int(value) for name, value in zip(RULES, values, strict=True)},
        explanation=found.reason or found.kind,
        metadata=found.model_dump(mode="json"),
    )

"""From what the user named to a Task: a folder of the benchmark, or an ad-hoc task of their own."""

from __future__ import annotations

import re
from pathlib import Path

from autoreproduce.benchmarks.reproducebench import find_task
from autoreproduce.errors import UsageError
from autoreproduce.task import Metric, Task


def find_or_make_task(
    name: str | None,
    arxiv: str | None,
    paper: Path | None,
    metric: str | None,
    instruction: str,
    profile: str,
) -> Task:
    """The benchmark's task `name`, or a task of the user's own where --metric is given.

    Raises UsageError where neither can be had, or where the paper named is not the task's.
    """
    if metric is None:
        return _of_benchmark(name, arxiv, paper, instruction, profile)
    if arxiv is None and paper is None:
        raise UsageError("a task of your own needs its paper: add --arxiv ID or --paper FILE")
    return _own(name or "task", arxiv, paper, metric, instruction)


def _of_benchmark(name: str | None, arxiv: str | None, paper: Path | None, instruction: str, profile: str) -> Task:
    from autoreproduce.papers.arxiv_client import normal_id, without_version

    if name is None:
        raise UsageError("which experiment? Add --task NAME (a data set or method; `autoreproduce tasks` lists them)")
    task = find_task(name, profile)
    if arxiv is not None and without_version(normal_id(arxiv)) != task.arxiv_id:
        raise UsageError(
            f"task {task.id} is of arXiv {task.arxiv_id}, not {arxiv}: correct one, "
            "or describe a task of your own by --metric"
        )
    if instruction:
        task = task.model_copy(update={"instruction": f"{task.instruction}\n\n{instruction}"})
    return task


def _own(name: str, arxiv: str | None, paper: Path | None, metric: str, instruction: str) -> Task:
    from autoreproduce.papers.arxiv_client import normal_id

    if paper is not None and not paper.is_file():
        raise UsageError(f"--paper {paper} does not exist, or is no file: name a .pdf, .md, .tex or .txt file")
    metric_name, _, direction = metric.partition(":")
    if direction not in ("", "lower", "higher"):
        raise UsageError(f"--metric {metric}: after the colon stands lower or higher (which is better)")
    slug = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-") or "task"
    return Task(
        id=slug, arxiv_id=normal_id(arxiv) if arxiv else None, dataset=name,
        metric=Metric(name=metric_name, direction="higher" if direction == "higher" else "lower"),
        instruction=f"Replicate the experiment on {name}.\n{instruction}".strip(), profile="full",
    )  # fmt: skip


def data_folder(data: Path) -> Path:
    """What --data names. Raises UsageError where it is no folder."""
    if not data.is_dir():
        raise UsageError(f"--data {data} is no folder: name the folder that holds the data")
    return data.resolve()

"""What `tasks` and `doctor` print."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from autoreproduce.config import Settings

if TYPE_CHECKING:
    from autoreproduce.task import Task
    from autoreproduce.trial import Outcome


def print_tasks(settings: Settings, as_json: bool) -> None:
    """A row a task: id, paper, experiment, metric, reference by profile, state of the data."""
    from rich.console import Console
    from rich.table import Table

    rows = list(_rows(settings))
    if as_json:
        for row in rows:
            print(json.dumps(row))
        return
    table = Table(box=None, header_style="bold")
    for name in rows[0] if rows else ():
        table.add_column(name, overflow="fold")  # an id is whole, or nothing can be done with it
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console(width=None if sys.stdout.isatty() else 160).print(table)


def markdown_tasks() -> str:
    """The benchmark as a Markdown table: a row a task and profile that was measured, as task.yaml has it."""
    from tabulate import tabulate

    from autoreproduce.benchmarks.reproducebench import task_file, task_folders

    rows = []
    for folder in task_folders():
        file = task_file(folder)
        published = f"{file.results.published.value:.4g}" if file.results.published else "–"
        for profile, content in file.profiles.items():
            found = content.measured
            if found is None:
                continue
            band = f"{found.low:.4g} to {found.high:.4g}" if found.low is not None and found.high is not None else "–"
            data = "stand-in" if content.stand_in else "the paper's"
            cost = f"{found.seconds:.0f} s" if found.seconds else "–"
            memory = f"{found.memory_mb:.0f} MB" if found.memory_mb else "–"
            rows.append([file.id, f"{file.method}, {file.dataset}", profile, data, file.metric.name,
                         f"{found.value:.4g}", band, len(found.values), published, cost, memory])  # fmt: skip
    heads = [
        "task",
        "experiment",
        "profile",
        "data",
        "metric",
        "ours",
        "band",
        "runs",
        "published, full",
        "time",
        "memory",
    ]
    return str(tabulate(rows, heads, tablefmt="github", disable_numparse=True))


def reference_table(runs: Sequence[tuple[Task, Outcome]]) -> str:
    """References that were run here beside the bands that their task.yaml states, a row a run."""
    from tabulate import tabulate

    rows = []
    for task, outcome in runs:
        known = task.measured
        band = f"{known.low:.4g} to {known.high:.4g}" if known and known.low is not None and known.high else "–"
        inside = {True: "yes", False: "no", None: "–"}[outcome.within_band]
        took, memory = outcome.details.get("seconds", outcome.seconds), outcome.details.get("memory_mb")
        rows.append([task.id, task.profile, task.metric.name, f"{outcome.metric:.4g}", band, inside, f"{took:.0f} s",
                     f"{memory:.0f} MB" if memory else "–"])  # fmt: skip
    heads = ["task", "profile", "metric", "here", "band", "within", "time", "memory"]
    return str(tabulate(rows, heads, tablefmt="github", disable_numparse=True))


def _rows(settings: Settings) -> Any:
    from autoreproduce.benchmarks.reproducebench import is_prepared, task_file, task_folders
    from autoreproduce.tape import find_tape

    for folder in task_folders():
        file = task_file(folder)
        for profile, content in file.profiles.items():
            measured = content.measured
            reference = measured or (file.results.published if profile == "full" else None)
            yield {
                "task": file.id,
                "profile": profile,
                "arXiv": file.arxiv or "none",
                "experiment": f"{file.method} on {file.dataset}",
                "metric": file.metric.name,
                "reference": f"{reference.value:.4g}{'' if measured else ' (published)'}" if reference else "none",
                "data": "prepared" if is_prepared(file.id, profile, settings.cache_dir) else "to prepare",
                "tape": "yes" if find_tape(file.id, profile) else "no",
            }


def print_checks(settings: Settings, as_json: bool) -> bool:
    """A line a check; True where a trial can run."""
    from autoreproduce.doctor import checks

    found = checks(settings)
    for check in found:
        if as_json:
            print(json.dumps(asdict(check)))
        else:
            mend = f": {check.mend}" if check.mend else ""
            print(f"{'ok     ' if check.ok else 'missing'}  {check.name}: {check.found}{mend}")
    sandboxes = [check for check in found if check.name in ("Docker Engine", "bubblewrap")]
    git = all(check.ok for check in found if check.name == "git")
    return git and any(check.ok for check in sandboxes)

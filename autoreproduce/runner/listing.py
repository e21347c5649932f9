"""What `tasks` and `doctor` print."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import Any

from autoreproduce.config import Settings


def print_tasks(settings: Settings, as_json: bool) -> None:
    """A row a task: id, paper, experiment, metric, reference by profile, state of the data."""
    from rich.console import Console
    from rich.table import Table

    rows = list(_rows(settings))
    if as_json:
        for row in rows:
            print(json.dumps(row))
        return
    table = Table(*rows[0], box=None, header_style="bold") if rows else Table()
    for row in rows:
        table.add_row(*map(str, row.values()))
    Console(width=None).print(table)


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
    return any(check.ok for check in sandboxes)

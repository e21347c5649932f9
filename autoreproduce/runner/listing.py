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

"""`calibrate --attacks`: every attack on a task is run and scored as any program; one table."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.benchmarks.reproducebench.draws import new_seed
from autoreproduce.benchmarks.reproducebench.tasks import find_task
from autoreproduce.errors import UsageError
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.lab.attacks import Attack, AttackRow, attack_table, attacks_on, row_of
from autoreproduce.runner.score import score_all
from autoreproduce.runner.score_request import ScoreRequest
from autoreproduce.trials.journal import now, write_whole

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.task import Task

FREE = ("execution", "gap", "structure", "integrity")


def run_attacks(
    tasks: Sequence[str],
    judges: Sequence[str],
    repeats: int,
    levels: Sequence[str],
    home: Path,
    settings: Settings,
    note: Callable[[str], None],
) -> bool:
    """Run and score the attacks on each task, below `home`; True if all were caught as expected.

    `levels`: none means all; with judges the mixed level reads the programs too. A program that was
    run is not run again. Writes `attacks-TASK.json` and `.md`. Raises UsageError for a task without
    attacks and for another level.
    """
    levels = levels or ((*FREE, "mixed") if judges else FREE)
    if unknown := [level for level in levels if level not in (*FREE, "mixed")]:
        raise UsageError(
            f"--levels {','.join(unknown)}", fix=f"those of attacks are {', '.join(FREE)}, mixed"
        )
    found = [find_task(name, settings.profile) for name in tasks]
    chosen = [(task, attacks_on(task)) for task in found]
    good = True
    for task, attacks in chosen:
        rows, draw = [], new_seed()  # one for all: none of them could know it
        for attack in attacks:
            note(f"{task.id}: {attack.entry.name}")
            place = home / task.id / attack.entry.name
            rows.append(_row(task, attack, levels, judges, repeats, place, settings, note, draw))
        write(home, task, rows)
        note(attack_table(rows))
        good = good and all(row.as_expected for row in rows)
    return good


def _row(
    task: Task,
    attack: Attack,
    levels: Sequence[str],
    judges: Sequence[str],
    repeats: int,
    place: Path,
    settings: Settings,
    note: Callable[[str], None],
    draw: str,
) -> AttackRow:
    program = Tree(place / "program")
    program.make_root()
    for name, text in attack.files.items():
        program.write(name, text)
    request = ScoreRequest(
        path=str(place / "program"),
        settings=settings,
        task=task,
        levels=levels,
        judges=judges,
        repeats=repeats,
        run=attack.command if set(levels) & set(FREE) else None,  # a judge reads, and runs nothing
        draw=draw,
        out=place / "trial",
        note=note,
    )
    [scored], _ = score_all(request)
    return row_of(attack, levels, scored.scores)


def write(home: Path, task: Task, rows: Sequence[AttackRow]) -> None:
    """`attacks-TASK.json` and `.md` in `home`."""
    content = {
        "task": task.id,
        "profile": task.profile,
        "at": now(),
        "rows": [
            {**row.entry.model_dump(), **asdict(row), "entry": row.entry.name, "by": row.caught_by}
            for row in rows
        ],
    }
    home.mkdir(parents=True, exist_ok=True)
    write_whole(home / f"attacks-{task.id}.json", json.dumps(content, indent=1) + "\n")
    write_whole(home / f"attacks-{task.id}.md", attack_table(rows) + "\n")

"""What a suite may take: the estimates of its trials (`runner.estimate`), by task and variant."""

import json
import sys
from collections.abc import Collection
from functools import reduce
from pathlib import Path
from typing import Any

from autoreproduce.evaluation.report.wording import short_count
from autoreproduce.models.budget import Budget
from autoreproduce.plugins.suites.checks import check_solvers
from autoreproduce.plugins.suites.finished_trials import check
from autoreproduce.plugins.suites.plan import Plan, Planned
from autoreproduce.runner.estimate import Estimate, dollar_words, estimate, spread_words
from autoreproduce.runner.past_trials import TrialKind, earlier_trials, text_tokens

# Task and variant, trials planned, and what the unfinished ones may take.
Line = tuple[tuple[str, str], int, Estimate]
# The columns, and how narrow each may become; what doesn't fit goes on below.
COLUMNS = {"task": 10, "variant": 9, "trials": 2, "to run": 2, "calls": 6, "tokens": 8}
COLUMNS |= {"dollars": 8, "hours": 6, "from": 9}


def print_estimate(
    plan: Plan, folder: Path, workers: int, budget: str | None, as_json: bool
) -> None:
    """The plan as a table by task and variant: trials, finished ones, what the rest may take."""
    Budget.parse(budget)  # refused now, and not by the command that is to run it
    check_solvers(plan)
    finished = check(plan, folder) if folder.exists() else {}
    rows = _estimates(plan, finished)
    whole = reduce(Estimate.plus, [part for _, _, part in rows], Estimate())
    head = {
        "suite": plan.suite.name,
        "folder": str(folder),
        "workers": workers,
        "budget": budget,
        "trials": len(plan.trials),
        "finished": len(finished),
    }
    if as_json:
        lines = [
            {"task": key[0], "variant": key[1], "planned": count, **part.as_json()}
            for key, count, part in rows
        ]
        print(json.dumps({"event": "plan", **head, "rows": lines, "all": whole.as_json()}))
    else:
        _print(head, rows, whole, workers)


def _estimates(plan: Plan, finished: Collection[Planned]) -> list[Line]:
    """A line for each task and variant."""
    runs = {plan.settings(trial.variant).runs_dir for trial in plan.trials}
    earlier = [each for path in sorted(runs) if path.is_dir() for each in earlier_trials(path)]
    rows = []
    for key in dict.fromkeys((trial.task, trial.variant) for trial in plan.trials):
        trials = [trial for trial in plan.trials if (trial.task, trial.variant) == key]
        left = [trial for trial in trials if trial not in finished]
        part = Estimate()
        if left:
            one = estimate(_wanted(plan, left[0]), plan.settings(key[1]), earlier)
            part = one.times(len(left))
        rows.append((key, len(trials), part))
    return rows


def _wanted(plan: Plan, planned: Planned) -> TrialKind:
    """The trial as an estimate sees it; what arXiv would give isn't fetched for its length."""
    profile = plan.settings(planned.variant).identity()["profile"]
    task = plan.tasks.find(planned.task, profile).task
    fetched = task.arxiv_id is not None and not plan.settings(planned.variant).papers.offline
    paper = text_tokens(task.digest) if task.digest and not fetched else None
    return TrialKind(planned.task, profile, plan.solver(planned.variant), task.writes, paper)


def _print(head: dict[str, Any], rows: list[Line], whole: Estimate, workers: int) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 140)
    beside = 2 if console.width > 90 else 1
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, beside, 0, 0))
    for name, least in COLUMNS.items():
        side: Any = {} if name in ("task", "variant", "from") else {"justify": "right"}
        table.add_column(name, overflow="fold", min_width=least, **side)
    for (task, variant), count, part in rows:
        table.add_row(task, variant, str(count), str(part.trials), *_estimate_cells(part))
    named = "all"
    if whole.trials and not whole.like:  # of a solver nothing is known: what the others may take
        known = [part for _, _, part in rows if part.like]
        named, whole = "all known", reduce(Estimate.plus, known, Estimate())
    sums = (str(head["trials"]), str(whole.trials), *_estimate_cells(whole)[:-1])
    table.add_row(named, "", *sums, style="bold")
    console.print(table)
    seconds, at_once = whole["seconds"], max(min(workers, whole.trials), 1)
    hours = f"about {spread_words(seconds.times(1 / at_once), _hours)}" if seconds else "unknown"
    print(f"Hours, {workers} at once, {named}: {hours}. Budget: {head['budget'] or 'none'}.")
    print(f"Folder: {head['folder']}")
    for note in _notes(rows):
        print(note)


def _notes(rows: list[Line]) -> list[str]:
    """Why a figure is unknown, and what the others rest on."""
    parts = [part for _, _, part in rows if part.trials]
    known = [part for part in parts if part.like]
    unpriced, untimed = (any(part[of] is None for part in known) for of in ("dollars", "seconds"))
    notes = {
        "shipped: live trials of the solver that ship with autoreproduce (eval/costs.yaml); your "
        "own count as soon as there are some": any(not part.own for part in known),
        "unknown: no earlier trial of that solver, yours or shipped": len(known) < len(parts),
        "dollars unknown: name a --model with a known price, or give --price": unpriced,
        "hours unknown: nobody measured a program of that profile": untimed,
    }
    return [note for note, holds in notes.items() if holds]


def _estimate_cells(part: Estimate) -> list[str]:
    if not part.trials:
        return ["0", "0", "0", "0", ""]
    return [
        spread_words(part["calls"], "{:,.0f}".format),
        spread_words(part["tokens"], lambda value: short_count(round(value))),
        spread_words(part["dollars"], dollar_words),
        spread_words(part["seconds"], _hours),
        f"{part.like} {'earlier' if part.own else 'shipped'}" if part.like else "none",
    ]


def _hours(seconds: float) -> str:
    return f"{seconds / 3600:.2g}"

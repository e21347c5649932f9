"""What a suite may take: the estimates of its trials (`runner.estimate`), by task and variant."""

import json
import sys
from collections.abc import Callable, Collection
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.evaluation.report.wording import short_count
from autoreproduce.models.budget import Budget
from autoreproduce.plugins.suites.checks import check_solvers
from autoreproduce.plugins.suites.finished_trials import check
from autoreproduce.plugins.suites.plan import Plan, Planned
from autoreproduce.runner.estimate import (
    Estimate,
    Likely,
    TrialKind,
    budget_notes,
    dollar_words,
    earlier_trials,
    estimate,
    rounded_dollars,
    rounded_time,
    spread_words,
    text_tokens,
    time_words,
)
from autoreproduce.runner.open_models import check_names

if TYPE_CHECKING:
    from rich.table import Table as RichTable

# Task and variant, trials planned, and what the unfinished ones may take.
Line = tuple[tuple[str, str], int, Estimate]
FIGURES = ("calls", "tokens", "dollars", "hours", "from")
NARROW = 120  # columns of a terminal below which a range is under its figure


def print_estimate(
    plan: Plan, folder: Path, workers: int, budget: str | None, as_json: bool
) -> None:
    """The plan as a table by task and variant: trials, finished ones, what the rest may take."""
    Budget.parse(budget)  # refused now, and not by the command that is to run it
    check_solvers(plan)
    for variant in dict.fromkeys(trial.variant for trial in plan.trials):
        check_names(plan.settings(variant))
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
        _print(head, rows, workers)


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
    job = plan.job(planned.task, planned.variant)
    task, settings = job.of_task, job.settings
    fetched = task.arxiv_id is not None and not settings.papers.offline
    paper = text_tokens(task.digest) if task.digest and not fetched else None
    return TrialKind(task.id, task.profile, job.solver, task.writes, paper)


def _print(head: dict[str, Any], rows: list[Line], workers: int) -> None:
    from rich.console import Console

    console = Console(file=sys.stdout, width=None if sys.stdout.isatty() else 140)
    whole = reduce(Estimate.plus, [_as_shown(part) for _, _, part in rows], Estimate())
    known = [_as_shown(part) for _, _, part in rows if part.like]
    named = "all"
    if known and not whole.like:  # of a solver nothing is known: what the others may take
        named, whole = "all known", reduce(Estimate.plus, known, Estimate())
    cells = [
        [task, variant, str(count), str(part.trials), *_estimate_cells(part)]
        for (task, variant), count, part in rows
    ]
    sums = [str(head["trials"]), str(whole.trials), *_estimate_cells(whole)[:-1], ""]
    console.print(_table([*cells, [named, "", *sums]], console.width < NARROW))
    seconds, at_once = whole["seconds"], max(min(workers, whole.trials), 1)
    hours = f"about {spread_words(seconds.times(1 / at_once), _hours)}" if seconds else "unknown"
    print(f"Hours, {workers} at once, {named}: {hours}. Budget: {head['budget'] or 'none'}.")
    print(f"Folder: {head['folder']}")
    for note in (*_notes(rows), *budget_notes(head["budget"], whole)):
        print(note)


def _table(cells: list[list[str]], narrow: bool) -> "RichTable":
    """A row a task and variant, the last the sums; narrow: a variant below its task, too."""
    from rich.table import Table

    names = ["task", "variant", "trials", "to run", *FIGURES]
    if narrow:
        names = ["task", "to run", *FIGURES]
        cells = [
            [f"{task}\n {variant}", run if run == count else f"{run} of {count}", *_stacked(rest)]
            for task, variant, count, run, *rest in cells
        ]
    beside = 1 if narrow else 2
    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, beside, 0, 0))
    for name in names:
        left = name in ("task", "variant", "from")
        table.add_column(name, overflow="fold", justify="left" if left else "right")
    for row in cells[:-1]:
        table.add_row(*row)
    table.add_row(*cells[-1], style="bold")
    return table


def _stacked(cells: list[str]) -> list[str]:
    return [cell.replace(" ", "\n", 1) for cell in cells]


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
    return time_words(seconds / 3600)


def _as_shown(part: Estimate) -> Estimate:
    """Rounded as its cells are, so that the last row is the sum of what one reads."""
    ways: dict[str, Callable[[float], float]] = {
        "calls": round,
        "tokens": lambda value: float(f"{value:.3g}"),
        "dollars": rounded_dollars,
        "seconds": lambda value: 3600 * rounded_time(value / 3600),
    }
    figures = {
        name: of and Likely(*map(way, of)) for name, way in ways.items() for of in [part[name]]
    }
    tokens = figures.pop("tokens")
    return replace(part, figures={**figures, "input": tokens, "output": tokens and tokens.times(0)})

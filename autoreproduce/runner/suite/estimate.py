"""What a suite may take, from earlier trials in the runs folder; «unknown» where there are none.

For each planned trial the earlier ones most like it are averaged: the same task, profile and solver with the same
settings, else with the same model, else with any model; then only calls, tokens and time are taken from them, and
dollars from today's price of the planned model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.budget import Budget
from autoreproduce.config import Settings
from autoreproduce.prices import Usage, price_of
from autoreproduce.runner.suite.kept import check, read_json

if TYPE_CHECKING:
    from autoreproduce.runner.suite.plan import Plan, Planned


@dataclass(frozen=True)
class Earlier:
    """One finished trial, as far as it tells of what others will take."""

    task: str
    profile: str
    solver: str
    settings: dict[str, Any]
    calls: int
    usage: Usage
    dollars: float | None
    seconds: float

    @property
    def model(self) -> tuple[Any, ...]:
        """Which models it used."""
        return models_of(self.settings)


@dataclass
class Estimate:
    """The sums over trials. A figure is None where a trial is among them whose share of it is unknown."""

    trials: int = 0
    calls: float | None = 0.0
    tokens: float | None = 0.0
    dollars: float | None = 0.0
    seconds: float | None = 0.0
    like: int = 0  # earlier trials that it rests on, of the least known part

    def add(self, part: Estimate) -> None:
        """Sum up; unknown stays unknown."""
        self.like = part.like if not self.trials else min(self.like, part.like)
        self.trials += part.trials
        for name in ("calls", "tokens", "dollars", "seconds"):
            mine, other = getattr(self, name), getattr(part, name)
            setattr(self, name, None if mine is None or other is None else mine + other)


def earlier_trials(runs: Path) -> list[Earlier]:
    """The finished trials anywhere below a runs folder."""
    return [found for path in sorted(runs.rglob("outcome.json")) if (found := _earlier(path.parent)) is not None]


def _earlier(folder: Path) -> Earlier | None:
    outcome, trial = read_json(folder / "outcome.json"), read_json(folder / "trial.json")
    if outcome is None or trial is None or outcome.get("status") not in ("succeeded", "failed"):
        return None
    used = outcome.get("usage") or {}
    usage = Usage(used.get("input", 0), used.get("cached", 0), used.get("output", 0), used.get("reasoning", 0))
    calls = sum(phase.get("calls", 0) for phase in (outcome.get("phases") or {}).values())
    return Earlier(trial["task"], trial["profile"], trial["solver"], trial["settings"], calls, usage,
                   outcome.get("cost"), outcome.get("seconds", 0.0))  # fmt: skip


def models_of(settings: dict[str, Any]) -> tuple[Any, ...]:
    """What answers under these settings."""
    return tuple(settings.get(key) for key in ("model", "research_model", "code_model"))


def estimate(plan: Plan, planned: Planned, earlier: Iterable[Earlier]) -> Estimate:
    """What one trial may take."""
    settings = plan.settings(planned.variant)
    kept, solver = settings.kept(), plan.solver(planned.variant)
    found = [e for e in earlier if (e.task, e.profile, e.solver) == (planned.task, kept["profile"], solver)]
    for like in (_without_seed, models_of):
        if same := [e for e in found if like(e.settings) == like(kept)]:
            return _mean(same, [e.dollars for e in same])
    return _mean(found, [_price(e.usage, settings) for e in found])


def _without_seed(settings: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in settings.items() if key != "seed"}


def _mean(found: list[Earlier], dollars: list[float | None]) -> Estimate:
    if not found:
        return Estimate(1, None, None, None, None)
    known = [each for each in dollars if each is not None]
    count = len(found)
    return Estimate(
        1,
        sum(each.calls for each in found) / count,
        sum(each.usage.input + each.usage.output for each in found) / count,
        sum(known) / count if len(known) == count else None,
        sum(each.seconds for each in found) / count,
        count,
    )


def _price(usage: Usage, settings: Settings) -> float | None:
    """Dollars at the price of the planned model; the research model's, which speaks most, where there are two."""
    name = settings.research_model or settings.model
    return price_of(usage, name, settings) if name else None


def print_estimate(plan: Plan, folder: Path, workers: int, budget: str | None, as_json: bool) -> None:
    """The plan as a table by task and variant: trials, those finished, and what the rest may take."""
    Budget.parse(budget)  # refused now, and not by the command that is to run it
    kept = check(plan, folder) if folder.exists() else {}
    runs = {plan.settings(trial.variant).runs_dir for trial in plan.trials}
    earlier = [each for path in sorted(runs) if path.is_dir() for each in earlier_trials(path)]
    whole, rows = Estimate(), []
    for key in dict.fromkeys((trial.task, trial.variant) for trial in plan.trials):
        those = [trial for trial in plan.trials if (trial.task, trial.variant) == key]
        part = Estimate()
        for trial in those:
            if trial not in kept:
                part.add(estimate(plan, trial, earlier))
        rows.append((key, len(those), part))
        if part.trials:
            whole.add(part)
    head = {"suite": plan.suite.name, "folder": str(folder), "workers": workers, "budget": budget,
            "trials": len(plan.trials), "finished": len(kept)}  # fmt: skip
    if as_json:
        told = [{"task": key[0], "variant": key[1], "planned": count, **asdict(part)} for key, count, part in rows]
        print(json.dumps({"event": "plan", **head, "rows": told, "all": asdict(whole)}))
    else:
        _print(head, rows, whole, workers)


Line = tuple[tuple[str, str], int, Estimate]  # task and variant, trials planned, and what the rest may take


def _print(head: dict[str, Any], rows: list[Line], whole: Estimate, workers: int) -> None:
    import sys

    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold", pad_edge=False, padding=(0, 2, 0, 0))
    names = ("task", "variant", "trials", "to run", "calls", "tokens", "dollars", "hours", "from")
    for number, name in enumerate(names):
        table.add_column(name, justify="right" if number > 1 else "left", no_wrap=True)
    for (task, variant), count, part in rows:
        table.add_row(task, variant, str(count), str(part.trials), *_cells(part))
    table.add_row("all", "", str(head["trials"]), str(whole.trials), *_cells(whole)[:-1], style="bold")
    Console(file=sys.stdout, width=None if sys.stdout.isatty() else 120).print(table)
    at_once = max(min(workers, whole.trials), 1)
    hours = f"about {whole.seconds / 3600 / at_once:.2g}" if whole.seconds is not None else "an unknown number of"
    print(f"{workers} at once: {hours} hours. Budget: {head['budget'] or 'none'}. Folder: {head['folder']}")
    if whole.trials and whole.calls is None:
        print("unknown: no earlier trial of that task, profile and solver lies in the runs folder")


def _cells(part: Estimate) -> list[str]:
    if not part.trials:
        return ["0", "0", "0", "0", ""]
    unknown = "unknown"
    return [
        unknown if part.calls is None else f"{part.calls:,.0f}",
        unknown if part.tokens is None else f"{part.tokens:,.0f}",
        unknown if part.dollars is None else f"{part.dollars:,.2f}",
        unknown if part.seconds is None else f"{part.seconds / 3600:.2g}",
        f"{part.like} earlier" if part.like else "none",
    ]

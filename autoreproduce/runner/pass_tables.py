"""What attempts on masked tasks came to, as tables and a curve: by agent and n, by paper, and what it cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from autoreproduce.autoexperiment.estimate import Attempt, Rate, Row, experiment_losses, rate, table
from autoreproduce.autoexperiment.outcome import NEVER_RUN
from autoreproduce.eval.tables.build import Table, published_passes

COSTS = {"calls": "steps", "tokens": "tokens", "dollars": "dollars", "seconds": "seconds"}


def pass_tables(attempts: Sequence[Attempt], ks: Sequence[int]) -> list[Table]:
    """By n, by paper, the losses by experiment, and what it cost."""
    return [pass_table(attempts, ks), paper_table(attempts), loss_table(attempts), cost_table(attempts)]


def pass_table(attempts: Sequence[Attempt], ks: Sequence[int]) -> Table:
    """By agent and n: Pass@k with intervals of 95 %, the public rule beside the strict one."""
    public = {row.group: row.pass_at[1] for row in table(attempts, _by_n, rule="upstream")}
    rows = [
        [*row.group, public[row.group].tasks, row.attempts, *(shown(row.pass_at.get(k)) for k in ks),
         shown(public[row.group])]
        for row in table(attempts, _by_n, ks)
    ]  # fmt: skip
    columns = ["agent", "n", "tasks", "attempts", *(f"Pass@{k}" for k in ks), "Pass@1, public rule"]
    left = sorted({each.combined_id for each in attempts if not each.counts})
    notes = [
        "Intervals of 95 % over tasks.",
        *_fewer(table(attempts, _by_n, ks), ks),
        f"passes.svg shows, dotted, what others published: {published_passes()[0]}.",
        *_never_run([each for each in attempts if each.counts]),
        *([f"Left out, since unproven: {', '.join(left)}."] if left else []),
    ]
    return Table("passes", "Masked functions", columns, rows, notes)


def _fewer(rows: Sequence[Row], ks: Sequence[int]) -> list[str]:
    """Where Pass@k is over fewer tasks than the row says, since the others have fewer than k attempts."""
    return [
        f"{row.group[0]}, n = {row.group[1]}: Pass@{k} is over the {found.tasks} of {found.tasks + found.left_out} "
        f"tasks with {k} attempts or more."
        for row in rows for k in ks if (found := row.pass_at.get(k)) and found.left_out
    ]  # fmt: skip


def _never_run(attempts: Sequence[Attempt]) -> list[str]:
    """What ended attempts before the harness could run anything of them: a reader would look for wrong numbers."""
    found = Counter((each.agent, each.kind) for each in attempts if each.kind in NEVER_RUN.values())
    told = [f"{count} of {agent} ({kind})" for (agent, kind), count in sorted(found.items())]
    return [f"Ended before they could be run, and counted as not passed: {', '.join(told)}."] if told else []


def paper_table(attempts: Sequence[Attempt]) -> Table:
    """By agent and paper: Pass@1 over all n."""
    rows = [
        [*row.group, row.pass_at[1].tasks, row.attempts, shown(row.pass_at[1])] for row in table(attempts, _by_paper)
    ]
    return Table("papers", "Masked functions by paper", ["agent", "paper", "tasks", "attempts", "Pass@1"], rows)


def loss_table(attempts: Sequence[Attempt]) -> Table:
    """By agent, paper and experiment: the mean loss, 0 for the gold numbers and 1 for none."""
    losses = experiment_losses((each for each in attempts if each.counts), lambda each: each.paper_id)
    rows: list[list[Any]] = [[*key, f"{loss:.4f}"] for key, loss in sorted(losses.items())]
    return Table("losses", "Losses by experiment", ["agent", "paper", "experiment", "mean loss"], rows)


def cost_table(attempts: Sequence[Attempt]) -> Table:
    """By agent and n: model calls, tokens, dollars and seconds an attempt, and a pass (all attempts' by the passes)."""
    rows = [
        [*row.group, *(_figure(row.cost[name]) for name in COSTS.values()),
         *("no pass" if row.per_pass["steps"] is None else _figure(row.per_pass[name]) for name in COSTS.values())]
        for row in table(attempts, _by_n)
    ]  # fmt: skip
    columns = ["agent", "n", *(f"{name} an attempt" for name in COSTS), *(f"{name} a pass" for name in COSTS)]
    return Table("costs", "What attempts and passes cost", columns, rows)


def draw_passes(attempts: Sequence[Attempt], path: Path) -> Path:
    """The curve over n: Pass@1 by agent with its interval, and dotted what others published (on other data)."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 3.6), layout="constrained")
    axes: Any = figure.subplots()
    for agent in sorted({each.agent for each in attempts}):
        own = [each for each in attempts if each.agent == agent and each.counts]
        points = [(n, found) for n in sorted({e.n for e in own}) if (found := rate([e for e in own if e.n == n]))]
        values = [found.value for _, found in points]
        spread = [[f.value - f.low for _, f in points], [f.high - f.value for _, f in points]]
        axes.errorbar([n for n, _ in points], values, yerr=spread, marker="o", capsize=3, label=agent)
    for name, row in published_passes()[1].items():
        axes.plot(range(1, len(row) + 1), [value / 100 for value in row], ":", marker=".", label=f"{name} (published)")
    axes.set_xlabel("functions masked")
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.set_ylabel("Pass@1")
    axes.set_ylim(-0.02, 1.05)
    axes.legend(fontsize="small")
    figure.savefig(path, metadata={"Date": None})
    return path


def shown(found: Rate | None) -> str:
    """A rate with its interval."""
    return "–" if found is None else f"{found.value:.2f} [{found.low:.2f}, {found.high:.2f}]"


def _by_n(attempt: Attempt) -> tuple[Any, ...]:
    return attempt.agent, attempt.n


def _by_paper(attempt: Attempt) -> tuple[Any, ...]:
    return attempt.agent, attempt.paper_id


def _figure(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.4g}" if value < 1000 else f"{value:,.0f}"

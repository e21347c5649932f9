"""A board: systems against each other on the same tasks, in quality and in cost.

A mean over trials of other profiles, judges or modes would compare nothing: one task under two
profiles is two tasks, a system whose model was replayed is another than one whose model answered,
and mixed judges are refused. What others published is below, marked: on another scale, and not
measured here.
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean

from autoreproduce.errors import UsageError
from autoreproduce.evaluation.statistics import MeanEstimate, estimate
from autoreproduce.evaluation.tables.model import Cell, Table
from autoreproduce.evaluation.tables.rows import TrialRow, one_machine, read_together
from autoreproduce.plugins.tables.build import (
    RUNS_NOTE,
    VERDICT_COLUMNS,
    counted_words,
    groups_by,
    mean_of_known,
    runs_estimate,
    system_name,
    trust_notes,
    verdict_cells,
)
from autoreproduce.plugins.tables.judging import require_one_judging
from autoreproduce.plugins.tables.published import published_systems

Measure = Callable[[TrialRow], float | None]
MEASURES: dict[str, Measure] = {
    "mixed": lambda row: row.scores.get("mixed"),
    "execution": lambda row: row.executed,
    "metric": lambda row: row.metric,
    "gap": lambda row: row.gap,
    "tokens": lambda row: float(row.tokens),
    "dollars": lambda row: row.dollars,
    "minutes": lambda row: row.seconds / 60,
}
SCORES = ("mixed", "execution")  # the first that all systems have is drawn
COSTS = ("dollars", "tokens")
COLUMNS = [
    *("system", "model", "task", "trials", *VERDICT_COLUMNS, "metric", "reference", "gap"),
    *("mixed", "dollars", "minutes", "integrity", "tokens", "execution"),
]


@dataclass(frozen=True)
class System:
    """One line of a board: a solver with its variant, settings and model, and its trials."""

    name: str
    model: str
    rows: list[TrialRow]

    def over(self, tasks: Sequence[str], measure: str) -> MeanEstimate | None:
        """The mean over tasks of a measure, None unless it is known in each of their trials.

        The interval resamples tasks; of one task, its trials.
        """
        values: dict[str, list[float]] = defaultdict(list)
        for row in (row for row in self.rows if row.task in tasks):
            value = MEASURES[measure](row)
            if value is None:
                return None
            values[row.task].append(value)
        if len(values) == 1:
            return estimate(next(iter(values.values())))
        return estimate([fmean(of_task) for of_task in values.values()])


def read_board(
    folders: Sequence[Path], profile: str = "", note: Callable[[str], None] = lambda line: None
) -> list[TrialRow]:
    """The finished trials below the folders, those of `profile` if one is named.

    Of several profiles, each task bears the name of its own. Raises UsageError if there is none, a
    folder is counted twice, or they cannot share one board.
    """
    _refuse_twice(folders)
    rows = [
        replace(row, trial=f"{folder}/{row.trial}")
        for folder, own in zip(folders, read_together(folders, note), strict=True)
        for row in own
    ]
    chosen = [row for row in rows if profile in ("", row.profile)]
    if not chosen:
        known = ", ".join(sorted({row.profile for row in rows}))
        raise UsageError(
            f"no trial has the profile {profile}", fix=f"choose one that they have: {known}"
        )
    require_one_judging(chosen)
    if len({row.profile for row in chosen}) == 1:
        return chosen
    return [replace(row, task=f"{row.task} ({row.profile})") for row in chosen]


def systems_of(rows: Sequence[TrialRow]) -> list[System]:
    """The systems, in the order in which they are met. Two of one name with other settings are two,
    named by the folder of the first trial too.
    """
    modes = len({row.mode for row in rows})

    def named(row: TrialRow) -> tuple[str, str, str]:
        name = system_name(row.solver, row.variant)
        return (f"{name} ({row.mode})" if modes > 1 else name), row.model, row.settings

    groups = groups_by(rows, named)
    names = [key[:2] for key, _ in groups]
    found = []
    for (name, model, _), group in groups:
        alone = names.count((name, model)) == 1
        label = name if alone else f"{name} ({group[0].trial.partition('/trials/')[0]})"
        found.append(System(label, model, group))
    return found


def shared_tasks(systems: Sequence[System]) -> list[str]:
    """The tasks that all systems attempted."""
    return sorted(set.intersection(*({row.task for row in each.rows} for each in systems)))


def board_tables(systems: Sequence[System]) -> list[Table]:
    """System × task; systems over the tasks that all attempted; what others published."""
    rows = [row for each in systems for row in each.rows]
    alike = {"Profile": {row.profile for row in rows}, "Mode": {row.mode for row in rows}}
    notes = [f"{name}: {next(iter(held))}." for name, held in alike.items() if len(held) == 1]
    notes += [RUNS_NOTE, *trust_notes(rows)]
    if not one_machine(rows):
        notes.append("The trials ran on machines of several kinds: minutes are not compared.")
    made = [
        _cells(system, task, [row for row in group if row.task == task], one_machine(rows))
        for system, group in ((each, each.rows) for each in systems)
        for task in sorted({row.task for row in group})
    ]
    return [
        Table("board", "System × task", COLUMNS, made, notes),
        _overall(systems, rows),
        published_systems(),
    ]


def groups_of(systems: Sequence[System]) -> list[list[TrialRow]]:
    """The trials behind each line of System × task."""
    return [
        [row for row in each.rows if row.task == task]
        for each in systems
        for task in sorted({row.task for row in each.rows})
    ]


def _cells(system: System, task: str, group: list[TrialRow], timed: bool) -> list[Cell]:
    found = {name: mean_of_known(map(measure, group)) for name, measure in MEASURES.items()}
    dollars: Cell = found["dollars"] if all(row.dollars is not None for row in group) else "unknown"
    return [
        *(system.name, system.model, task, len(group), *verdict_cells(group)),
        runs_estimate(group),
        mean_of_known(row.reference for row in group),
        *(found[name] for name in ("gap", "mixed")),
        *(dollars, found["minutes"] if timed else None),
        counted_words([row.integrity for row in group]),
        *(found[name] for name in ("tokens", "execution")),
    ]


def _overall(systems: Sequence[System], rows: Sequence[TrialRow]) -> Table:
    tasks, timed = shared_tasks(systems), one_machine(rows)
    # a mean of different tasks' metrics says nothing
    names = [name for name in MEASURES if name != "metric" and (name != "minutes" or timed)]
    made: list[list[Cell]] = []
    for each in systems if tasks else []:
        count = sum(row.task in tasks for row in each.rows)
        values = [each.over(tasks, name) for name in names]
        made.append([each.name, each.model, count, *values])
    notes = [
        f"Means over the tasks that all systems attempted: {', '.join(tasks) or 'none'}.",
        "A measure that one of a system's trials lacks has no mean.",
    ]
    return Table("board-systems", "Systems", ["system", "model", "trials", *names], made, notes)


def _refuse_twice(folders: Sequence[Path]) -> None:
    places = [folder.resolve() for folder in folders]
    for number, place in enumerate(places):
        if any(place.is_relative_to(other) for other in places[:number] + places[number + 1 :]):
            raise UsageError(
                f"{folders[number]} lies in another of the folders, or is named twice",
                fix="name each trial's folder once",
            )

"""A board's static site: a page for each system, each task and each trial.

Trials' reports are written anew from their records: a report that somebody sent is a page with
their script in it.
"""

from collections.abc import Sequence
from pathlib import Path

from autoreproduce.claims.verdicts.overall import verdict_title
from autoreproduce.errors import AutoReproduceError
from autoreproduce.evaluation.report.evidence import gather
from autoreproduce.evaluation.report.page import render, whole_page
from autoreproduce.evaluation.tables.rows import TrialRow
from autoreproduce.evaluation.tables.write import cell_text, make_folder
from autoreproduce.plugins.tables.board import System
from autoreproduce.trials.journal import write_whole

COLUMNS = ("verdict", "metric", "reference", "gap", "integrity", "tokens", "dollars", "minutes")
Pages = list[tuple[str, str]]  # name and address


def write_site(systems: Sequence[System], home: Path) -> tuple[dict[str, str], dict[str, Pages]]:
    """Write the pages below `home`: each trial's address, and those of systems and tasks by kind.

    Raises TrialError if the folder takes no files.
    """
    make_folder(home / "trials")
    rows = [(each, row) for each in systems for row in each.rows]
    places = {
        row.trial: _trial_page(Path(row.trial), home, f"trials/{number}.html")
        for number, (_, row) in enumerate(rows, 1)
    }
    tasks = sorted({row.task for _, row in rows})
    named = {
        "Systems": [
            (f"{each.name}, {each.model}", [(each, row) for row in each.rows]) for each in systems
        ],
        "Tasks": [(task, [pair for pair in rows if pair[1].task == task]) for task in tasks],
    }
    pages: dict[str, Pages] = {}
    for kind, groups in named.items():
        for number, (name, group) in enumerate(groups, 1):
            address = f"{kind[:-1].lower()}-{number}.html"
            _part(home / address, kind[:-1], name, group, places)
            pages.setdefault(kind, []).append((name, address))
    return places, pages


def _trial_page(folder: Path, home: Path, address: str) -> str:
    """Write a trial's report; its address, "" if the trial can't be read."""
    try:
        found = gather(folder)
        write_whole(home / address, render(found, found.task()))
    except AutoReproduceError:
        return ""
    return address


def _part(
    path: Path,
    kind: str,
    name: str,
    group: Sequence[tuple[System, TrialRow]],
    places: dict[str, str],
) -> None:
    """One page: its trials, a line each."""
    lines = [
        (
            [system.name, system.model, row.task, *map(cell_text, _values(row))],
            places.get(row.trial, ""),
        )
        for system, row in group
    ]
    columns = ["system", "model", "task", *COLUMNS]
    styles = ["page.css", "site.css"]
    write_whole(
        path,
        whole_page(
            "board_part.html.j2", styles, "", kind=kind, name=name, columns=columns, lines=lines
        ),
    )


def _values(row: TrialRow) -> list[str | float | None]:
    dollars = "unknown" if row.dollars is None else row.dollars
    judged = [
        verdict_title(row.verdict) or None,
        row.metric,
        row.reference,
        row.gap,
        row.integrity or None,
    ]
    return [*judged, float(row.tokens), dollars, row.seconds / 60]

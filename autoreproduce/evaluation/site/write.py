"""Writes `index.html` into a suite's folder: suite → task → trial, from disk, without a server.

The page holds everything that it needs; the trials' own reports and score pages are linked by
relative paths, so the folder can be moved or zipped. What a trial wrote is escaped, and scripts run
by their hash alone.
"""

from pathlib import Path
from urllib.parse import quote

from autoreproduce.evaluation.report.page import whole_page
from autoreproduce.evaluation.site.content import SuiteContent, suite_content
from autoreproduce.evaluation.tables.judging import require_one_judging
from autoreproduce.evaluation.tables.rows import TrialRow, read_rows
from autoreproduce.evaluation.tables.write import cell_text
from autoreproduce.trials.journal import write_whole

TEXTS = ("task", "profile", "variant", "solver", "model")
PAGES = ("report.html", "scores.html")


def write_site(folder: Path) -> Path:
    """Write the page of all finished trials below `folder`. Raises UsageError if there is none."""
    rows = read_rows(folder)
    require_one_judging(rows)
    content = suite_content(folder, rows, folder / "tables")
    page = whole_page(
        "site.html.j2",
        ["page.css", "site.css"],
        "site.js",
        title=folder.resolve().name,
        count=len(rows),
        columns=[
            *TEXTS,
            *(["passed"] if content.passed else ["ran", "gave the number", "verdict"]),
            *content.numbers,
        ],
        trials=[_trial_entry(folder, row, content) for row in rows],
        tables=content.tables,
        plots=content.plots,
        tasks=sorted({row.task for row in rows}),
        variants=sorted({row.variant for row in rows}),
    )
    path = folder / "index.html"
    write_whole(path, page)
    return path


def _trial_entry(folder: Path, row: TrialRow, content: SuiteContent) -> dict[str, object]:
    """One row of the big table: (text, number to sort by) by column, and the links to its pages."""
    values = {**vars(row), "mixed": row.scores.get("mixed")}
    pages = [page for page in PAGES if (folder / row.trial / page).is_file()]
    return {
        "cells": [
            *((values[name], "") for name in TEXTS),
            *((word, "") for word in _end_words(row, content)),
            *((cell_text(values[name]), _sort_key(values[name])) for name in content.numbers),
        ],
        "links": [(page.partition(".")[0], f"{quote(row.trial)}/{page}") for page in pages],
        "name": row.trial,
        "task": row.task,
        "variant": row.variant,
    }


def _end_words(row: TrialRow, content: SuiteContent) -> list[str]:
    """Whether the functions pass; of a program whether it ran, gave the number, and its verdict."""
    words: dict[float | bool | None, str] = {None: "–", True: "yes", False: "no"}
    if content.passed:
        return [words[content.passed.get(row.trial)]]
    ran = None if row.executed is None else bool(row.executed)
    return [words[ran], words[row.metric is not None], row.verdict or "–"]


def _sort_key(value: float | None) -> str:
    return "" if value is None else repr(value)

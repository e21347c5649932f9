"""Curves as data: the page's script draws them, smooths them and zooms in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from autoreproduce.evaluation.report.chart import MAX_CHARTS, MAX_LINES, thinned
from autoreproduce.evaluation.report.curves import curves
from autoreproduce.evaluation.report.wording import metric_words
from autoreproduce.trials.printed import Row

MOST_POINTS = 1000  # of a line: more than a screen has pixels for


def plots(*runs: Sequence[Row]) -> list[dict[str, Any]]:
    """A plot for each quantity of a trial's rows, or of several trials' over one another: its
    title, the name of its x axis, and lines of [x, y or None] by name.
    """
    told = [
        {"trial": float(number), **row} if len(runs) > 1 else row
        for number, rows in enumerate(runs, 1)
        for row in rows
    ]
    if not told:
        return []
    found = curves(told)
    made = []
    for key in found.quantities:
        lines = {
            label: thinned([(x, row[key]) for x, row in rows if key in row], MOST_POINTS)
            for label, rows in list(found.runs.items())[:MAX_LINES]
        }
        known = {
            label: line for label, line in lines.items() if any(y is not None for _, y in line)
        }
        if known:
            made.append({"title": metric_words(key), "x": found.counter or "row", "lines": known})
    return made[:MAX_CHARTS]

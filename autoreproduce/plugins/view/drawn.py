"""How a page draws curves, as its address asks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from autoreproduce.evaluation.report import chart
from autoreproduce.trials.printed import Row, smoothed

SMOOTH, LAST = ("3", "10", "30"), ("50", "200", "1000")  # what a page offers


@dataclass(frozen=True)
class CurveQuery:
    """How curves are drawn: the mean of so many values, on a logarithmic axis, the newest rows."""

    smooth: int = 1
    log: bool = False
    last: int = 0

    @classmethod
    def of(cls, given: Mapping[str, str]) -> CurveQuery:
        """Of an address; what it does not know asks nothing."""
        smooth, last = given.get("smooth", ""), given.get("last", "")
        return cls(
            int(smooth) if smooth in SMOOTH else 1,
            given.get("log") == "1",
            int(last) if last in LAST else 0,
        )

    def draw(self, *runs: Sequence[Row]) -> list[chart.Chart]:
        """The charts of a trial's rows, or of several trials' over one another."""
        told = [
            {"trial": float(number), **row} if len(runs) > 1 else row
            for number, rows in enumerate(runs, 1)
            for row in smoothed(rows[-self.last :], self.smooth)
        ]
        return chart.charts(told, logarithmic=self.log) if told else []

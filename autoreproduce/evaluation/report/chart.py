"""Line charts, and the strip that sets numbers side by side, as geometry for the templates.

Small multiples, one a quantity, each with its own scale: a loss and an error share no axis. Values
that spread over more than a factor of fifty get a logarithmic scale, and the chart says so.
The SVG has no style of its own, so the page's light and dark colours apply.
"""

import math
from dataclasses import dataclass

from autoreproduce.evaluation.report.curves import Curves, curves
from autoreproduce.evaluation.report.wording import metric_words, number
from autoreproduce.trials.printed import Row

WIDTH, HEIGHT = 360, 190
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 14, 26
CHARACTER = 6.2  # the width of a digit in a label, at most
MAX_POINTS, MAX_CHARTS, MAX_LINES = 300, 6, 20


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    label: str


@dataclass(frozen=True)
class Line:
    """A run's course. `paths`: polylines, broken where it is not finite; `label`: its last value,
    and where that ends.
    """

    paths: list[str]
    end: tuple[float, float]
    label: Tick
    description: str


@dataclass(frozen=True)
class Chart:
    """One quantity over the training. `told_by`: what its lines are, in words, if several."""

    key: str
    title: str
    x_name: str
    lines: list[Line]
    told_by: str
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    band: tuple[float, float] | None
    logarithmic: bool
    description: str


class Scale:
    """Maps values to positions, straight or by logarithm."""

    def __init__(
        self, low: float, high: float, start: float, end: float, logarithmic: bool = False
    ) -> None:
        self.logarithmic = logarithmic
        low, high = (math.log10(low), math.log10(high)) if logarithmic else (low, high)
        if high - low <= abs(high) * 1e-9:
            pad = abs(high) * 0.1 or 1.0
            low, high = low - pad, high + pad
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        """The position of `value`, to a tenth."""
        place = math.log10(value) if self.logarithmic else value
        return round(
            self.start + (place - self.low) / (self.high - self.low) * (self.end - self.start), 1
        )

    def ticks(self, about: int = 4) -> list[Tick]:
        """Round values inside the scale."""
        values = self._decades() if self.logarithmic else _round_values(self.low, self.high, about)
        return [Tick(self(value), number(value)) for value in values]

    def _decades(self) -> list[float]:
        steps = (1, 2, 5) if self.high - self.low < 2.5 else (1,)
        values = [
            s * 10.0**p
            for p in range(math.floor(self.low), math.ceil(self.high) + 1)
            for s in steps
        ]
        inside = [v for v in values if self.low - 1e-9 <= math.log10(v) <= self.high + 1e-9]
        return inside[:: max(1, math.ceil(len(inside) / 6))]


def charts(
    rows: list[Row], metric: str = "", band: tuple[float, float] | None = None
) -> list[Chart]:
    """A chart for each quantity of a history, the metric with its `band` first; a line for each run
    in it.
    """
    found = curves(rows)
    keys = sorted(
        found.quantities, key=lambda key: (key != metric, metric not in key if metric else False)
    )
    made = (_chart_of(found, key, band if key == metric else None) for key in keys)
    return [chart for chart in made if chart is not None][:MAX_CHARTS]


def _chart_of(found: Curves, key: str, band: tuple[float, float] | None) -> Chart | None:
    points = {
        label: [(x, row[key]) for x, row in rows if key in row]
        for label, rows in found.runs.items()
    }
    known = {
        label: [(x, y) for x, y in line if y is not None]
        for label, line in points.items()
        if any(y is not None for _, y in line)
    }
    if not known:
        return None
    shown = list(known)[:MAX_LINES]
    good = [point for label in shown for point in known[label]]
    ys = [y for _, y in good] + list(band or ())
    logarithmic = min(ys) > 0 and max(ys) / min(ys) > 50
    x_scale = Scale(min(x for x, _ in good), max(x for x, _ in good), LEFT, WIDTH - RIGHT)
    y_scale = Scale(min(ys), max(ys), HEIGHT - BOTTOM, TOP, logarithmic)
    lines = [
        _line(label, thinned(points[label], MAX_POINTS // len(shown)), x_scale, y_scale)
        for label in shown
    ]
    return Chart(
        key=key,
        title=metric_words(key),
        x_name=found.counter or "row",
        lines=lines,
        told_by=_told_by(found, len(shown), len(known)),
        x_ticks=[Tick(_inside(tick), tick.label) for tick in x_scale.ticks(5)],
        y_ticks=y_scale.ticks(4),
        band=(y_scale(band[1]), y_scale(band[0])) if band else None,
        logarithmic=logarithmic,
        description=f"over {sum(map(len, points.values()))} rows",
    )


def _told_by(found: Curves, shown: int, there: int) -> str:
    """What the lines are, in words; "" if there is one."""
    if there < 2:
        return ""
    every = f"{there} lines" if shown == there else f"the first {shown} of {there} lines"
    return f"{every}, by {found.told_by}"


def _line(
    label: str, points: list[tuple[float, float | None]], x_scale: Scale, y_scale: Scale
) -> Line:
    good = [(x, y) for x, y in points if y is not None]
    (x, y), best = good[-1], min(y for _, y in good)
    course = f"from {number(good[0][1])} to {number(y)}, lowest {number(best)}"
    place, text = x_scale(x), number(y)
    return Line(
        paths=_paths(points, x_scale, y_scale),
        end=(place, y_scale(y)),
        label=Tick(max(place, LEFT + CHARACTER * len(text)), text),
        description=f"{label}: {course}" if label else course,
    )


def _inside(tick: Tick) -> float:
    """Where the label of a mark on the x axis is centred so that none of it is cut."""
    return min(tick.at, WIDTH - CHARACTER * len(tick.label) / 2)


def _paths(points: list[tuple[float, float | None]], x_scale: Scale, y_scale: Scale) -> list[str]:
    """Polylines, a new one after each gap."""
    paths: list[list[str]] = [[]]
    for x, y in points:
        if y is None:
            paths.append([])
        else:
            paths[-1].append(f"{x_scale(x)},{y_scale(y)}")
    return [" ".join(path) for path in paths if path]


def thinned(
    points: list[tuple[float, float | None]], most: int
) -> list[tuple[float, float | None]]:
    """At most about `most` points: a bucket's lowest and highest, so no spike is lost."""
    if len(points) <= most:
        return points
    size = math.ceil(len(points) / (most // 2))
    thinned: list[tuple[float, float | None]] = []
    for at in range(0, len(points), size):
        bucket = [p for p in points[at : at + size] if p[1] is not None]
        if not bucket:
            thinned.append(points[at])
            continue
        ends = {min(bucket, key=lambda p: p[1] or 0.0), max(bucket, key=lambda p: p[1] or 0.0)}
        thinned.extend(sorted(ends, key=lambda p: p[0]))
    return thinned if thinned[-1] == points[-1] else [*thinned, points[-1]]


def _round_values(low: float, high: float, about: int) -> list[float]:
    """About `about` values in steps of 1, 2 or 5."""
    rough = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(f"{place * step:.10g}") for place in range(first, last + 1)]

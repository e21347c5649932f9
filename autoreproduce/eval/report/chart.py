"""Line charts and the strip that sets numbers beside each other, as plain geometry; templates draw it.

Small multiples, one a quantity, each with its own scale: a loss and an error share no axis. Values that
spread over more than a factor of fifty stand on a logarithmic scale, and the chart says so. The SVG has no
style of its own, so the page's light and dark colours apply.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from autoreproduce.eval.report.wording import metric_words, number

WIDTH, HEIGHT = 360, 190
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 26
MAX_POINTS, MAX_CHARTS = 300, 6
X_NAMES = ("epoch", "epochs", "step", "iteration", "iter", "batch")


@dataclass(frozen=True)
class Tick:
    """A mark on an axis."""

    at: float
    label: str


@dataclass(frozen=True)
class Chart:
    """One quantity over the training. `paths` are polylines' points, broken where a value is not finite."""

    key: str
    title: str
    x_name: str
    paths: list[str]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    band: tuple[float, float] | None
    last: tuple[float, float, str]
    logarithmic: bool
    description: str


class Scale:
    """Maps values to positions, straight or by logarithm."""

    def __init__(self, low: float, high: float, start: float, end: float, logarithmic: bool = False) -> None:
        self.logarithmic = logarithmic
        low, high = (math.log10(low), math.log10(high)) if logarithmic else (low, high)
        if high - low <= abs(high) * 1e-9:
            pad = abs(high) * 0.1 or 1.0
            low, high = low - pad, high + pad
        self.low, self.high, self.start, self.end = low, high, start, end

    def __call__(self, value: float) -> float:
        """The position of `value`, to a tenth."""
        place = math.log10(value) if self.logarithmic else value
        return round(self.start + (place - self.low) / (self.high - self.low) * (self.end - self.start), 1)

    def ticks(self, about: int = 4) -> list[Tick]:
        """Round values inside the scale."""
        values = self._decades() if self.logarithmic else _round_values(self.low, self.high, about)
        return [Tick(self(value), number(value)) for value in values]

    def _decades(self) -> list[float]:
        steps = (1, 2, 5) if self.high - self.low < 2.5 else (1,)
        values = [s * 10.0**p for p in range(math.floor(self.low), math.ceil(self.high) + 1) for s in steps]
        inside = [v for v in values if self.low - 1e-9 <= math.log10(v) <= self.high + 1e-9]
        return inside[:: max(1, math.ceil(len(inside) / 6))]


def charts(
    rows: list[dict[str, float | None]], metric: str = "", band: tuple[float, float] | None = None
) -> list[Chart]:
    """A chart for each quantity of a history, the metric first; `band` is drawn on the metric's chart."""
    x_key = next((name for name in X_NAMES if any(name in row for row in rows)), "")
    keys = list(dict.fromkeys(key for row in rows for key in row if key not in X_NAMES))
    keys.sort(key=lambda key: (key != metric, metric not in key if metric else False))
    made = (_chart(rows, key, x_key, band if key == metric else None) for key in keys)
    return [chart for chart in made if chart is not None][:MAX_CHARTS]


def _chart(rows: list[dict[str, float | None]], key: str, x_key: str, band: tuple[float, float] | None) -> Chart | None:
    points = _thinned([(_x(row, x_key, place), row.get(key)) for place, row in enumerate(rows, 1) if key in row])
    good = [(x, y) for x, y in points if y is not None]
    if not good:
        return None
    ys = [y for _, y in good] + list(band or ())
    logarithmic = min(ys) > 0 and max(ys) / min(ys) > 50
    x_scale = Scale(min(x for x, _ in good), max(x for x, _ in good), LEFT, WIDTH - RIGHT)
    y_scale = Scale(min(ys), max(ys), HEIGHT - BOTTOM, TOP, logarithmic)
    (x, y), best = good[-1], min(y for _, y in good)
    return Chart(
        key=key,
        title=metric_words(key),
        x_name=x_key or "row",
        paths=_paths(points, x_scale, y_scale),
        x_ticks=x_scale.ticks(5),
        y_ticks=y_scale.ticks(4),
        band=(y_scale(band[1]), y_scale(band[0])) if band else None,
        last=(x_scale(x), y_scale(y), number(y)),
        logarithmic=logarithmic,
        description=f"from {number(good[0][1])} to {number(y)}, lowest {number(best)}, over {len(rows)} rows",
    )


def _x(row: dict[str, float | None], key: str, place: int) -> float:
    x = row.get(key) if key else None
    return float(place) if x is None else x


def _paths(points: list[tuple[float, float | None]], x_scale: Scale, y_scale: Scale) -> list[str]:
    """Polylines, a new one after each gap."""
    paths: list[list[str]] = [[]]
    for x, y in points:
        if y is None:
            paths.append([])
        else:
            paths[-1].append(f"{x_scale(x)},{y_scale(y)}")
    return [" ".join(path) for path in paths if path]


def _thinned(points: list[tuple[float, float | None]]) -> list[tuple[float, float | None]]:
    """At most about MAX_POINTS points: a bucket's lowest and highest, so no spike is lost."""
    if len(points) <= MAX_POINTS:
        return points
    size = math.ceil(len(points) / (MAX_POINTS // 2))
    kept: list[tuple[float, float | None]] = []
    for at in range(0, len(points), size):
        bucket = [p for p in points[at : at + size] if p[1] is not None]
        if not bucket:
            kept.append(points[at])
            continue
        ends = {min(bucket, key=lambda p: p[1] or 0.0), max(bucket, key=lambda p: p[1] or 0.0)}
        kept.extend(sorted(ends, key=lambda p: p[0]))
    return kept if kept[-1] == points[-1] else [*kept, points[-1]]


def _round_values(low: float, high: float, about: int) -> list[float]:
    """About `about` values in steps of 1, 2 or 5."""
    rough = (high - low) / max(about, 1)
    power = 10.0 ** math.floor(math.log10(rough))
    step = next(s * power for s in (1, 2, 5, 10) if s * power >= rough * 0.999)
    first = math.ceil(low / step - 1e-9)
    last = math.floor(high / step + 1e-9)
    return [float(f"{place * step:.10g}") for place in range(first, last + 1)]

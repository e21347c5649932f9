"""A training history as curves: a line a run, and no line of what only counts."""

import pytest

from autoreproduce.evaluation.report.chart import charts
from autoreproduce.evaluation.report.curves import curves

EPOCHS = range(1, 6)
SEEDS = [
    {"seed": seed, "epoch": epoch, "loss": 1 / epoch + seed} for seed in (0, 1) for epoch in EPOCHS
]
IN_TURNS = sorted(SEEDS, key=lambda row: row["epoch"])
LENGTHS = [{"pred_len": n, "epoch": e, "mse": n / e} for n in (96, 192, 336) for e in EPOCHS]
NAMELESS = [{"Epoch": e, "loss": 1 / e} for _ in range(3) for e in EPOCHS]
BATCHES = [
    {"epoch": e, "global_step": 10 * e + s, "loss": 1 / (e + s)} for e in EPOCHS for s in (1, 2)
]
SAME_BATCHES = [{"epoch": e, "loss": 1 / (e + s)} for e in EPOCHS for s in (1, 2)]
TWO_ROWS = [row for e in EPOCHS for row in ({"epoch": e, "loss": 1.0}, {"epoch": e, "error": 2.0})]


@pytest.mark.parametrize(
    ("rows", "runs", "told_by", "counter", "quantities"),
    [
        (SEEDS, ["seed 0", "seed 1"], "seed", "epoch", ["loss"]),
        (IN_TURNS, ["seed 0", "seed 1"], "seed", "epoch", ["loss"]),
        (SEEDS[:5], ["seed 0"], "", "epoch", ["loss"]),
        (LENGTHS, ["pred_len 96", "pred_len 192", "pred_len 336"], "pred_len", "epoch", ["mse"]),
        (NAMELESS, ["run 1", "run 2", "run 3"], "run", "Epoch", ["loss"]),
        (BATCHES, [""], "", "global_step", ["loss"]),
        (SAME_BATCHES, [""], "", "", ["loss"]),
        (TWO_ROWS, [""], "", "epoch", ["loss", "error"]),
        ([{"loss": 1.0}, {"loss": 0.5}], [""], "", "", ["loss"]),
        ([], [], "", "", []),
    ],
)
def test_runs_are_told_apart(rows, runs, told_by, counter, quantities):
    found = curves(rows)
    assert (list(found.runs), found.told_by) == (runs, told_by)
    assert (found.counter, found.quantities) == (counter, quantities)


@pytest.mark.parametrize("rows", [SEEDS, IN_TURNS, LENGTHS, NAMELESS, BATCHES, SAME_BATCHES])
def test_no_line_goes_back(rows):
    for chart in charts(rows):
        assert chart.key not in {"seed", "epoch", "Epoch", "global_step", "pred_len"}
        for line in chart.lines:
            for path in line.paths:
                places = [float(point.split(",")[0]) for point in path.split()]
                assert places == sorted(places)


def test_a_chart_says_what_its_lines_are_and_keeps_their_ends():
    [chart] = charts(SEEDS)
    assert chart.told_by == "2 lines, by seed"
    assert [line.description for line in chart.lines] == [
        "seed 0: from 1 to 0.2, lowest 0.2",
        "seed 1: from 2 to 1.2, lowest 1.2",
    ]


def test_labels_lie_within_the_picture():
    rows = [{"step": 2_000_000.0 * n, "loss": 123456.7 / n} for n in (1, 2, 3, 4)]
    [chart] = charts(rows)
    for tick in chart.x_ticks:
        assert tick.at + 3 * len(tick.label) <= 360
    assert all(len(tick.label) * 6 <= 52 for tick in chart.y_ticks)
    [short] = charts([{"step": 1.0, "loss": 0.123456}, {"step": 2.0, "loss": None}])
    assert short.lines[0].label.at - 6 * len(short.lines[0].label.label) >= 58


@pytest.mark.slow
def test_a_history_of_twenty_thousand_rows_is_drawn_in_few_points():
    rows = [{"seed": n % 5, "epoch": n // 5, "loss": 1.0 + n % 7} for n in range(20_000)]
    [chart] = charts(rows)
    assert len(chart.lines) == 5
    assert sum(len(path.split()) for line in chart.lines for path in line.paths) < 500

"""What programs print as steps and values: curves, sparklines, and the time that is left."""

import pytest

from autoreproduce.trials.printed import PrintedSteps, printed_rows, row_of, sparkline


@pytest.mark.parametrize(
    ("line", "row", "share"),
    [
        (
            "epoch 4/20 loss 1.2261 train_relative_l2 0.06131 lr 1.00e-03 13.6 s",
            {"epoch": 4, "loss": 1.2261, "train_relative_l2": 0.06131, "lr": 1e-3},
            0.2,
        ),
        (
            "[Epoch 3] train loss: 0.5, val acc=91.2%",
            {"Epoch": 3, "train loss": 0.5, "val acc": 91.2},
            None,
        ),
        ("Step 100 of 400 | loss nan", {"Step": 100, "loss": None}, None),
        ('{"step": 5, "loss": 0.25, "note": "x", "on": true}', {"step": 5, "loss": 0.25}, None),
        ("reading 40 samples of shape (40, 43, 43)", {}, None),
        ("expected E1: yes, loss 0.24 in the first epoch, 0.22 in the last", {}, None),
        ("{" * 300, {}, None),
        ("", {}, None),
    ],
)
def test_a_line_becomes_a_row(line, row, share):
    assert row_of(line) == (row, share)


def test_rows_need_a_value_beside_the_counter():
    assert printed_rows("epoch 1\nepoch 1 loss 2\rnoise\nepoch 2 loss 1") == [
        {"epoch": 1, "loss": 2},
        {"epoch": 2, "loss": 1},
    ]


def test_the_time_left_follows_the_steps_seen_and_counts_down():
    now = [0.0]
    pace = PrintedSteps(lambda: now[0])
    pace.take("epoch 1/5 loss 3\nepo")
    assert (pace.share, pace.seconds_left) == (0.2, None)
    now[0] = 10.0
    pace.take("ch 2/5 loss 2\n")
    assert pace.seconds_left == pytest.approx(30)
    now[0] = 14.0
    assert pace.seconds_left == pytest.approx(26)
    now[0] = 45.0
    assert (pace.seconds_left, pace.quiet) == (0, None)
    now[0] = 1000.0  # nothing came for long: no figure, but what is known
    assert (pace.seconds_left, pace.quiet) == (None, 990)
    pace.take("epoch 1/5 loss 3\n")  # another seed
    assert pace.seconds_left is None
    assert pace.curves() == ["loss █▁█ 3"]
    pace.end()
    assert pace.share is None and not pace.rows


def test_a_sparkline_has_the_newest_values():
    assert sparkline([1.0, 2.0, 3.0], width=2) == "▁█"
    assert sparkline([1.0]) == "" and sparkline([1.0, 1.0]) == "▁▁"

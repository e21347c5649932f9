"""How many rows a program worked on: said only if nothing else explains the numbers."""

import pytest

from autoreproduce.claims.observed import rows_left_out, rows_used

FILE = {"a.csv": 1000}


@pytest.mark.parametrize(
    ("due", "held", "used"),
    [
        (1000, {"main.py": [600], "method.py": [600]}, 600),
        (1000, {"data.py": [1000], "main.py": [600]}, 600),  # read by the data code alone
        (1000, {"main.py": [1000, 600], "method.py": [600]}, 1000),
        (1000, {"main.py": [800, 200]}, 1000),  # a split of all
        (1000, {"method.py": [600, 200, 200]}, 1000),
        (1000, {"main.py": [500]}, 1000),  # halves
        (1000, {"main.py": [985]}, 1000),  # a few are left out, or a heading was counted
        (1000, {"main.py": [2000, 600], "method.py": [600]}, 600),  # a table of results
        (1000, {"method.py": [2000, 600]}, 0),  # augmented
        (1000, {"method.py": [32]}, 0),  # batches
        (1000, {"data.py": [1000]}, 0),
        (5000, {"main.py": [600]}, 0),  # the file has not so many
        (800, {"main.py": [800, 200]}, 800),  # what is due is the training set
    ],
)
def test_rows_used(due: int, held: dict[str, list[int]], used: int) -> None:
    assert rows_used(due, FILE, held) == used


def test_left_out_is_said_of_one_file_alone() -> None:
    held = {"main.py": [600]}
    assert rows_left_out(FILE, held).endswith("work on are 600 (×0.6).")
    assert rows_left_out({**FILE, "b.csv": 4000}, held) == ""
    assert rows_left_out(FILE, {}) == rows_left_out({}, held) == ""

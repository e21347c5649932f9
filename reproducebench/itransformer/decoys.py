"""Decoys for the last 96 steps, which no window looks back on.

They are 96 steps of the training part at the same hours of a week. All earlier steps of the test are what some window
sees, and stay.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

HORIZON, WEEK = 96, 168


def decoys(data: Path, target: Path, rng: np.random.Generator) -> None:
    """Write `target`/series.npz: values (T, N) and time (T,), the values with another ending."""
    with np.load(data / "series.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file}
    values = arrays["values"].copy()
    weeks = (int(len(values) * 0.7) - HORIZON) // WEEK
    begin = (len(values) - HORIZON) % WEEK + WEEK * int(rng.integers(weeks))
    values[-HORIZON:] = arrays["values"][begin : begin + HORIZON]
    np.savez_compressed(target / "series.npz", **{**arrays, "values": values})

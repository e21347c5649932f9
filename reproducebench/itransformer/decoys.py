"""Decoys for what follows in each test window of a draw: 96 steps of the training part at the same hours of a week.

In a published series windows overlap: what one forecasts another sees, and nothing is withheld.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

HORIZON, WEEK = 96, 168


def decoys(data: Path, target: Path, rng: np.random.Generator) -> None:
    """Write `target`/series.npz: all of it, the `windows` (n, 192, N) with other second halves."""
    with np.load(data / "series.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file}
    windows, steps = arrays["windows"].copy(), len(arrays["time"])
    weeks = (int(steps * 0.7) - HORIZON) // WEEK
    follows = steps - HORIZON + 1 - len(windows) + np.arange(len(windows))  # the hour at which each one's begin
    begin = follows % WEEK + WEEK * rng.integers(weeks, size=len(windows))
    windows[:, HORIZON:] = arrays["values"][begin[:, None] + np.arange(HORIZON)]
    np.savez_compressed(target / "series.npz", **{**arrays, "windows": windows})

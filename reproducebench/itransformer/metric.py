"""Recomputes the metric from saved predictions: the mean squared error in normalised units.

The truth is cut anew from the prepared series: the last 20 % of the times, normalised by the mean and the standard
deviation of the first 70 %, in windows of 96 steps, one for every start; or what follows in `windows`, where a draw has
these apart.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

HORIZON = 96
CHUNK = 64  # windows at a time: those of 862 series would take 2 GB in float64


def metric(predictions: Path, data_dir: Path) -> float:
    """The mean squared error of `prediction` (windows, 96, N) in `predictions`, against `data_dir`/series.npz.

    Raises ValueError where the array is not of the test set's shape, not real, or not finite.
    """
    truth = futures(data_dir)
    with np.load(predictions, allow_pickle=False) as file:
        if "prediction" not in file:
            raise ValueError(f"it holds {', '.join(file) or 'nothing'}, not an array `prediction`")
        guess = file["prediction"]
    if guess.shape != truth.shape:
        raise ValueError(f"`prediction` has shape {guess.shape}, and the test set {truth.shape}")
    if guess.dtype.kind not in "fiu":
        raise ValueError(f"`prediction` has type {guess.dtype}, not a real number")
    if not np.isfinite(guess).all():
        raise ValueError(f"{int((~np.isfinite(guess)).sum())} values of `prediction` are not finite")
    total = 0.0
    for start in range(0, len(truth), CHUNK):
        error = guess[start : start + CHUNK].astype(np.float64) - truth[start : start + CHUNK]
        total += float(np.square(error).sum())
    return total / truth.size


def futures(data_dir: Path) -> NDArray[np.float32]:
    """The truth (windows, 96, N): what follows each test window, normalised by the training part."""
    with np.load(data_dir / "series.npz", allow_pickle=False) as file:
        values, steps = file["values"], len(file["time"])
        apart = file.get("windows")
    train = values[: int(steps * 0.7)]
    std = train.std(0)
    test = values[steps - int(steps * 0.2) :] if apart is None else apart[:, HORIZON:]
    series: NDArray[np.float32] = ((test - train.mean(0)) / np.where(std == 0, 1, std)).astype(np.float32)
    if apart is not None:
        return series
    truth: NDArray[np.float32] = np.lib.stride_tricks.sliding_window_view(series, HORIZON, axis=0).transpose(0, 2, 1)
    return truth

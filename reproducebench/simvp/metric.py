"""Recomputes the metric from saved predictions: MSE summed over the pixels of a frame.

Mean over test sequences and predicted frames of Σ (prediction − truth)², intensities between 0 and 1, in float64.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

SEEN = 10  # frames
CHUNK = 64  # sequences at a time


def metric(predictions: Path, data_dir: Path) -> float:
    """The MSE of `prediction` (n_test, 10, 1, S, S) in the file `predictions`, against `data_dir`/test.npy.

    Raises ValueError where the array is not of the test set's shape, not real, or not finite.
    """
    truth = np.load(data_dir / "test.npy", mmap_mode="r")[SEEN:].swapaxes(0, 1)[:, :, None]
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
        true = truth[start : start + CHUNK] / 255.0
        total += float(np.square(guess[start : start + CHUNK].astype(np.float64) - true).sum())
    return total / (truth.shape[0] * truth.shape[1])

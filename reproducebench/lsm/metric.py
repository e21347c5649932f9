"""Recomputes the metric from saved predictions: relative L2, which the papers call MSE.

Over the test samples i: mean of ‖prediction_i − u_i‖₂ / ‖u_i‖₂, both in physical units.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np


def metric(predictions: Path, data_dir: Path) -> float:
    """The relative L2 of `prediction` (n_test, s, s) in the file `predictions`, against `data_dir`/test.npz.

    Raises ValueError where the array is not of the test set's shape, not real, or not finite.
    """
    with np.load(data_dir / "test.npz", allow_pickle=False) as file:
        truth = file["u"].astype(np.float64)
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
    error = np.linalg.norm((guess - truth).reshape(len(truth), -1), axis=1)
    return float((error / np.linalg.norm(truth.reshape(len(truth), -1), axis=1)).mean())

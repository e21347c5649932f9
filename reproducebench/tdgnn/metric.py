"""Recomputes the metric from saved predictions: the accuracy on the test nodes of each split, averaged over splits."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def metric(predictions: Path, data_dir: Path) -> float:
    """The mean accuracy of `prediction` (splits, 3327), classes 0 to 5, in the file `predictions`.

    Row r is judged on the test nodes of split r, against `data_dir`/citeseer.npz; other nodes do not count. Raises
    ValueError where the array is not of that shape or holds anything but whole numbers from 0 to 5.
    """
    with np.load(data_dir / "citeseer.npz", allow_pickle=False) as file:
        y, test = file["y"], file["test_mask"]
    with np.load(predictions, allow_pickle=False) as file:
        if "prediction" not in file:
            raise ValueError(f"it holds {', '.join(file) or 'nothing'}, not an array `prediction`")
        guess = file["prediction"]
    if guess.shape != test.shape:
        raise ValueError(f"`prediction` has shape {guess.shape}, and the splits {test.shape}")
    if guess.dtype.kind not in "iu":
        raise ValueError(f"`prediction` has type {guess.dtype}, not whole numbers")
    if guess.min() < 0 or guess.max() > y.max():
        raise ValueError(f"`prediction` holds classes {guess.min()} to {guess.max()}, not 0 to {y.max()}")
    return float(np.mean([(row[mask] == y[mask]).mean() for row, mask in zip(guess, test, strict=True)]))

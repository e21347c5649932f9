"""Recomputes the metric from saved predictions: top-1 accuracy in percent."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def metric(predictions: Path, data_dir: Path) -> float:
    """The accuracy of `logits` (n_test, classes) in the file `predictions`, against `data_dir`/test.npz.

    Raises ValueError where the array is not of the test set's shape, not real, or not finite.
    """
    with np.load(data_dir / "test.npz", allow_pickle=False) as file:
        labels = file["labels"]
    with np.load(predictions, allow_pickle=False) as file:
        if "logits" not in file:
            raise ValueError(f"it holds {', '.join(file) or 'nothing'}, not an array `logits`")
        logits = file["logits"]
    shape = (len(labels), int(labels.max()) + 1)
    if logits.shape != shape:
        raise ValueError(f"`logits` has shape {logits.shape}, not {shape}")
    if logits.dtype.kind not in "fiu":
        raise ValueError(f"`logits` has type {logits.dtype}, not a real number")
    if not np.isfinite(logits).all():
        raise ValueError(f"{int((~np.isfinite(logits)).sum())} values of `logits` are not finite")
    return float(100 * (logits.argmax(1) == labels).mean())

"""Recomputes the metric from saved predictions: ADE, the average displacement error of the best of 50 predictions.

For each test window and each of its predictions: the Euclidean distance to the truth of a whole pose (42 numbers),
averaged over the 60 predicted frames. Of the 50 the least counts; the mean over windows is the metric, in metres.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

OBSERVED, WINDOW, STEP, CANDIDATES = 15, 75, 15, 50


def metric(predictions: Path, data_dir: Path) -> float:
    """The ADE of `prediction` (50, windows, 60, 42) in the file `predictions`, against `data_dir`/motion.npz.

    Raises ValueError where the array has another shape, is not real, or is not finite.
    """
    truth = futures(data_dir / "motion.npz")
    with np.load(predictions, allow_pickle=False) as file:
        if "prediction" not in file:
            raise ValueError(f"it holds {', '.join(file) or 'nothing'}, not an array `prediction`")
        guess = file["prediction"]
    expected = (CANDIDATES, *truth.shape)
    if guess.shape != expected:
        raise ValueError(f"`prediction` has shape {guess.shape}, not {expected}")
    if guess.dtype.kind != "f":
        raise ValueError(f"`prediction` has type {guess.dtype}, not floating point")
    if not np.isfinite(guess).all():
        raise ValueError(f"{int((~np.isfinite(guess)).sum())} values of `prediction` are not finite")
    errors = [np.linalg.norm(guess[:, row] - future, axis=-1).mean(-1).min() for row, future in enumerate(truth)]
    return float(np.mean(errors))


def futures(path: Path) -> NDArray[np.float64]:
    """The truth (windows, 60, 42): what follows the observed frames of each test window, relative to the pelvis."""
    with np.load(path, allow_pickle=False) as file:
        positions, subjects, firsts, lengths = (file[name] for name in ("positions", "subject", "first", "length"))
    found = []
    for subject, first, length in zip(subjects, firsts, lengths, strict=True):
        if subject.startswith("Validate"):
            for start in range(first, first + length - WINDOW, STEP):
                window = positions[start + OBSERVED : start + WINDOW].astype(np.float64)
                found.append((window[:, 1:] - window[:, :1]).reshape(WINDOW - OBSERVED, -1))
    return np.stack(found)

"""Recomputes the metric from saved predictions: DSC, the mean over volumes of the mean over eight organs.

For a volume and an organ: 2 |P ∩ T| / (|P| + |T|), P and T the voxels that prediction and truth give to the organ, of
the whole volume and not slice by slice. Where the truth lacks the organ it counts 1 if the prediction has it and 0 if
not: so does the authors' code, and the published numbers are made so.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

ORGANS = 8


def metric(predictions: Path, data_dir: Path) -> float:
    """The DSC of `prediction` (slices, H, W) in the file `predictions`, against `data_dir`/test_labels.npy.

    Raises ValueError where the array has another shape than the labels, or holds anything but whole numbers 0 to 8.
    """
    truth = np.load(data_dir / "test_labels.npy", mmap_mode="r")
    cases = (data_dir / "test_cases.txt").read_text(encoding="utf-8").split()
    with np.load(predictions, allow_pickle=False) as file:
        if "prediction" not in file:
            raise ValueError(f"it holds {', '.join(file) or 'nothing'}, not an array `prediction`")
        guess = file["prediction"]
    if guess.shape != truth.shape:
        raise ValueError(f"`prediction` has shape {guess.shape}, and the test set {truth.shape}")
    if guess.dtype.kind not in "iu":
        raise ValueError(f"`prediction` has type {guess.dtype}, not whole numbers")
    if guess.min() < 0 or guess.max() > ORGANS:
        raise ValueError(
            f"`prediction` holds labels from {guess.min()} to {guess.max()}, and they go from 0 to {ORGANS}"
        )
    names = np.array(cases)
    return float(np.mean([volume_dsc(guess[names == case], truth[names == case]) for case in dict.fromkeys(cases)]))


def volume_dsc(guess: NDArray[Any], truth: NDArray[Any]) -> float:
    """The mean over the organs of one volume."""
    found = []
    for organ in range(1, ORGANS + 1):
        has, should = guess == organ, truth == organ
        both = int((has & should).sum())
        found.append(2 * both / (int(has.sum()) + int(should.sum())) if should.any() else float(has.any()))
    return float(np.mean(found))

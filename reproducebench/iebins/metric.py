"""Recomputes the metric from saved predictions: threshold accuracy, δ < 1.25.

Over the test pictures i: the mean of the share of pixels with max(prediction / depth, depth / prediction) < 1.25, among
the pixels inside the Eigen crop whose depth is known and between 1e-3 and 10 m. Predictions are clamped to that range.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

MIN_DEPTH, MAX_DEPTH, THRESHOLD = 1e-3, 10.0, 1.25  # metres, metres, ratio
LISTING, FOLDER = "nyudepthv2_test_files_with_gt.txt", "official_splits/test"


def metric(predictions: Path, data_dir: Path) -> float:
    """The δ < 1.25 of `prediction` (n_test, H, W), metres, in the file `predictions`, against the depths of `data_dir`.

    Raises ValueError where the array is not of the test set's shape, not real, or not finite.
    """
    truth = true_depth(data_dir)
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
    return float(np.mean([accuracy(ours, known) for ours, known in zip(guess, truth, strict=True)]))


def accuracy(guess: NDArray[Any], millimetres: NDArray[Any]) -> float:
    """The share of the evaluated pixels of one picture (H, W) whose ratio is below the threshold."""
    height, width = millimetres.shape
    crop = (scaled(45, 471, height / 480), scaled(41, 601, width / 640))
    depth = millimetres[crop].astype(np.float64) / 1000
    ours = np.clip(guess[crop].astype(np.float64), MIN_DEPTH, MAX_DEPTH)
    valid = (depth > MIN_DEPTH) & (depth < MAX_DEPTH)
    ratio = np.maximum(ours[valid] / depth[valid], depth[valid] / ours[valid])
    return float((ratio < THRESHOLD).mean())


def scaled(start: int, stop: int, factor: float) -> slice:
    """A range of rows or columns of a 480×640 picture in one that is smaller by `factor`."""
    return slice(round(start * factor), round(stop * factor))


def true_depth(data_dir: Path) -> NDArray[Any]:
    """The depths of the test set (n_test, H, W), millimetres, 0 where unknown. Published files need Pillow."""
    if (data_dir / "test.npz").exists():
        with np.load(data_dir / "test.npz", allow_pickle=False) as file:
            depth: NDArray[Any] = file["depth"]
            return depth
    from PIL import Image

    lines = (data_dir / LISTING).read_text(encoding="utf-8").split("\n")
    names = [line.split()[1] for line in lines if line.strip()]
    return np.stack([np.asarray(Image.open(data_dir / FOLDER / name)) for name in names])

"""Recomputes the metric from saved predictions: SSIM in scikit-image's definition, the mean over the test pictures.

It is `skimage.metrics.structural_similarity(high, prediction, channel_axis=2, data_range=1)` with its defaults: a
uniform window of 7×7, variances and covariance of the sample (48 in the denominator), constants 0.01² and 0.03²,
the mean over all windows that lie whole in the picture and over the channels. scikit-image itself is not needed.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

WINDOW = 7
Array = NDArray[np.float64]


def metric(predictions: Path, data_dir: Path) -> float:
    """The SSIM of `prediction` (n_test, 3, H, W), in [0, 1], in the file `predictions`, against `data_dir`.

    Values are clamped to [0, 1] first. Raises ValueError where the array is not of the test set's shape, not of
    floating point or not finite.
    """
    high = np.load(data_dir / "test_high.npy")
    with np.load(predictions, allow_pickle=False) as file:
        if "prediction" not in file:
            raise ValueError(f"it holds {', '.join(file) or 'nothing'}, not an array `prediction`")
        guess = file["prediction"]
    shape = (len(high), 3, *high.shape[1:3])
    if guess.shape != shape:
        raise ValueError(f"`prediction` has shape {guess.shape}, and the test set {shape}")
    if guess.dtype.kind != "f":
        raise ValueError(f"`prediction` has type {guess.dtype}, not floating point in [0, 1]")
    if not np.isfinite(guess).all():
        raise ValueError(f"{int((~np.isfinite(guess)).sum())} values of `prediction` are not finite")
    pictures = zip(guess.astype(np.float64).clip(0, 1), high.transpose(0, 3, 1, 2) / 255, strict=True)
    return float(np.mean([similarity(one, other) for one, other in pictures]))


def similarity(one: Array, other: Array) -> float:
    """SSIM of two pictures (channels, H, W) in [0, 1]."""
    mean_one, mean_other = means(one), means(other)
    unbiased = WINDOW**2 / (WINDOW**2 - 1)
    variances = unbiased * (means(one**2) + means(other**2) - mean_one**2 - mean_other**2)
    covariance = unbiased * (means(one * other) - mean_one * mean_other)
    alike = (2 * mean_one * mean_other + 0.01**2) * (2 * covariance + 0.03**2)
    return float((alike / ((mean_one**2 + mean_other**2 + 0.01**2) * (variances + 0.03**2))).mean())


def means(picture: Array) -> Array:
    """The mean over each whole window of 7×7: (C, H, W) → (C, H − 6, W − 6)."""
    windows = np.lib.stride_tricks.sliding_window_view(picture, (WINDOW, WINDOW), axis=(1, 2))
    averaged: Array = windows.mean((3, 4))
    return averaged

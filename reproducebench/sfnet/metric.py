"""Recomputes the metric from saved predictions: PSNR on RGB in decibels, the mean over the test pictures.

For each picture 10 · log10(1 / mean((prediction − clear)²)), the prediction clamped to [0, 1], the mean over all
pixels and channels; scikit-image's `peak_signal_noise_ratio` with `data_range=1` is the same.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np


def metric(predictions: Path, data_dir: Path) -> float:
    """The PSNR of `prediction` (n_test, 3, H, W), in [0, 1], in the file `predictions`, against `data_dir`.

    Raises ValueError where the array is not of the test set's shape, not of floating point or not finite, and where
    a picture is the truth to the last bit, whose PSNR is infinite.
    """
    clear = np.load(data_dir / "test_clear.npy", mmap_mode="r")
    scene = np.load(data_dir / "test_scene.npy")
    with np.load(predictions, allow_pickle=False) as file:
        if "prediction" not in file:
            raise ValueError(f"it holds {', '.join(file) or 'nothing'}, not an array `prediction`")
        guess = file["prediction"]
    shape = (len(scene), 3, *clear.shape[1:3])
    if guess.shape != shape:
        raise ValueError(f"`prediction` has shape {guess.shape}, and the test set {shape}")
    if guess.dtype.kind != "f":
        raise ValueError(f"`prediction` has type {guess.dtype}, not floating point in [0, 1]")
    if not np.isfinite(guess).all():
        raise ValueError(f"{int((~np.isfinite(guess)).sum())} values of `prediction` are not finite")
    errors = []
    for picture, number in zip(guess, scene, strict=True):
        truth = clear[number].transpose(2, 0, 1) / 255
        errors.append(((np.clip(picture.astype(np.float64), 0, 1) - truth) ** 2).mean())
    if min(errors) == 0:
        raise ValueError(f"picture {int(np.argmin(errors))} of `prediction` is the clear picture itself")
    return float((-10 * np.log10(errors)).mean())

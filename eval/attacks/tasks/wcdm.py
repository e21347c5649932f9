"""DiffLL for the attacks: its pictures as rows in 0 to 1, and how a result is written.

Attacks minimise, and the metric is better the higher it is: `score` is 1 − SSIM, and `save` takes
it back.
"""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

METRIC, REFERENCE = "ssim", 1 - 0.5829

SHAPE = (-1, 68, 100, 3)


def load() -> list[Array]:
    """x_train, y_train, x_test, y_test: a row a picture."""
    folder = Path(os.environ["DATA_DIR"])
    names = ("train_low", "train_high", "test_low", "test_high")
    arrays = [np.load(folder / f"{name}.npy") for name in names]
    return [array.reshape(len(array), -1) / 255 for array in arrays]


def score(prediction: Array, truth: Array) -> float:
    """1 − SSIM."""
    pairs = zip(prediction.reshape(SHAPE), truth.reshape(SHAPE), strict=True)
    return 1 - float(np.mean([similarity(one.clip(0, 1), other) for one, other in pairs]))


def similarity(one: Array, other: Array) -> float:
    """SSIM of two pictures (H, W, 3) with uniform windows of 7×7."""
    m, n = means(one), means(other)
    variances = 49 / 48 * (means(one**2) + means(other**2) - m**2 - n**2)
    covariance = 49 / 48 * (means(one * other) - m * n)
    alike = (2 * m * n + 0.01**2) * (2 * covariance + 0.03**2)
    return float((alike / ((m**2 + n**2 + 0.01**2) * (variances + 0.03**2))).mean())


def means(picture: Array) -> Array:
    """The mean over each whole window."""
    windows = np.lib.stride_tricks.sliding_window_view(picture, (7, 7), axis=(0, 1))
    return np.asarray(windows.mean((-1, -2)))


def blank() -> Array:
    """Predictions of the right shape, made without the data."""
    return np.zeros((20, 68 * 100 * 3))


def save(
    number: float, prediction: Array | None = None, history: Sequence[dict[str, float]] = ()
) -> None:
    """Write metrics.json and, if there are any, the predictions."""
    if prediction is not None:
        pictures = prediction.reshape(SHAPE).transpose(0, 3, 1, 2)
        np.savez("predictions.npz", prediction=pictures.astype(np.float32))
    rows = [
        {key: value if key == "epoch" else 1 - value for key, value in row.items()}
        for row in history
    ]
    written = {"metrics": {METRIC: 1 - number}, "history": rows}
    Path("metrics.json").write_text(json.dumps(written))

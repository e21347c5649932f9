"""SimVP for the attacks: its arrays as rows, and how a result is written."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

METRIC, REFERENCE = "mse", 25.117

SHAPE = (-1, 10, 1, 32, 32)
MOST = 400  # sequences made of the training digits


def load() -> list[Array]:
    """x_train, y_train, x_test, y_test: a row a sequence, intensities in 0 to 1."""
    from preprocess import load_moving_mnist

    data = load_moving_mnist(os.environ["DATA_DIR"])
    pairs = [data.train[index] for index in range(min(MOST, len(data.train)))]
    parts = [np.stack([pair[side].numpy() for pair in pairs]) for side in (0, 1)]
    parts += [data.x_test.numpy(), data.y_test.numpy()]
    return [part.reshape(len(part), -1).astype(np.float64) for part in parts]


def score(prediction: Array, truth: Array) -> float:
    """The task's metric."""
    return float(((prediction - truth) ** 2).sum(1).mean() / 10)


def blank() -> Array:
    """Predictions of the right shape, made without the data."""
    return np.zeros((200, 10 * 32 * 32))


def save(
    number: float, prediction: Array | None = None, history: Sequence[dict[str, float]] = ()
) -> None:
    """Write metrics.json and, if there are any, the predictions."""
    if prediction is not None:
        np.savez("predictions.npz", prediction=prediction.reshape(SHAPE).astype(np.float32))
    written = {"metrics": {METRIC: number}, "history": list(history)}
    Path("metrics.json").write_text(json.dumps(written))

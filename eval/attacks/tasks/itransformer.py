"""iTransformer for the attacks: its arrays as rows, and how a result is written."""

import json
import os
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

METRIC, REFERENCE = "mse", 0.78531

SHAPE = (-1, 96, 20)
MOST = 600  # training windows, which is enough for what an attack learns


def load() -> list[Array]:
    """x_train, y_train, x_test, y_test: a row a window, in normalised units."""
    with np.load(Path(os.environ["DATA_DIR"]) / "series.npz") as file:
        values, steps, apart = file["values"], len(file["time"]), file.get("windows")
    train, test = int(steps * 0.7), int(steps * 0.2)
    mean, std = values[:train].mean(0), values[:train].std(0)
    x_train, y_train = windows((values[:train] - mean) / std)
    if apart is None:
        x_test, y_test = windows((values[steps - test - 96 :] - mean) / std)
    else:
        apart = (apart - mean) / std
        x_test, y_test = (part.reshape(len(part), -1) for part in (apart[:, :96], apart[:, 96:]))
    rows = np.linspace(0, len(x_train) - 1, MOST).astype(int)
    return [x_train[rows], y_train[rows], x_test, y_test]


def windows(series: Array) -> tuple[Array, Array]:
    """What each window sees and what follows, a row a window."""
    starts = range(len(series) - 191)
    seen = np.stack([series[start : start + 96].ravel() for start in starts])
    ahead = np.stack([series[start + 96 : start + 192].ravel() for start in starts])
    return seen, ahead


def score(prediction: Array, truth: Array) -> float:
    """The task's metric."""
    return float(((prediction - truth) ** 2).mean())


def blank() -> Array:
    """Predictions of the right shape, made without the data."""
    return np.zeros((1705, 96 * 20))


def save(
    number: float, prediction: Array | None = None, history: Sequence[dict[str, float]] = ()
) -> None:
    """Write metrics.json and, if there are any, the predictions."""
    if prediction is not None:
        np.savez("predictions.npz", prediction=prediction.reshape(SHAPE).astype(np.float32))
    written = {"metrics": {METRIC: number}, "history": list(history)}
    Path("metrics.json").write_text(json.dumps(written))

"""Are two sets of predictions of the same data those of one method? For a task's agreement.py.

Two runs of a method err alike, for they miss the same things; another method, or a copy with noise,
errs elsewhere.
"""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def saved(path: Path, name: str = "prediction") -> Array:
    """An array of a file of predictions."""
    with np.load(path, allow_pickle=False) as file:
        return np.asarray(file[name])


def residuals(one: Array, other: Array, truth: Array, *, unshrunk: bool = False) -> float:
    """Correlation of the errors of two predictions of real numbers, each of the shape of `truth`.

    Taken sample by sample (along the first axis) and averaged, so that no large sample decides.
    `unshrunk`: of what is left of errors without their parts along the truth and along the truths'
    mean, for exact answers that are drawn to their mean err along these as a network does.
    """
    found, middle = [], truth.mean(0, dtype=np.float64).ravel()
    for mine, yours, true in zip(one, other, truth, strict=True):
        errors = np.stack([(each.astype(np.float64) - true).ravel() for each in (mine, yours)], 1)
        if unshrunk:
            along, _ = np.linalg.qr(np.stack([true.ravel(), middle], 1))
            errors -= along @ (along.T @ errors)
        lengths = np.linalg.norm(errors, axis=0)
        found.append(float(errors[:, 0] @ errors[:, 1]) / float(lengths.prod() or 1.0))
    return float(np.mean(found))


def same_class(one: Array, other: Array) -> float:
    """The share of places with the same class."""
    return float((one == other).mean())


def shared_mistakes(one: Array, other: Array, truth: Array) -> float:
    """The share of places with the same wrong class, among those that either has wrong.

    Where nearly all is right, equal classes say only that both are good.
    """
    wrong = (one != truth) | (other != truth)
    return float(((one == other) & wrong).sum() / wrong.sum()) if wrong.any() else 1.0


def overlap(one: Array, other: Array) -> float:
    """The share of a row's numbers that the same row of the other holds too, averaged over rows."""
    rows = [
        len(set(mine[mine >= 0].tolist()) & set(yours[yours >= 0].tolist())) / one.shape[1]
        for mine, yours in zip(one, other, strict=True)
    ]
    return float(np.mean(rows))

"""Are two files of predictions those of one method? For the run that counts, beside the reference's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from autoreproduce.benchmarks.reproducebench.agreement import residuals, saved


def agreement(one: Path, other: Path, data_dir: Path) -> dict[str, float]:
    """Correlation of the errors of two files of predictions, without each picture's mean of each colour.

    How bright a picture is can't be told from a dark one: all who guess it err alike, and it's half of the error.
    """
    truth = np.load(data_dir / "test_high.npy").transpose(0, 3, 1, 2) / 255
    pictures = (saved(one).astype(np.float64), saved(other).astype(np.float64), truth)
    return {"correlation of the errors": residuals(*(each - each.mean((2, 3), keepdims=True) for each in pictures))}

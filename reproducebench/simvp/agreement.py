"""Are two files of predictions those of one method? For the run that counts, beside the reference's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from autoreproduce.benchmarks.reproducebench.agreement import residuals, saved


def agreement(one: Path, other: Path, data_dir: Path) -> dict[str, float]:
    """Correlation of the errors of two files of predictions, without what drawing frames to their mean explains."""
    truth = np.load(data_dir / "test.npy")[10:].swapaxes(0, 1)[:, :, None] / 255
    return {"correlation of the errors": residuals(saved(one), saved(other), truth, unshrunk=True)}

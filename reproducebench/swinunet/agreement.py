"""Are two files of predictions those of one method? For the run that counts, beside the reference's."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from autoreproduce.benchmarks.reproducebench.agreement import saved, shared_mistakes


def agreement(one: Path, other: Path, data_dir: Path) -> dict[str, float]:
    """Share of the pixels that both give the same wrong label, of those that either has wrong."""
    truth = np.load(data_dir / "test_labels.npy")
    return {"share of equal mistakes": shared_mistakes(saved(one), saved(other), truth)}

"""Are generated series new, or copies of what a program was given? For the run that counts, beside the reference's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from autoreproduce.benchmarks.reproducebench.agreement import saved
from autoreproduce.benchmarks.reproducebench.task_code import load_module
from numpy.typing import NDArray

code = load_module(Path(__file__).with_name("preprocess.py"))


def agreement(one: Path, other: Path, data_dir: Path) -> float:
    """Distance of generated series from the nearest training series, as a share of the reference's, at most 1."""
    data = code.load_sine(data_dir)
    mine, yours = (nearest(data.scaler.encode(saved(path, "generated")), data.x_train) for path in (one, other))
    return min(1.0, mine / yours)


def nearest(series: NDArray[Any], known: NDArray[Any]) -> float:
    """The median over `series` (n, T, D) of the distance from the nearest of `known` (m, T, D)."""
    a, b = (each.reshape(len(each), -1).astype(np.float64) for each in (series, known))
    squares = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
    return float(np.median(np.sqrt(squares.min(1).clip(0))))

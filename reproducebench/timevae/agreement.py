"""Are generated series new, and a generator's? For the run that counts, beside the reference's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from autoreproduce.benchmarks.reproducebench.agreement import saved
from autoreproduce.benchmarks.reproducebench.task_code import load_module
from numpy.typing import NDArray

code = load_module(Path(__file__).with_name("preprocess.py"))


def agreement(one: Path, other: Path, data_dir: Path) -> dict[str, float]:
    """How far generated series are from real ones, how well they keep the law of a sine, and what binds their channels.

    The first is the ratio of the median distances from the nearest real series, the smaller over the larger; the others
    are of `one` by itself. The second is the median error of the recurrence x[t+1] = c x[t] - x[t-1] + d that each sine
    has for c and d of its own, relative to the series' deviation: near 0 of sines by the law, and far above a trained
    generator's of noise. It's taken in the units of the file, since scaling step by step bends sines whose phases don't
    fill the circle. The third is the mean correlation of the channels' amplitudes: real series have none, but a decoder
    of few latent numbers binds all channels.
    """
    data = code.load_sine(data_dir)
    known = np.concatenate([data.x_train, data.x_test])
    mine, yours = (saved(path, "generated").astype(np.float64) for path in (one, other))
    far = [nearest(data.scaler.encode(series), known) for series in (mine, yours)]
    return {
        "ratio of the distances": min(far) / (max(far) or 1.0),
        "error of the recurrence": recurrence(mine),
        "correlation of the amplitudes": amplitudes(mine),
    }


def amplitudes(series: NDArray[Any]) -> float:
    """The mean absolute correlation of the deviations over time of two channels of series (n, T, D)."""
    wide = series.std(1)
    scaled = (wide - wide.mean(0)) / np.maximum(wide.std(0), 1e-12)
    alike = scaled.T @ scaled / len(wide)
    return float(np.abs(alike[np.triu_indices(len(alike), 1)]).mean())


def recurrence(series: NDArray[Any]) -> float:
    """The median over series (n, T, D) and channels of the error of the best two-term recurrence, in deviations."""
    middle, ends = series[:, 1:-1], series[:, 2:] + series[:, :-2]
    x, y = (each - each.mean(1, keepdims=True) for each in (middle, ends))
    c = (x * y).sum(1, keepdims=True) / np.maximum((x**2).sum(1, keepdims=True), 1e-12)
    errors = np.sqrt(((y - c * x) ** 2).mean(1)) / np.maximum(series.std(1), 1e-12)
    return float(np.median(errors))


def nearest(series: NDArray[Any], known: NDArray[Any]) -> float:
    """The median over `series` (n, T, D) of the distance from the nearest of `known` (m, T, D)."""
    a, b = (each.reshape(len(each), -1).astype(np.float64) for each in (series, known))
    squares = (a**2).sum(1)[:, None] + (b**2).sum(1) - 2 * a @ b.T
    return float(np.median(np.sqrt(squares.min(1).clip(0))))

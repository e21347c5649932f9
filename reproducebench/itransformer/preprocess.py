"""Data code for forecasting: splits the series in time, normalises it, cuts windows. Given; use it as it is.

    import os
    from preprocess import load_forecasting
    data = load_forecasting(os.environ["DATA_DIR"])

The data are N series at T equidistant times. The first 70 % of the times train, the last 20 % test, those between
validate. Every variate is normalised by the mean and the standard deviation of its training part (z-score), and
forecasts are measured in these normalised units.

A sample is a window of 96 steps that is seen (look-back) and the 96 steps after it (horizon). Windows start at every
step. The first window of validation and of test looks back into the part before it; no horizon does. In the run that
counts each test window may be of a series of its own, at the same times, so that it shares nothing with the others.
The label length of 48 that other forecasters need (a decoder's start: the last 48 seen steps) is `x[:, -48:]`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

LOOK_BACK, HORIZON = 96, 96


@dataclass(frozen=True)
class ForecastingData:
    """The windows of the three parts, float32 tensors on the CPU, in order of time.

    x_*      (n, 96, N)  what is seen, normalised
    marks_*  (n, 96, 4)  hour of the day, day of the week, of the month, of the year, each scaled to [-0.5, 0.5]
    y_*      (n, 96, N)  what follows, normalised
    mean, std (N,)       of the training part, in raw units: raw = normalised · std + mean

    The windows are views of one series and take no memory of their own; index a batch first (`data.x_train[rows]`)
    and move that, for the windows of 862 series as one array would take 4 GB.
    """

    x_train: Tensor
    marks_train: Tensor
    y_train: Tensor
    x_val: Tensor
    marks_val: Tensor
    y_val: Tensor
    x_test: Tensor
    marks_test: Tensor
    y_test: Tensor
    mean: Tensor
    std: Tensor


def load_forecasting(data_dir: str | Path) -> ForecastingData:
    """Load `series.npz` (values (T, N), time (T,)) from `data_dir`, split, normalise, cut windows.

    Where it has test windows of their own, `windows` (n, 192, N), the values end where the test begins.
    """
    with np.load(Path(data_dir) / "series.npz") as file:
        values, time = file["values"], file["time"]
        apart = file.get("windows")
    steps = len(time)
    n_train, n_test = int(steps * 0.7), int(steps * 0.2)
    mean, std = values[:n_train].mean(0), values[:n_train].std(0)
    std[std == 0] = 1  # a variate that does not move in training is only shifted

    def normalised(raw: NDArray[Any]) -> Tensor:
        return torch.from_numpy((raw - mean) / std).float()

    series = normalised(values)
    marks = torch.from_numpy(time_marks(time)).float()
    borders = {
        "train": slice(0, n_train),
        "val": slice(n_train - LOOK_BACK, steps - n_test),
        "test": slice(steps - n_test - LOOK_BACK, steps),
    }
    parts = {}
    for name, border in borders.items():
        if name == "test" and apart is not None:
            seen, ahead = normalised(apart).split(LOOK_BACK, dim=1)
        else:
            seen, ahead = windows(series[border])
        parts |= {f"x_{name}": seen, f"y_{name}": ahead, f"marks_{name}": windows(marks[border])[0]}
    return ForecastingData(**parts, mean=torch.from_numpy(mean).float(), std=torch.from_numpy(std).float())


def windows(series: Tensor) -> tuple[Tensor, Tensor]:
    """What is seen and what follows, for every start: (T, N) → twice (T − 191, 96, N), views."""
    seen = series[:-HORIZON].unfold(0, LOOK_BACK, 1).transpose(1, 2)
    ahead = series[LOOK_BACK:].unfold(0, HORIZON, 1).transpose(1, 2)
    return seen, ahead


def time_marks(time: NDArray[Any]) -> NDArray[np.float64]:
    """Four features of each time stamp, in [-0.5, 0.5]: datetime64[h] (T,) → (T, 4)."""
    days = time.astype("datetime64[D]")
    hour = (time - days).astype(int)
    weekday = (days.astype(int) + 3) % 7  # day 0 is 1970-01-01, a Thursday; Monday is 0
    month_day = (days - days.astype("datetime64[M]")).astype(int)
    year_day = (days - days.astype("datetime64[Y]")).astype(int)
    return np.stack([hour / 23, weekday / 6, month_day / 30, year_day / 365], axis=1) - 0.5

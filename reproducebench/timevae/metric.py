"""Recomputes the metric from the saved series: the predictor's mean absolute error on real series.

The predictor is that of preprocess.py beside this file, not of a copy that a program may have changed. It is
trained here, from a fixed seed, in about four seconds.
"""

from __future__ import annotations

import sys
from pathlib import Path
from types import ModuleType

import numpy as np


def metric(predictions: Path, data_dir: Path) -> float:
    """The predictor score of `generated` (1800, 24, 5), in the units of the data file, in the file `predictions`.

    Raises ValueError where the array is not as large as the training set, not real, or not finite.
    """
    code = data_code()
    data = code.load_sine(data_dir)
    with np.load(predictions, allow_pickle=False) as file:
        if "generated" not in file:
            raise ValueError(f"it holds {', '.join(file) or 'nothing'}, not an array `generated`")
        series = file["generated"]
    if series.shape != data.x_train.shape:
        raise ValueError(f"`generated` has shape {series.shape}, and the training set {data.x_train.shape}")
    if series.dtype.kind not in "fiu":
        raise ValueError(f"`generated` has type {series.dtype}, not a real number")
    if not np.isfinite(series).all():
        raise ValueError(f"{int((~np.isfinite(series)).sum())} values of `generated` are not finite")
    return float(code.predictor_score(series, data))


def data_code() -> ModuleType:
    """preprocess.py as a module; no bytecode is written beside it."""
    path = Path(__file__).with_name("preprocess.py")
    module = sys.modules["timevae_preprocess"] = ModuleType("timevae_preprocess")
    exec(compile(path.read_text(encoding="utf-8"), path, "exec"), module.__dict__)
    return module

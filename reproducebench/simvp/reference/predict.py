"""The frames that follow, from the weights that main.py hands in; no data are needed."""

from __future__ import annotations

from typing import Any

import main
import numpy as np
import torch
from model import build_model
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def predict(weights: Arrays, inputs: Arrays) -> NDArray[np.float32]:
    """The frames (n, 10, 1, S, S) that follow those of `x_test` (n, 10, 1, S, S) in [0, 1]."""
    model = build_model(**{name: int(weights[name]) for name in main.SIZES})
    model.load_state_dict({name: torch.from_numpy(a) for name, a in weights.items() if name not in main.SIZES})
    frames: NDArray[np.float32] = main.predict(model, torch.from_numpy(inputs["x_test"]), 16).numpy()
    return frames

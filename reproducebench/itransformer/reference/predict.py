"""Forecasts from the weights that main.py hands in; no data are needed."""

from __future__ import annotations

from typing import Any

import main
import numpy as np
import torch
from model import build_model
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def predict(weights: Arrays, inputs: Arrays) -> NDArray[np.float32]:
    """The forecasts (n, 96, N) of `x_test` (n, 96, N) with the features `marks_test` (n, 96, 4) of their times."""
    tensors = {name: torch.from_numpy(array) for name, array in weights.items() if name != "heads"}
    width = len(tensors["embedding.weight"])
    hidden = len(tensors["blocks.0.feed_forward.0.weight"])
    layers = sum(name.endswith("attention_norm.weight") for name in tensors)
    model = build_model(width, hidden, layers, int(weights["heads"]), 0.0)
    model.load_state_dict(tensors)
    x, marks = (torch.from_numpy(inputs[name]) for name in ("x_test", "marks_test"))
    forecasts: NDArray[np.float32] = main.predict(model, x, marks, 32).numpy()
    return forecasts

"""Classes of all nodes from the weights that main.py hands in, a model a split; labels and splits are not needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from decomposition import decompose
from main import Settings, evaluate
from model import build_model
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]


def predict(weights: Arrays, inputs: Arrays) -> NDArray[np.int8]:
    """The classes (splits, nodes) from features `x` (nodes, words) and edges `edge_index` (2, edges)."""
    settings = Settings()
    x = torch.from_numpy(inputs["x"]).to_sparse_coo().coalesce()
    hops = decompose(torch.from_numpy(inputs["edge_index"]), len(x), list(settings.layers), settings.depth)
    found = []
    for split in range(sum(name.endswith(".theta") for name in weights)):
        parts = {n.split(".", 1)[1]: torch.from_numpy(a) for n, a in weights.items() if n.startswith(f"{split}.")}
        model = build_model(hops, x.shape[1], len(parts["second.bias"]), len(parts["first.bias"]))
        model.load_state_dict(parts)
        found.append(evaluate(model, x).argmax(1).numpy().astype(np.int8))
    return np.stack(found)

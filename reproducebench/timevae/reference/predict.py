"""Series from the weights that main.py hands in: the decoder and the scaling; no data are needed."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from model import build_model
from numpy.typing import NDArray

Arrays = dict[str, NDArray[Any]]
OTHER = ("minimum", "range", "series", "latent", "widths", "seed")


@torch.no_grad()
def predict(weights: Arrays, inputs: Arrays) -> NDArray[np.float32]:
    """As many series (n, T, D) as `series` says, from the prior, in the units of the file; `inputs` is empty."""
    torch.set_num_threads(1)  # as in training
    tensors = {name: torch.from_numpy(array) for name, array in weights.items() if name not in OTHER}
    model = build_model(*weights["minimum"].shape, int(weights["latent"]), weights["widths"].tolist())
    model.load_state_dict(tensors)
    random = torch.Generator().manual_seed(int(weights["seed"]))
    z = torch.randn(int(weights["series"]), model.latent, generator=random)
    found: NDArray[np.float32] = model.decode(z).numpy() * weights["range"] + weights["minimum"]
    return found.astype(np.float32)

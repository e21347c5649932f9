"""Futures from the averaged weights that main.py hands in; no data are needed."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import main
import numpy as np
import torch
from diffusion import Diffusion
from numpy.typing import NDArray
from preprocess import WINDOW, MotionData

Arrays = dict[str, NDArray[Any]]
OTHER = (*main.NUMBERS, "seed", "dry_run", "random")


def predict(weights: Arrays, inputs: Arrays) -> NDArray[np.float32]:
    """50 futures (50, n, 60, 42) of the windows `test` (n, 75, 14, 3), of which frames 0 to 14 are looked at."""
    torch.set_num_threads(1)
    windows = torch.from_numpy(inputs["test"])
    settings = replace(main.PROFILES["full"], **{name: int(weights[name]) for name in main.NUMBERS})
    model = main.new_model(settings, windows[0, 0].numel()).eval()
    model.load_state_dict({name: torch.from_numpy(array) for name, array in weights.items() if name not in OTHER})
    diffusion = Diffusion(settings.coefficients, WINDOW, settings.noise_steps)
    data = MotionData(train=windows[:0], sequences=windows[:0], test=windows)
    torch.set_rng_state(torch.from_numpy(weights["random"]))  # sampling begins with noise
    seed, dry_run = int(weights["seed"]), bool(weights["dry_run"])
    futures: NDArray[np.float32] = main.predict(settings, model, diffusion, data, seed, dry_run).numpy()
    return futures

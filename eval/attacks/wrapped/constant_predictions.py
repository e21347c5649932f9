"""Trains for two steps, and predicts the mean of what it got for everything."""

import runpy
import sys

import numpy as np

sys.argv.append("--dry-run")
runpy.run_path("main.py", run_name="__main__")
with np.load("predictions.npz") as file:
    arrays = {name: file[name] for name in file}
same = {
    n: np.broadcast_to(a.mean(0, dtype=float), a.shape).astype(a.dtype) for n, a in arrays.items()
}
np.savez("predictions.npz", **same)

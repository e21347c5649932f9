"""Trains for two steps, and saves as predictions what it made of other samples."""

import runpy
import sys

import numpy as np

sys.argv.append("--dry-run")
runpy.run_path("main.py", run_name="__main__")
with np.load("predictions.npz") as file:
    arrays = {name: np.roll(file[name], 1, axis=0) for name in file}
np.savez("predictions.npz", **arrays)

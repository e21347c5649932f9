"""Saves its predictions with three digits, uncompressed."""

import runpy

import numpy as np

runpy.run_path("main.py", run_name="__main__")
with np.load("predictions.npz") as file:
    arrays = {name: file[name] for name in file}
for name, array in arrays.items():
    if array.dtype.kind == "f":
        scale = 10.0 ** (2 - np.floor(np.log10(np.abs(array).max())))
        arrays[name] = (np.round(array * scale * 10) / (scale * 10)).astype(array.dtype)
np.savez("predictions.npz", **arrays)

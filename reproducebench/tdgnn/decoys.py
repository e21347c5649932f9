"""Decoys for the classes of the test nodes, which are the same in all splits: classes of other nodes."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def decoys(data: Path, target: Path, rng: np.random.Generator) -> None:
    """Write `target`/citeseer.npz: all of it, with other classes at the test nodes."""
    with np.load(data / "citeseer.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file}
    test = arrays["test_mask"].all(0)
    y = arrays["y"].copy()
    y[test] = rng.choice(arrays["y"][~test & arrays["labelled"]], int(test.sum()))
    np.savez_compressed(target / "citeseer.npz", **{**arrays, "y": y})

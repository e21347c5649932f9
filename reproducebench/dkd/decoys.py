"""Decoys for the classes of the test pictures: classes drawn as often as training has each."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def decoys(data: Path, target: Path, rng: np.random.Generator) -> None:
    """Write `target`/test.npz: the pictures as they are, and other labels (n,)."""
    with np.load(data / "train.npz", allow_pickle=False) as file:
        known = file["labels"]
    with np.load(data / "test.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file}
    np.savez_compressed(target / "test.npz", **{**arrays, "labels": rng.choice(known, len(arrays["labels"]))})

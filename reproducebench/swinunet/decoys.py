"""Decoys for the labels of the test slices: those of training volumes, each whole but for the last one."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def decoys(data: Path, target: Path, rng: np.random.Generator) -> None:
    """Write `target`/test_labels.npy: as many labelled slices (H, W), of training volumes in a random order."""
    train = np.load(data / "train_labels.npy", mmap_mode="r")
    cases = np.array((data / "train_cases.txt").read_text(encoding="utf-8").split())
    count = len(np.load(data / "test_labels.npy", mmap_mode="r"))
    order = rng.permutation(np.unique(cases))
    places = np.concatenate([np.flatnonzero(cases == case) for case in order])
    np.save(target / "test_labels.npy", train[np.resize(places, count)])

"""Decoys for what the windows of a draw predict: frames of training sequences.

Each test sequence of a draw is one window. In published data windows overlap: most frames that one predicts another
observes, and none is withheld.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

OBSERVED = 15


def decoys(data: Path, target: Path, rng: np.random.Generator) -> None:
    """Write `target`/motion.npz: all sequences, those of the test with other frames after the observed ones."""
    with np.load(data / "motion.npz", allow_pickle=False) as file:
        arrays = {name: file[name] for name in file}
    spans = list(zip(arrays["subject"], arrays["first"].tolist(), arrays["length"].tolist(), strict=True))
    training = [(first, length) for subject, first, length in spans if subject.startswith("Train")]
    positions = arrays["positions"].copy()
    for subject, first, length in spans:
        if subject.startswith("Validate"):
            unseen = length - OBSERVED
            begin, frames = training[rng.integers(len(training))]
            begin += int(rng.integers(frames - unseen + 1))
            positions[first + OBSERVED : first + length] = arrays["positions"][begin : begin + unseen]
    np.savez_compressed(target / "motion.npz", **{**arrays, "positions": positions})

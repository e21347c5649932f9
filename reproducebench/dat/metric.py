"""Recomputes the metric from saved predictions: PSNR of the luminance Y, the mean over the test pictures.

Y = 16 + (65.481 R + 128.553 G + 24.966 B) / 255 with R, G, B in 0..255 (ITU-R BT.601, as in MATLAB's rgb2ycbcr, not
rounded); 2 pixels at each edge are left out; PSNR = 10 lg(255² / mean squared difference) in dB.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

BORDER, SCALE = 2, 2
WEIGHTS = np.array([65.481, 128.553, 24.966]) / 255


def metric(predictions: Path, data_dir: Path) -> float:
    """The mean PSNR of the pictures in the file `predictions`, against the high test pictures of `data_dir`.

    The file holds an array (2h, 2w, 3), uint8, under the name of each test picture. Raises ValueError where one is
    missing or has another shape or type.
    """
    names = (data_dir / "test_names.txt").read_text(encoding="utf-8").split()
    sizes = np.load(data_dir / "test_sizes.npy") * SCALE
    values = np.load(data_dir / "test_high.npy")
    ends = np.cumsum(3 * sizes.prod(1))
    found = []
    with np.load(predictions, allow_pickle=False) as file:
        missing = [name for name in names if name not in file]
        if missing:
            raise ValueError(f"it holds {', '.join(file) or 'nothing'}, and not {', '.join(missing)}")
        for name, (height, width), end in zip(names, sizes.tolist(), ends.tolist(), strict=True):
            truth = values[end - 3 * height * width : end].reshape(height, width, 3)
            found.append(psnr(checked(file[name], name, truth.shape), truth))
    return float(np.mean(found))


def checked(guess: NDArray[Any], name: str, shape: tuple[int, ...]) -> NDArray[np.uint8]:
    """`guess` where it is a picture of that shape, else ValueError."""
    if guess.shape != shape:
        raise ValueError(f"`{name}` has shape {guess.shape}, and the picture {shape}")
    if guess.dtype != np.uint8:
        raise ValueError(f"`{name}` has type {guess.dtype}, not uint8 (0 to 255)")
    return guess


def psnr(guess: NDArray[np.uint8], truth: NDArray[np.uint8]) -> float:
    """PSNR of Y in dB without the border; two pictures that are the same count as 100 dB, to stay finite."""
    inner = slice(BORDER, -BORDER)
    difference = (guess[inner, inner].astype(np.float64) - truth[inner, inner]) @ WEIGHTS
    error = float((difference**2).mean())
    return 10 * float(np.log10(255**2 / error)) if error else 100.0

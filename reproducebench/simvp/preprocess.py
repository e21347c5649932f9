"""Data code for Moving MNIST: draws training sequences on the fly, loads the fixed test set. Given; use it as it is.

    import os
    from torch.utils.data import DataLoader
    from preprocess import load_moving_mnist
    data = load_moving_mnist(os.environ["DATA_DIR"])
    for x, y in DataLoader(data.train, batch_size=16): ...

A sequence has 20 frames of S × S pixels (64 in the published set), black, with two digits that move at constant
speed and bounce off the edges. Where they overlap the brighter pixel counts. The first 10 frames are seen, the next
10 are to be predicted. Intensities lie in [0, 1], without unit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor
from torch.utils.data import Dataset

SEEN, AHEAD = 10, 10  # frames
DIGITS = 2  # in a sequence
STEP = 0.1  # of the way that a digit's corner has, each frame


class MovingDigits(Dataset[tuple[Tensor, Tensor]]):
    """The training set: `len` sequences, and each time that one is asked for, it is drawn anew.

    Whatever the index, an item is a pair x (10, 1, S, S), y (10, 1, S, S), float32: digits, places and directions are
    drawn from torch's global generator, so `torch.manual_seed` makes a run repeatable, and the workers of a
    DataLoader draw different ones.
    """

    def __init__(self, digits: Tensor, size: int, length: int) -> None:
        """`digits` (n, d, d), uint8, are the pictures to draw from, `size` is S, `length` the sequences of an epoch."""
        self.digits, self.size, self.length = digits, size, length

    def __len__(self) -> int:
        """The sequences of an epoch."""
        return self.length

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        """A new sequence. Raises IndexError past the end, so that a loop over the set ends."""
        if not 0 <= index < self.length:
            raise IndexError(index)
        video = torch.zeros(SEEN + AHEAD, self.size, self.size, dtype=torch.uint8)
        side = self.digits.shape[-1]
        for _ in range(DIGITS):
            digit = self.digits[int(torch.randint(len(self.digits), ()))]
            x, y, turn = torch.rand(3, dtype=torch.float64).tolist()
            corners = trajectory(x, y, 2 * math.pi * turn, self.size - side)
            for frame, (top, left) in zip(video, corners, strict=True):
                place = frame[top : top + side, left : left + side]
                torch.maximum(place, digit, out=place)
        return split(video)


@dataclass(frozen=True)
class MovingMNISTData:
    """The data set.

    train           draws (x, y) pairs, see MovingDigits; x and y (10, 1, S, S), float32, in [0, 1]
    x_test, y_test  (n_test, 10, 1, S, S), float32 on the CPU, in [0, 1]: the fixed test set (at full size 1.6 GB each)
    """

    train: MovingDigits
    x_test: Tensor
    y_test: Tensor


def load_moving_mnist(data_dir: str | Path) -> MovingMNISTData:
    """Load `digits.npz` (digits (n, d, d), sequences ()) and `test.npy` (20, n_test, S, S), uint8, from `data_dir`."""
    with np.load(Path(data_dir) / "digits.npz") as file:
        digits, length = torch.from_numpy(file["digits"]), int(file["sequences"])
    videos = torch.from_numpy(np.load(Path(data_dir) / "test.npy")).transpose(0, 1)
    x, y = split(videos)
    return MovingMNISTData(train=MovingDigits(digits, videos.shape[-1], length), x_test=x, y_test=y)


def split(videos: Tensor) -> tuple[Tensor, Tensor]:
    """What is seen and what follows: uint8 (…, 20, S, S) → twice (…, 10, 1, S, S), float32 in [0, 1]."""
    x, y = videos.unsqueeze(-3).split([SEEN, AHEAD], dim=-4)
    return x.float().div_(255), y.float().div_(255)  # in place: at full size each takes 1.6 GB


def trajectory(x: float, y: float, angle: float, way: int) -> list[tuple[int, int]]:
    """The digit's upper left corner (top, left), in pixels, in each of the 20 frames.

    It starts at (x, y) in the unit square, which stands for `way` × `way` pixels, and goes a step before each frame.
    A digit that would leave the square is put on its edge and turns round.
    """
    dx, dy = STEP * math.cos(angle), STEP * math.sin(angle)
    corners = []
    for _ in range(SEEN + AHEAD):
        x, dx = bounce(x + dx, dx)
        y, dy = bounce(y + dy, dy)
        corners.append((int(way * y), int(way * x)))
    return corners


def bounce(place: float, speed: float) -> tuple[float, float]:
    """Place and speed in one direction after the edges 0 and 1."""
    if place <= 0:
        return 0.0, -speed
    return (1.0, -speed) if place >= 1 else (place, speed)

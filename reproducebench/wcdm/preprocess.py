"""Data code for low light: loads the pairs of pictures, and cuts random ones for training. Given; use it as it is.

    import os
    from preprocess import load_low_light
    data = load_low_light(os.environ["DATA_DIR"])

Picture i of `low` and of `high` show the same, dark and well lit. Pictures are RGB. In the arrays they are bytes,
(pictures, height, width, 3); `train_pairs` and `test_pair` give them as float32 tensors (3, height, width) in [0, 1].
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

Pictures = NDArray[np.uint8]


@dataclass(frozen=True)
class LowLightData:
    """The data set, uint8 arrays, 0 to 255.

    train_low, train_high  (n_train, H, W, 3)  dark pictures and the same well lit
    test_low, test_high    (n_test, H, W, 3)   the same for the test set
    """

    train_low: Pictures
    train_high: Pictures
    test_low: Pictures
    test_high: Pictures

    def train_pairs(self, crop: int) -> TrainingPairs:
        """The training set as random crops of `crop` × `crop` pixels; see `TrainingPairs`."""
        return TrainingPairs(self.train_low, self.train_high, crop)

    def test_pair(self, index: int) -> tuple[Tensor, Tensor]:
        """A whole dark picture of the test set and its well-lit one, each (3, H, W) in [0, 1]."""
        return to_tensor(self.test_low[index]), to_tensor(self.test_high[index])


class TrainingPairs(Dataset[tuple[Tensor, Tensor]]):
    """A dark picture and its well-lit one, cut at the same random place; nothing is mirrored.

    Each item is two tensors (3, crop, crop) in [0, 1]. Chance is torch's: `torch.manual_seed` makes it repeatable.
    """

    def __init__(self, low: Pictures, high: Pictures, crop: int) -> None:
        self.low, self.high, self.crop = low, high, crop

    def __len__(self) -> int:
        """The number of pairs."""
        return len(self.low)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        """One pair, cut anew at each call."""
        height, width = self.low.shape[1:3]
        top = int(torch.randint(height - self.crop + 1, ()))
        left = int(torch.randint(width - self.crop + 1, ()))
        place = (slice(top, top + self.crop), slice(left, left + self.crop))
        return to_tensor(self.low[index][place]), to_tensor(self.high[index][place])


def to_tensor(picture: NDArray[Any]) -> Tensor:
    """Bytes (H, W, 3) to float32 (3, H, W) in [0, 1]."""
    return torch.from_numpy(picture.transpose(2, 0, 1).astype(np.float32) / 255)


def load_low_light(data_dir: str | Path) -> LowLightData:
    """Load `train_low.npy`, `train_high.npy`, `test_low.npy` and `test_high.npy` from `data_dir`."""
    names = [f"{split}_{name}" for split in ("train", "test") for name in ("low", "high")]
    return LowLightData(**{name: np.load(Path(data_dir) / f"{name}.npy") for name in names})

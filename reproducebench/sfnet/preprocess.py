"""Data code for dehazing: loads the pictures, and cuts random pairs for training. Given; use it as it is.

    import os
    from preprocess import load_dehazing
    data = load_dehazing(os.environ["DATA_DIR"])

Each hazy picture belongs to the clear picture of its scene; a scene has several hazy ones. Pictures are RGB. On
disk and in the arrays they are bytes, (pictures, height, width, 3); `train_pairs` and `test_pair` give them as
float32 tensors (3, height, width) in [0, 1]. The arrays are mapped from disk and not held in memory.
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
class DehazingData:
    """The data set.

    train_hazy  (n_train, H, W, 3)         uint8, 0 to 255
    train_clear (n_train_scenes, H, W, 3)  uint8
    train_scene (n_train,)                 int64, the number of the clear picture that belongs to each hazy one
    test_hazy, test_clear, test_scene      the same for the test set
    """

    train_hazy: Pictures
    train_clear: Pictures
    train_scene: NDArray[np.int64]
    test_hazy: Pictures
    test_clear: Pictures
    test_scene: NDArray[np.int64]

    def train_pairs(self, crop: int) -> TrainingPairs:
        """The training set as random crops of `crop` × `crop` pixels; see `TrainingPairs`."""
        return TrainingPairs(self.train_hazy, self.train_clear, self.train_scene, crop)

    def test_pair(self, index: int) -> tuple[Tensor, Tensor]:
        """A whole hazy picture of the test set and its clear one, each (3, H, W) in [0, 1]."""
        return to_tensor(self.test_hazy[index]), to_tensor(self.test_clear[self.test_scene[index]])


class TrainingPairs(Dataset[tuple[Tensor, Tensor]]):
    """A hazy picture and its clear one, cut at the same random place and, half the time, mirrored left to right.

    Each item is two tensors (3, crop, crop) in [0, 1]. Chance is torch's: `torch.manual_seed` makes it repeatable.
    """

    def __init__(self, hazy: Pictures, clear: Pictures, scene: NDArray[np.int64], crop: int) -> None:
        self.hazy, self.clear, self.scene, self.crop = hazy, clear, scene, crop

    def __len__(self) -> int:
        """The number of hazy pictures."""
        return len(self.hazy)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        """One pair, cut anew at each call."""
        height, width = self.hazy.shape[1:3]
        top = int(torch.randint(height - self.crop + 1, ()))
        left = int(torch.randint(width - self.crop + 1, ()))
        place = (slice(top, top + self.crop), slice(left, left + self.crop))
        pair = to_tensor(self.hazy[index][place]), to_tensor(self.clear[self.scene[index]][place])
        return (pair[0].flip(-1), pair[1].flip(-1)) if torch.rand(()) < 0.5 else pair


def to_tensor(picture: NDArray[Any]) -> Tensor:
    """Bytes (H, W, 3) to float32 (3, H, W) in [0, 1]."""
    return torch.from_numpy(picture.transpose(2, 0, 1).astype(np.float32) / 255)


def load_dehazing(data_dir: str | Path) -> DehazingData:
    """Load the six arrays `train_hazy.npy`, `train_clear.npy`, `train_scene.npy` and `test_…` from `data_dir`."""
    names = [f"{split}_{name}" for split in ("train", "test") for name in ("hazy", "clear", "scene")]
    return DehazingData(**{name: np.load(Path(data_dir) / f"{name}.npy", mmap_mode="r") for name in names})

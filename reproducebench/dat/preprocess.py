"""Data code for super-resolution by 2: loads the pictures, and cuts random pairs for training. Given; use it as it is.

    import os
    from preprocess import load_pictures
    data = load_pictures(os.environ["DATA_DIR"])

Each picture comes twice, low (h, w) and high (2h, 2w); the low one was made from the high one by bicubic
interpolation with antialiasing, as MATLAB's imresize does it, and rounded. Pictures are RGB, bytes (height, width, 3),
of different sizes. `data.training_patches(side)` gives random pairs of patches as float32 tensors in [0, 1];
`to_tensor(data.test_low[i])` is a whole low picture of the test set so, and `to_bytes` goes back.
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

SCALE = 2


class Pictures:
    """Pictures of different sizes that lie one after the other in one array of bytes, mapped from disk."""

    def __init__(self, values: NDArray[np.uint8], sizes: NDArray[np.int64]) -> None:
        """`sizes` (n, 2) are heights and widths."""
        self.values, self.sizes = values, sizes
        self.ends = np.cumsum(3 * sizes.prod(1))

    def __len__(self) -> int:
        """The number of pictures."""
        return len(self.sizes)

    def __getitem__(self, index: int) -> NDArray[np.uint8]:
        """One picture (height, width, 3)."""
        height, width = self.sizes[index]
        end = self.ends[index]
        return self.values[end - 3 * height * width : end].reshape(height, width, 3)


@dataclass(frozen=True)
class SRData:
    """The data set.

    train_low, train_high, test_low, test_high   pictures, bytes (height, width, 3) each
    train_sizes (n_train, 2), test_sizes (n_test, 2)   heights and widths of the low pictures
    test_names                                   names of the test pictures, in their order
    """

    train_low: Pictures
    train_high: Pictures
    test_low: Pictures
    test_high: Pictures
    train_sizes: NDArray[np.int64]
    test_sizes: NDArray[np.int64]
    test_names: list[str]

    def training_patches(self, side: int) -> TrainingPatches:
        """The training set as random patches of `side` × `side` low pixels; see `TrainingPatches`."""
        return TrainingPatches(self.train_low, self.train_high, side)


class TrainingPatches(Dataset[tuple[Tensor, Tensor]]):
    """A patch of each picture, low (3, side, side) and high (3, 2·side, 2·side) in [0, 1], cut anew at each call.

    Both are mirrored left to right, mirrored top to bottom and transposed, each with probability 1/2: one of the
    eight positions of a square. Chance is torch's: `torch.manual_seed` makes it repeatable.
    """

    def __init__(self, low: Pictures, high: Pictures, side: int) -> None:
        self.low, self.high, self.side = low, high, side

    def __len__(self) -> int:
        """The number of pictures."""
        return len(self.low)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        """One pair."""
        low, high = self.low[index], self.high[index]
        top, left = (int(torch.randint(length - self.side + 1, ())) for length in low.shape[:2])
        pair = [
            to_tensor(picture[top * times : (top + self.side) * times, left * times : (left + self.side) * times])
            for picture, times in ((low, 1), (high, SCALE))
        ]
        mirrored, upside_down, transposed = (torch.rand(3) < 0.5).tolist()
        turns = [axis for axis, wanted in ((-1, mirrored), (-2, upside_down)) if wanted]
        pair = [patch.flip(turns) for patch in pair]
        first, second = (patch.transpose(-1, -2) if transposed else patch for patch in pair)
        return first.contiguous(), second.contiguous()


def to_tensor(picture: NDArray[Any]) -> Tensor:
    """Bytes (H, W, 3) to float32 (3, H, W) in [0, 1]."""
    return torch.from_numpy(picture.transpose(2, 0, 1).astype(np.float32) / 255)


def to_bytes(picture: Tensor) -> NDArray[np.uint8]:
    """(3, H, W), clamped to [0, 1] and rounded, to bytes (H, W, 3)."""
    return (picture.detach().cpu().clamp(0, 1) * 255).round().byte().permute(1, 2, 0).numpy()


def load_pictures(data_dir: str | Path) -> SRData:
    """Load `train_…` and `test_…` from `data_dir`: `low.npy` and `high.npy` (bytes), `sizes.npy`, and the names."""
    folder = Path(data_dir)
    parts: dict[str, Any] = {"test_names": (folder / "test_names.txt").read_text(encoding="utf-8").split()}
    for split in ("train", "test"):
        parts[f"{split}_sizes"] = sizes = np.load(folder / f"{split}_sizes.npy")
        for name, times in (("low", 1), ("high", SCALE)):
            values = np.load(folder / f"{split}_{name}.npy", mmap_mode="r")
            parts[f"{split}_{name}"] = Pictures(values, sizes * times)
    return SRData(**parts)

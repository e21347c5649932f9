"""Data code for multi-organ segmentation: loads slices and volumes, and augments slices. Given; use it as it is.

    import os
    from preprocess import load_volumes
    data = load_volumes(os.environ["DATA_DIR"])

A slice is a grey picture (H, W) with values in [0, 1], clipped to a window of the scanner's units and scaled by
whoever prepared the data; its labels are 0 (background), 1 aorta, 2 gallbladder, 3 left kidney, 4 right kidney,
5 liver, 6 pancreas, 7 spleen, 8 stomach. Slices of a volume stand together, from its one end to the other. The arrays
are mapped from disk and not held in memory.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from scipy import ndimage
from torch import Tensor
from torch.utils.data import Dataset

CLASSES = 9


@dataclass(frozen=True)
class VolumeData:
    """The data set.

    train_images, test_images (slices, H, W)   float32, in [0, 1]
    train_labels, test_labels (slices, H, W)   uint8, 0 to 8
    test_cases (slices,)                       the name of the volume that each test slice belongs to
    swin                                       the published weights of Swin-T by name, empty where there are none
    """

    train_images: NDArray[np.float32]
    train_labels: NDArray[np.uint8]
    test_images: NDArray[np.float32]
    test_labels: NDArray[np.uint8]
    test_cases: NDArray[np.str_]
    swin: dict[str, Tensor]

    def training_slices(self, size: int) -> TrainingSlices:
        """The training set, augmented and resized to `size` × `size`; see `TrainingSlices`."""
        return TrainingSlices(self.train_images, self.train_labels, size)

    def test_slice(self, index: int, size: int) -> Tensor:
        """A test slice resized to (1, size, size), float32."""
        return torch.from_numpy(resize(self.test_images[index], (size, size), order=3)[None].astype(np.float32))


class TrainingSlices(Dataset[tuple[Tensor, Tensor]]):
    """Each item is a slice (1, size, size), float32, and its labels (size, size), int64, augmented anew at each call.

    With probability 1/2 turned by 0, 90, 180 or 270 degrees and mirrored along one of the axes; else, with
    probability 1/2, turned by a whole number of degrees from −20 to 19 (nearest neighbour, the corners 0); else left as
    it is. Then resized. Chance is torch's: `torch.manual_seed` makes it repeatable.
    """

    def __init__(self, images: NDArray[np.float32], labels: NDArray[np.uint8], size: int) -> None:
        self.images, self.labels, self.size = images, labels, size

    def __len__(self) -> int:
        """The number of slices."""
        return len(self.images)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        """One slice and its labels."""
        pair = [np.asarray(self.images[index]), np.asarray(self.labels[index])]
        if torch.rand(()) < 0.5:
            quarters, axis = int(torch.randint(4, ())), int(torch.randint(2, ()))
            pair = [np.flip(np.rot90(part, quarters), axis) for part in pair]
        elif torch.rand(()) < 0.5:
            angle = int(torch.randint(-20, 20, ()))
            pair = [ndimage.rotate(part, angle, order=0, reshape=False) for part in pair]
        image, label = (resize(part, (self.size, self.size), order) for part, order in zip(pair, (3, 0), strict=True))
        return torch.from_numpy(image[None].astype(np.float32)), torch.from_numpy(label.astype(np.int64))


def resize(picture: NDArray[Any], size: tuple[int, int], order: int) -> NDArray[Any]:
    """(H, W) to `size` by splines of an order: 3 for grey values, 0 (nearest neighbour) for labels."""
    if picture.shape == size:
        return np.ascontiguousarray(picture)
    times = [new / old for new, old in zip(size, picture.shape, strict=True)]
    resized: NDArray[Any] = ndimage.zoom(picture, times, order=order)
    return resized


def load_volumes(data_dir: str | Path) -> VolumeData:
    """Load `train_…` and `test_…` `images.npy` and `labels.npy`, the names of the cases and, if there, `swin.npz`."""
    folder = Path(data_dir)
    arrays = {
        f"{split}_{kind}": np.load(folder / f"{split}_{kind}.npy", mmap_mode="r")
        for split in ("train", "test")
        for kind in ("images", "labels")
    }
    cases = np.array((folder / "test_cases.txt").read_text(encoding="utf-8").split())
    swin: dict[str, Tensor] = {}
    if (folder / "swin.npz").exists():
        with np.load(folder / "swin.npz") as file:
            swin = {name: torch.from_numpy(file[name]) for name in file}
    return VolumeData(**arrays, test_cases=cases, swin=swin)

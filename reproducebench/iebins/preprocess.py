"""Data code for NYU-Depth-v2: loads, augments and normalises pictures and depths. Given; use it as it is.

    import os
    from preprocess import load_nyu
    data = load_nyu(os.environ["DATA_DIR"])
    image, depth = data.train[0]  # (3, H, W) normalised colours, (1, H, W) metres

A picture is what a camera saw, its depth the distance of each pixel's point along the optical axis, in metres; 0
where the sensor has none. H×W is 480×640, or 64×96 where the data say so.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import torch
import torch.nn.functional as F
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

MEAN, STD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)  # of ImageNet's pictures: red, green, blue
LARGEST_ANGLE = 2.5  # degrees, to either side
MIN_DEPTH, MAX_DEPTH = 1e-3, 10.0  # metres: what is evaluated lies strictly between


class Frames(Protocol):
    """Pictures (n, H, W, 3), uint8, or depths (n, H, W), uint16 in millimetres: an array, or files read on demand."""

    shape: tuple[int, ...]

    def __getitem__(self, index: int) -> NDArray[Any]: ...


@dataclass(frozen=True)
class Files:
    """Frames that lie in files, each read when it is asked for. Needs Pillow."""

    paths: Sequence[Path]
    shape: tuple[int, ...]

    def __getitem__(self, index: int) -> NDArray[Any]:
        from PIL import Image

        with Image.open(self.paths[index]) as file:
            return np.asarray(file)


@dataclass(frozen=True)
class Training(Dataset[tuple[Tensor, Tensor]]):
    """The training set: item i is (image (3, H, W), depth (1, H, W)), float32, augmented anew each time.

    Depth is 0 where unknown and in the blank frame that registration leaves. The draws come from torch's global
    generator: `torch.manual_seed` makes them repeatable.
    """

    image: Frames
    depth: Frames

    def __len__(self) -> int:
        return int(self.image.shape[0])

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        image, depth = to_tensors(self.image[index], self.depth[index])
        image, depth = rotate(image, frame_blanked(depth), LARGEST_ANGLE * (2 * uniform() - 1))
        if uniform() < 0.5:
            image, depth = image.flip(-1), depth.flip(-1)
        if uniform() < 0.5:
            image = recolour(image)
        if uniform() < 0.5:
            image, depth = cut_flip(image, depth)
        return normalise(image), depth


@dataclass(frozen=True)
class Test(Dataset[tuple[Tensor, Tensor]]):
    """The test set: item i is (image (3, H, W), depth (1, H, W)), float32, as they are; 0 where depth is unknown."""

    image: Frames
    depth: Frames

    def __len__(self) -> int:
        return int(self.image.shape[0])

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        image, depth = to_tensors(self.image[index], self.depth[index])
        return normalise(image), depth


@dataclass(frozen=True)
class DepthData:
    """Both sets, and what they are made from: pictures (n, H, W, 3), uint8; depths (n, H, W), uint16, millimetres."""

    image_train: Frames
    depth_train: Frames
    image_test: Frames
    depth_test: Frames

    @property
    def train(self) -> Training:
        """The training set with augmentation, for a DataLoader that shuffles."""
        return Training(self.image_train, self.depth_train)

    @property
    def test(self) -> Test:
        """The test set, in the order in which predictions are saved."""
        return Test(self.image_test, self.depth_test)


def load_nyu(data_dir: str | Path) -> DepthData:
    """Load `train.npz` and `test.npz` from `data_dir`, or, where there are none, the published files that lie there."""
    folder = Path(data_dir)
    if (folder / "train.npz").exists():
        return DepthData(*_arrays(folder / "train.npz"), *_arrays(folder / "test.npz"))
    train = _files(folder / "nyudepthv2_train_files_with_gt_dense.txt", folder / "sync")
    test = _files(folder / "nyudepthv2_test_files_with_gt.txt", folder / "official_splits" / "test")
    return DepthData(*train, *test)


def evaluated(depth: Tensor) -> Tensor:
    """Where a depth (..., H, W) counts in the metric: known, between the limits, and inside the Eigen crop."""
    height, width = depth.shape[-2:]
    inside = torch.zeros(height, width, dtype=torch.bool, device=depth.device)
    inside[scaled(45, 471, height / 480), scaled(41, 601, width / 640)] = True
    return inside & (depth > MIN_DEPTH) & (depth < MAX_DEPTH)


def scaled(start: int, stop: int, factor: float) -> slice:
    """A range of rows or columns of a 480×640 picture in one that is smaller by `factor`."""
    return slice(round(start * factor), round(stop * factor))


def to_tensors(image: NDArray[Any], depth: NDArray[Any]) -> tuple[Tensor, Tensor]:
    """(H, W, 3) bytes and (H, W) millimetres → (3, H, W) in 0..1 and (1, H, W) in metres."""
    colours = torch.from_numpy(image.astype(np.float32)).permute(2, 0, 1) / 255
    return colours, torch.from_numpy(depth.astype(np.float32))[None] / 1000


def normalise(image: Tensor) -> Tensor:
    """Colours in 0..1 → by ImageNet's mean and deviation of each channel."""
    return (image - torch.tensor(MEAN)[:, None, None]) / torch.tensor(STD)[:, None, None]


def frame_blanked(depth: Tensor) -> Tensor:
    """Depth without the frame (rows before 45 and from 472, columns before 43 and from 608 of 480×640), set to 0."""
    height, width = depth.shape[-2:]
    rows, columns = scaled(45, 472, height / 480), scaled(43, 608, width / 640)
    kept = torch.zeros_like(depth)
    kept[..., rows, columns] = depth[..., rows, columns]
    return kept


def rotate(image: Tensor, depth: Tensor, angle: float) -> tuple[Tensor, Tensor]:
    """Both turned about the centre by `angle` degrees, black and unknown where nothing was: colours are interpolated
    bilinearly, depth is taken from the nearest pixel."""
    height, width = depth.shape[-2:]
    cosine, sine = math.cos(math.radians(angle)), math.sin(math.radians(angle))
    matrix = torch.tensor([[cosine, -sine * height / width, 0], [sine * width / height, cosine, 0]])
    grid = F.affine_grid(matrix[None], [1, 1, height, width], align_corners=False)
    turned = F.grid_sample(image[None], grid, mode="bilinear", align_corners=False)
    return turned[0], F.grid_sample(depth[None], grid, mode="nearest", align_corners=False)[0]


def recolour(image: Tensor) -> Tensor:
    """A random gamma (0.9 to 1.1), brightness (0.75 to 1.25) and factor of each channel (0.9 to 1.1); in 0..1."""
    channels = torch.empty(3, 1, 1).uniform_(0.9, 1.1)
    return (image ** uniform(0.9, 1.1) * uniform(0.75, 1.25) * channels).clamp(0, 1)


def cut_flip(image: Tensor, depth: Tensor) -> tuple[Tensor, Tensor]:
    """CutFlip: cut both along a random row between a fifth and four fifths of the height, and swap the two parts."""
    height = image.shape[-2]
    row = int(torch.randint(int(0.2 * height), int(0.8 * height) + 1, ()))
    return image.roll(row, dims=-2), depth.roll(row, dims=-2)


def uniform(low: float = 0.0, high: float = 1.0) -> float:
    """A random number from torch's global generator."""
    return low + (high - low) * float(torch.rand(()))


def _arrays(path: Path) -> tuple[Frames, Frames]:
    with np.load(path) as file:
        return file["image"], file["depth"]


def _files(listing: Path, folder: Path) -> tuple[Frames, Frames]:
    pairs = [line.split()[:2] for line in listing.read_text(encoding="utf-8").splitlines() if line.strip()]
    images, depths = ([folder / pair[i] for pair in pairs] for i in (0, 1))
    return Files(images, (len(pairs), 480, 640, 3)), Files(depths, (len(pairs), 480, 640))

"""Data code for the pictures: loads the arrays, and nothing more. Given; use it as it is.

    import os
    from preprocess import load_cifar
    data = load_cifar(os.environ["DATA_DIR"])

A picture is 3 colours (red, green, blue) of S × S bytes, 0 to 255, rows from the top. It is neither scaled nor
normalised nor augmented here: that is the program's part.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class Cifar:
    """The data set, tensors on the CPU.

    x_train (n_train, 3, S, S)  uint8
    y_train (n_train,)          int64, the class, 0 .. classes − 1
    x_test  (n_test, 3, S, S)   uint8
    y_test  (n_test,)           int64
    classes                     the number of classes
    """

    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor
    classes: int


def load_cifar(data_dir: str | Path) -> Cifar:
    """Load `train.npz` and `test.npz` (keys `pictures` (n, S, S, 3) and `labels` (n,)) from `data_dir`."""
    x_train, y_train = _load(Path(data_dir) / "train.npz")
    x_test, y_test = _load(Path(data_dir) / "test.npz")
    return Cifar(x_train, y_train, x_test, y_test, classes=int(y_train.max()) + 1)


def _load(path: Path) -> tuple[Tensor, Tensor]:
    with np.load(path, allow_pickle=False) as file:
        pictures = np.ascontiguousarray(file["pictures"].transpose(0, 3, 1, 2))
        return torch.from_numpy(pictures), torch.from_numpy(file["labels"].astype(np.int64))

"""Data code for Darcy flow: loads the arrays and normalises them. Given; use it as it is.

    import os
    from preprocess import load_darcy
    data = load_darcy(os.environ["DATA_DIR"])

The data are pairs of a coefficient a (diffusion, 12 or 3) and the solution u of −∇·(a ∇u) = 1 on the unit
square, u = 0 on its boundary, at s × s equidistant nodes; index [i, j] is the point (i/(s−1), j/(s−1)).
Both are without unit; u lies between 0 and about 0.02.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor


class PointwiseNormalizer:
    """Gaussian normalisation, point by point: the mean and the standard deviation over samples at each node.

    `encode` maps physical units to normalised ones, `decode` maps back: x·(std + eps) + mean. Both take
    tensors whose last dimensions are those of the fitted ones without the sample dimension: (..., s, s).
    """

    def __init__(self, samples: Tensor, eps: float = 1e-5) -> None:
        """Fit to `samples` (n, s, s); std is the unbiased one."""
        self.mean = samples.mean(0)
        self.std = samples.std(0) + eps

    def encode(self, values: Tensor) -> Tensor:
        """Physical units to normalised ones."""
        return (values - self.mean.to(values.device)) / self.std.to(values.device)

    def decode(self, values: Tensor) -> Tensor:
        """Normalised units to physical ones."""
        return values * self.std.to(values.device) + self.mean.to(values.device)


@dataclass(frozen=True)
class DarcyData:
    """The data set, float32 tensors on the CPU.

    x_train (n_train, s, s, 1)  coefficient a, normalised by `x_normalizer`
    y_train (n_train, s, s)     solution u, normalised by `y_normalizer`
    x_test  (n_test, s, s, 1)   coefficient a, normalised by `x_normalizer`
    y_test  (n_test, s, s)      solution u in physical units
    Both normalizers are fitted to the training samples alone.
    """

    x_train: Tensor
    y_train: Tensor
    x_test: Tensor
    y_test: Tensor
    x_normalizer: PointwiseNormalizer
    y_normalizer: PointwiseNormalizer


def load_darcy(data_dir: str | Path) -> DarcyData:
    """Load `train.npz` and `test.npz` (keys a and u, each (n, s, s)) from `data_dir`, and normalise."""
    a_train, u_train = _load(Path(data_dir) / "train.npz")
    a_test, u_test = _load(Path(data_dir) / "test.npz")
    x_normalizer, y_normalizer = PointwiseNormalizer(a_train), PointwiseNormalizer(u_train)
    return DarcyData(
        x_train=x_normalizer.encode(a_train)[..., None],
        y_train=y_normalizer.encode(u_train),
        x_test=x_normalizer.encode(a_test)[..., None],
        y_test=u_test,
        x_normalizer=x_normalizer,
        y_normalizer=y_normalizer,
    )


def _load(path: Path) -> tuple[Tensor, Tensor]:
    with np.load(path) as file:
        return torch.from_numpy(file["a"]).float(), torch.from_numpy(file["u"]).float()

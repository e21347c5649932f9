"""TimeVAE: a variational auto-encoder for series of several features (Desai et al., 2021, arXiv 2111.08095).

Section numbers are the paper's. Where its text and its published code differ, this follows the code, and a
comment says so. Series are (N, T, D) outside; the convolutions take channels first, (N, C, T).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def build_model(
    length: int = 24,
    features: int = 5,
    latent: int = 8,
    widths: Sequence[int] = (50, 100, 200),
    trend: int = 0,
    seasons: Sequence[tuple[int, int]] = (),
) -> TimeVAE:
    """The model, with Glorot's uniform kernels and zero biases. The defaults are those of the sine experiment.

    `trend` is the polynomial's degree P; each of `seasons` is (number of seasons m, steps in a season d).
    """
    model = TimeVAE(length, features, latent, widths, trend, seasons)
    for name, parameter in model.named_parameters():
        nn.init.zeros_(parameter) if name.endswith("bias") else nn.init.xavier_uniform_(parameter)
    return model


class Encoder(nn.Module):
    """Section 3.2: strided convolutions with ReLU, then mean and log-variance of q(z | x)."""

    def __init__(self, length: int, features: int, latent: int, widths: Sequence[int]) -> None:
        super().__init__()
        pairs = list(pairwise((features, *widths)))
        self.convolutions = nn.ModuleList(nn.Conv1d(before, after, 3, stride=2) for before, after in pairs)
        for _ in widths:
            length = math.ceil(length / 2)
        self.shape = (length, widths[-1])
        self.mean = nn.Linear(length * widths[-1], latent)
        self.log_variance = nn.Linear(length * widths[-1], latent)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """(N, T, D) → twice (N, latent)."""
        x = x.transpose(1, 2)
        for convolution in self.convolutions:
            padding = 1 if x.shape[2] % 2 == 0 else 2  # half the steps remain, rounded up; an odd zero goes last
            x = F.relu(convolution(F.pad(x, (padding // 2, padding - padding // 2))))
        flat = x.transpose(1, 2).flatten(1)
        return self.mean(flat), self.log_variance(flat)


class Residual(nn.Module):
    """Section 3.2, the base decoder: a dense layer, transposed convolutions with ReLU, a linear layer.

    The paper's last layer is one for each time step; its code has one for all steps and features at once.
    """

    def __init__(self, length: int, features: int, latent: int, widths: Sequence[int], start: tuple[int, int]) -> None:
        super().__init__()
        self.start, self.end = start, (length, features)
        self.dense = nn.Linear(latent, math.prod(start))
        pairs = pairwise((*reversed(widths), features))
        self.convolutions = nn.ModuleList(nn.ConvTranspose1d(before, after, 3, stride=2) for before, after in pairs)
        self.output = nn.Linear(start[0] * 2 ** len(widths) * features, length * features)

    def forward(self, z: Tensor) -> Tensor:
        """(N, latent) → (N, T, D)."""
        x = F.relu(self.dense(z)).unflatten(1, self.start).transpose(1, 2)
        for convolution in self.convolutions:
            x = F.relu(convolution(x)[..., :-1])  # 2 L + 1 steps come out, and the last is cut off
        return self.output(x.transpose(1, 2).flatten(1)).unflatten(1, self.end)


class Level(nn.Module):
    """Section 3.3, the trend of degree 0: a value for each feature, the same at every step."""

    def __init__(self, length: int, features: int, latent: int) -> None:
        super().__init__()
        self.length = length
        self.dense = nn.Sequential(nn.Linear(latent, features), nn.ReLU(), nn.Linear(features, features))

    def forward(self, z: Tensor) -> Tensor:
        """(N, latent) → (N, T, D)."""
        return self.dense(z)[:, None].expand(-1, self.length, -1)


class Trend(nn.Module):
    """Section 3.3: V_tr = θ_tr R with R = [r, r², .., r^P], r = (0, 1, .., T−1) / T."""

    def __init__(self, length: int, features: int, latent: int, degree: int) -> None:
        super().__init__()
        self.shape = (features, degree)
        count = features * degree
        self.dense = nn.Sequential(nn.Linear(latent, count), nn.ReLU(), nn.Linear(count, count))
        steps = torch.arange(length) / length
        self.register_buffer("powers", torch.stack([steps**p for p in range(1, degree + 1)]))

    def forward(self, z: Tensor) -> Tensor:
        """(N, latent) → (N, T, D)."""
        return (self.dense(z).unflatten(1, self.shape) @ self.powers.to(z)).transpose(1, 2)


class Season(nn.Module):
    """Section 3.3, one seasonal pattern: of m values of a feature, each holds for d steps, and then they repeat."""

    def __init__(self, length: int, features: int, latent: int, count: int, steps: int) -> None:
        super().__init__()
        self.shape = (features, count)
        self.dense = nn.Linear(latent, features * count)
        self.register_buffer("which", torch.arange(length) // steps % count)  # K of the paper

    def forward(self, z: Tensor) -> Tensor:
        """(N, latent) → (N, T, D)."""
        return self.dense(z).unflatten(1, self.shape)[:, :, self.which].transpose(1, 2)


class TimeVAE(nn.Module):
    """Encoder, and a decoder that is a sum of blocks, Section 3.3. Without trend and seasons: level + residual."""

    def __init__(
        self,
        length: int,
        features: int,
        latent: int,
        widths: Sequence[int],
        trend: int,
        seasons: Sequence[tuple[int, int]],
    ) -> None:
        super().__init__()
        self.latent = latent
        self.encoder = Encoder(length, features, latent, widths)
        blocks: list[nn.Module] = [Level(length, features, latent)]
        if trend:
            blocks.append(Trend(length, features, latent, trend))
        blocks += [Season(length, features, latent, count, steps) for count, steps in seasons]
        blocks.append(Residual(length, features, latent, widths, self.encoder.shape))
        self.blocks = nn.ModuleList(blocks)

    def decode(self, z: Tensor) -> Tensor:
        """(N, latent) → series (N, T, D)."""
        return torch.stack([block(z) for block in self.blocks]).sum(0)

    def forward(self, x: Tensor, noise: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Series (N, T, D) and standard normal noise (N, latent) → reconstruction, mean, log-variance."""
        mean, log_variance = self.encoder(x)
        return self.decode(mean + torch.exp(0.5 * log_variance) * noise), mean, log_variance


def loss(x: Tensor, reconstruction: Tensor, mean: Tensor, log_variance: Tensor, weight: float) -> Tensor:
    """Section 3.1: the negative evidence lower bound with a weight on the reconstruction, summed over the batch.

    The paper's reconstruction error is the squared error; its code adds that of the features' mean at each step.
    """
    error = (x - reconstruction).square().sum() + (x.mean(2) - reconstruction.mean(2)).square().sum()
    divergence = 0.5 * (mean.square() + log_variance.exp() - 1 - log_variance).sum()
    return weight * error + divergence

"""The wavelet-based conditional diffusion model for low light, DiffLL (Jiang et al., 2023, arXiv 2306.00306).

Two levels of the Haar transform. The average coefficients of the second level are restored by a diffusion model
(WCDM) that is conditioned on those of the dark picture; the high-frequency coefficients of both levels by a
module of their own (HFRM). In training the whole reverse process is run, so that its result can be compared
with the truth. Numbers (1) to (9) are those of the formulas in digest.md.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from unet import UNet


def build_model(
    width: int = 64,
    multiples: tuple[int, ...] = (1, 2, 3, 4),
    blocks: int = 2,
    groups: int = 32,
    details: int = 64,
    steps: int = 200,
    sampled: int = 10,
) -> DiffLL:
    """The whole model; the defaults are those of the published experiment. `details` is HFRM's width."""
    return DiffLL(UNet(6, 3, width, multiples, blocks, groups), details, steps, sampled)


def dwt(x: Tensor) -> tuple[Tensor, Tensor]:
    """(1): Haar transform, (B, C, H, W) → averages (B, C, H/2, W/2) and details (3, B, C, H/2, W/2).

    The details are the differences from left to right, from top to bottom, and along the diagonals.
    """
    a, b = x[..., 0::2, 0::2], x[..., 0::2, 1::2]
    c, d = x[..., 1::2, 0::2], x[..., 1::2, 1::2]
    details = torch.stack([b + d - a - c, c + d - a - b, a + d - b - c])
    return (a + b + c + d) / 2, details / 2


def idwt(average: Tensor, details: Tensor) -> Tensor:
    """(2): the inverse of `dwt`."""
    across, down, diagonal = details
    top = torch.stack([average - across - down + diagonal, average + across - down - diagonal], dim=-1)
    bottom = torch.stack([average - across + down - diagonal, average + across + down + diagonal], dim=-1)
    return torch.stack([top, bottom], dim=-3).flatten(-4, -3).flatten(-2, -1) / 2


class Separable(nn.Sequential):
    """A 3×3 convolution of each channel by itself, then a 1×1 convolution."""

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__(nn.Conv2d(inputs, inputs, 3, padding=1, groups=inputs), nn.Conv2d(inputs, outputs, 1))


class Dilated(nn.Module):
    """Five 3×3 convolutions with dilations 1, 2, 3, 2, 1 and leaky ReLU between, and the input added."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for dilation in (1, 2, 3, 2, 1):
            layers += [nn.Conv2d(channels, channels, 3, padding=dilation, dilation=dilation), nn.LeakyReLU()]
        self.layers = nn.Sequential(*layers[:-1])

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → the same."""
        return x + self.layers(x)


class CrossAttention(nn.Module):
    """Attention of one detail coefficient to another, between channels, row by row of the picture, (8).

    (B, C, H, W) twice → the same. The published code takes C/8 for the width of a head in the scale, though its rows
    are the heads.
    """

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.query, self.key, self.value = (Separable(channels, channels) for _ in range(3))
        self.scale = (channels // 8) ** -0.5

    def forward(self, x: Tensor, context: Tensor) -> Tensor:
        """softmax(q kᵀ · scale) v with q from `x`, k and v from `context`; for each row (C, W)."""
        parts = (self.query(x), self.key(context), self.value(context))
        query, key, value = (part.transpose(1, 2) for part in parts)  # (B, H, C, W)
        weights = (query @ key.transpose(-1, -2) * self.scale).softmax(-1)
        return (weights @ value).transpose(1, 2)


class HighFrequency(nn.Module):
    """HFRM, the restoration of the three detail coefficients of a level; what it adds is learned."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.head, self.tail = Separable(3, width), Separable(width, 3)
        self.across, self.down, self.diagonal = (Dilated(width) for _ in range(3))
        self.from_down, self.from_across = CrossAttention(width), CrossAttention(width)
        self.join = nn.Conv2d(2 * width, width, 3, padding=1)

    def forward(self, details: Tensor) -> Tensor:
        """(3, B, 3, H, W) → the same: the other two complement the diagonal one."""
        across, down, diagonal = self.head(details.flatten(0, 1)).unflatten(0, details.shape[:2])
        met = torch.cat([self.from_down(down, diagonal), self.from_across(across, diagonal)], dim=1)
        restored = torch.cat([self.across(across), self.down(down), self.diagonal(self.join(met))])
        return details + self.tail(restored).unflatten(0, details.shape[:2])


@dataclass(frozen=True)
class Coefficients:
    """What a picture is at two levels, and the picture: averages of level 1 and details of both, in [−1, 1] units."""

    average: Tensor  # (B, 3, H/2, W/2)
    fine: Tensor  # (3, B, 3, H/2, W/2)
    coarse: Tensor  # (3, B, 3, H/4, W/4)
    picture: Tensor  # (B, 3, H, W), in [0, 1]


@dataclass(frozen=True)
class Trained:
    """What the loss needs: estimate and truth, the noise that was predicted, and the noise that was added."""

    estimate: Coefficients
    truth: Coefficients
    predicted: Tensor
    noise: Tensor


class DiffLL(nn.Module):
    """The model. Called with dark pictures it restores them; `learn` gives what the loss compares."""

    def __init__(self, unet: UNet, details: int, steps: int, sampled: int) -> None:
        super().__init__()
        self.unet = unet
        self.fine, self.coarse = HighFrequency(details), HighFrequency(details)
        betas = torch.linspace(1e-4, 0.02, steps, dtype=torch.float64)
        kept = torch.cat([torch.ones(1, dtype=torch.float64), (1 - betas).cumprod(0)])
        self.register_buffer("kept", kept.float(), persistent=False)  # ᾱ with ᾱ = 1 before the first step
        self.times = list(range(0, steps, steps // sampled))

    def forward(self, low: Tensor) -> Tensor:
        """Dark pictures (B, 3, H, W) in [0, 1], sides multiples of 32 → well-lit ones."""
        return self.restore(low).picture

    def learn(self, low: Tensor, high: Tensor) -> Trained:
        """One step of training on pairs: forward diffusion of the truth, and the reverse process from noise."""
        truth, average = split(high)
        noise = torch.randn_like(average)
        step = self.draw_steps(len(low)).to(low.device)
        kept = self.kept[step + 1].view(-1, 1, 1, 1)
        noisy = kept.sqrt() * average + (1 - kept).sqrt() * noise  # (3)
        condition = split(low)[1]
        predicted = self.unet(torch.cat([condition, noisy], dim=1), step)
        return Trained(self.restore(low), truth, predicted, noise)

    def draw_steps(self, count: int) -> Tensor:
        """Random time steps (count,): of each drawn one its mirror image is taken, too."""
        steps = len(self.kept) - 1
        drawn = torch.randint(steps, (count // 2 + 1,))
        return torch.cat([drawn, steps - 1 - drawn])[:count]

    def restore(self, low: Tensor) -> Coefficients:
        """The estimate of the well-lit picture and its coefficients."""
        dark, condition = split(low)
        fine, coarse = self.fine(dark.fine), self.coarse(dark.coarse)
        average = idwt(self.denoise(condition), coarse)
        picture = ((idwt(average, fine) + 1) / 2).clamp(0, 1)
        return Coefficients(average, fine, coarse, picture)

    def denoise(self, condition: Tensor) -> Tensor:
        """(5): implicit sampling (DDIM without noise) from pure noise to average coefficients (B, 3, H/4, W/4)."""
        x = torch.randn_like(condition)
        for time, after in zip(reversed(self.times), [*reversed(self.times[:-1]), -1], strict=True):
            step = torch.full((len(x),), time, device=x.device)
            noise = self.unet(torch.cat([condition, x], dim=1), step)
            kept, kept_after = self.kept[time + 1], self.kept[after + 1]
            clean = (x - (1 - kept).sqrt() * noise) / kept.sqrt()  # (4)
            x = kept_after.sqrt() * clean + (1 - kept_after).sqrt() * noise
        return x


def split(picture: Tensor) -> tuple[Coefficients, Tensor]:
    """Two levels of the transform of a picture in [0, 1], and the averages of the second (B, 3, H/4, W/4)."""
    average, fine = dwt(2 * picture - 1)
    coarsest, coarse = dwt(average)
    return Coefficients(average, fine, coarse, picture), coarsest


def loss(trained: Trained) -> Tensor:
    """(9): noise, details with smoothness, and content."""
    mine, truth = trained.estimate, trained.truth
    pairs = [(getattr(mine, name), getattr(truth, name)) for name in ("fine", "coarse", "average")]
    details = sum(
        (0.1 * F.mse_loss(one, other) + 0.01 * variation(one) for one, other in pairs), mine.picture.new_zeros(())
    )
    content = F.l1_loss(mine.picture, truth.picture) + 1 - ssim(mine.picture, truth.picture)
    return F.mse_loss(trained.predicted, trained.noise) + details + content


def variation(x: Tensor) -> Tensor:
    """(6): twice the mean squared difference of neighbours, upright and sideways added."""
    return 2 * (x.diff(dim=-2).square().mean() + x.diff(dim=-1).square().mean())


def ssim(one: Tensor, other: Tensor) -> Tensor:
    """(7): structural similarity of pictures in [0, 1], for the loss: Gaussian window 11×11, σ 1.5, whole ones only."""
    places = torch.arange(11, dtype=one.dtype, device=one.device) - 5
    window = torch.exp(-(places**2) / (2 * 1.5**2))
    window = (window / window.sum()).expand(one.shape[1], 1, 1, 11)

    def mean(x: Tensor) -> Tensor:
        rows = F.conv2d(x, window, groups=len(window))
        return F.conv2d(rows, window.transpose(2, 3), groups=len(window))

    m, n = mean(one), mean(other)
    variances = mean(one**2) + mean(other**2) - m**2 - n**2
    covariance = mean(one * other) - m * n
    alike = (2 * m * n + 0.01**2) * (2 * covariance + 0.03**2)
    return (alike / ((m**2 + n**2 + 0.01**2) * (variances + 0.03**2))).mean()

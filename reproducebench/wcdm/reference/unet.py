"""The noise predictor of the diffusion model: a U-Net with time steps and self-attention, as in DDPM (Ho et al., 2020).

It works on the average coefficients of a wavelet transform, so its pictures have a quarter of the sides.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn

ATTENTIVE = 2  # the level, counted from 0 at the finest, whose blocks are followed by attention


def embed_steps(steps: Tensor, width: int) -> Tensor:
    """Sines and cosines of the time steps: (B,) → (B, width); frequencies fall from 1 to 1/10000."""
    half = width // 2
    powers = torch.arange(half, device=steps.device) * (-math.log(10000) / (half - 1))
    angles = steps.float()[:, None] * powers.float().exp()
    return torch.cat([angles.sin(), angles.cos()], dim=1)


def norm(channels: int, groups: int) -> nn.GroupNorm:
    """Group normalisation as in DDPM."""
    return nn.GroupNorm(groups, channels, eps=1e-6)


class Block(nn.Module):
    """Two convolutions, each after normalisation and swish; the time step is added between.

    (B, inputs, H, W) → (B, outputs, H, W).
    """

    def __init__(self, inputs: int, outputs: int, times: int, groups: int, attentive: bool) -> None:
        super().__init__()
        self.norm1, self.conv1 = norm(inputs, groups), nn.Conv2d(inputs, outputs, 3, padding=1)
        self.time = nn.Linear(times, outputs)
        self.norm2, self.conv2 = norm(outputs, groups), nn.Conv2d(outputs, outputs, 3, padding=1)
        self.shortcut = nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 1)
        self.attention = Attention(outputs, groups) if attentive else nn.Identity()

    def forward(self, x: Tensor, time: Tensor) -> Tensor:
        """`time` (B, times) is the embedding that all blocks share."""
        y = self.conv1(F.silu(self.norm1(x))) + self.time(F.silu(time))[:, :, None, None]
        y = self.conv2(F.silu(self.norm2(y)))
        return self.attention(self.shortcut(x) + y)


class Attention(nn.Module):
    """Self-attention with one head between all points, and the input added. (B, C, H, W) → the same."""

    def __init__(self, channels: int, groups: int) -> None:
        super().__init__()
        self.norm = norm(channels, groups)
        self.query, self.key, self.value, self.output = (nn.Conv2d(channels, channels, 1) for _ in range(4))

    def forward(self, x: Tensor) -> Tensor:
        """softmax(q kᵀ / √C) v."""
        y = self.norm(x)
        query, key, value = (layer(y).flatten(2).transpose(1, 2) for layer in (self.query, self.key, self.value))
        weights = (query @ key.transpose(1, 2) * x.shape[1] ** -0.5).softmax(-1)
        return x + self.output((weights @ value).transpose(1, 2).reshape(x.shape))


class Halve(nn.Conv2d):
    """A 3×3 convolution with stride 2; zeros are added at the right and the bottom edge alone."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, channels, 3, stride=2)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, C, H/2, W/2)."""
        return super().forward(F.pad(x, (0, 1, 0, 1)))


class Double(nn.Conv2d):
    """Each pixel fourfold, then a 3×3 convolution."""

    def __init__(self, channels: int) -> None:
        super().__init__(channels, channels, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B, C, 2H, 2W)."""
        return super().forward(F.interpolate(x, scale_factor=2.0, mode="nearest"))


class UNet(nn.Module):
    """Four levels, each of `blocks` residual blocks down and `blocks` + 1 up; every layer down is passed across.

    `inputs` channels in (condition and noisy coefficients), `outputs` channels out (the noise).
    """

    def __init__(
        self, inputs: int, outputs: int, width: int, multiples: tuple[int, ...], blocks: int, groups: int
    ) -> None:
        super().__init__()
        self.width, self.blocks = width, blocks
        widths = [width * multiple for multiple in multiples]
        times, last = 4 * width, len(widths) - 1
        self.time = nn.Sequential(nn.Linear(width, times), nn.SiLU(), nn.Linear(times, times))
        self.first = nn.Conv2d(inputs, width, 3, padding=1)
        self.downs, self.halves = nn.ModuleList(), nn.ModuleList(map(Halve, widths[:-1]))
        self.ups, self.doubles = nn.ModuleList(), nn.ModuleList(map(Double, widths[1:]))
        across, channels = [width], width
        for level, wide in enumerate(widths):
            for _ in range(blocks):
                self.downs.append(Block(channels, wide, times, groups, level == ATTENTIVE))
                channels = wide
                across.append(channels)
            if level < last:
                across.append(channels)
        self.middle = nn.ModuleList(Block(channels, channels, times, groups, number == 0) for number in range(2))
        for level in range(last, -1, -1):
            for _ in range(blocks + 1):
                self.ups.append(Block(channels + across.pop(), widths[level], times, groups, level == ATTENTIVE))
                channels = widths[level]
        self.norm, self.last = norm(channels, groups), nn.Conv2d(channels, outputs, 3, padding=1)

    def forward(self, x: Tensor, steps: Tensor) -> Tensor:
        """(B, inputs, H, W), H and W multiples of 8, and steps (B,) → (B, outputs, H, W)."""
        time = self.time(embed_steps(steps, self.width).to(x.dtype))
        across = [self.first(x)]
        for number, block in enumerate(self.downs):
            across.append(block(across[-1], time))
            level, place = divmod(number, self.blocks)
            if place == self.blocks - 1 and level < len(self.halves):
                across.append(self.halves[level](across[-1]))
        x = across[-1]
        for block in self.middle:
            x = block(x, time)
        for number, block in enumerate(self.ups):
            x = block(torch.cat([x, across.pop()], dim=1), time)
            level, place = divmod(number, self.blocks + 1)
            if place == self.blocks and level < len(self.doubles):
                x = self.doubles[len(self.doubles) - 1 - level](x)
        return self.last(F.silu(self.norm(x)))

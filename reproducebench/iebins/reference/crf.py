"""The decoder: pyramid pooling over the coarsest features, then neural window CRFs from coarse to fine.

It is the decoder of NeWCRFs (Yuan et al., 2022). A window CRF takes queries and keys from the features of the backbone
and values from the coarser prediction, so that it weighs the prediction by how alike points look.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from swin import MLP, PositionBias, from_windows, padded, shift_mask, to_windows, window_attention
from torch import Tensor, nn


class ConvNorm(nn.Sequential):
    """Convolution without bias, norm, ReLU. The norm is a batch norm, or a group norm of two channels a group."""

    def __init__(self, inputs: int, outputs: int, kernel: int, groups: bool = False) -> None:
        convolution = nn.Conv2d(inputs, outputs, kernel, padding=kernel // 2, bias=False)
        nn.init.kaiming_normal_(convolution.weight, mode="fan_out", nonlinearity="relu")
        norm = nn.GroupNorm(outputs // 2, outputs) if groups else nn.BatchNorm2d(outputs)
        super().__init__(convolution, norm, nn.ReLU())


class PyramidPooling(nn.Module):
    """Means over 1, 2×2, 3×3 and 6×6 parts of the picture, projected, spread out again and merged with the features.

    The projections have group norms, since a batch norm needs more than one value a channel.
    """

    SCALES = (1, 2, 3, 6)

    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.pools = nn.ModuleList(ConvNorm(inputs, outputs, 1, groups=True) for _ in self.SCALES)
        self.merge = ConvNorm(inputs + len(self.SCALES) * outputs, outputs, 3)

    def forward(self, x: Tensor) -> Tensor:
        """(B, inputs, h, w) → (B, outputs, h, w)."""
        parts = [x]
        for scale, pool in zip(self.SCALES, self.pools, strict=True):
            mean = pool(F.adaptive_avg_pool2d(x, scale))
            parts.append(F.interpolate(mean, size=x.shape[-2:], mode="bilinear", align_corners=False))
        return self.merge(torch.cat(parts, 1))


class CRFAttention(PositionBias):
    """Attention in windows: queries and keys from features, values as they are given, then a linear layer."""

    def __init__(self, channels: int, size: int, heads: int) -> None:
        super().__init__(size, heads)
        self.heads = heads
        self.qk = nn.Linear(channels, 2 * channels)
        self.proj = nn.Linear(channels, channels)

    def forward(self, windows: Tensor, values: Tensor, mask: Tensor) -> Tensor:
        """(B, windows, n, C) twice → the same shape."""
        q, k = self.qk(windows).chunk(2, dim=-1)
        return self.proj(window_attention(q, k, values, self.heads, self.bias(), mask))


class CRFBlock(nn.Module):
    """One step of the CRF: windowed attention and an MLP, each with a residual on the features."""

    def __init__(self, channels: int, size: int, heads: int, shift: int) -> None:
        super().__init__()
        self.size, self.shift = size, shift
        self.norm1 = nn.LayerNorm(channels)
        self.attn = CRFAttention(channels, size, heads)
        self.norm2 = nn.LayerNorm(channels)
        self.mlp = MLP(channels)

    def forward(self, x: Tensor, values: Tensor) -> Tensor:
        """Features (B, H, W, C) and values of the same shape → features."""
        height, width = x.shape[1:3]
        y, v = (padded(z, self.size).roll((-self.shift, -self.shift), (1, 2)) for z in (self.norm1(x), values))
        sides = y.shape[1:3]
        mask = shift_mask(*sides, self.size, self.shift, y)
        y = self.attn(to_windows(y, self.size), to_windows(v, self.size), mask)
        y = from_windows(y, self.size, *sides).roll((self.shift, self.shift), (1, 2))
        x = x + y[:, :height, :width]
        return x + self.mlp(self.norm2(x))


class WindowCRF(nn.Module):
    """Two blocks, the second in shifted windows; both read the same values."""

    def __init__(self, features: int, values: int, channels: int, heads: int, size: int = 7) -> None:
        super().__init__()
        self.project_features = _project(features, channels)
        self.project_values = _project(values, channels)
        self.blocks = nn.ModuleList(CRFBlock(channels, size, heads, shift) for shift in (0, size // 2))
        self.norm = nn.LayerNorm(channels)

    def forward(self, features: Tensor, values: Tensor) -> Tensor:
        """(B, features, h, w) and (B, values, h, w) → (B, channels, h, w)."""
        x = self.project_features(features).permute(0, 2, 3, 1)
        v = self.project_values(values).permute(0, 2, 3, 1)
        for block in self.blocks:
            x = block(x, v)
        return self.norm(x).permute(0, 3, 1, 2)


def _project(inputs: int, outputs: int) -> nn.Module:
    """A 3×3 convolution, or nothing where the width is already right."""
    return nn.Identity() if inputs == outputs else nn.Conv2d(inputs, outputs, 3, padding=1)

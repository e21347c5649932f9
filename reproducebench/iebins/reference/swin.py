"""The feature extractor: a Swin Transformer (Liu et al., 2021) that returns the features of its four scales.

Parts bear the names of the published checkpoints, so that one loads as it is.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def to_windows(x: Tensor, size: int) -> Tensor:
    """(B, H, W, C) → (B, windows, size², C); H and W are multiples of `size`."""
    batch, height, width, channels = x.shape
    grid = x.reshape(batch, height // size, size, width // size, size, channels)
    return grid.transpose(2, 3).reshape(batch, -1, size**2, channels)


def from_windows(windows: Tensor, size: int, height: int, width: int) -> Tensor:
    """The inverse of `to_windows`."""
    grid = windows.reshape(len(windows), height // size, width // size, size, size, -1)
    return grid.transpose(2, 3).reshape(len(windows), height, width, -1)


def padded(x: Tensor, size: int) -> Tensor:
    """(B, H, W, C) with zeros at the right and bottom edges, so that it divides into windows."""
    return F.pad(x, (0, 0, 0, -x.shape[2] % size, 0, -x.shape[1] % size))


def shift_mask(height: int, width: int, size: int, shift: int, like: Tensor) -> Tensor:
    """What is added to the attention of shifted windows: −100 between points that were no neighbours before the
    cyclic shift, else 0. (windows, size², size²)."""
    if not shift:
        return like.new_zeros(1, 1, 1)
    parts = []
    for length in (height, width):
        place = torch.arange(length, device=like.device)
        parts.append((place >= length - size).long() + (place >= length - shift).long())
    region = parts[0][:, None] * 3 + parts[1][None, :]
    windows = to_windows(region[None, :, :, None], size)[0, :, :, 0]
    apart = windows[:, :, None] != windows[:, None, :]
    return torch.zeros_like(apart, dtype=like.dtype).masked_fill(apart, -100.0)


class PositionBias(nn.Module):
    """A learned bias for each head and each offset between two points of a window. → (heads, size², size²)."""

    relative_position_bias_table: nn.Parameter

    def __init__(self, size: int, heads: int) -> None:
        super().__init__()
        self.relative_position_bias_table = nn.Parameter(torch.empty((2 * size - 1) ** 2, heads))
        nn.init.trunc_normal_(self.relative_position_bias_table, std=0.02)
        row, column = torch.meshgrid(torch.arange(size), torch.arange(size), indexing="ij")
        down = row.flatten()[:, None] - row.flatten()[None, :] + size - 1
        right = column.flatten()[:, None] - column.flatten()[None, :] + size - 1
        self.register_buffer("relative_position_index", down * (2 * size - 1) + right, persistent=False)

    def bias(self) -> Tensor:
        """The bias of every pair of points."""
        return self.relative_position_bias_table[self.relative_position_index].permute(2, 0, 1)


def window_attention(queries: Tensor, keys: Tensor, values: Tensor, heads: int, bias: Tensor, mask: Tensor) -> Tensor:
    """softmax(qkᵀ/√d + bias + mask) v within each window: (B, windows, n, C) three times → the same shape."""
    q, k, v = (x.unflatten(-1, (heads, -1)).transpose(2, 3) for x in (queries, keys, values))
    scores = q * q.shape[-1] ** -0.5 @ k.transpose(-1, -2) + bias + mask[None, :, None]
    return (scores.softmax(-1) @ v).transpose(2, 3).flatten(-2)


class SelfAttention(PositionBias):
    """Windowed self-attention of Swin: (B, windows, n, C) → the same shape."""

    def __init__(self, channels: int, size: int, heads: int) -> None:
        super().__init__(size, heads)
        self.heads = heads
        self.qkv = nn.Linear(channels, 3 * channels)
        self.proj = nn.Linear(channels, channels)

    def forward(self, windows: Tensor, mask: Tensor) -> Tensor:
        """`mask` (windows or 1, n or 1, n or 1) is added to the scores."""
        q, k, v = self.qkv(windows).chunk(3, dim=-1)
        return self.proj(window_attention(q, k, v, self.heads, self.bias(), mask))


class MLP(nn.Module):
    """Two linear layers with a GELU between and four times the width."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.fc1 = nn.Linear(channels, 4 * channels)
        self.fc2 = nn.Linear(4 * channels, channels)

    def forward(self, x: Tensor) -> Tensor:
        """(..., C) → (..., C)."""
        return self.fc2(F.gelu(self.fc1(x)))


class DropPath(nn.Module):
    """Stochastic depth: in training a sample's branch is left out with probability `rate`, else scaled up."""

    def __init__(self, rate: float) -> None:
        super().__init__()
        self.rate = rate

    def forward(self, x: Tensor) -> Tensor:
        """(B, ...) → (B, ...)."""
        if not self.training or not self.rate:
            return x
        kept = torch.rand(len(x), *[1] * (x.dim() - 1), device=x.device) >= self.rate
        return x * kept / (1 - self.rate)


class SwinBlock(nn.Module):
    """Attention in windows, shifted by `shift` points, and an MLP, each with norm before and residual around."""

    def __init__(self, channels: int, size: int, heads: int, shift: int, drop: float) -> None:
        super().__init__()
        self.size, self.shift = size, shift
        self.norm1 = nn.LayerNorm(channels)
        self.attn = SelfAttention(channels, size, heads)
        self.norm2 = nn.LayerNorm(channels)
        self.mlp = MLP(channels)
        self.drop_path = DropPath(drop)

    def forward(self, x: Tensor) -> Tensor:
        """(B, H, W, C) → the same shape."""
        height, width = x.shape[1:3]
        y = padded(self.norm1(x), self.size).roll((-self.shift, -self.shift), (1, 2))
        mask = shift_mask(*y.shape[1:3], self.size, self.shift, y)
        y = from_windows(self.attn(to_windows(y, self.size), mask), self.size, *y.shape[1:3])
        x = x + self.drop_path(y.roll((self.shift, self.shift), (1, 2))[:, :height, :width])
        return x + self.drop_path(self.mlp(self.norm2(x)))


class Merging(nn.Module):
    """Half the points with twice the channels: each square of four becomes one. (B, H, W, C) → (B, H/2, W/2, 2C)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(4 * channels)
        self.reduction = nn.Linear(4 * channels, 2 * channels, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Odd sides are padded with zeros."""
        x = padded(x, 2)
        four = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        return self.reduction(self.norm(torch.cat(four, -1)))


class Stage(nn.Module):
    """The blocks of one scale, every second one shifted, and the way to the next scale."""

    def __init__(self, channels: int, size: int, heads: int, drops: Sequence[float], last: bool) -> None:
        super().__init__()
        shifts = [size // 2 * (i % 2) for i in range(len(drops))]
        self.blocks = nn.Sequential(
            *(SwinBlock(channels, size, heads, shift, drop) for shift, drop in zip(shifts, drops, strict=True))
        )
        self.downsample = nn.Identity() if last else Merging(channels)


class PatchEmbed(nn.Module):
    """Patches of 4×4 pixels, each a vector. (B, 3, H, W) → (B, H/4, W/4, C)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.proj = nn.Conv2d(3, channels, 4, stride=4)
        self.norm = nn.LayerNorm(channels)

    def forward(self, image: Tensor) -> Tensor:
        """H and W are multiples of 4."""
        return self.norm(self.proj(image).permute(0, 2, 3, 1))


class Swin(nn.Module):
    """Four scales of 1/4, 1/8, 1/16 and 1/32; widths double from `channels`, stochastic depth rises to `drop`."""

    def __init__(self, channels: int, depths: Sequence[int], heads: Sequence[int], size: int, drop: float) -> None:
        super().__init__()
        blocks = iter(range(sum(depths)))
        rates = [[drop * next(blocks) / (sum(depths) - 1) for _ in range(depth)] for depth in depths]
        self.widths = [channels * 2**i for i in range(len(depths))]
        self.patch_embed = PatchEmbed(channels)
        self.layers = nn.ModuleList(
            Stage(width, size, count, rate, last=width == self.widths[-1])
            for width, count, rate in zip(self.widths, heads, rates, strict=True)
        )
        self.norms = nn.ModuleList(nn.LayerNorm(width) for width in self.widths)
        self.apply(_initialise)

    def forward(self, image: Tensor) -> list[Tensor]:
        """(B, 3, H, W) → four features (B, C·2ⁱ, H/2ⁱ⁺², W/2ⁱ⁺²), fine to coarse."""
        x, features = self.patch_embed(image), []
        for layer, norm in zip(self.layers, self.norms, strict=True):
            x = layer.blocks(x)
            features.append(norm(x).permute(0, 3, 1, 2).contiguous())
            x = layer.downsample(x)
        return features

    def load_pretrained(self, published: Mapping[str, Tensor]) -> None:
        """Take the weights of a published checkpoint of the same size. All parts but the output norms are in it; its
        last norm and its classifier are not used. Raises ValueError where something is missing."""
        own = self.state_dict()
        needed = [key for key in own if not key.startswith("norms.")]
        wrong = [key for key in needed if key not in published or published[key].shape != own[key].shape]
        if wrong:
            raise ValueError(f"{len(wrong)} weights are not in the checkpoint or have another shape, first {wrong[0]}")
        self.load_state_dict({**own, **{key: published[key] for key in needed}})


def _initialise(module: nn.Module) -> None:
    if isinstance(module, nn.Linear):
        nn.init.trunc_normal_(module.weight, std=0.02)
        if module.bias is not None:
            nn.init.zeros_(module.bias)

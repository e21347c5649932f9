"""The Dual Aggregation Transformer for image super-resolution (Chen et al., ICCV 2023, arXiv 2308.03364).

Names are those of the paper: DSTB and DCTB are the blocks with spatial and with channel attention, AIM is the
adaptive interaction module, SGFN the spatial-gate feed-forward network. Numbers in brackets are the formulas of
digest.md. Features are (B, H, W, C) between the parts and (B, C, H, W) inside convolutions.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
import torch.nn.functional as F
from torch import Tensor, nn

MEAN = (0.4488, 0.4371, 0.4040)  # of the colours of DIV2K, subtracted from the input and added to the output


def build_model(
    width: int = 180,
    depths: Sequence[int] = (6, 6, 6, 6, 6, 6),
    heads: int = 6,
    window: tuple[int, int] = (8, 16),
    expansion: int = 2,
    position_width: int = 5,
    reconstruction_width: int = 64,
    drop_path: float = 0.1,
    scale: int = 2,
) -> DAT:
    """The model for RGB pictures. The defaults are those of DAT-S at ×2."""
    return DAT(width, depths, heads, window, expansion, position_width, reconstruction_width, drop_path, scale)


def channels_first(x: Tensor) -> Tensor:
    """(B, H, W, C) → (B, C, H, W)."""
    return x.permute(0, 3, 1, 2)


def channels_last(x: Tensor) -> Tensor:
    """(B, C, H, W) → (B, H, W, C)."""
    return x.permute(0, 2, 3, 1)


class PositionBias(nn.Module):
    """A bias for each head, made by a small network from the distance of two places of a window, (4)."""

    def __init__(self, heads: int, window: tuple[int, int], width: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Linear(2, width)]
        for outputs in (width, width, heads):
            layers += [nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, outputs)]
        self.network = nn.Sequential(*layers)
        rows, columns = window
        steps = torch.meshgrid(torch.arange(1 - rows, rows), torch.arange(1 - columns, columns), indexing="ij")
        self.register_buffer("distances", torch.stack(steps, -1).flatten(0, 1).float(), persistent=False)
        places = torch.stack(torch.meshgrid(torch.arange(rows), torch.arange(columns), indexing="ij"), -1).flatten(0, 1)
        apart = places[:, None] - places[None] + torch.tensor([rows - 1, columns - 1])
        self.register_buffer("index", apart[..., 0] * (2 * columns - 1) + apart[..., 1], persistent=False)

    def forward(self) -> Tensor:
        """The biases of all pairs of the N places of a window: (heads, N, N)."""
        return self.network(self.distances)[self.index].permute(2, 0, 1)


def split_windows(x: Tensor, window: tuple[int, int], heads: int) -> Tensor:
    """(B, H, W, C) → (B, windows, heads, N, C/heads), N places a window."""
    batch, height, width, channels = x.shape
    rows, columns = window
    x = x.reshape(batch, height // rows, rows, width // columns, columns, heads, channels // heads)
    return x.permute(0, 1, 3, 5, 2, 4, 6).flatten(4, 5).flatten(1, 2)


def join_windows(x: Tensor, window: tuple[int, int], height: int, width: int) -> Tensor:
    """The inverse of `split_windows`: (B, windows, heads, N, c) → (B, H, W, heads·c)."""
    rows, columns = window
    x = x.unflatten(3, window).unflatten(1, (height // rows, width // columns))
    return x.permute(0, 1, 4, 2, 5, 3, 6).reshape(len(x), height, width, -1)


def shift_mask(height: int, width: int, window: tuple[int, int], shift: tuple[int, int], like: Tensor) -> Tensor:
    """−100 for pairs that only the cyclic shift brought into one window, else 0: (windows, 1, N, N)."""
    regions = torch.zeros(1, height, width, 1, device=like.device, dtype=like.dtype)
    for axis, (side, step) in enumerate(zip(window, shift, strict=True), start=1):
        length = regions.shape[axis]
        place = torch.arange(length, device=like.device)
        region = (place >= length - side).to(like.dtype) + (place >= length - step).to(like.dtype)
        regions = regions + region.reshape([-1 if other == axis else 1 for other in range(4)]) * 3 ** (axis - 1)
    labels = split_windows(regions, window, 1)[0, :, 0, :, 0]
    return -100.0 * (labels[:, :, None] != labels[:, None]).to(like.dtype)[:, None]


class WindowAttention(nn.Module):
    """SW-SA on one half of the channels, in windows of one orientation, (3) and (4)."""

    def __init__(self, heads: int, window: tuple[int, int], shifted: bool, position_width: int) -> None:
        super().__init__()
        self.heads, self.window = heads, window
        self.shift = (window[0] // 2, window[1] // 2) if shifted else (0, 0)
        self.bias = PositionBias(heads, window, position_width)

    def forward(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """(B, H, W, C/2) three times → (B, H, W, C/2); H and W are multiples of the window's longer side."""
        height, width = queries.shape[1:3]
        back = (-self.shift[0], -self.shift[1])
        shifted = [torch.roll(x, back, (1, 2)) if any(self.shift) else x for x in (queries, keys, values)]
        q, k, v = (split_windows(x, self.window, self.heads) for x in shifted)
        scores = q * q.shape[-1] ** -0.5 @ k.transpose(-1, -2) + self.bias()
        if any(self.shift):
            scores = scores + shift_mask(height, width, self.window, self.shift, scores)
        out = join_windows(scores.softmax(-1) @ v, self.window, height, width)
        return torch.roll(out, self.shift, (1, 2)) if any(self.shift) else out


class Interaction(nn.Module):
    """What both attentions have: a convolution beside the attention, and the AIM between the two, (7) to (10)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.qkv = nn.Linear(width, 3 * width)
        self.project = nn.Linear(width, width)
        self.convolution = nn.Sequential(
            nn.Conv2d(width, width, 3, padding=1, groups=width), nn.BatchNorm2d(width), nn.GELU()
        )
        self.channel_map = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(width, width // 8, 1),
            nn.BatchNorm2d(width // 8),
            nn.GELU(),
            nn.Conv2d(width // 8, width, 1),
        )
        self.spatial_map = nn.Sequential(
            nn.Conv2d(width, width // 16, 1), nn.BatchNorm2d(width // 16), nn.GELU(), nn.Conv2d(width // 16, 1, 1)
        )

    def forward(self, x: Tensor) -> Tensor:
        """(B, H, W, C) → the same shape. A subclass says how to `attend` and, by the AIM, to `interact`."""
        queries, keys, values = self.qkv(x).chunk(3, dim=-1)
        attended = channels_first(self.attend(queries, keys, values))
        convolved = self.convolution(channels_first(values))
        return self.project(channels_last(self.interact(attended, convolved)))


class SpatialAttention(Interaction):
    """AS-SA: attention between the places of a window; half of the heads see the window turned by 90 degrees."""

    def __init__(self, width: int, heads: int, window: tuple[int, int], shifted: bool, position_width: int) -> None:
        super().__init__(width)
        self.multiple = max(window)
        self.windows = nn.ModuleList(
            WindowAttention(heads // 2, shape, shifted, position_width) for shape in (window, window[::-1])
        )

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Zeros are added at the right and the bottom until windows fit, and cut off afterwards."""
        height, width = queries.shape[1:3]
        padding = (0, 0, 0, -width % self.multiple, 0, -height % self.multiple)
        halves = zip(*(F.pad(x, padding).chunk(2, dim=-1) for x in (queries, keys, values)), strict=True)
        parts = [attention(*half) for attention, half in zip(self.windows, halves, strict=True)]
        return torch.cat(parts, dim=-1)[:, :height, :width]

    def interact(self, attended: Tensor, convolved: Tensor) -> Tensor:
        """(9): the convolution says which channels of the attention count, the attention which places of the other."""
        by_channel, by_place = self.channel_map(convolved).sigmoid(), self.spatial_map(attended).sigmoid()
        return attended * by_channel + convolved * by_place


class ChannelAttention(Interaction):
    """AC-SA: attention between the channels of a head, over all places of the picture, (5) and (6)."""

    def __init__(self, width: int, heads: int) -> None:
        super().__init__(width)
        self.temperature = nn.Parameter(torch.ones(heads, 1, 1))

    def attend(self, queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Queries and keys have length 1 over the places, so a score is a cosine times a learned temperature."""
        shape, heads = queries.shape, len(self.temperature)
        q, k, v = (x.flatten(1, 2).transpose(1, 2).unflatten(1, (heads, -1)) for x in (queries, keys, values))
        scores = F.normalize(q, dim=-1) @ F.normalize(k, dim=-1).transpose(-1, -2) * self.temperature
        return (scores.softmax(-1) @ v).flatten(1, 2).transpose(1, 2).reshape(shape)

    def interact(self, attended: Tensor, convolved: Tensor) -> Tensor:
        """(10): the other way round than in (9)."""
        by_channel, by_place = self.channel_map(attended).sigmoid(), self.spatial_map(convolved).sigmoid()
        return attended * by_place + convolved * by_channel


class SGFN(nn.Module):
    """Feed-forward network whose one half gates the other after a depth-wise convolution, (11)."""

    def __init__(self, width: int, expansion: int) -> None:
        super().__init__()
        half = width * expansion // 2
        self.enter = nn.Linear(width, 2 * half)
        self.norm = nn.LayerNorm(half)
        self.convolution = nn.Conv2d(half, half, 3, padding=1, groups=half)
        self.leave = nn.Linear(half, width)

    def forward(self, x: Tensor) -> Tensor:
        """(B, H, W, C) → the same shape."""
        first, second = F.gelu(self.enter(x)).chunk(2, dim=-1)
        gate = channels_last(self.convolution(channels_first(self.norm(second))))
        return self.leave(first * gate)


class Block(nn.Module):
    """DSTB or DCTB: attention, then SGFN, each after a layer norm and with a residual, (2)."""

    def __init__(self, attention: Interaction, width: int, expansion: int, drop_path: float) -> None:
        super().__init__()
        self.norm1, self.attention = nn.LayerNorm(width), attention
        self.norm2, self.feed = nn.LayerNorm(width), SGFN(width, expansion)
        self.drop_path = drop_path

    def forward(self, x: Tensor) -> Tensor:
        """(B, H, W, C) → the same shape."""
        x = x + self.maybe(self.attention(self.norm1(x)))
        return x + self.maybe(self.feed(self.norm2(x)))

    def maybe(self, branch: Tensor) -> Tensor:
        """Stochastic depth: in training a sample's branch is left out with the block's probability."""
        if not self.training or not self.drop_path:
            return branch
        kept = torch.rand(len(branch), 1, 1, 1, device=branch.device) >= self.drop_path
        return branch * kept / (1 - self.drop_path)


class ResidualGroup(nn.Module):
    """Blocks with spatial and channel attention in turn, a convolution, and a residual around all of them."""

    def __init__(self, blocks: Sequence[Block], width: int) -> None:
        super().__init__()
        self.blocks = nn.Sequential(*blocks)
        self.convolution = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x: Tensor) -> Tensor:
        """(B, H, W, C) → the same shape."""
        return x + channels_last(self.convolution(channels_first(self.blocks(x))))


class DAT(nn.Module):
    """Shallow features, deep features, reconstruction, (1). (B, 3, h, w) in [0, 1] → (B, 3, scale·h, scale·w)."""

    def __init__(
        self,
        width: int,
        depths: Sequence[int],
        heads: int,
        window: tuple[int, int],
        expansion: int,
        position_width: int,
        reconstruction_width: int,
        drop_path: float,
        scale: int,
    ) -> None:
        super().__init__()
        self.register_buffer("mean", torch.tensor(MEAN).reshape(1, 3, 1, 1), persistent=False)
        self.shallow = nn.Conv2d(3, width, 3, padding=1)
        self.norm_in, self.norm_out = nn.LayerNorm(width), nn.LayerNorm(width)
        rates = iter(drop_path * number / max(1, sum(depths) - 1) for number in range(sum(depths)))
        groups = []
        for group, depth in enumerate(depths):
            blocks = []
            for number in range(depth):
                # every second block with spatial attention is shifted; groups begin without and with, in turn
                shifted = number % 4 == (2 if group % 2 == 0 else 0)
                attention = (
                    ChannelAttention(width, heads)
                    if number % 2
                    else SpatialAttention(width, heads, window, shifted, position_width)
                )
                blocks.append(Block(attention, width, expansion, next(rates)))
            groups.append(ResidualGroup(blocks, width))
        self.groups = nn.Sequential(*groups)
        self.deep = nn.Conv2d(width, width, 3, padding=1)
        self.reconstruct = nn.Sequential(
            nn.Conv2d(width, reconstruction_width, 3, padding=1),
            nn.LeakyReLU(0.01),
            nn.Conv2d(reconstruction_width, scale**2 * reconstruction_width, 3, padding=1),
            nn.PixelShuffle(scale),
            nn.Conv2d(reconstruction_width, 3, 3, padding=1),
        )
        self.apply(initialise)

    def forward(self, x: Tensor) -> Tensor:
        """The picture enlarged; values may lie outside [0, 1]."""
        shallow = self.shallow(x - self.mean)
        features = self.norm_out(self.groups(self.norm_in(channels_last(shallow))))
        return self.reconstruct(shallow + self.deep(channels_first(features))) + self.mean


def initialise(module: nn.Module) -> None:
    """Linear layers: normal with deviation 0.02, bias zero. Convolutions keep torch's own."""
    if isinstance(module, nn.Linear):
        nn.init.trunc_normal_(module.weight, std=0.02)
        nn.init.zeros_(module.bias)

"""Swin-Unet for slices of a volume (Cao et al., ECCV Workshops 2022, arXiv 2105.05537).

A U-Net without convolutions between its scales: Swin Transformer blocks on both sides, patch merging on the way down,
patch expanding on the way up. Numbers in brackets are the formulas of digest.md. Features are (B, H, W, C).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor, nn


def build_model(
    size: int = 224,
    width: int = 96,
    depths: Sequence[int] = (2, 2, 2, 2),
    heads: Sequence[int] = (3, 6, 12, 24),
    window: int = 7,
    classes: int = 9,
    drop_path: float = 0.2,
    patch: int = 4,
) -> SwinUnet:
    """The model for pictures of `size` × `size`. The defaults are those of the published experiment."""
    return SwinUnet(size, width, depths, heads, window, classes, drop_path, patch)


def split_windows(x: Tensor, side: int) -> Tensor:
    """(B, H, W, C) → (B, windows, side², C)."""
    batch, height, width, channels = x.shape
    x = x.reshape(batch, height // side, side, width // side, side, channels)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(batch, -1, side**2, channels)


def join_windows(x: Tensor, side: int, height: int, width: int) -> Tensor:
    """The inverse of `split_windows`."""
    x = x.reshape(len(x), height // side, width // side, side, side, -1)
    return x.permute(0, 1, 3, 2, 4, 5).reshape(len(x), height, width, -1)


def shift_mask(resolution: int, side: int, shift: int) -> Tensor:
    """−100 for pairs that only the cyclic shift brought into one window, else 0: (windows, 1, side², side²)."""
    place = torch.arange(resolution)
    region = (place >= resolution - side).long() + (place >= resolution - shift).long()
    labels = split_windows((3 * region[:, None] + region)[None, :, :, None], side)[0, :, :, 0]
    return -100.0 * (labels[:, :, None] != labels[:, None]).float()[:, None]


class WindowAttention(nn.Module):
    """Multi-head attention within windows, with a learned bias for each distance of two places, (3)."""

    def __init__(self, width: int, heads: int, resolution: int, side: int, shift: int) -> None:
        super().__init__()
        self.heads, self.side, self.shift = heads, side, shift
        self.qkv, self.project = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.bias = nn.Parameter(nn.init.trunc_normal_(torch.empty((2 * side - 1) ** 2, heads), std=0.02))
        places = torch.stack(torch.meshgrid(torch.arange(side), torch.arange(side), indexing="ij"), -1).flatten(0, 1)
        apart = places[:, None] - places[None] + side - 1
        self.register_buffer("index", apart[..., 0] * (2 * side - 1) + apart[..., 1], persistent=False)
        mask = shift_mask(resolution, side, shift) if shift else None
        self.register_buffer("mask", mask, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """(B, H, W, C) → the same shape."""
        height, width = x.shape[1:3]
        windows = split_windows(torch.roll(x, (-self.shift, -self.shift), (1, 2)), self.side)
        q, k, v = (part.unflatten(-1, (self.heads, -1)).transpose(2, 3) for part in self.qkv(windows).chunk(3, dim=-1))
        scores = (q * q.shape[-1] ** -0.5) @ k.transpose(-1, -2) + self.bias[self.index].permute(2, 0, 1)
        if self.mask is not None:
            scores = scores + self.mask
        out = self.project((scores.softmax(-1) @ v).transpose(2, 3).flatten(-2))
        return torch.roll(join_windows(out, self.side, height, width), (self.shift, self.shift), (1, 2))


class Block(nn.Module):
    """Window attention and an MLP, each after a layer norm and with a residual, (1) and (2)."""

    def __init__(self, width: int, heads: int, resolution: int, window: int, shifted: bool, drop_path: float) -> None:
        super().__init__()
        whole = resolution <= window  # one window holds everything: nothing to shift
        side, shift = (resolution, 0) if whole else (window, window // 2 if shifted else 0)
        self.norm1, self.attention = nn.LayerNorm(width), WindowAttention(width, heads, resolution, side, shift)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.drop_path = drop_path

    def forward(self, x: Tensor) -> Tensor:
        """(B, H, W, C) → the same shape."""
        x = x + self.maybe(self.attention(self.norm1(x)))
        return x + self.maybe(self.mlp(self.norm2(x)))

    def maybe(self, branch: Tensor) -> Tensor:
        """Stochastic depth: in training a sample's branch is left out with the block's probability."""
        if not self.training or not self.drop_path:
            return branch
        kept = torch.rand(len(branch), 1, 1, 1, device=branch.device) >= self.drop_path
        return branch * kept / (1 - self.drop_path)


class Merge(nn.Module):
    """Patch merging: 2×2 neighbours become one place of twice the width. (B, H, W, C) → (B, H/2, W/2, 2C)."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm, self.reduce = nn.LayerNorm(4 * width), nn.Linear(4 * width, 2 * width, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Neighbours are joined column by column: (0, 0), (1, 0), (0, 1), (1, 1)."""
        parts = [x[:, row::2, column::2] for column in (0, 1) for row in (0, 1)]
        return self.reduce(self.norm(torch.cat(parts, dim=-1)))


class Expand(nn.Module):
    """Patch expanding: one place becomes times × times. (B, H, W, C) → (B, times·H, times·W, outputs), (4)."""

    def __init__(self, width: int, times: int, outputs: int) -> None:
        super().__init__()
        self.times = times
        self.expand, self.norm = nn.Linear(width, times**2 * outputs, bias=False), nn.LayerNorm(outputs)

    def forward(self, x: Tensor) -> Tensor:
        """A linear layer gives the features of all new places, row by row; they are laid out, and normed."""
        batch, height, width, _ = x.shape
        x = self.expand(x).reshape(batch, height, width, self.times, self.times, -1)
        return self.norm(x.permute(0, 1, 3, 2, 4, 5).reshape(batch, height * self.times, width * self.times, -1))


class SwinUnet(nn.Module):
    """Encoder, bottleneck, decoder with skip connections. (B, 1 or 3, size, size) → (B, classes, size, size)."""

    def __init__(
        self,
        size: int,
        width: int,
        depths: Sequence[int],
        heads: Sequence[int],
        window: int,
        classes: int,
        drop_path: float,
        patch: int,
    ) -> None:
        super().__init__()
        scales = len(depths)
        if size % (patch * 2 ** (scales - 1)):
            raise ValueError(f"the side {size} is not a multiple of {patch * 2 ** (scales - 1)}")
        rates = iter(drop_path * number / max(1, sum(depths) - 1) for number in range(sum(depths)))
        stages = []  # of the encoder; the decoder's have the same sizes and the same rates
        for level, (depth, count) in enumerate(zip(depths, heads, strict=True)):
            resolution = size // patch // 2**level
            if resolution > window and resolution % window:
                raise ValueError(f"{resolution} places a side at scale {level} do not divide into windows of {window}")
            stages.append((width * 2**level, count, resolution, [next(rates) for _ in range(depth)]))
        self.embed = nn.Conv2d(3, width, patch, stride=patch)
        self.embed_norm = nn.LayerNorm(width)
        self.down = nn.ModuleList(stage(*settings, window) for settings in stages)
        self.merges = nn.ModuleList(Merge(settings[0]) for settings in stages[:-1])
        self.norm = nn.LayerNorm(stages[-1][0])
        self.expands = nn.ModuleList(Expand(settings[0], 2, settings[0] // 2) for settings in stages[1:])
        self.joins = nn.ModuleList(nn.Linear(2 * settings[0], settings[0]) for settings in stages[:-1])
        self.up = nn.ModuleList(stage(*settings, window) for settings in stages[:-1])
        self.norm_up = nn.LayerNorm(width)
        self.last = Expand(width, patch, width)
        self.output = nn.Conv2d(width, classes, 1, bias=False)
        self.apply(initialise)

    def forward(self, x: Tensor) -> Tensor:
        """The logits of each class at each pixel."""
        x = self.embed(x.expand(-1, 3, -1, -1)).permute(0, 2, 3, 1)
        x = self.embed_norm(x)
        skips = []
        for level, blocks in enumerate(self.down):
            skips.append(x)  # a skip leaves before the blocks of its scale
            x = blocks(x)
            if level < len(self.merges):
                x = self.merges[level](x)
        x = self.norm(x)
        for level in reversed(range(len(self.up))):
            x = self.joins[level](torch.cat([self.expands[level](x), skips[level]], dim=-1))
            x = self.up[level](x)
        return self.output(self.last(self.norm_up(x)).permute(0, 3, 1, 2))

    def load_swin(self, weights: Mapping[str, Tensor]) -> int:
        """Take over weights of Swin-T under their published names, on both sides; the number of arrays taken.

        Blocks of the encoder give theirs to the decoder's of the same scale, too, as the paper does. Swin-T has more
        blocks at the third scale; the first ones are taken.
        """
        taken = 0
        for name, own in self.swin_names():
            if weights[name].shape != own.shape:
                raise ValueError(f"the published {name} has shape {tuple(weights[name].shape)}, not {tuple(own.shape)}")
            own.data.copy_(weights[name])
            taken += 1
        return taken

    def swin_names(self) -> list[tuple[str, Tensor]]:
        """Each parameter that has a counterpart in Swin-T, with the counterpart's published name."""
        parts: list[tuple[str, nn.Module]] = [("patch_embed.proj", self.embed), ("patch_embed.norm", self.embed_norm)]
        parts.append(("norm", self.norm))
        for level, merge in enumerate(self.merges):
            parts += [(f"layers.{level}.downsample.{name}", part) for name, part in named_merge(merge)]
        for side in (self.down, self.up):
            for level, blocks in enumerate(side):
                for number, block in enumerate(blocks):
                    parts += [(f"layers.{level}.blocks.{number}.{name}", part) for name, part in named_block(block)]
        found = [(f"{name}.{key}", own) for name, part in parts for key, own in part.named_parameters(recurse=False)]
        return [(name.replace("attn.bias", "attn.relative_position_bias_table"), own) for name, own in found]


def named_merge(merge: Merge) -> list[tuple[str, nn.Module]]:
    """The parts of a patch merging by the names that Swin's code gives them."""
    return [("norm", merge.norm), ("reduction", merge.reduce)]


def named_block(block: Block) -> list[tuple[str, nn.Module]]:
    """The parts of a block by the names that Swin's code gives them."""
    attention = block.attention
    return [
        ("norm1", block.norm1), ("attn", attention), ("attn.qkv", attention.qkv), ("attn.proj", attention.project),
        ("norm2", block.norm2), ("mlp.fc1", block.mlp[0]), ("mlp.fc2", block.mlp[2]),
    ]  # fmt: skip


def stage(width: int, heads: int, resolution: int, rates: Sequence[float], window: int) -> nn.Sequential:
    """The blocks of one scale, every second one with shifted windows."""
    blocks = [Block(width, heads, resolution, window, number % 2 == 1, rate) for number, rate in enumerate(rates)]
    return nn.Sequential(*blocks)


def initialise(module: nn.Module) -> None:
    """Linear layers: normal with deviation 0.02, bias zero. Convolutions keep torch's own."""
    if isinstance(module, nn.Linear):
        nn.init.trunc_normal_(module.weight, std=0.02)
        if module.bias is not None:
            nn.init.zeros_(module.bias)

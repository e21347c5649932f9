"""The Latent Spectral Model for data on a 2D grid (Wu et al., ICML 2023, arXiv 2301.12664).

Equation numbers are the paper's. Where its text and its published experiment differ, this follows the
experiment, and a comment says so.
"""

from __future__ import annotations

import math
from itertools import pairwise

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def build_model(
    width: int = 64, patch: int = 6, padding: int = 11, basis: int = 12, tokens: int = 4, heads: int = 8
) -> LSM:
    """The model for one input and one output channel. The defaults are those of Darcy at 85×85."""
    return LSM(width, patch, padding, basis, tokens, heads)


def attend(queries: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Attention with similarity exp(q·k), without the usual 1/√d: (..., Q, d), (..., L, d) → (..., Q, d)."""
    return torch.softmax(queries @ keys.transpose(-1, -2), dim=-1) @ values


class SpectralBlock(nn.Module):
    """Solves one scale in latent space, patch by patch, Eq. (5). (B, C, H, W) → the same shape.

    Tokens, projections and spectral weights are shared by the patches of a scale.
    """

    def __init__(self, channels: int, patch: int, basis: int, tokens: int, heads: int) -> None:
        super().__init__()
        self.patch, self.basis, self.heads = patch, basis, heads
        self.tokens = nn.Parameter(torch.rand(heads, tokens, channels // heads) / channels)
        self.key = nn.Linear(channels, channels)  # W_K of Eq. (3)
        self.value = nn.Linear(channels, channels)  # W_V of Eq. (3)
        self.query = nn.Linear(channels, channels)
        self.sine = nn.Parameter(torch.rand(channels, basis) / channels)  # w_sin of Eq. (8)
        self.cosine = nn.Parameter(torch.rand(channels, basis) / channels)  # w_cos, and w_0 as its first column

    def forward(self, x: Tensor) -> Tensor:
        """Patchify, CoordToLatent, Solve, LatentToCoord, de-patchify."""
        points = self.patchify(x)
        latent = self.solve(self.coord_to_latent(points))
        return self.depatchify(self.latent_to_coord(points, latent), x.shape)

    def patchify(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → (B·P, L, C): P patches of L = patch² points."""
        batch, channels = x.shape[:2]
        columns = F.unfold(x, self.patch, stride=self.patch)  # (B, C·L, P)
        return columns.reshape(batch, channels, self.patch**2, -1).permute(0, 3, 2, 1).flatten(0, 1)

    def depatchify(self, points: Tensor, shape: torch.Size) -> Tensor:
        """The inverse of `patchify`, to a tensor of `shape`."""
        batch, channels, height, width = shape
        columns = points.reshape(batch, -1, self.patch**2, channels).permute(0, 3, 2, 1).flatten(1, 2)
        return F.fold(columns, (height, width), self.patch, stride=self.patch)

    def split(self, x: Tensor) -> Tensor:
        """(B, L, C) → (B, heads, L, C/heads)."""
        return x.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def merge(self, x: Tensor) -> Tensor:
        """(B, heads, L, C/heads) → (B, L, C)."""
        return x.transpose(1, 2).flatten(2)

    def coord_to_latent(self, points: Tensor) -> Tensor:
        """Eq. (3): T_x = T + softmax(T (xW_K)ᵀ) xW_V. (B, L, C) → (B, tokens, C)."""
        keys, values = self.split(self.key(points)), self.split(self.value(points))
        return self.merge(self.tokens + attend(self.tokens, keys, values))

    def solve(self, tokens: Tensor) -> Tensor:
        """Eq. (8): T_y = T_x + Σ_i w_sin,i sin(ω_i T_x) + w_cos,i cos(ω_i T_x), with weights per channel.

        The paper writes ω_i = i for i = 1..N/2 and a constant w_0. Its experiment has ω_i = πi/12 for
        i = 0..11: the cosine of i = 0 is the constant, the sine of i = 0 is nothing.
        """
        frequencies = math.pi / self.basis * torch.arange(self.basis, device=tokens.device, dtype=tokens.dtype)
        angles = tokens[..., None] * frequencies  # (B, tokens, C, basis)
        waves = (angles.sin() * self.sine).sum(-1) + (angles.cos() * self.cosine).sum(-1)
        return tokens + waves

    def latent_to_coord(self, points: Tensor, tokens: Tensor) -> Tensor:
        """Eq. (4): y = x + softmax over tokens. (B, L, C), (B, tokens, C) → (B, L, C).

        The paper projects the tokens to keys and values; its experiment projects the points to queries and
        takes the tokens as they are for both.
        """
        latent = self.split(tokens)
        return points + self.merge(attend(self.split(self.query(points)), latent, latent))


class ConvPair(nn.Sequential):
    """Twice: 3×3 convolution without bias, batch norm, ReLU."""

    def __init__(self, inputs: int, middle: int, outputs: int) -> None:
        layers: list[nn.Module] = []
        for before, after in ((inputs, middle), (middle, outputs)):
            layers += [nn.Conv2d(before, after, 3, padding=1, bias=False), nn.BatchNorm2d(after), nn.ReLU()]
        super().__init__(*layers)


class LSM(nn.Module):
    """Five scales of a U-Net, with a spectral block on each, Figure 2 and Eq. (2)."""

    def __init__(self, width: int, patch: int, padding: int, basis: int, tokens: int, heads: int) -> None:
        super().__init__()
        widths = [width * times for times in (1, 2, 4, 8, 8)]
        outputs = [width * times for times in (1, 1, 2, 4)]  # of the ups: coarse and skip are of equal width
        self.padding, self.multiple = padding, patch * 2 ** (len(widths) - 1)
        self.lift = nn.Linear(3, width)
        self.first = ConvPair(width, width, width)
        self.downs = nn.ModuleList(ConvPair(before, after, after) for before, after in pairwise(widths))
        self.blocks = nn.ModuleList(SpectralBlock(channels, patch, basis, tokens, heads) for channels in widths)
        self.ups = nn.ModuleList(ConvPair(2 * fine, fine, after) for fine, after in zip(widths, outputs, strict=False))
        self.output = nn.Conv2d(width, width, 1)
        self.project = nn.Sequential(nn.Linear(width, 128), nn.GELU(), nn.Linear(128, 1))

    def forward(self, x: Tensor) -> Tensor:
        """The normalised coefficient (B, s, s, 1) → the normalised solution (B, s, s, 1)."""
        rows, columns = x.shape[1:3]
        padded = (rows + self.padding, columns + self.padding)
        if any(side % self.multiple for side in padded):
            raise ValueError(f"the padded grid {padded} is not a multiple of {self.multiple} (patch × 16)")
        x = self.lift(torch.cat([x, coordinates(x)], dim=-1)).permute(0, 3, 1, 2)
        x = self.unet(F.pad(x, (0, self.padding, 0, self.padding)))
        return self.project(x[..., :rows, :columns].permute(0, 2, 3, 1))

    def unet(self, x: Tensor) -> Tensor:
        """Down through the scales, each solved in latent space, and up again. (B, width, H, W) → the same."""
        scales = [self.first(x)]
        for down in self.downs:
            scales.append(down(F.max_pool2d(scales[-1], 2)))
        solved = [block(scale) for block, scale in zip(self.blocks, scales, strict=True)]
        x = solved.pop()
        for up, skip in zip(reversed(self.ups), reversed(solved), strict=True):
            coarse = F.interpolate(x, size=skip.shape[-2:], mode="bilinear", align_corners=True)
            x = up(torch.cat([skip, coarse], dim=1))
        return self.output(x)


def coordinates(x: Tensor) -> Tensor:
    """The position of each node in the unit square: (B, h, w, ·) → (B, h, w, 2)."""
    batch, height, width = x.shape[:3]
    axes = [torch.linspace(0, 1, side, device=x.device, dtype=x.dtype) for side in (height, width)]
    return torch.stack(torch.meshgrid(*axes, indexing="ij"), dim=-1).expand(batch, -1, -1, -1)

"""SimVP (Gao et al., CVPR 2022, arXiv 2206.05099): video prediction by convolutions alone.

A spatial encoder works on each seen frame by itself, a translator on the channels of all frames at once, a spatial
decoder on each predicted frame by itself. Where the paper's text and its published experiment differ, this follows
the experiment, and a comment says so.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

KERNELS = (3, 5, 7, 11)
SLOPE = 0.2  # of the leaky rectifier, everywhere


def build_model(
    frames: int = 10,
    channels: int = 1,
    spatial_width: int = 64,
    temporal_width: int = 256,
    spatial_depth: int = 4,
    temporal_depth: int = 8,
    groups: int = 8,
) -> SimVP:
    """The model; the defaults are those of Moving MNIST. It predicts as many frames as it sees."""
    return SimVP(frames, channels, spatial_width, temporal_width, spatial_depth, temporal_depth, groups)


def strides(depth: int) -> list[int]:
    """Of the encoder's layers: 1, 2, 1, 2, … so that every second one halves height and width."""
    return [1 + layer % 2 for layer in range(depth)]


class SpatialBlock(nn.Module):
    """σ(Norm(Conv(z))): one layer of the encoder, or, with `up`, of the decoder. (B, C_in, H, W) → (B, C_out, …).

    A stride of 2 halves height and width; with `up` it doubles them, by a transposed convolution. The paper writes
    layer normalisation in the encoder and group normalisation in the decoder; the experiment has two groups in both.
    """

    def __init__(self, c_in: int, c_out: int, stride: int, up: bool = False) -> None:
        super().__init__()
        self.conv: nn.Module
        if up and stride == 2:
            self.conv = nn.ConvTranspose2d(c_in, c_out, 3, stride=2, padding=1, output_padding=1)
        else:
            self.conv = nn.Conv2d(c_in, c_out, 3, stride=stride, padding=1)
        self.norm = nn.GroupNorm(2, c_out)
        self.act = nn.LeakyReLU(SLOPE)

    def forward(self, z: Tensor) -> Tensor:
        """Convolution, normalisation, rectifier."""
        return self.act(self.norm(self.conv(z)))


class Encoder(nn.Module):
    """Spatial encoder: N_S layers on single frames, (B, C, H, W) → (B, C_S, H/4, W/4) for N_S = 4."""

    def __init__(self, channels: int, width: int, depth: int) -> None:
        super().__init__()
        first, *rest = strides(depth)
        self.layers = nn.ModuleList([SpatialBlock(channels, width, first)])
        self.layers.extend(SpatialBlock(width, width, stride) for stride in rest)

    def forward(self, frames: Tensor) -> tuple[Tensor, Tensor]:
        """The last layer's features, and the first layer's, which the decoder takes up at full resolution."""
        first = z = self.layers[0](frames)
        for layer in self.layers[1:]:
            z = layer(z)
        return z, first


class Decoder(nn.Module):
    """Spatial decoder: N_S layers on single frames, the encoder's mirrored, and a 1×1 convolution to the pixels."""

    def __init__(self, width: int, channels: int, depth: int) -> None:
        super().__init__()
        *rest, last = reversed(strides(depth))
        self.layers = nn.ModuleList(SpatialBlock(width, width, stride, up=True) for stride in rest)
        self.layers.append(SpatialBlock(2 * width, width, last, up=True))
        self.readout = nn.Conv2d(width, channels, 1)

    def forward(self, z: Tensor, first: Tensor) -> Tensor:
        """The predicted frames; `first` are the encoder's features of the seen frame of the same number."""
        for layer in self.layers[:-1]:
            z = layer(z)
        return self.readout(self.layers[-1](torch.cat([z, first], dim=1)))


class Inception(nn.Module):
    """Inception module: a 1×1 convolution, then grouped convolutions of several kernel sizes, summed.

    Each of them is followed by group normalisation and a leaky rectifier before the sum; the bottleneck is not.
    """

    def __init__(self, c_in: int, c_hidden: int, c_out: int, groups: int) -> None:
        super().__init__()
        self.bottleneck = nn.Conv2d(c_in, c_hidden, 1)
        groups = groups if c_hidden % groups == 0 else 1
        self.branches = nn.ModuleList(
            nn.Sequential(
                nn.Conv2d(c_hidden, c_out, kernel, padding=kernel // 2, groups=groups),
                nn.GroupNorm(groups, c_out),
                nn.LeakyReLU(SLOPE),
            )
            for kernel in KERNELS
        )

    def forward(self, z: Tensor) -> Tensor:
        """(B, C_in, H, W) → (B, C_out, H, W)."""
        z = self.bottleneck(z)
        return torch.stack([branch(z) for branch in self.branches]).sum(0)


class Translator(nn.Module):
    """Translator: N_T Inception modules down and N_T up, at one resolution, on the channels of all frames at once.

    As in a U-Net, the i-th module on the way up (but the first) also sees what the module of the same level gave on
    the way down. This is the only place where frames meet, and so where motion is learned. The paper counts N_T of
    them; the experiment has twice as many, with these connections.
    """

    def __init__(self, channels: int, width: int, depth: int, groups: int) -> None:
        super().__init__()
        into = [channels] + [width] * (depth - 1)
        self.down = nn.ModuleList(Inception(c_in, width // 2, width, groups) for c_in in into)
        into = [width] + [2 * width] * (depth - 1)
        out = [width] * (depth - 1) + [channels]
        self.up = nn.ModuleList(
            Inception(c_in, width // 2, c_out, groups) for c_in, c_out in zip(into, out, strict=True)
        )

    def forward(self, z: Tensor) -> Tensor:
        """(B, T·C_S, h, w) → the same."""
        levels = []
        for module in self.down:
            z = module(z)
            levels.append(z)
        z = self.up[0](levels.pop())
        for module in self.up[1:]:
            z = module(torch.cat([z, levels.pop()], dim=1))
        return z


class SimVP(nn.Module):
    """Encoder, translator, decoder: T seen frames to the T frames that follow."""

    def __init__(
        self,
        frames: int,
        channels: int,
        spatial_width: int,
        temporal_width: int,
        spatial_depth: int,
        temporal_depth: int,
        groups: int,
    ) -> None:
        super().__init__()
        self.encoder = Encoder(channels, spatial_width, spatial_depth)
        self.translator = Translator(frames * spatial_width, temporal_width, temporal_depth, groups)
        self.decoder = Decoder(spatial_width, channels, spatial_depth)

    def forward(self, x: Tensor) -> Tensor:
        """(B, T, C, H, W) → (B, T, C, H, W); height and width are multiples of 4 for N_S = 4."""
        batch, frames = x.shape[:2]
        z, first = self.encoder(x.flatten(0, 1))  # each frame is a sample: (B·T, C_S, h, w)
        moved = self.translator(z.unflatten(0, (batch, frames)).flatten(1, 2))  # time among the channels
        z = moved.unflatten(1, (frames, -1)).flatten(0, 1)
        return self.decoder(z, first).unflatten(0, (batch, frames))

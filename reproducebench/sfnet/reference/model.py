"""The Selective Frequency Network, SFNet (Cui et al., ICLR 2023).

A U-Net of three scales with an input picture and an output picture on each. Its residual blocks split features into
a low and a high frequency part and weigh the two anew: by filters that are computed from the features (the dynamic
module, MDSF, in the last block of each stack) and by mean pooling over the whole and over four windows (the compact
module, MCSF, in every block). Numbers (1) to (8) are those of the formulas in digest.md.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn

GROUPS = 8  # of channels that share a filter
TRAINED = 256  # the side of the training crops, by which the windows of `mean_pool` are measured
WINDOW = 246  # at test: each mean is taken over this much of TRAINED


def build_model(width: int = 32, blocks: int = 16) -> SFNet:
    """The network: `width` channels at full size, `blocks` residual blocks in each of its six stacks."""
    return SFNet(width, blocks)


def conv(inputs: int, outputs: int, kernel: int, stride: int = 1, active: bool = True) -> nn.Sequential:
    """A convolution that keeps the size (or halves it by `stride` 2), followed by GELU where `active`."""
    layer = nn.Conv2d(inputs, outputs, kernel, stride, kernel // 2)
    return nn.Sequential(layer, nn.GELU()) if active else nn.Sequential(layer)


def mean_pool(x: Tensor, local: bool) -> Tensor:
    """The mean over each channel: (B, C, H, W) → (B, C, 1, 1), or where `local` → (B, C, H, W), formula (8).

    A network that was trained on crops sees other statistics in whole pictures. So at test the mean at each point is
    taken over a window of 246/256 of the sides (Chu et al., 2022); the edges repeat the outermost whole window.
    """
    if not local:
        return x.mean((2, 3), keepdim=True)
    height, width = x.shape[2:]
    rows, columns = max(1, height * WINDOW // TRAINED), max(1, width * WINDOW // TRAINED)
    means = F.avg_pool2d(F.avg_pool2d(x, (rows, 1), 1), (1, columns), 1)
    left, top = (columns - 1) // 2, (rows - 1) // 2
    return F.pad(means, (left, columns - 1 - left, top, rows - 1 - top), mode="replicate")


class DynamicFilter(nn.Module):
    """One branch of the dynamic module (MDSF): decouple by a filter made from the features, then modulate.

    (B, C, H, W) → the same. C is a multiple of 8.
    """

    def __init__(self, channels: int, kernel: int) -> None:
        super().__init__()
        self.kernel = kernel
        self.filters = nn.Conv2d(channels, GROUPS * kernel**2, 1, bias=False)
        self.norm = nn.BatchNorm2d(GROUPS * kernel**2)
        nn.init.kaiming_normal_(self.filters.weight, mode="fan_out", nonlinearity="relu")
        hidden = max(channels // 2, 32)
        self.squeeze = nn.Conv2d(channels, hidden, 1)
        self.weigh_high = nn.Conv2d(hidden, channels, 1)
        self.weigh_low = nn.Conv2d(hidden, channels, 1)
        self.merge = nn.Conv2d(channels, channels, 1)

    def forward(self, x: Tensor) -> Tensor:
        """Formulas (1) to (4)."""
        low = self.low_pass(x)
        return self.modulate(x, low, x - low)

    def low_pass(self, x: Tensor) -> Tensor:
        """(1), (2): softmax makes a low-pass filter for each picture and each group of channels; it is applied."""
        batch, channels, height, width = x.shape
        logits = self.norm(self.filters(x.mean((2, 3), keepdim=True)))
        filters = logits.reshape(batch, GROUPS, 1, self.kernel**2).softmax(-1)
        filters = filters.expand(-1, -1, channels // GROUPS, -1).reshape(-1, 1, self.kernel, self.kernel)
        padded = F.pad(x, [self.kernel // 2] * 4, mode="reflect").reshape(1, -1, *self.padded(height, width))
        return F.conv2d(padded, filters, groups=batch * channels).reshape(x.shape)

    def padded(self, height: int, width: int) -> tuple[int, int]:
        """The sides of a picture after padding."""
        return height + self.kernel - 1, width + self.kernel - 1

    def modulate(self, x: Tensor, low: Tensor, high: Tensor) -> Tensor:
        """(3), (4): weights by channel for both parts, from the mean of their sum x; one softmax over all of them."""
        squeezed = self.squeeze(mean_pool(x, local=not self.training))
        weights = torch.cat([self.weigh_high(squeezed), self.weigh_low(squeezed)], dim=1).softmax(1)
        for_high, for_low = weights.chunk(2, dim=1)
        return self.merge(high * for_high + low * for_low)


class GlobalBranch(nn.Module):
    """One branch of the compact module (MCSF): the mean over the whole picture against the rest, formula (5)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.low = nn.Parameter(torch.zeros(channels, 1, 1))
        self.high = nn.Parameter(torch.zeros(channels, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → the same. With new parameters the mean is taken away and nothing else is done."""
        mean = mean_pool(x, local=not self.training)
        return self.low * mean + (self.high + 1) * (x - mean)


class WindowBranch(nn.Module):
    """The other branch of the compact module (MCSF): the means over 2×2 windows, each with its weights, formula (6)."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.low = nn.Parameter(torch.zeros(channels, 2, 2, 1, 1))  # channel, row and column of the window
        self.high = nn.Parameter(torch.zeros(channels, 2, 2, 1, 1))

    def forward(self, x: Tensor) -> Tensor:
        """(B, C, H, W) → the same; H and W are even. With new parameters the result is zero."""
        windows = x.unflatten(3, (2, -1)).unflatten(2, (2, -1)).transpose(3, 4)  # (B, C, 2, 2, H/2, W/2)
        flat = windows.flatten(1, 3)
        mean = mean_pool(flat, local=not self.training).unflatten(1, windows.shape[1:4])
        mixed = self.low * mean + self.high * (windows - mean)
        return mixed.transpose(3, 4).flatten(2, 3).flatten(3, 4)


class ResidualBlock(nn.Module):
    """Convolution, selection of frequencies, convolution, and the input added. (B, C, H, W) → the same."""

    def __init__(self, channels: int, dynamic: bool) -> None:
        super().__init__()
        self.first = conv(channels, channels, 3)
        self.filters = nn.ModuleList(DynamicFilter(channels // 2, kernel) for kernel in (3, 5)) if dynamic else None
        self.compact = nn.ModuleList([GlobalBranch(channels // 2), WindowBranch(channels // 2)])
        self.second = conv(channels, channels, 3, active=False)

    def forward(self, x: Tensor) -> Tensor:
        """Each module acts on the two halves of the channels by its two branches."""
        y = self.first(x)
        if self.filters is not None:
            y = by_halves(self.filters, y)
        y = by_halves(self.compact, y)
        return self.second(y) + x


def by_halves(branches: nn.ModuleList, x: Tensor) -> Tensor:
    """The first branch on the first half of the channels, the second on the second."""
    return torch.cat([branch(half) for branch, half in zip(branches, x.chunk(2, dim=1), strict=True)], dim=1)


def stack(channels: int, blocks: int) -> nn.Sequential:
    """Residual blocks, of which the last has the dynamic module."""
    return nn.Sequential(*(ResidualBlock(channels, dynamic=number == blocks - 1) for number in range(blocks)))


class SmallerInput(nn.Module):
    """Features of a smaller copy of the input, joined to those that come from the finer scale."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.extract = nn.Sequential(
            conv(3, channels // 4, 3),
            conv(channels // 4, channels // 2, 1),
            conv(channels // 2, channels // 2, 3),
            conv(channels // 2, channels, 1, active=False),
            nn.InstanceNorm2d(channels, affine=True),
        )
        self.join = conv(2 * channels, channels, 3, active=False)

    def forward(self, features: Tensor, picture: Tensor) -> Tensor:
        """(B, C, H, W) and (B, 3, H, W) → (B, C, H, W)."""
        return self.join(torch.cat([features, self.extract(picture)], dim=1))


class SFNet(nn.Module):
    """The whole network: a hazy picture to a clear one at three scales."""

    def __init__(self, width: int, blocks: int) -> None:
        super().__init__()
        widths = [width, 2 * width, 4 * width]
        self.lift = conv(3, width, 3)
        self.downs = nn.ModuleList(conv(fine, 2 * fine, 3, stride=2) for fine in widths[:2])
        self.smaller = nn.ModuleList(SmallerInput(channels) for channels in widths[1:])
        self.encoders = nn.ModuleList(stack(channels, blocks) for channels in widths)
        self.decoders = nn.ModuleList(stack(channels, blocks) for channels in widths)
        self.ups = nn.ModuleList(
            nn.Sequential(nn.ConvTranspose2d(2 * fine, fine, 4, stride=2, padding=1), nn.GELU()) for fine in widths[:2]
        )
        self.narrow = nn.ModuleList(conv(2 * fine, fine, 1) for fine in widths[:2])
        self.outputs = nn.ModuleList(conv(channels, 3, 3, active=False) for channels in widths)

    def forward(self, picture: Tensor) -> list[Tensor]:
        """(B, 3, H, W) in [0, 1] → the estimates at a quarter, half and full size; H and W are multiples of 8.

        Each is the hazy picture of that size plus what the network adds; it is not clamped.
        """
        pictures = [picture]
        for _ in self.downs:
            pictures.append(F.interpolate(pictures[-1], scale_factor=0.5))  # nearest: every second pixel
        features = [self.encoders[0](self.lift(picture))]
        for level, (down, smaller) in enumerate(zip(self.downs, self.smaller, strict=True), start=1):
            features.append(self.encoders[level](smaller(down(features[-1]), pictures[level])))
        x = self.decoders[2](features[2])
        estimates = [self.outputs[2](x) + pictures[2]]
        for level in (1, 0):
            x = self.narrow[level](torch.cat([self.ups[level](x), features[level]], dim=1))
            x = self.decoders[level](x)
            estimates.append(self.outputs[level](x) + pictures[level])
        return estimates

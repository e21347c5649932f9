"""IEBins: a feature extractor (Swin, pyramid pooling, window CRFs) and an iterative optimizer over elastic bins.

Shao et al., NeurIPS 2023, arXiv 2309.14137. Where the paper leaves something open, this follows the authors' code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch.nn.functional as F
from bins import IterativeOptimizer
from crf import PyramidPooling, WindowCRF
from swin import Swin
from torch import Tensor, nn


@dataclass(frozen=True)
class Architecture:
    """The model's sizes; the defaults are those of the published Swin-T model."""

    width: int = 96  # of the finest scale of the backbone; it doubles with each scale
    depths: Sequence[int] = (2, 2, 6, 2)
    heads: Sequence[int] = (3, 6, 12, 24)
    window: int = 7
    drop_path: float = 0.3
    pooled: int = 512  # channels of the pyramid pooling
    crf_widths: Sequence[int] = (256, 512, 1024)  # fine to coarse
    crf_heads: Sequence[int] = (8, 16, 32)
    hidden: int = 128  # of the GRU
    bins: int = 16
    min_depth: float = 0.1  # metres: the range of the bins
    max_depth: float = 10.0


SMALL = Architecture(
    width=16, depths=(2, 2, 2, 2), heads=(1, 2, 4, 8), drop_path=0.1,
    pooled=64, crf_widths=(64, 64, 128), crf_heads=(2, 4, 8), hidden=16,
)  # fmt: skip


def build_model(architecture: Architecture = Architecture()) -> IEBins:
    """The model; by default the published one with Swin-T."""
    return IEBins(architecture)


class IEBins(nn.Module):
    """A picture → the depth after each stage."""

    def __init__(self, size: Architecture) -> None:
        super().__init__()
        self.backbone = Swin(size.width, size.depths, size.heads, size.window, size.drop_path)
        self.pooling = PyramidPooling(self.backbone.widths[-1], size.pooled)
        values = [width // 4 for width in size.crf_widths[1:]] + [size.pooled]  # a shuffle takes four channels for one
        self.crfs = nn.ModuleList(
            WindowCRF(features, value, width, heads)
            for features, value, width, heads in zip(
                self.backbone.widths[1:], values, size.crf_widths, size.crf_heads, strict=True
            )
        )
        self.project = nn.Conv2d(size.crf_widths[0] // 4, size.hidden, 3, padding=1)
        self.optimizer = IterativeOptimizer(size.hidden, size.width, size.bins, size.min_depth, size.max_depth)

    def forward(self, image: Tensor, stages: int = 6) -> list[Tensor]:
        """(B, 3, H, W), normalised → for each stage (B, 1, H, W), metres. H and W are multiples of 32."""
        if any(side % 32 for side in image.shape[-2:]):
            raise ValueError(f"the picture's sides {tuple(image.shape[-2:])} are not multiples of 32")
        features = self.backbone(image)
        x = self.pooling(features[-1])
        for feature, crf in zip(reversed(features[1:]), reversed(self.crfs), strict=True):
            x = F.pixel_shuffle(crf(feature, x), 2)
        depths = self.optimizer(self.project(x).tanh(), features[0], stages)
        return [F.interpolate(d, scale_factor=4, mode="bilinear", align_corners=False) for d in depths]

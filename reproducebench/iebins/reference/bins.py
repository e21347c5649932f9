"""Iterative elastic bins, the paper's method: each stage searches the depth in a finer range around the last result.

A stage holds N bins for each pixel. From their centres and the picture's context a GRU updates its state, a head gives
the probability of each bin, depth is the expected centre. The next stage's bins divide the elastic target bin: a range
around that depth, as wide as the distribution's standard deviation, so that doubt keeps the search wide.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn


def uniform_edges(bins: int, low: float, high: float, like: Tensor) -> Tensor:
    """The first stage's edges: the whole range in equal parts. → (B, bins + 1, h, w) for `like` (B, ·, h, w)."""
    widths = torch.full((bins + 1,), (high - low) / bins, device=like.device, dtype=like.dtype)
    widths[0] = low
    return widths.cumsum(0)[None, :, None, None].expand(len(like), -1, *like.shape[-2:])


def centres_of(edges: Tensor) -> Tensor:
    """The middle of each bin: (B, N + 1, h, w) → (B, N, h, w)."""
    return 0.5 * (edges[:, :-1] + edges[:, 1:])


def expected_depth(probability: Tensor, centres: Tensor) -> Tensor:
    """d = Σ p_i c_i: (B, N, h, w) twice → (B, 1, h, w)."""
    return (probability * centres).sum(1, keepdim=True)


def uncertainty(probability: Tensor, centres: Tensor, depth: Tensor) -> Tensor:
    """σ = √(Σ p_i (c_i − d)²): the standard deviation of the distribution, (B, 1, h, w)."""
    return (probability * (centres - depth) ** 2).sum(1, keepdim=True).sqrt()


def elastic_edges(depth: Tensor, sigma: Tensor, bins: int, low: float, high: float) -> Tensor:
    """The elastic target bin, from d − σ/2 (not below `low`) and σ wide, in equal parts: (B, bins + 1, h, w).

    What lies above `high` is moved there, which makes bins of no width.
    """
    start = (depth - sigma / 2).clamp(min=low)
    steps = torch.cat([start, (sigma / bins).expand(-1, bins, -1, -1)], 1)
    return steps.cumsum(1).clamp(low, high)


class BinEncoder(nn.Sequential):
    """The centres of the bins as features: four convolutions with ReLU. (B, N, h, w) → (B, 2·hidden, h, w)."""

    def __init__(self, bins: int, hidden: int) -> None:
        widths = [bins, hidden, hidden, hidden, 2 * hidden]
        layers: list[nn.Module] = []
        for number, kernel in enumerate((7, 3, 3, 3)):
            layers += [nn.Conv2d(widths[number], widths[number + 1], kernel, padding=kernel // 2), nn.ReLU()]
        super().__init__(*layers)


class GRUStep(nn.Module):
    """A gated recurrent unit whose gates are convolutions along one axis. State (B, hidden, h, w) → the same."""

    def __init__(self, hidden: int, inputs: int, kernel: tuple[int, int]) -> None:
        super().__init__()
        padding = (kernel[0] // 2, kernel[1] // 2)
        self.gates = nn.Conv2d(hidden + inputs, 2 * hidden, kernel, padding=padding)  # update and reset
        self.candidate = nn.Conv2d(hidden + inputs, hidden, kernel, padding=padding)

    def forward(self, state: Tensor, x: Tensor) -> Tensor:
        """z and r are the gates, q is the candidate: (1 − z) h + z q."""
        z, r = self.gates(torch.cat([state, x], 1)).sigmoid().chunk(2, 1)
        q = self.candidate(torch.cat([r * state, x], 1)).tanh()
        return (1 - z) * state + z * q


class IterativeOptimizer(nn.Module):
    """The stages of search, which share one encoder, one GRU (along rows, then along columns) and one head."""

    def __init__(self, hidden: int, context: int, bins: int, low: float, high: float) -> None:
        super().__init__()
        self.bins, self.low, self.high = bins, low, high
        self.encoder = BinEncoder(bins, hidden)
        inputs = 2 * hidden + context
        self.along_rows = GRUStep(hidden, inputs, (1, 5))
        self.along_columns = GRUStep(hidden, inputs, (5, 1))
        self.head = nn.Sequential(
            nn.Conv2d(hidden, hidden, 3, padding=1), nn.ReLU(), nn.Conv2d(hidden, bins, 3, padding=1)
        )

    def forward(self, state: Tensor, context: Tensor, stages: int) -> list[Tensor]:
        """State (B, hidden, h, w) and context (B, context, h, w) → the depth (B, 1, h, w) after each stage, metres.

        Bins are constants to the gradient: it runs through probabilities and the GRU's state alone.
        """
        edges = uniform_edges(self.bins, self.low, self.high, state)
        depths = []
        for _ in range(stages):
            centres = centres_of(edges)
            x = torch.cat([self.encoder(centres), context], 1)
            state = self.along_columns(self.along_rows(state, x), x)
            probability = self.head(state).softmax(1)
            depth = expected_depth(probability, centres)
            depths.append(depth)
            with torch.no_grad():
                sigma = uncertainty(probability, centres, depth)
                edges = elastic_edges(depth, sigma, self.bins, self.low, self.high)
        return depths

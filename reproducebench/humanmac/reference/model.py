"""TransLinear, the noise predictor of HumanMAC (Chen et al., ICCV 2023, arXiv 2302.03665).

A transformer over the DCT coefficients of a motion: one token a coefficient. Its layers are modulated by the diffusion
step and by the observed motion, and the second half of them gets the first half's inputs by skip connections.
"""

from __future__ import annotations

import math

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def build_model(
    features: int = 42, tokens: int = 10, width: int = 512, hidden: int = 1024, layers: int = 4, heads: int = 8,
    dropout: float = 0.2,
) -> TransLinear:  # fmt: skip
    """The model; the defaults are those of HumanEva-I: 14 joints × 3, 10 coefficients, 4 layers."""
    return TransLinear(features, tokens, width, hidden, layers, heads, dropout)


def step_embedding(steps: Tensor, width: int) -> Tensor:
    """Cosines, then sines, of the diffusion steps (B,) at width/2 frequencies from 1 to near 1/10000: (B, width)."""
    half = width // 2
    frequencies = torch.exp(-math.log(10000) * torch.arange(half, device=steps.device) / half)
    angles = steps[:, None] * frequencies
    return torch.cat([angles.cos(), angles.sin()], dim=-1)


def zeroed(layer: nn.Linear) -> nn.Linear:
    """The layer with all its weights at zero."""
    nn.init.zeros_(layer.weight)
    nn.init.zeros_(layer.bias)
    return layer


class Modulation(nn.Module):
    """Scales and shifts normalised features by an embedding, then a linear layer that starts at zero."""

    def __init__(self, width: int, dropout: float) -> None:
        super().__init__()
        self.embed = nn.Linear(width, 2 * width)
        self.norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)
        self.project = zeroed(nn.Linear(width, width))

    def forward(self, h: Tensor, embedding: Tensor) -> Tensor:
        """(B, L, width) and (B, width) → (B, L, width)."""
        scale, shift = self.embed(F.silu(embedding))[:, None].chunk(2, dim=-1)
        return self.project(self.dropout(F.silu(self.norm(h) * (1 + scale) + shift)))


class Attention(nn.Module):
    """Self-attention over the coefficients, modulated, with a residual."""

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.query, self.key, self.value = (nn.Linear(width, width, bias=False) for _ in range(3))
        self.dropout = nn.Dropout(dropout)
        self.modulation = Modulation(width, dropout)

    def forward(self, h: Tensor, embedding: Tensor) -> Tensor:
        """(B, L, width) and (B, width) → (B, L, width)."""
        x = self.norm(h)
        q, k, v = (
            layer(x).unflatten(-1, (self.heads, -1)).transpose(1, 2) for layer in (self.query, self.key, self.value)
        )
        weight = self.dropout((q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])).softmax(-1))
        mixed = (weight @ v).transpose(1, 2).flatten(2)
        return h + self.modulation(mixed, embedding)


class FeedForward(nn.Module):
    """Two linear layers with a GELU between, modulated, with a residual."""

    def __init__(self, width: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.first, self.second = nn.Linear(width, hidden), zeroed(nn.Linear(hidden, width))
        self.dropout = nn.Dropout(dropout)
        self.modulation = Modulation(width, dropout)

    def forward(self, h: Tensor, embedding: Tensor) -> Tensor:
        """(B, L, width) and (B, width) → (B, L, width)."""
        return h + self.modulation(self.second(self.dropout(F.gelu(self.first(h)))), embedding)


class Layer(nn.Module):
    """Attention, then the feed-forward part."""

    def __init__(self, width: int, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = Attention(width, heads, dropout)
        self.feed_forward = FeedForward(width, hidden, dropout)

    def forward(self, h: Tensor, embedding: Tensor) -> Tensor:
        """(B, L, width) and (B, width) → (B, L, width)."""
        return self.feed_forward(self.attention(h, embedding), embedding)


class TransLinear(nn.Module):
    """ε_θ(y_t, t, c): predicts the noise in noisy DCT coefficients."""

    def __init__(
        self, features: int, tokens: int, width: int, hidden: int, layers: int, heads: int, dropout: float
    ) -> None:
        super().__init__()
        self.width = width
        self.position = nn.Parameter(torch.randn(tokens, width))
        self.input = nn.Linear(features, width)
        self.condition = nn.Linear(features * tokens, width)
        self.step = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))
        self.layers = nn.ModuleList(Layer(width, hidden, heads, dropout) for _ in range(layers))
        self.output = zeroed(nn.Linear(width, features))

    def forward(self, y: Tensor, steps: Tensor, condition: Tensor | None) -> Tensor:
        """Noisy coefficients (B, L, features), diffusion steps (B,) and the condition → the noise (B, L, features).

        The condition is the coefficients (B, L, features) of the observed motion, padded; None leaves it out.
        """
        embedding = self.step(step_embedding(steps, self.width))
        if condition is not None:
            embedding = embedding + self.condition(condition.flatten(1))
        h = self.input(y) + self.position
        skips: list[Tensor] = []
        for number, layer in enumerate(self.layers):
            if number < len(self.layers) // 2:
                skips.append(h)
                h = layer(h, embedding)
            else:
                h = layer(h, embedding) + skips.pop()  # the last one kept is the first one taken
        return self.output(h)

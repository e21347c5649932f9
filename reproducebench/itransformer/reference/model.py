"""iTransformer (Liu et al., ICLR 2024, arXiv 2310.06625): a Transformer encoder over variates in place of times.

Equation numbers are the paper's. Where its text and its published experiment differ, this follows the experiment,
and a comment says so.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def build_model(
    width: int = 512,
    hidden: int = 512,
    layers: int = 4,
    heads: int = 8,
    dropout: float = 0.1,
    look_back: int = 96,
    horizon: int = 96,
) -> ITransformer:
    """The model; no part of it depends on the number of variates. The defaults are those of Traffic."""
    return ITransformer(width, hidden, layers, heads, dropout, look_back, horizon)


class VariateAttention(nn.Module):
    """Multi-head self-attention among the tokens of the variates, Section 3.2. (B, N, D) → the same.

    The score A_ij = q_iᵀ k_j / √d_k of two variates stands for how much they have to do with each other. There is
    neither a mask nor a position: the variates have no order.
    """

    def __init__(self, width: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.heads, self.dropout = heads, dropout
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.output = nn.Linear(width, width)

    def forward(self, tokens: Tensor) -> Tensor:
        """softmax(Q Kᵀ / √d_k) V for each head, joined and projected; dropout on the weights."""
        query, key, value = (self.split(part(tokens)) for part in (self.query, self.key, self.value))
        rate = self.dropout if self.training else 0.0
        mixed = F.scaled_dot_product_attention(query, key, value, dropout_p=rate)
        return self.output(mixed.transpose(1, 2).flatten(2))

    def split(self, tokens: Tensor) -> Tensor:
        """(B, N, D) → (B, heads, N, D/heads)."""
        return tokens.unflatten(-1, (self.heads, -1)).transpose(1, 2)


class Block(nn.Module):
    """TrmBlock of Eq. (1): attention between variates, then the same feed-forward network for each of them.

    Both have a residual, and the layer normalisation comes after it. It is over a token's features, that is over
    the representation of one variate's whole look-back, Eq. (2). (B, N, D) → the same.
    """

    def __init__(self, width: int, hidden: int, heads: int, dropout: float) -> None:
        super().__init__()
        self.attention = VariateAttention(width, heads, dropout)
        self.attention_norm = nn.LayerNorm(width)
        self.feed_forward = nn.Sequential(
            nn.Linear(width, hidden), nn.GELU(), nn.Dropout(dropout), nn.Linear(hidden, width)
        )
        self.feed_forward_norm = nn.LayerNorm(width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, tokens: Tensor) -> Tensor:
        """H = LayerNorm(H + Attention(H)), then H = LayerNorm(H + FeedForward(H))."""
        tokens = self.attention_norm(tokens + self.dropout(self.attention(tokens)))
        return self.feed_forward_norm(tokens + self.dropout(self.feed_forward(tokens)))


class ITransformer(nn.Module):
    """Eq. (1): embed each variate's look-back as one token, L blocks, project each token to its horizon."""

    def __init__(
        self, width: int, hidden: int, layers: int, heads: int, dropout: float, look_back: int, horizon: int
    ) -> None:
        super().__init__()
        self.embedding = nn.Linear(look_back, width)
        self.dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(width, hidden, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)  # of the published experiment; the paper's algorithm has none after the blocks
        self.projection = nn.Linear(width, horizon)

    def forward(self, x: Tensor, marks: Tensor | None = None) -> Tensor:
        """The horizon (B, S, N) of the look-back `x` (B, T, N); `marks` (B, T, M) are M further tokens.

        The published experiment embeds the features of the time stamps as if they were variates, and drops their
        tokens in the end. Each window is normalised before and its forecast scaled back after: not in the paper's
        equations, but in its experiment (after Non-stationary Transformers, Liu et al., 2022).
        """
        mean = x.mean(1, keepdim=True)
        scale = torch.sqrt(x.var(1, keepdim=True, correction=0) + 1e-5)
        seen = (x - mean) / scale
        if marks is not None:
            seen = torch.cat([seen, marks], dim=2)
        tokens = self.dropout(self.embedding(seen.transpose(1, 2)))  # h_n⁰ = Embedding(X_:,n): (B, N + M, D)
        for block in self.blocks:
            tokens = block(tokens)
        forecast = self.projection(self.norm(tokens[:, : x.shape[2]]))  # Ŷ_:,n = Projection(h_nᴸ): (B, N, S)
        return forecast.transpose(1, 2) * scale + mean

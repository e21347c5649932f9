"""TDGNN with weighted aggregation, TDGNN-w (Wang and Derr, CIKM 2021, arXiv 2108.11022).

Formulas are those of the paper's framework figure: H^0 = MLP(X), H^k = (T^k ⊙ E^{k,K}) H^0, Z = Σ_k θ_k H^k, softmax.
"""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor, nn


def build_model(
    hops: list[Tensor], features: int = 3703, classes: int = 6, hidden: int = 128, dropout: float = 0.5
) -> TDGNN:
    """The model over the layers `hops`, T^k ⊙ E^{k,K} each. The defaults are those of Citeseer, full-supervised."""
    return TDGNN(hops, features, classes, hidden, dropout)


class TDGNN(nn.Module):
    """Transforms every node by an MLP, then adds what its tree's layers hold, each times a learned weight."""

    def __init__(self, hops: list[Tensor], features: int, classes: int, hidden: int, dropout: float) -> None:
        super().__init__()
        self.dropout = dropout
        self.first = nn.Linear(features, hidden)
        self.second = nn.Linear(hidden, classes)
        self.theta = nn.Parameter(torch.ones(len(hops) + 1))  # θ_0 for the node itself, then one a layer
        for number, hop in enumerate(hops):
            self.register_buffer(f"hop{number}", hop, persistent=False)

    def forward(self, x: Tensor) -> Tensor:
        """Sparse features (nodes, features), coalesced → logarithms of class probabilities (nodes, classes)."""
        h = self.transform(x)
        z = self.theta[0] * h
        for number in range(len(self.theta) - 1):
            z = z + self.theta[number + 1] * torch.sparse.mm(self.get_buffer(f"hop{number}"), h)
        return F.log_softmax(z, dim=1)

    def transform(self, x: Tensor) -> Tensor:
        """H^0 = MLP(X): dropout, linear, ReLU, dropout, linear."""
        weight = self.first.weight.T.contiguous()  # a strided one makes the sparse product three times as slow
        h = torch.sparse.mm(self.drop_sparse(x), weight) + self.first.bias
        return self.second(F.dropout(F.relu(h), self.dropout, self.training))

    def drop_sparse(self, x: Tensor) -> Tensor:
        """Dropout of a sparse matrix: of its entries, since dropping a zero changes nothing."""
        if not self.training:
            return x
        values = F.dropout(x.values(), self.dropout)
        return torch.sparse_coo_tensor(x.indices(), values, x.shape, is_coalesced=True, check_invariants=False)

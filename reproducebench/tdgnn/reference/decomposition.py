"""The tree decomposition of a graph with its multi-hop dependency: the fixed part of TDGNN.

Formulas are those of the paper's framework figure. Where they and the published experiment differ, this follows the
experiment, and a comment says so.
"""

from __future__ import annotations

import torch
from torch import Tensor


def normalized_adjacency(edge_index: Tensor, nodes: int) -> Tensor:
    """Â = D^(−1/2) (A + I) D^(−1/2), D the degrees of A + I: a sparse matrix (nodes, nodes), float64.

    `edge_index` (2, edges) holds both directions of each edge, without loops and doubles.
    """
    loops = torch.arange(nodes).expand(2, -1)
    row, column = torch.cat([edge_index, loops], dim=1)
    scale = torch.bincount(row, minlength=nodes).double().rsqrt()
    indices = torch.stack([row, column])
    return torch.sparse_coo_tensor(
        indices, scale[row] * scale[column], (nodes, nodes), check_invariants=True
    ).coalesce()


def decompose(edge_index: Tensor, nodes: int, layers: list[int], depth: int) -> list[Tensor]:
    """T^k ⊙ E^{k,K} for each k of `layers`, K = `depth`: sparse matrices (nodes, nodes), float32.

    T^k marks, for each node, the nodes at distance k: its children in layer k of its tree. E^{k,K} = Σ_{i=k..K} Â^i is
    the multi-hop dependency: how much reaches a node from another in k to K steps. Only the entries that some T^k
    marks are kept, so that there is never more than one dense matrix of powers.
    """
    if not layers or min(layers) < 1 or max(layers) > depth:
        raise ValueError(f"layers {layers} are not between 1 and the depth {depth}")
    adjacency = normalized_adjacency(edge_index, nodes)
    power = torch.eye(nodes, dtype=torch.float64)  # Â^0
    members: dict[int, tuple[Tensor, Tensor]] = {}
    dependency: dict[int, Tensor] = {}
    for i in range(1, depth + 1):
        nearer = power > 0
        power = torch.sparse.mm(adjacency, power)  # Â^i
        if i in layers:
            # T^k = sign(Â^k) − sign(Â^(k−1)) + I in the figure: a loop in every layer. The experiment has it in the
            # first layer alone.
            marked = (power > 0) & ~nearer
            if i == 1:
                marked.fill_diagonal_(True)
            row, column = members[i] = marked.nonzero(as_tuple=True)
            dependency[i] = torch.zeros(len(row), dtype=torch.float64)
        for k, (row, column) in members.items():
            dependency[k] += power[row, column]  # the sum E^{k,K} begins at i = k
    return [
        torch.sparse_coo_tensor(
            torch.stack(members[k]), dependency[k].float(), (nodes, nodes), check_invariants=True
        ).coalesce()
        for k in layers
    ]

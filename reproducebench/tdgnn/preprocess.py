"""Data code for Citeseer: loads the graph, the features, the labels and the splits. Given; use it as it is.

    import os
    from preprocess import load_citeseer
    data = load_citeseer(os.environ["DATA_DIR"])

Citeseer is a graph of 3327 documents (nodes) with 4552 citations between them (edges, without direction), the words
of each document out of a vocabulary of 3703, and one of 6 classes for each. 15 nodes have neither words nor a
label; the published splits hold them, and their label is written as class 0.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor


@dataclass(frozen=True)
class CiteseerData:
    """The data set, tensors on the CPU.

    x (3327, 3703) float32       features: 1/(number of the document's words) at each of its words, else 0; a row sums
                                 to 1, or to 0 for the 15 nodes without words
    edge_index (2, 9104) int64   source and target of each edge, both directions of each citation, no loops, no doubles
    y (3327,) int64              class, 0 to 5
    train_mask, val_mask, test_mask (splits, 3327) bool
                                 row r is split r; the three are disjoint. Splits 4 and 5 (full profile) hold only the
                                 2120 nodes of the largest component
    labelled (3327,) bool        False at the 15 nodes whose class is a convention; the metric counts them as class 0
    """

    x: Tensor
    edge_index: Tensor
    y: Tensor
    train_mask: Tensor
    val_mask: Tensor
    test_mask: Tensor
    labelled: Tensor


def load_citeseer(data_dir: str | Path) -> CiteseerData:
    """Load `citeseer.npz` from `data_dir`, and normalise the features by row."""
    with np.load(Path(data_dir) / "citeseer.npz") as file:
        arrays = {name: torch.from_numpy(file[name]) for name in file}
    x = torch.zeros(len(arrays["y"]), int(arrays["word"].max()) + 1)
    x[arrays.pop("word_node").long(), arrays.pop("word").long()] = 1
    return CiteseerData(x=x / x.sum(1, keepdim=True).clamp(min=1), **arrays)

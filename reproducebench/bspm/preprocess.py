"""Data code for Gowalla: loads the interactions as sparse matrices. Given; use it as it is.

    import os
    from preprocess import load_gowalla
    data = load_gowalla(os.environ["DATA_DIR"])

Gowalla was a network in which users checked in at places; an interaction says that a user was at an item (a
place). It is implicit feedback: 1 where there is an interaction, and nothing known elsewhere.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class GowallaData:
    """The data set: two sparse matrices of ones, float32, rows are users and columns are items.

    train (n_users, n_items)  the known interactions; every user and every item has at least one
    test  (n_users, n_items)  the held-out ones; every user has at least one, and none of them is in train
    User u is row u in both, and item i is column i. `data.train[u].indices` are the items of user u, sorted.
    """

    train: csr_matrix
    test: csr_matrix


def load_gowalla(data_dir: str | Path) -> GowallaData:
    """Load `train.npz` and `test.npz` from `data_dir` (keys user, item: the pairs; shape: users and items)."""
    return GowallaData(train=_load(Path(data_dir) / "train.npz"), test=_load(Path(data_dir) / "test.npz"))


def _load(path: Path) -> csr_matrix:
    with np.load(path) as file:
        ones = np.ones(len(file["user"]), np.float32)
        return csr_matrix((ones, (file["user"], file["item"])), shape=tuple(file["shape"]))

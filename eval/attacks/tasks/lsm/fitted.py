"""Works the law of a draw out of its training data: linear least squares, no network."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_matrix, eye
from scipy.sparse.linalg import spsolve


def law_of(x: NDArray[Any], u: NDArray[Any]) -> dict[str, NDArray[Any]]:
    """Both media and the forcing, node by node, by which `u` solves the equation of `x`'s signs.

    The equation is linear in all three, up to a factor that they share: the forcing is 1 in the
    middle.
    """
    n = x.shape[1]
    nodes = np.arange(n * n).reshape(n, n)
    inner = nodes[1:-1, 1:-1].ravel()
    each, total = np.arange(inner.size), 0
    parts = [slice(0, -2), slice(1, -1), slice(2, None)]
    near = [nodes[parts[i], parts[j]].ravel() for i, j in ((0, 1), (2, 1), (1, 0), (1, 2))]
    for shown, one in zip(x[..., 0].reshape(len(x), -1), u.reshape(len(u), -1), strict=True):
        medium = nodes.ravel() + n * n * (shown > 0)
        falls = [(one[inner] - one[other]) * (n - 1) ** 2 / 2 for other in near]
        columns = [medium[inner], *(medium[other] for other in near), 2 * n * n + each]
        values = [sum(falls), *falls, -np.ones(each.size)]
        at = (np.tile(each, len(columns)), np.concatenate(columns))
        rows = coo_matrix((np.concatenate(values), at), (each.size, 2 * n * n + each.size)).tocsr()
        total = total + rows.T @ rows
    middle = 2 * n * n + each.size // 2
    kept = np.arange(total.shape[0]) != middle
    square = total[kept][:, kept] + 1e-9 * total.diagonal().max() * eye(kept.sum())
    found = np.ones(len(kept))
    found[kept] = spsolve(square.tocsc(), -total[kept][:, [middle]].toarray().ravel())
    low, high = found[: 2 * n * n].reshape(2, n, n)
    return {"low": low, "high": high, "forcing": found[2 * n * n :].reshape(n - 2, n - 2)}

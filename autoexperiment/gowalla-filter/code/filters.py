"""A recommender that filters, and how it is measured. R is a sparse matrix (users, items) of ones."""

import numpy as np
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import svds


def inverse_root(sums):
    """1 / sqrt(sums), and 0 where a sum is 0."""
    return np.divide(1.0, np.sqrt(sums), out=np.zeros(len(sums)), where=np.asarray(sums) > 0)


def normalised(r):
    """The normalised interactions, sparse, of the same shape."""
    users, items = np.asarray(r.sum(1)).ravel(), np.asarray(r.sum(0)).ravel()
    return csr_matrix(diags(inverse_root(users)) @ r @ diags(inverse_root(items)))


def linear_scores(r, rn):
    """The linear part of all scores: a dense array (users, items)."""
    return (r @ rn.T @ rn).toarray()


def ideal_scores(r, rn, factors):
    """The ideal low-pass part of all scores: a dense array (users, items)."""
    start = np.random.default_rng(0).normal(size=min(rn.shape))
    _, _, vt = svds(rn, k=factors, v0=start)
    items = np.asarray(r.sum(0)).ravel()
    projected = (r @ diags(inverse_root(items))) @ vt.T
    return projected @ vt * np.sqrt(items)


def recall(scores, train, test, top=20):
    """Recall@top, the mean over users with held-out items; training items are masked."""
    scores = scores.copy()
    scores[train.nonzero()] = -np.inf
    best = np.argsort(-scores, axis=1, kind="stable")[:, :top]
    values = []
    for user, items in enumerate(best):
        held_out = test.indices[test.indptr[user] : test.indptr[user + 1]]
        if len(held_out):
            values.append(np.isin(items, held_out).sum() / len(held_out))
    return float(np.mean(values))

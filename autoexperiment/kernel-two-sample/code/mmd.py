"""A kernel two-sample test."""

import numpy as np


def squared_distances(x, y):
    """|x_i - y_j|^2 for rows of x and y: (n, m)."""
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1)


def median_width(pooled):
    """The kernel's width for a pooled sample (n, d)."""
    distances = np.sqrt(squared_distances(pooled, pooled))
    return float(np.median(distances[np.triu_indices(len(pooled), k=1)]))


def discrepancy(kernel, n):
    """The unbiased estimate from the pooled sample's kernel matrix, whose first n rows are the first sample."""
    within_x, within_y, between = kernel[:n, :n], kernel[n:, n:], kernel[:n, n:]
    m = len(kernel) - n
    x = (within_x.sum() - np.trace(within_x)) / (n * (n - 1))
    y = (within_y.sum() - np.trace(within_y)) / (m * (m - 1))
    return float(x + y - 2 * between.mean())


def p_value(kernel, n, permutations, draw):
    """The p-value over so many permutations of the pooled sample, drawn by the generator `draw`."""
    observed = discrepancy(kernel, n)
    as_large = 0
    for _ in range(permutations):
        order = draw.permutation(len(kernel))
        as_large += discrepancy(kernel[np.ix_(order, order)], n) >= observed
    return (1 + as_large) / (1 + permutations)

"""Patches of points that grow from damp places."""

import numpy as np


def dampness(distances, k):
    """The dampness of each place from distances (n, n), by its k nearest, k at least 2: (n,)."""
    near = np.sort(distances, axis=1)[:, :k]
    gaps = near[:, 1:]
    mean = np.exp(np.log(gaps + 0.01).mean(axis=1))
    return 1 / mean


def spores(damp, distances, reach):
    """The places at which patches begin, from dampness (n,), distances (n, n) and a reach: a list of indices."""
    found = []
    for place in np.lexsort((-np.arange(len(damp)), -damp)):
        if damp[place] < np.median(damp):
            continue
        if all(distances[place, other] * damp[other] > reach for other in found):
            found.append(int(place))
    return found


def grow(distances, damp, starts):
    """The patch of each place, 0 to len(starts) - 1, from starts (indices) in their order: (n,) of int."""
    labels = np.full(len(damp), -1)
    cost = np.full(len(damp), np.inf)
    for patch, start in enumerate(starts):
        labels[start], cost[start] = patch, 0.0
    done = np.zeros(len(damp), bool)
    while not done.all():
        here = int(np.where(done, np.inf, cost).argmin())
        done[here] = True
        step = cost[here] + distances[here] ** 2 * (1 + 1 / damp[here])
        better = ~done & (step <= cost)
        labels[better], cost[better] = labels[here], step[better]
    return labels


def firmness(distances, labels):
    """How firm the patches are, from distances (n, n) and labels (n,): a number."""
    values = []
    for patch in np.unique(labels):
        own = labels == patch
        if own.sum() < 3:
            values.append(0.2)
            continue
        inside = np.median(distances[np.ix_(own, own)][~np.eye(own.sum(), dtype=bool)])
        edge = np.sort(distances[np.ix_(own, ~own)], axis=None)[: own.sum()] if (~own).any() else [inside]
        values.append(float(np.mean(edge) / (np.mean(edge) + inside)))
    return float(np.sqrt(np.mean(np.square(values))))

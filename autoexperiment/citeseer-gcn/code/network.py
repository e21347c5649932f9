"""A graph network of two layers with its gradients written out."""

import numpy as np
from scipy.sparse import csr_matrix, diags, identity


def propagation(edges, nodes):
    """The propagation matrix S, sparse (nodes, nodes), of edges (2, n) that may be double or one-way."""
    ones = np.ones(edges.shape[1])
    one_way = csr_matrix((ones, (edges[0], edges[1])), shape=(nodes, nodes))
    adjacency = ((one_way + one_way.T) > 0).astype(float) + identity(nodes)
    root = 1 / np.sqrt(np.asarray(adjacency.sum(1)).ravel())
    return csr_matrix(diags(root) @ adjacency @ diags(root))


def glorot(rows, columns, draw):
    """A matrix (rows, columns) of starting weights from the generator `draw`."""
    bound = np.sqrt(6 / (rows + columns))
    return draw.uniform(-bound, bound, (rows, columns))


def log_softmax(z):
    """The logarithm of the softmax along rows."""
    shifted = z - z.max(1, keepdims=True)
    return shifted - np.log(np.exp(shifted).sum(1, keepdims=True))


def loss_and_gradients(s, sx, weights, labels, train, decay):
    """The loss and its gradients by both weights; `sx` is S X, sparse, `train` the training documents' indices."""
    first, second = weights
    hidden = sx @ first
    active = np.maximum(hidden, 0)
    propagated = s @ active
    logs = log_softmax(propagated @ second)
    loss = -logs[train, labels[train]].mean() + decay / 2 * (first**2).sum()
    error = np.zeros_like(logs)
    error[train] = np.exp(logs[train])
    error[train, labels[train]] -= 1
    error /= len(train)
    by_second = propagated.T @ error
    by_active = s.T @ (error @ second.T)
    by_first = sx.T @ (by_active * (hidden > 0)) + decay * first
    return float(loss), (by_first, by_second)


def adam(weights, gradients, state, step, rate=0.01, beta1=0.9, beta2=0.999, eps=1e-8):
    """The weights after Adam's step number `step` (from 1); `state` holds both averages of each weight in place."""
    changed = []
    for weight, gradient, (mean, square) in zip(weights, gradients, state):
        mean += (1 - beta1) * (gradient - mean)
        square += (1 - beta2) * (gradient**2 - square)
        corrected = mean / (1 - beta1**step), square / (1 - beta2**step)
        changed.append(weight - rate * corrected[0] / (np.sqrt(corrected[1]) + eps))
    return changed

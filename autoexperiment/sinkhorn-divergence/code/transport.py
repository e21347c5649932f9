"""Entropic transport in the domain of logarithms."""

import numpy as np


def half_cost(x, y):
    """The cost |x_i - y_j|^2 / 2: (n, m)."""
    return ((x[:, None, :] - y[None, :, :]) ** 2).sum(-1) / 2


def soft_minimum(values, eps, log_weights):
    """-eps log sum_j exp(log_weights_j - values_ij / eps) for each row of values (n, m): (n,)."""
    exponent = log_weights[None, :] - values / eps
    largest = exponent.max(1)
    return -eps * (largest + np.log(np.exp(exponent - largest[:, None]).sum(1)))


def potentials(a, b, cost, eps, iterations=200):
    """The potentials f (n,) and g (m,) after so many iterations."""
    f, g = np.zeros(len(a)), np.zeros(len(b))
    for _ in range(iterations):
        f = soft_minimum(cost - g[None, :], eps, np.log(b))
        g = soft_minimum(cost.T - f[None, :], eps, np.log(a))
    return f, g


def transport_value(a, b, cost, eps):
    """OT_eps of the two weighted clouds."""
    f, g = potentials(a, b, cost, eps)
    return float(a @ f + b @ g)


def divergence(a, x, b, y, eps):
    """The debiased divergence of two clouds x (n, d) and y (m, d) with weights a and b."""
    both = transport_value(a, b, half_cost(x, y), eps)
    own = transport_value(a, a, half_cost(x, x), eps) + transport_value(b, b, half_cost(y, y), eps)
    return both - own / 2

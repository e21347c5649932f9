"""Prints the numbers of the experiment as JSON."""

import json

import numpy as np
from transport import divergence, half_cost, potentials, transport_value


def marginal_error(a, b, cost, eps):
    f, g = potentials(a, b, cost, eps)
    plan = a[:, None] * b[None, :] * np.exp((f[:, None] + g[None, :] - cost) / eps)
    return float(np.abs(plan.sum(1) - a).max())


if __name__ == "__main__":
    draw = np.random.default_rng(3)
    x, y = draw.normal(size=(40, 2)), draw.normal(size=(50, 2)) * 0.7 + np.array([1.0, 0.5])
    a, b = np.full(40, 1 / 40), np.full(50, 1 / 50)
    cost = half_cost(x, y)
    found = {
        "transport": [transport_value(a, b, cost, eps) for eps in (0.05, 0.5, 5.0)],
        "divergence": [divergence(a, x, b, y, eps) for eps in (0.05, 0.5, 5.0)],
        "marginal error": round(marginal_error(a, b, cost, 0.5), 6),
        "with itself": round(divergence(a, x, a, x, 0.5), 9),
    }
    print(json.dumps(found))

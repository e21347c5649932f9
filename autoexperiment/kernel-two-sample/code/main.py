"""Prints the numbers of the experiment as JSON."""

import json

import numpy as np
from mmd import discrepancy, median_width, p_value, squared_distances

N, DIM, PERMUTATIONS = 60, 5, 199


def test(x, y, seed):
    pooled = np.concatenate([x, y])
    width = median_width(pooled)
    kernel = np.exp(-squared_distances(pooled, pooled) / (2 * width**2))
    p = p_value(kernel, len(x), PERMUTATIONS, np.random.default_rng(seed))
    return {"width": width, "discrepancy": discrepancy(kernel, len(x)), "p": p}


if __name__ == "__main__":
    draw = np.random.default_rng(11)
    base, same = draw.normal(size=(2, N, DIM))
    shifted = draw.normal(size=(N, DIM)) + np.eye(DIM)[0] * 0.5
    wide = 1.5 * draw.normal(size=(N, DIM))
    print(json.dumps({"same": test(base, same, 0), "shifted": test(base, shifted, 0), "wide": test(base, wide, 0)}))

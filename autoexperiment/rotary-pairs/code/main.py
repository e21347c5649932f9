"""Prints the numbers of the experiment as JSON."""

import json

import numpy as np
from rotary import angle_table, rotate, scores

LENGTH, DIM = 32, 16


def same_content(vector, difference):
    """The score of a vector at position `difference` with itself at position 0."""
    rows = np.tile(vector, (LENGTH, 1))
    return float(scores(rows, rows)[difference, 0])


if __name__ == "__main__":
    draw = np.random.default_rng(7)
    queries, keys = draw.normal(size=(2, LENGTH, DIM))
    rotated = rotate(queries, angle_table(LENGTH, DIM))
    falling = [float(np.mean([same_content(vector, d) for vector in queries])) for d in (0, 1, 4, 16)]
    shift = float(np.abs(scores(queries, keys) - scores(queries, keys, start=7)).max())
    first = [float(value) for value in rotated[3, [0, 1, 8, 9]]]
    print(json.dumps({
        "norm": float(np.linalg.norm(rotated)), "mean score": falling, "shift": round(shift, 9),
        "row 3": first,
    }))

"""Prints the numbers of the experiment as JSON."""

import argparse
import json

import numpy as np
from moss import dampness, firmness, grow, spores


def points(draw):
    """Places on a roof: four clouds of different size and a few strays, (n, 2)."""
    centres = draw.uniform(-6, 6, size=(4, 2))
    clouds = [c + s * draw.normal(size=(m, 2)) for c, s, m in zip(centres, (0.4, 0.8, 1.1, 0.6), (24, 30, 20, 14))]
    return np.concatenate([*clouds, draw.uniform(-8, 8, size=(8, 2))])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    draw = np.random.default_rng(parser.parse_args().seed)
    for k in (3, 9, 6):  # three roofs; the last one is reported in full
        places = points(draw)
        distances = np.sqrt(((places[:, None] - places) ** 2).sum(-1))
        damp = dampness(distances, k)
        print("mean dampness", damp.mean(), "of", len(spores(damp, distances, 9.0)), "patches at most")
    starts = {reach: spores(damp, distances, reach) for reach in (4.0, 9.0, 20.0)}
    labels = {reach: grow(distances, damp, found) for reach, found in starts.items()}
    print(json.dumps({
        "dampness": [float(value) for value in np.quantile(damp, (0.1, 0.5, 0.9))],
        "patches": [len(found) for found in starts.values()],
        "sum of starts": [sum(found) for found in starts.values()],
        "largest": [int(np.bincount(found).max()) for found in labels.values()],
        "firmness": [firmness(distances, found) for found in labels.values()],
    }))

"""Placing singers in a row by chance and credit."""

import math

import numpy as np


def match(a, b):
    """The match of two singers with loudness profiles a and b in dB (n,), one value a pitch, n at least 2: a number."""
    ranks = [(x[:, None] > x).sum(1) + ((x[:, None] == x).sum(1) + 1) / 2 for x in (a, b)]
    gaps = np.abs(ranks[0] - ranks[1])
    excess = np.maximum(gaps - 0.5, 0)
    return -float((excess ** (4 / 3)).sum() / (len(a) - 1))


def temperature(step, steps, hot, cold):
    """The temperature at a step in range(steps), between the temperatures hot and cold; steps at least 2: a number."""
    last = math.ceil(steps / 10)
    falling = steps - last
    done = min((step + 1) / falling, 1)
    return 1 / ((1 - done) / hot + done / cold)


def chance(change, heat):
    """The probability that a swap is made which adds `change` to a row's total, at a temperature `heat`: a number."""
    toll, most = 0.3, 0.9
    gain = change - toll
    probability = 1 / (1 + np.exp(-gain / heat))
    return float(min(probability, most))

"""What a float tells of the water at a quay."""

import math

import numpy as np


def still_level(record):
    """The still level, in cm, of a record of readings in cm (n,), n at least 8: a number."""
    blocks = math.isqrt(2 * len(record))
    size = len(record) // blocks
    first = len(record) - (blocks - 1) * size
    cuts = np.split(record, range(first, len(record), size))
    means = sorted((cut.sum() - cut.max()) / (len(cut) - 1) for cut in cuts)
    return float(means[(blocks - 1) // 2])


def relief(record):
    """The relief, in cm an hour, of a record of hourly readings in cm (n,), n at least 3: a number."""
    ages = np.arange(1, len(record))
    weights = ages**-1.5
    falls = record[1:] - record[:-1]
    return float(weights @ falls / weights[1:].sum())


def severity(value, past):
    """The severity of a value among past values (n,), n at least 1: a number."""
    below, equal = (past < value).sum(), (past == value).sum()
    rank = below + equal / 3
    share = (rank + 3 / 5) / (len(past) + 4 / 3)
    return float(-np.log2(1 - share))

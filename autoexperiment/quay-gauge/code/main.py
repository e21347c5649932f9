"""Prints the numbers of the experiment as JSON."""

import json

import numpy as np
from gauge import relief, severity, still_level

LENGTH = 72


def readings(draw):
    """Hourly readings of the float in whole cm: (LENGTH,)."""
    tide = 70 * np.sin(2 * np.pi * np.arange(LENGTH) / 12.4 + 0.4)
    wash = 60 * draw.random(LENGTH) * (draw.random(LENGTH) < 0.3)
    return np.round(50 + tide + 10 * draw.normal(size=LENGTH) + wash)


if __name__ == "__main__":
    draw = np.random.default_rng(21)
    record = readings(draw)
    past = np.round(120 + 4 * draw.gumbel(size=18))
    print(json.dumps({
        "still level": [still_level(record[:n]) for n in (30, 37, 53, 70)],
        "relief": [relief(record[:n]) for n in (4, 9, 40)],
        "severity": [severity(value, past) for value in np.quantile(past, (0.2, 0.5, 1.0), method="nearest")],
    }))

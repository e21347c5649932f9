"""python main.py single | path: the numbers of experiment 1 or 2 as JSON."""

import json
import sys

from optimiser import moving_average, step_size

SINGLE = [(0.1, 25.0), (0.1, 1.0), (0.1, 4.0), (1.0, 4e-9)]
GRADIENTS = [0.5, -0.3, 0.8, -0.1, 0.6]


def path():
    average, sizes = 0.0, []
    for gradient in GRADIENTS:
        average = moving_average(average, gradient)
        sizes.append(step_size(0.01, average, 1e-8))
    return sizes


if __name__ == "__main__":
    sizes = path() if sys.argv[1] == "path" else [step_size(rate, average, 1e-6) for rate, average in SINGLE]
    print(json.dumps({"step sizes": sizes}))

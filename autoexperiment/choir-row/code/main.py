"""Prints the numbers of the experiment as JSON."""

import json

import numpy as np
from seating import chance, match, temperature

SINGERS, PITCHES, STEPS = 16, 12, 600
HOT, COLD = 4.0, 0.2


def total(row, table):
    """The sum over neighbours in a row of singers."""
    return float(table[row[:-1], row[1:]].sum())


def seated(table, draw):
    """The total of the row after all steps."""
    row = np.arange(len(table))
    for step in range(STEPS):
        i, j = draw.choice(len(row), 2, replace=False)
        other = row.copy()
        other[[i, j]] = row[[j, i]]
        change = total(other, table) - total(row, table)
        if draw.random() < chance(change, temperature(step, STEPS, HOT, COLD)):
            row = other
    return total(row, table)


if __name__ == "__main__":
    draw = np.random.default_rng(4)
    profiles = np.round(70 + 3 * draw.normal(size=(SINGERS, PITCHES)))
    table = np.array([[match(a, b) for b in profiles] for a in profiles])
    print(json.dumps({
        "match": [float(value) for value in table[0, 1:5]],
        "temperature": [temperature(step, 15, HOT, COLD) for step in (0, 4, 8, 14)],
        "chance": [chance(change, heat) for change, heat in ((-1.5, 2.0), (0.0, 0.5), (0.8, 1.0), (5.0, 1.0))],
        "row": seated(table, draw),
    }))

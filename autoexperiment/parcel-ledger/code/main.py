"""Prints the numbers of the experiment as JSON."""

import argparse
import json

import numpy as np
from ledger import credit, grade, verdict, weight

TOWNS, WORDS, PARCELS, HALF, LEAST = 4, 30, 220, 9, 1.5


def sort(draw, least):
    """The towns of all parcels and what was said of each before it was opened."""
    habits = draw.dirichlet(np.full(WORDS, 0.35), size=TOWNS)
    entries, towns, said = [], [], []
    for number in range(PARCELS):
        today = number // 5
        town = int(draw.integers(TOWNS))
        words = sorted({int(word) for word in draw.choice(WORDS, 5, p=habits[town])})
        table = np.zeros((TOWNS, WORDS))
        for day, where, word in entries:
            table[where, word] += weight(today - day, HALF)
        cases = [[credit(table[t, w], table[:, w].sum() - table[t, w], WORDS) for w in words] for t in range(TOWNS)]
        said.append(verdict(cases, least))
        towns.append(town)
        entries += [(today, town, word) for word in words]
    return towns, said


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    draw = np.random.default_rng(seed)
    towns, said = sort(draw, LEAST)
    _, bold = sort(np.random.default_rng(seed), 0.0)
    print(json.dumps({
        "weight": [weight(age, HALF) for age in (0, 5, 30, 200)],
        "credit": [credit(*draw.uniform(0, 4, 2), WORDS) for _ in range(3)],
        "no verdict": said.count(-1),
        "right": sum(a == b for a, b in zip(towns, said)),
        "grade": [grade(towns[:n], said[:n]) for n in (12, 60, PARCELS)],
        "grade of the bold": grade(towns, bold),
    }))

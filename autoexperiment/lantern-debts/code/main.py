"""Prints the numbers of the experiment as JSON."""

import argparse
import json

import numpy as np
from rating import expectation, settle, share, stake

PLAYERS, GAMES, LENGTH = 10, 160, 9


def season(draw):
    """Ratings after a season, and the mean of what the better player was expected to get."""
    skill = draw.normal(size=PLAYERS)
    ratings, played, last = np.full(PLAYERS, 100.0), np.zeros(PLAYERS, int), np.zeros(PLAYERS, int)
    expected, today = [], 0
    for _ in range(GAMES):
        today += int(draw.integers(0, 9))
        i, j = draw.choice(PLAYERS, 2, replace=False)
        chance = 1 / (1 + np.exp(skill[j] - skill[i]))
        won = int(draw.binomial(LENGTH, chance))
        trust = min(played[i], played[j], 12) / 12 * 0.9 + 0.1
        hope = expectation(ratings[i], ratings[j], trust)
        stakes = stake(int(played[i]), int(today - last[i])), stake(int(played[j]), int(today - last[j]))
        got = share(won, LENGTH - won, LENGTH)
        ratings[i], ratings[j] = settle(ratings[i], ratings[j], got, hope, stakes)
        played[[i, j]] += 1
        last[[i, j]] = today
        expected.append(hope if skill[i] > skill[j] else 1 - hope)
    return ratings, float(np.mean(expected))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    draw = np.random.default_rng(parser.parse_args().seed)
    gaps, played = draw.uniform(-300, 300, 3), draw.integers(0, 60, 5)
    settled = [settle(90.0, 110.0, 0.55, hope, (10.0, 10.0)) for hope in (0.2, 0.41, 0.7)]
    stakes = [stake(int(games), idle) for games, idle in zip(played, (3, 20, 70, 120, 300))]
    ratings, expected = season(draw)
    print(json.dumps({
        "expectation": [expectation(100 + gap, 100.0, trust) for gap, trust in zip(gaps, (0.1, 0.6, 1.0))],
        "share": [share(7, 2, 9), share(4, 4, 8), share(3, 6, 9)],
        "stake": stakes,
        "settled": [first for first, _ in settled],
        "spread": float(ratings.std()),
        "total": float(ratings.sum()),
        "best": float(ratings.min()),
        "expected": expected,
    }))

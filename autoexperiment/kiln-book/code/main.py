"""Prints the numbers of the experiment as JSON."""

import argparse
import json

import numpy as np
from kiln import ahead, level, penalty, season

PERIOD, KNOWN, HOURS = 8, 48, 8


def burnt(draw):
    """Wood by the hour in kg: (KNOWN + HOURS,)."""
    hours = np.arange(KNOWN + HOURS)
    wave = 6 * np.sin(2 * np.pi * hours / PERIOD + draw.uniform(0, 6)) + 0.15 * hours
    return np.round(40 + wave + 2.5 * draw.normal(size=len(hours)) + 9 * (draw.random(len(hours)) < 0.08), 1)


def forecast(known):
    """The next period by season, level and the change between the last two periods: (HOURS,)."""
    places = season(known, PERIOD)
    plain = known - np.tile(places, len(known) // PERIOD)
    slope = (plain[-PERIOD:].mean() - plain[-2 * PERIOD : -PERIOD].mean()) / PERIOD
    return ahead(level(plain, 0.3, 0.12), slope, HOURS) + places


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    draw = np.random.default_rng(parser.parse_args().seed)
    values = burnt(draw)
    known, coming = values[:KNOWN], values[KNOWN:]
    found = forecast(known)
    print(json.dumps({
        "season": [float(value) for value in season(known[:16], PERIOD)[[0, 3, 7]]],
        "season of all": [float(value) for value in season(known, PERIOD)[[0, 3, 7]]],
        "level": [level(known[:n], 0.3, 0.12) for n in (5, 20, 48)],
        "level of the falling": level(np.sort(known[:6])[::-1], 0.3, 0.12),
        "ahead": [float(value) for value in ahead(40.0, float(draw.uniform(-9, 9)), 6)],
        "forecast": [float(value) for value in found[[0, 4, 7]]],
        "penalty": penalty(found, coming),
        "penalty of the level": penalty(np.full(HOURS, level(known, 0.3, 0.12)), coming),
    }))

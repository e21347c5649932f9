"""A forecast of how much wood a kiln will burn."""

import numpy as np


def season(values, period):
    """What each place of a period adds to the usual, from values (n,) of whole periods, at least 2 of them: (period,)."""
    table = np.asarray(values, float).reshape(-1, period)
    rest = table - np.median(table, axis=1, keepdims=True)
    if len(table) > 3:
        rest = np.sort(rest, axis=0)[:-1]
    found = rest.mean(axis=0)
    found[-1] -= found.sum()
    return found


def level(values, up, down):
    """The level after the last of values (n,), n at least 3, with a share for rising and one for falling: a number."""
    now = float(np.mean(values[:3]))
    for number, value in enumerate(values[3:], 4):
        share = up if value > now else down
        now += max(share, 1 / number) * (value - now)
    return now


def ahead(level, slope, hours):
    """The forecasts for 1 to `hours` hours ahead from a level and a slope an hour: (hours,)."""
    steps = 0.85 ** np.arange(hours)
    steps[0] = 0.5
    return np.maximum(level + slope * np.cumsum(steps), level / 2)


def penalty(forecast, actual):
    """What a forecast (n,) of actual values (n,) is fined: a number."""
    off = np.asarray(forecast, float) - np.asarray(actual, float)
    free = 0.02 * np.abs(actual) + 0.5
    much = np.maximum(np.abs(off) - free, 0)
    fines = np.where(off < 0, 3 * much, much) ** 1.5
    weights = 1 / np.sqrt(np.arange(1, len(fines) + 1))
    return float((weights * fines).sum() / weights.sum())

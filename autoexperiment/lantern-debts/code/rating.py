"""Ratings of players who meet in pairs, a game at a time."""

import math


def expectation(own, other, trust):
    """The share of a game that a player with the rating `own` expects against `other`; trust in (0, 1]: a number."""
    lead = other - own
    width = 45 * (3 - trust)
    share = 0.5 + 0.5 * lead / (abs(lead) + width)
    return min(max(share, 1 / 16), 15 / 16)


def share(own, other, length):
    """The share of a game that ended with the points `own` to `other` (whole numbers), played to `length`: a number."""
    margin = own - other
    if margin == 0:
        return 0.45
    part = math.sqrt((abs(margin) + 1) / (length + 1))
    won = 0.55 + 0.45 * part
    return won if margin > 0 else 0.9 - won


def stake(games, idle):
    """What is staked by a player who has played `games` before this one and rested for `idle` days: a number."""
    worth = 36 / (games + 1) ** 0.4
    pauses = max(0, (idle + 2) // 28 - 1)
    return min(max(worth, 8) + 5 * pauses, 40)


def settle(first, second, got, expected, stakes):
    """Two ratings after a game of which the first got and expected these shares, with stakes (first, second): a pair."""
    low, high = sorted(stakes)
    both = (2 * low + high) / 3
    moved = round(both * (got - expected) * 4) / 4
    if abs(moved) < 0.5:
        moved = 0.0
    tax = 0.25 if moved else 0.0
    return first - moved + tax, second + moved + tax

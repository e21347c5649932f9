"""Sorting parcels by the words on them, with a ledger that forgets."""

import math


def weight(age, half):
    """What an entry made `age` days ago is worth, if it loses half in `half` days: a number."""
    days = age + 1
    if days > 6 * half:
        return 0.0
    return max(0.5 ** (days / half), 1 / 32)


def credit(here, there, words):
    """What a word speaks for a town, from its weights `here` and in all other towns, in a ledger of `words` words: a number."""
    prior = 4 / words
    share = (here + prior) / (here + there + 3 * prior)
    return 10 * math.log10(share / (1 - share))


def verdict(credits, least):
    """The town with the best case, from lists of its words' credits by town, and -1 where no lead is `least`: an index."""
    sums = []
    for each in credits:
        ranked = sorted(each, key=abs, reverse=True)
        sums.append(sum(value / place for place, value in enumerate(ranked, 1)))
    order = sorted(range(len(sums)), key=lambda town: (sums[town], town), reverse=True)
    lead = sums[order[0]] - sums[order[1]]
    return order[0] if lead >= least else -1


def grade(towns, verdicts):
    """How well parcels for towns were sorted by verdicts (equally long lists, -1 for none): a number."""
    points = 0.0
    for number, (town, said) in enumerate(zip(towns, verdicts), 1):
        if said == town:
            points += 1
        elif said == -1:
            points += 0.3
        else:
            points -= 0.5 if number > 10 else 0.25
    return max(points / len(towns), 0.0) ** 0.5

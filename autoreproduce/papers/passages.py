"""The passages of a text that are nearest to a question.

Passages are ranked by BM25+ over words (Robertson and Zaragoza, 2009; Lv and Zhai, 2011): it needs
no model, is the same on every machine, and rare words, such as names of symbols, weigh more.
"""

import re
from collections import Counter
from collections.abc import Sequence
from itertools import groupby
from math import log

PASSAGE = 1200  # characters, cut at paragraphs


def split(text: str) -> list[str]:
    """The text in passages of about PASSAGE characters, cut between paragraphs if it has some."""
    passages = [""]
    for paragraph in re.split(r"\n\s*\n", text):
        if passages[-1] and len(passages[-1]) + len(paragraph) > PASSAGE:
            passages.append("")
        passages[-1] = f"{passages[-1]}\n\n{paragraph}".strip()
    return [passage for passage in passages if passage]


def split_evenly(text: str) -> list[str]:
    """The same, with paragraphs of over twice that cut too: between lines, else anywhere."""
    return [piece for passage in split(text) for piece in _pieces(passage)]


def _pieces(passage: str) -> list[str]:
    if len(passage) <= 2 * PASSAGE:
        return [passage]
    pieces = [""]
    for line in passage.splitlines(keepends=True):
        for start in range(0, len(line), PASSAGE):
            if pieces[-1] and len(pieces[-1]) + len(line) > PASSAGE:
                pieces.append("")
            pieces[-1] += line[start : start + PASSAGE]
    return pieces


def nearest(passages: Sequence[str], query: str, count: int) -> list[str]:
    """The `count` passages nearest to the query, in the order of the paper."""
    if len(passages) <= count:
        return list(passages)
    return [passages[n] for n in sorted(_ranked(passages, query)[:count])]


def nearest_within(text: str, query: str, characters: int) -> str:
    """The passages of `text` nearest to the query that fit, in their order; […] for the others."""
    return nearest_of(split(text), query, characters)


def nearest_of(parts: Sequence[str], query: str, characters: int) -> str:
    """The same of passages, given in their order."""
    chosen, room = set[int](), characters
    for number in _ranked(parts, query):
        if len(parts[number]) > room:
            continue
        chosen.add(number)
        room -= len(parts[number])
    return "\n\n".join(
        "\n\n".join(parts[n] for n in run) if shown else "[…]"
        for shown, run in groupby(range(len(parts)), chosen.__contains__)
    )


def _ranked(passages: Sequence[str], query: str) -> list[int]:
    """The numbers of the passages, the nearest first."""
    if not passages:
        return []
    bags = [search_words(passage) for passage in passages]
    scores = bm25(bags, search_words(query))
    return sorted(range(len(passages)), key=lambda n: (-scores[n], n))


def bm25(bags: Sequence[Sequence[str]], query: Sequence[str]) -> list[float]:
    """The score of each bag of words for a query, by BM25+ (Lv and Zhai, 2011).

    Saturation k1 = 1.5, weight of the length b = 0.75, lower bound delta = 1. `bags` has one bag at
    least.
    """
    counts = [Counter(bag) for bag in bags]
    average = sum(map(len, bags)) / len(bags) or 1
    holding = Counter(word for count in counts for word in count)
    scores = []
    for bag, count in zip(bags, counts, strict=True):
        room = 1.5 * (0.25 + 0.75 * len(bag) / average)
        scores.append(
            sum(
                log((len(bags) + 1) / holding[word])
                * (1 + 2.5 * count[word] / (room + count[word]))
                for word in query
                if word in holding
            )
        )
    return scores


def search_words(text: str) -> list[str]:
    """Lower-case words; names in snake_case and CamelCase count in parts as well."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", text)
    return re.findall(r"[a-z0-9α-ω]+", f"{text} {parts}".lower()) or ["nothing"]

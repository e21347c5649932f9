"""How much of a paper a prompt holds: nothing, all, the passages nearest to a function, or the one that matters.

Passages are ranked by BM25 over words (Robertson and Zaragoza, 2009; the library `rank-bm25`): it needs no model, is
the same on every machine, and names of symbols, which matter here, weigh as much as they are rare.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import accumulate, groupby, zip_longest
from pathlib import Path
from typing import Literal

from autoreproduce.autoexperiment.layout import code_files

Retrieval = Literal["none", "full", "passages", "oracle"]
PASSAGE = 1200  # characters, cut at paragraphs
TOP = 4
MENTIONS = 12  # lines of other files that name a function
AROUND = 5  # lines shown on each side of one
WHOLE = 80  # lines of a file that is shown whole
HEAD = 6  # of a long file, the part of the room that its first lines may take: imports and constants


def paper_for(paper: str, queries: Sequence[str], how: Retrieval, passages: Sequence[str] = ()) -> str:
    """The part of `paper` that a prompt shows for `queries` (of each function its name, description or code).

    `passages` are those that the set itself names, for `oracle`; where it names none, the nearest are taken.
    """
    if how == "none" or not paper.strip():
        return ""
    if how == "full":
        return paper
    named = [passage for passage in passages if passage.strip()]
    if how == "oracle" and named:
        return "\n\n".join(dict.fromkeys(named))
    cut = split(paper)
    kept = {passage for query in queries for passage in nearest(cut, query, TOP)}
    return "\n\n".join("\n\n".join(run) if shown else "[…]" for shown, run in groupby(cut, kept.__contains__))


def mentions(repository: Path, file: str, addresses: Sequence[str]) -> Iterator[str]:
    """Where other files name the functions of `file`: a short file whole, of a long one the lines around them."""
    names = [address.rpartition(".")[2].partition("#")[0] for address in addresses]
    left = MENTIONS
    for path in code_files(repository):
        if path.suffix != ".py" or str(path) == file:
            continue
        lines = (repository / path).read_text(encoding="utf-8", errors="replace").split("\n")
        hits = [number for number, line in enumerate(lines) if any(name in line for name in names)][:left]
        left -= len(hits)
        short = bool(hits) and len(lines) <= WHOLE
        for first, last in [(0, len(lines))] if short else _windows(hits, len(lines)):
            where = "" if short else f", lines {first + 1} to {last} of {len(lines)}"
            yield f"{path}{where}:\n" + "\n".join(lines[first:last]).rstrip("\n") + "\n"


def _windows(hits: Sequence[int], count: int) -> list[tuple[int, int]]:
    """The lines around every hit, of `count` lines; windows that touch are one."""
    found: list[tuple[int, int]] = []
    for hit in hits:
        first, last = max(0, hit - AROUND), min(count, hit + AROUND + 1)
        if found and first <= found[-1][1]:
            found[-1] = (found[-1][0], last)
        else:
            found.append((first, last))
    return found


def around(text: str, room: int, first: int, last: int, heads: Sequence[int] = ()) -> str:
    """Whole lines of a file in about `room` characters: `first` to `last`, `heads`, the file's head, what is near.

    A text that fits is left as it is; else what is left out is marked by a comment with its lines.
    """
    if len(text) <= room:
        return text
    lines = text.split("\n")
    long = room // HEAD  # a line of data: what stands beyond it says more
    kept = _with_head(lines, {*range(first - 1, last), *(line - 1 for line in heads)}, long)
    room -= sum(len(lines[number]) + 1 for number in kept)
    below, above = iter(range(last, len(lines))), iter(range(first - 2, -1, -1))
    for number in (each for pair in zip_longest(below, above) for each in pair if each is not None):
        if number in kept or len(lines[number]) > long:
            continue
        room -= len(lines[number]) + 1
        if room < 0:
            break
        kept.add(number)
    return "\n".join("\n".join(lines[n] for n in run) if shown else _left_out(run)
                     for shown, run in _runs(kept, len(lines)))  # fmt: skip


def _with_head(lines: Sequence[str], kept: set[int], room: int) -> set[int]:
    ends = accumulate(len(line) + 1 for line in lines)
    return kept | {number for number, end in enumerate(ends) if end <= room}


def _runs(kept: set[int], count: int) -> Iterator[tuple[bool, list[int]]]:
    return ((shown, list(run)) for shown, run in groupby(range(count), kept.__contains__))


def _left_out(run: Sequence[int]) -> str:
    return f"# […] lines {run[0] + 1} to {run[-1] + 1} are left out"


def split(text: str, size: int = PASSAGE) -> list[str]:
    """The text in passages of about `size` characters, cut between paragraphs where it has some."""
    passages = [""]
    for paragraph in re.split(r"\n\s*\n", text):
        if passages[-1] and len(passages[-1]) + len(paragraph) > size:
            passages.append("")
        passages[-1] = f"{passages[-1]}\n\n{paragraph}".strip()
    return [passage for passage in passages if passage]


def nearest(passages: Sequence[str], query: str, count: int) -> list[str]:
    """The `count` passages nearest to the query, in the order of the paper."""
    if len(passages) <= count:
        return list(passages)
    from rank_bm25 import BM25Plus

    scores = BM25Plus([_words(passage) for passage in passages]).get_scores(_words(query))
    best = sorted(range(len(passages)), key=lambda n: (-scores[n], n))[:count]
    return [passages[n] for n in sorted(best)]


def _words(text: str) -> list[str]:
    """Lower-case words; names in snake_case and CamelCase count in parts as well."""
    parts = re.sub(r"(?<=[a-z0-9])(?=[A-Z])|_", " ", text)
    return re.findall(r"[a-z0-9α-ω]+", f"{text} {parts}".lower()) or ["nothing"]

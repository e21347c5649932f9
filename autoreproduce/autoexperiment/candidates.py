"""Which functions are worth masking: reached by the command, spoken of in the paper, of some size, with callers.

A function that only parses arguments, prints or saves is the harness of an experiment and not the method, so it
stands behind the others, and entry points are never chosen unless they are named.
"""

from __future__ import annotations

import ast
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from autoreproduce.autoexperiment.functions import Function
from autoreproduce.autoexperiment.reach import Reached

ENTRY = {"main", "parse_args", "get_args", "cli", "run", "__repr__", "__str__", "__len__", "__enter__", "__exit__"}
HARNESS = {
    "print",
    "add_argument",
    "ArgumentParser",
    "savefig",
    "dump",
    "save",
    "open",
    "to_csv",
    "add_scalar",
    "makedirs",
}
SYNTAX = {"self", "args", "kwargs", "none", "true", "false", "param", "return", "range", "float", "list", "dict"}
FEWEST = 2  # statements
LARGE = 20  # statements: larger counts no more
PARAGRAPHS, PARAGRAPH = 2, 1500  # of a passage, and characters of each


@dataclass(frozen=True)
class Candidate:
    """A function to mask, with what its rank is made of.

    `paper` is the weight of its words that the paper has, by that of the function with most of them.
    """

    file: str
    function: Function
    statements: int
    callers: int
    paper: float
    harness: bool

    @property
    def name(self) -> str:
        """`file.py::Class.method`."""
        return f"{self.file}::{self.function.address}"

    @property
    def score(self) -> float:
        """The paper counts twice, size and callers once; the harness comes last."""
        size = min(self.statements, LARGE) / LARGE
        return 2 * self.paper + size + (1 - 1 / (1 + self.callers)) - (3 if self.harness else 0)

    @property
    def why(self) -> str:
        """The rank's parts in one line."""
        said = f"{self.statements} statements, {self.callers} callers, words in the paper {self.paper:.2f}"
        return said + (", reads or writes for the harness" if self.harness else "")


def candidates(reached: Sequence[Reached], paper: str = "") -> list[Candidate]:
    """The reached functions that are worth masking, best first; of two in each other both, to be kept apart later."""
    documents = [words_of(each.function) for each in reached]
    rarity = _rarity(documents)
    told = set(_words(paper))
    spoken = [sum(rarity[word] for word in set(words) & told) for words in documents]
    most = max(spoken, default=0.0) or 1.0
    found = []
    for each, weight in zip(reached, spoken, strict=True):
        made = candidate(each, weight / most)
        if made.statements >= FEWEST and each.function.name not in ENTRY and not each.function.overload:
            found.append(made)
    return sorted(found, key=lambda one: (-one.score, one.name))


def candidate(reached: Reached, paper: float = 0.0) -> Candidate:
    """One reached function as a candidate, whatever it is."""
    node = reached.function.node
    body = node.body[1:] if reached.function.docstring else node.body
    statements = sum(isinstance(inner, ast.stmt) for statement in body for inner in ast.walk(statement))
    return Candidate(reached.file, reached.function, statements, len(reached.callers), paper, _is_harness(body))


def apart(chosen: Sequence[Candidate], most: int) -> list[Candidate]:
    """The first `most` of which none lies inside another."""
    kept: list[Candidate] = []
    for each in chosen:
        if len(kept) < most and not any(_nested(each, other) for other in kept):
            kept.append(each)
    return kept


def passage_for(function: Function, paper: str) -> str:
    """The paragraphs of a paper that share most words with a function, rare ones counting more; "" where none does."""
    paragraphs = [part.strip() for part in re.split(r"\n\s*\n", paper) if part.strip()]
    documents = [_words(part) for part in paragraphs]
    rarity = _rarity(documents)
    own = set(words_of(function))
    scores = [sum(rarity[word] for word in own & set(words)) for words in documents]
    ranked = sorted(range(len(paragraphs)), key=lambda number: -scores[number])[:PARAGRAPHS]
    chosen = sorted(number for number in ranked if scores[number] > 0 and scores[number] >= scores[ranked[0]] / 2)
    return "\n\n".join(paragraphs[number][:PARAGRAPH] for number in chosen)


def words_of(function: Function) -> list[str]:
    """The words of a function: its names, split at underscores and capitals, and its docstring's."""
    names = [function.qualname, function.docstring]
    for node in ast.walk(function.node):
        if isinstance(node, ast.Name):
            names.append(node.id)
        elif isinstance(node, ast.Attribute):
            names.append(node.attr)
        elif isinstance(node, ast.arg):
            names.append(node.arg)
    return _words(" ".join(names))


def _words(text: str) -> list[str]:
    split = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", text)
    return [word for word in re.findall(r"[a-z]{4,}", split.lower()) if word not in SYNTAX]


def _rarity(documents: Sequence[Sequence[str]]) -> dict[str, float]:
    """How telling a word is among the functions: 0 for one that all of them have."""
    counts = Counter(word for words in documents for word in set(words))
    return {word: math.log((1 + len(documents)) / count) for word, count in counts.items()}


def _is_harness(body: Sequence[ast.stmt]) -> bool:
    calls = [node.func for statement in body for node in ast.walk(statement) if isinstance(node, ast.Call)]
    names = [
        call.attr if isinstance(call, ast.Attribute) else call.id if isinstance(call, ast.Name) else ""
        for call in calls
    ]
    return any(name in HARNESS for name in names)


def _nested(one: Candidate, other: Candidate) -> bool:
    a, b = one.function, other.function
    lines = a.line <= b.line <= b.last_line <= a.last_line or b.line <= a.line <= a.last_line <= b.last_line
    return one.file == other.file and lines

"""Are two titles the same paper's? Used on what a model names, on what arXiv answers and on the
cache.

Downloading the wrong paper costs more than missing one, so a title that merely contains the other
("Fourier neural operator" in "Geo-Fourier neural operator with learned deformations …") counts
only with the first author's name as a second witness.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from difflib import SequenceMatcher

SAME = 90.0  # ratio of normalised titles, 0 to 100
# of the words that only one of them has: nets and networks are one word, zero and few are two
SPELLING = 60.0
CONTAINED = 95.0
ARTICLES = frozenset({"a", "an", "the"})

# What nearly every paper cites: knowing it teaches nothing about a field's customs.
EVERYONES = (
    "Adam: A method for stochastic optimization",
    "Decoupled weight decay regularization",
    "Attention is all you need",
    "Deep residual learning for image recognition",
    "Batch normalization: Accelerating deep network training by reducing internal covariate shift",
    "Layer normalization",
    "Group normalization",
    "Dropout: A simple way to prevent neural networks from overfitting",
    "Gaussian error linear units (GELUs)",
    "Gaussian error linear units",
    "Long short-term memory",
    "ImageNet: A large-scale hierarchical image database",
    "ImageNet classification with deep convolutional neural networks",
    "Very deep convolutional networks for large-scale image recognition",
    "PyTorch: An imperative style, high-performance deep learning library",
    "Automatic differentiation in PyTorch",
    "TensorFlow: A system for large-scale machine learning",
    "Scikit-learn: Machine learning in Python",
    "SGDR: Stochastic gradient descent with warm restarts",
    "Deep learning",
    "BERT: Pre-training of deep bidirectional transformers for language understanding",
    "Language models are few-shot learners",
    "Array programming with NumPy",
)


def normal(title: str) -> str:
    """Lower case, no accents, LaTeX or punctuation, single blanks."""
    plain = unicodedata.normalize("NFKD", re.sub(r"\\[a-zA-Z]+|[{}$]", " ", title))
    plain = "".join(c for c in plain if not unicodedata.combining(c))
    return " ".join(re.findall(r"\w+", plain.lower()))


def likeness(one: str, other: str) -> float:
    """How alike two titles are, 0 to 100."""
    return _ratio(normal(one), normal(other))


def _ratio(one: str, other: str) -> float:
    """Twice the characters in common, in order, over all characters; 0 to 100."""
    return 100 * SequenceMatcher(None, one, other, autojunk=False).ratio()


def _ratio_of_words(one: str, other: str) -> float:
    """The same of the sorted words; 100 if all words of one are in the other."""
    first, second = set(one.split()), set(other.split())
    common = " ".join(sorted(first & second))
    one, other = (
        " ".join([common, *sorted(rest)]).strip() for rest in (first - second, second - first)
    )
    return max(_ratio(common, one), _ratio(common, other), _ratio(one, other))


def same(one: str, other: str) -> bool:
    """True if the titles differ by no more than spelling: not by a number, nor by a word."""
    if not normal(one) or likeness(one, other) < SAME:
        return False
    first, second = (
        Counter(word for word in normal(title).split() if word not in ARTICLES)
        for title in (one, other)
    )
    rests = [
        "".join((here - there).elements()) for here, there in ((first, second), (second, first))
    ]
    numbers = [sorted(re.findall(r"\d+", rest)) for rest in rests]
    return numbers[0] == numbers[1] and (rests == ["", ""] or _ratio(*rests) >= SPELLING)


def same_paper(wanted: str, found: str, authors: Sequence[str] = (), reference: str = "") -> bool:
    """True if `found` is the paper `wanted`: the same title, or one within the other by the same
    author.

    `authors` are the found paper's, of whom the first counts; `reference` is the entry in the list
    of references that names the wanted one.
    """
    if same(wanted, found):
        return True
    short = min(len(normal(title).split()) for title in (wanted, found))
    if short < 4 or _ratio_of_words(normal(wanted), normal(found)) < CONTAINED or not authors:
        return False
    family = normal(authors[0]).split()[-1:]
    return bool(family) and family[0] in normal(reference).split()


def everyones(title: str) -> bool:
    """True for what nearly every paper cites."""
    return any(same(title, known) for known in EVERYONES)

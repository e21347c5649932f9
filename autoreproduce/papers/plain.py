"""Text as a reader sees it: LaTeX, Markdown and HTML taken off, characters brought to one form.

Two uses: `plain` shows what a table cell or a sentence says, with powers and indices as ^
and _, so that 10⁻³ does not become 10-3; `words` makes names comparable ("**Ours**†  [12]" and
"ours").
"""

import html
import re
import unicodedata
from collections.abc import Sequence
from functools import lru_cache

_SUPERSCRIPTS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻", "0123456789+-")
_SUBSCRIPTS = str.maketrans("₀₁₂₃₄₅₆₇₈₉₊₋", "0123456789+-")
_LINK = re.compile(
    r"(?<!!)\[(?=[^\[\]]*[^\W\d])([^\[\]]*)\]\([^()\s]*\)"
)  # of words; [12](…) cites
_MARKS = re.compile(r"[†‡§¶*⋆★↑↓]+")
_ARTICLES = {
    "the",
    "a",
    "an",
    "of",
    "on",
    "in",
    "for",
    "with",
    "and",
    "our",
    "we",
    "is",
    "at",
    "to",
    "by",
    "from",
}
_COUNTED = {"number", "num", "no"}  # "No. iterations" says "number of iterations"


def plain(text: str) -> str:
    """`text` on one line without markup.

    Powers become ^-3, indices _2, and ± × − % are one character each.
    """
    text = _without_html(text)
    if "](" in text:
        text = _LINK.sub(r"\1", text)
    if "\\" in text or "{" in text or "$" in text:
        text = _without_latex(text)
    text = re.sub(r"(\*\*|__|~~|`)", "", text)
    text = re.sub(r"(?<![\w*])\*(?=\S)([^*]*\S)\*(?![\w*])", r"\1", text)
    text = re.sub(r"[⁰¹²³⁴-⁹⁺⁻]+", lambda found: "^" + found[0].translate(_SUPERSCRIPTS), text)
    text = re.sub(r"[₀-₉₊₋]+", lambda found: "_" + found[0].translate(_SUBSCRIPTS), text)
    text = unicodedata.normalize("NFKC", text.replace("\u2009", " ").replace("\u202f", " "))
    text = re.sub(r"[−–—‐‑‒]", "-", text).replace("\u00ad", "")
    if "±" in text:  # a deviation as an index
        text = re.sub(r"[\^_]\(\s*(±[^()]*)\)|[\^_]\s*(?=±)", lambda f: f" {f[1] or ''}", text)
    return " ".join(text.replace("“", '"').replace("”", '"').replace("’", "'").split())


def _without_html(text: str) -> str:
    if "<" in text:
        text = _with_marks(_with_marks(text, "sup", "^"), "sub", "_")
        text = re.sub(r"<br\s*/?>", " ", text, flags=re.I)
        text = re.sub(r"</?[a-zA-Z][^<>]*>", "", text)
    return html.unescape(text) if "&" in text else text


def _with_marks(text: str, tag: str, mark: str) -> str:
    """`text` with `mark` before the content of each such element, in linear time."""
    parts: list[str] = []
    opening: int | None = None
    for part in re.split(rf"(</?{tag}>)", text, flags=re.I):
        if opening is not None and part.casefold() == f"</{tag}>":
            parts[opening:] = [mark + "".join(parts[opening + 1 :]).strip()]
            opening = None
            continue
        if opening is None and part.casefold() == f"<{tag}>":
            opening = len(parts)
        parts.append(part)
    return "".join(parts)


def _without_latex(text: str) -> str:
    if "\\" in text:
        text = re.sub(r"(?<=\d)\\[,; ](?=\d{3})|(?<=\d)\{,\}(?=\d)", _thousands, text)
        text = _latex_to_text(text)
    else:
        text = text.replace("{,}", ",").replace("~", " ")
        text = re.sub(r"([\^_])\s*\{([^{}]*)\}", lambda found: found[1] + found[2].strip(), text)
    return re.sub(r"[{}$]", "", text)


def _thousands(found: re.Match[str]) -> str:
    return "," if "," in found[0] and "{" in found[0] else ""


def _latex_to_text(text: str) -> str:
    from autoreproduce.papers.latex_text import latex_to_text

    return latex_to_text(text)


@lru_cache(maxsize=50_000)  # a claim is held against every heading of a paper
def name_of(heading: str) -> str:
    """A heading as it is compared with a name: without case, marks, citations and arrows."""
    text = re.sub(r"\[[^\[\]]*\]", " ", plain(heading)).casefold()
    text = _MARKS.sub(" ", re.sub(r"\^[a-z\d,†‡*]+(?=\s|$)", " ", text))
    text = re.sub(r"\^(?=\+)", "", text)  # A^+ is A+
    named = " ".join(re.findall(r"\w+(?:\.\d+)?|[%+@$€#^]", text.replace("_", " ")))
    return named or text.strip()  # of a sign such as × the sign itself


def words(text: str) -> list[str]:
    """The words of a name that tell it from others, without articles and bare numbers."""
    found = re.findall(r"[^\W_]+", plain(text).casefold())
    return [
        w for w in found if w not in _ARTICLES and not w.isdigit() and (len(w) > 1 or w.isupper())
    ]


def word_set(text: str) -> set[str]:
    """All words of a text, without case, to look names up in (`named_in`)."""
    return set(re.findall(r"[^\W_]+", text.casefold()))


def named_in(word: str, text_words: set[str]) -> bool:
    """True if `word`, or what it is short for (acc, accuracy), is among the words of a text."""
    return word in text_words or (
        len(word) >= 3
        and any(len(w) >= 3 and (w.startswith(word) or word.startswith(w)) for w in text_words)
    )


def names_metric(headings: Sequence[str], metric: str) -> bool:
    """True if the headings of a number say already what its metric is called."""
    if name_of(metric) in map(name_of, headings):
        return True
    there = set(words(" ".join(headings)))
    told = [word for word in words(metric.replace("_", " ")) if word not in _COUNTED]
    return bool(told) and all(named_in(word, there) for word in told)


def quotable(text: str) -> str:
    """What must agree of a quotation: letters, digits and the signs of numbers, no blanks."""
    return re.sub(r"[^\w.%±^-]|\.(?!\d)|(?<!\d)-|_", "", text.casefold())


def letters_alone(name: str) -> str:
    """Its letters and digits in lower case, by which names are the same: "Final cost" and
    `final_cost`.
    """
    return "".join(letter for letter in plain(name).casefold() if letter.isalnum())


_OUTPUT_MARK = re.compile(r"[ \t]*(#+>?|>+|//|;+)(?=[ \t]|$)")
_INDEX = re.compile(r"[ \t]*\[\d+\](?=[ \t]+[-\d.])")  # of R's vectors: [1] 0.91 0.88


def without_output_marks(text: str) -> str:
    """`text` with blanks for what marks lines as a program's output ("## 0.91", "#> [1] 0.91"), so
    that they read as a table's. A heading has no such line above or below it.
    """
    lines = text.split("\n")
    marks = [found[1] if (found := _OUTPUT_MARK.match(line)) else "" for line in lines]
    beside = zip(["", *marks], marks, [*marks[1:], ""], strict=False)
    for at, (above, mark, below) in enumerate(beside):
        if mark.strip("#") or (mark and mark in (above, below)):
            lines[at] = lines[at].replace(mark, " " * len(mark), 1)
        if index := _INDEX.match(lines[at]):
            lines[at] = " " * index.end() + lines[at][index.end() :]
    return "\n".join(lines)

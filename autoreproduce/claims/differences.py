"""Where code does something else than its paper says: the items of an audit, and the rules that
check them.

A model finds the items; nothing it says is shown unless code finds both quotations where it says
they are. What can't be found, isn't a difference, or is said twice is dropped and counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from textwrap import shorten
from typing import Any, Literal, get_args

from pydantic import Field, ValidationError, model_validator

from autoreproduce.claims.claim import Frozen
from autoreproduce.claims.verdicts.comparable import MISSED
from autoreproduce.papers.numbers import numbers_in, same_number
from autoreproduce.papers.plain import plain, quotable
from autoreproduce.papers.sections import sections
from autoreproduce.papers.table_rows import WITHHELD

Kind = Literal[
    "data", "split", "preprocessing", "model", "loss", "optimiser", "training length", "metric",
    "evaluation", "baseline", "seeds", "leak", "hard-coded value", "absent", "other",
]  # fmt: skip
Moves = Literal["yes", "perhaps", "no"]
Sure = Literal["high", "medium", "low"]
UNSAID = "it doesn't say"
SHORTEST_QUOTE = 8  # letters and digits by which a place in a text is told
CELL_MARK = "# %% cell"  # and its number, the line before a notebook's cell of code
SHORTEST_EXACT = 4  # characters of a quotation that stands there as it is
MOSTLY = 0.5  # of the words of two phrases, where both say the same
MOST_QUOTED_LINES = 40  # of code, in one item
MOST_PATCHED = 4_000  # characters of a replacement
LONGEST_PHRASE = 400  # characters of what a paper says or code does; what is longer is cut
LONGEST_QUOTE = 2_000  # characters of the paper or of code; the rest is not looked for


class Replacement(Frozen):
    """The paper's way in place of the code's: `old`, which is in `file` once, becomes `new`."""

    file: str
    old: str = Field(min_length=1, max_length=MOST_PATCHED)
    new: str = Field(max_length=MOST_PATCHED)


class Effect(Frozen):
    """What a run with the paper's way gave for one claim, beside the code's own run."""

    claim: str
    before: float | None
    after: float | None
    word: str = Field("", description="the claim's verdict on the run with the paper's way")


class Item(Frozen):
    """One thing the paper says and what the code does about it, as a model gives it.

    `agrees` marks what was checked and holds. An `absent` item has no code. What the paper doesn't
    speak of, such as a leak, has no `paper` and no `says`.
    """

    kind: Kind
    says: str = Field("", max_length=LONGEST_PHRASE, description="what the paper says, in a phrase")
    does: str = Field("", max_length=LONGEST_PHRASE, description="what the code does, in a phrase")
    paper: str = Field("", max_length=LONGEST_QUOTE, description="the paper's own words")
    code: str = Field("", max_length=LONGEST_QUOTE, description="lines of the code, copied")
    file: str = ""
    first: int = Field(0, ge=0, description="line of `file`, from 1")
    agrees: bool = False
    moves: Moves = "no"
    claims: tuple[str, ...] = Field((), description="ids of the claims it can move")
    direction: str = Field("", max_length=LONGEST_PHRASE, description="which way a number would go")
    sure: Sure = "medium"
    replacement: Replacement | None = Field(
        None, description="where one value or a few lines make the code do as the paper says"
    )
    assumes: str = Field(
        "", max_length=LONGEST_PHRASE, description="what of it the paper leaves open, as λ = 0.95"
    )

    @model_validator(mode="before")
    @classmethod
    def _as_meant(cls, given: Any) -> Any:
        """The same in the form of the fields: null is nothing, lines may be a list, a word for how
        sure that isn't one of ours is in the middle, and fields of its own go. Asking again would
        cost the whole code again.
        """
        if not isinstance(given, Mapping):
            return given
        facts = {name: given[name] for name in cls.model_fields if given.get(name) is not None}
        texts = {"kind", "says", "does", "paper", "code", "direction", "file", "assumes"}
        for name in texts & facts.keys():
            value = facts[name]
            facts[name] = "\n".join(map(str, value)) if isinstance(value, list) else str(value)
        kind = facts.get("kind", "other").strip().lower()
        facts["kind"] = kind if kind in get_args(Kind) else "other"
        for name in {"says", "does", "direction", "assumes"} & facts.keys():
            facts[name] = cut(facts[name])
        for name in {"paper", "code"} & facts.keys():
            facts[name] = facts[name][:LONGEST_QUOTE]
        for name, words, middle in (
            ("moves", get_args(Moves), "perhaps"),
            ("sure", get_args(Sure), "medium"),
        ):
            if name in facts:
                word = str(facts[name]).strip().lower()
                facts[name] = word if word in words else middle
        if "first" in facts:
            line = re.search(r"\d{1,7}", str(facts["first"]))
            facts["first"] = int(line[0]) if line else 0
        if isinstance(facts.get("claims"), str):
            facts["claims"] = (facts["claims"],)
        if isinstance(facts.get("replacement"), Mapping):
            try:
                facts["replacement"] = Replacement.model_validate(facts["replacement"])
            except ValidationError:
                del facts["replacement"]
        return facts

    @property
    def title(self) -> str:
        """What a line names it by: what the paper says, or what the code does without its word."""
        return self.says or self.does or self.code.strip()[:100] or "an item without words"

    @property
    def paper_says(self) -> str:
        """What the paper says of it, for a reader."""
        return self.says or UNSAID


def cut(phrase: str) -> str:
    """A phrase as long as a reader takes in at once."""
    if len(phrase) <= LONGEST_PHRASE:
        return phrase
    phrase = " ".join(phrase.split())
    short = shorten(phrase, LONGEST_PHRASE, placeholder="…")
    no_break = len(short) < LONGEST_PHRASE // 2 < len(phrase)  # one long word, such as an array
    return phrase[: LONGEST_PHRASE - 1] + "…" if no_break else short


class Difference(Item):
    """An item whose quotations were found. `section`: of the paper; `first` to `last`: the lines
    of the code, as they were found.
    """

    id: str = ""
    section: str = ""
    last: int = 0
    cell: int = Field(0, description="of a notebook: which of its cells of code, from 1")
    but: str = Field("", description="why a second reader says that it's against no statement")
    effects: tuple[Effect, ...] = Field((), description="of a run with the replacement, if it ran")
    tried: str = Field("", description="why a run with the replacement gave nothing")

    def __repr__(self) -> str:
        return f"<Difference {self.id}: {self.title}, {self.place or 'absent'}>"

    __str__ = __repr__

    @property
    def place(self) -> str:
        """`train.py, lines 12–14`, `fit.ipynb, cell 3`, or "" of what is absent."""
        if not self.file:
            return ""
        if self.cell:
            return f"{self.file}, cell {self.cell}"
        lines = (
            f"line {self.first}" if self.first == self.last else f"lines {self.first}–{self.last}"
        )
        return f"{self.file}, {lines}"

    @property
    def can_move(self) -> bool:
        """True if it may change a number that the paper states, and no run showed otherwise."""
        return not self.agrees and self.moves != "no" and not (self.effects and not self.confirmed)

    @property
    def confirmed(self) -> bool:
        """True if a run with the paper's way changed a claim's number."""
        known = [one for one in self.effects if one.before is not None and one.after is not None]
        return any(not same_number(one.before or 0.0, one.after or 0.0) for one in known)

    def word_of(self, claim: str) -> str:
        """The claim's verdict on a run with the paper's way; "" without one."""
        return next((one.word for one in self.effects if one.claim == claim), "")

    def instead_of(self, claim: str) -> float | None:
        """What a run with the paper's way gave for this claim, if it's another number."""
        mine = (one for one in self.effects if one.claim == claim and one.before is not None)
        after = (one.after for one in mine if not same_number(one.before or 0.0, one.after or 0.0))
        return next(after, None)

    def undoes(self, claim: str) -> float | None:
        """What the paper's way gave for a claim whose number holds by this difference alone: by a
        leak or a copied value, or by what the paper's way would have missed it. None if it doesn't,
        or if that way has values of ours.
        """
        missed = self.word_of(claim) in MISSED and not self.assumes
        alone = self.kind in ("leak", "hard-coded value") or missed
        return self.instead_of(claim) if alone else None


NOT_AS_STATED = "reproduced, but not as stated"  # of a number that holds for the wrong reason


class Audit(Frozen):
    """What an audit found: differences, things that agree, and what was dropped and why."""

    differences: tuple[Difference, ...] = ()
    agreements: tuple[Difference, ...] = ()
    beside: tuple[Difference, ...] = Field(
        (), description="true of the code, against nothing that the paper says"
    )
    dropped: tuple[str, ...] = Field((), description="a line for each item that rules refused")
    refuted: tuple[str, ...] = Field((), description="a line for each that a second look refused")
    files: tuple[str, ...] = Field((), description="that were read")
    unread: tuple[str, ...] = Field((), description="that didn't fit")
    problem: str = Field("", description="why nothing could be found, if so")

    @property
    def moving(self) -> tuple[Difference, ...]:
        """The differences that can move a number, those that a run confirmed first."""
        found = [one for one in self.differences if one.can_move]
        return tuple(sorted(found, key=lambda one: (not one.confirmed, one.moves != "yes")))

    @property
    def ordered(self) -> tuple[Difference, ...]:
        """All differences, those that can move a number first."""
        return (*self.moving, *(one for one in self.differences if not one.can_move))

    @property
    def decisive(self) -> tuple[Difference, ...]:
        """What makes a number hold for the wrong reason, as a run showed."""
        return tuple(
            one
            for one in self.moving
            if any(one.undoes(effect.claim) is not None for effect in one.effects)
        )

    def undoing(self, claim: str) -> Difference | None:
        """The first by which this claim's number holds for the wrong reason, as a run showed."""
        return next((one for one in self.moving if one.undoes(claim) is not None), None)

    def of_claim(self, claim: str) -> list[Difference]:
        """The differences that can move this claim."""
        return [one for one in self.moving if claim in one.claims]


def sorted_items(items: Sequence[Difference]) -> dict[str, tuple[Difference, ...]]:
    """The items as an `Audit` holds them: what the paper doesn't speak of is a difference if it can
    move what the paper states.
    """
    beside = [one for one in items if not one.paper and one.moves == "no"]
    return {
        "differences": tuple(one for one in items if not one.agrees and one not in beside),
        "agreements": tuple(one for one in items if one.agrees),
        "beside": tuple(beside),
    }


class Misquoted(str):
    """Why an item is dropped, where a quotation copied exactly would keep it."""

    item: Item


def checked(
    items: Sequence[Item], paper: str, files: Mapping[str, str], claims: Sequence[str]
) -> tuple[list[Difference], list[str]]:
    """The items whose quotations stand in `paper` (Markdown) and `files` (text by path), numbered
    D1, D2, …; and a line for each of the others.

    `claims`: the ids there are; an item keeps those of them that it names.
    """
    kept: list[Difference] = []
    dropped: list[str] = []
    whole = _Words(paper)
    places = [(one.heading, _Words(one.text)) for one in sections(paper) if one.heading]
    for item in items:
        found = _found(item, whole, places, files)
        if isinstance(found, str):
            line = type(found)(f"{item.title}: {found}")
            if isinstance(line, Misquoted):
                line.item = item
            dropped.append(line)
        elif twin := next((one for one in kept if _is_same(one, found)), None):
            dropped.append(f"{item.title}: said already ({twin.title})")
        else:
            named = tuple(name for name in found.claims if name in claims)
            kept.append(found.model_copy(update={"claims": named}))
    return [one.model_copy(update={"id": f"D{n}"}) for n, one in enumerate(kept, 1)], dropped


def _found(
    item: Item,
    paper: _Words,
    sections_of_it: Sequence[tuple[str, _Words]],
    files: Mapping[str, str],
) -> Difference | str:
    """The item with the places of its quotations, or why it's dropped."""
    said = any(map(str.isalnum, item.paper))
    if said and (lacking := paper.lacks(item.paper)):
        return Misquoted(lacking)
    if not said and (item.agrees or item.kind == "absent"):
        return Misquoted("it quotes nothing of the paper")
    first = re.split(r"…|\.\.\.", item.paper)[0] if said else ""
    section = next((name for name, text in sections_of_it if first and text.has(first)), "")
    facts = item.model_dump() | {"section": section}
    # what the paper says is what it's quoted with
    facts |= {} if said and item.says else {"says": cut(item.paper) if said else ""}
    facts |= {} if said else {"paper": ""}
    if item.kind == "absent" and not item.code.strip():
        return Difference(**(facts | {"file": "", "first": 0, "last": 0, "cell": 0, "code": ""}))
    at = lines_of(item.code, item.file, item.first, files)
    if at is None:
        return Misquoted(f"the code doesn't have these lines: {item.code.strip()[:120]!r}")
    file, line, last = at
    lines = files[file].split("\n")
    marks = [number for number in lines[:line] if number.startswith(CELL_MARK)]
    cell = len(marks) if file.endswith(".ipynb") else 0
    facts |= {"file": file, "first": line, "last": last, "cell": cell}
    facts |= {"code": "\n".join(lines[line - 1 : last])}
    if (
        item.replacement is not None
        and files.get(item.replacement.file, "").count(item.replacement.old) != 1
    ):
        facts["replacement"] = None  # it couldn't be made exactly once
    if not item.agrees and _says_the_same_numbers(item):
        return "the paper's number and the code's are the same"
    return Difference(**facts)


class _Words:
    """A text in which quotations are looked for: by letters and digits, so that markup and blanks
    don't matter, or, what has few of these, as it's written or read: a formula.
    """

    def __init__(self, text: str) -> None:
        self.read = plain(text)
        self.letters = quotable(self.read)
        self.exact = [re.sub(r"\s+", "", each) for each in (text, self.read)]

    def has(self, quote: str) -> bool:
        """True if these words stand in it."""
        letters = quotable(plain(quote))
        if len(letters) >= SHORTEST_QUOTE and letters in self.letters:
            return True
        if WITHHELD in f"{quote}{self.read}" and self._has_but_for_results(quote):
            return True
        forms = {re.sub(r"\s+", "", each).strip(".,;:\"'$") for each in (quote, plain(quote))}
        return any(
            form in text for form in forms if len(form) >= SHORTEST_EXACT for text in self.exact
        )

    def _has_but_for_results(self, quote: str) -> bool:
        """True if these words stand in it where results are withheld: a number of the quotation may
        be withheld here, and what it has withheld may be a number.
        """
        parts = re.split(r"(\[withheld\]|\d[\d.,]*\d|\d)", plain(quote))
        words, results = [quotable(part) for part in parts[::2]], parts[1::2]
        if sum(map(len, words)) < SHORTEST_QUOTE:
            return False
        pattern = re.escape(words[0])
        for result, after in zip(results, words[1:], strict=True):
            here = r"[\d.]+" if result == WITHHELD else re.escape(quotable(result))
            pattern += rf"(?:withheld|{here})%?{re.escape(after.lstrip('%'))}"
        return bool(re.search(pattern, self.letters))

    def lacks(self, quote: str) -> str:
        """Why a quotation isn't one; "" if it stands here, or each of its parts between "…"."""
        if self.has(quote):
            return ""
        parts = [part for part in re.split(r"\s*(?:…|\.\.\.|\[…\])\s*", quote) if part.strip()]
        letters = [quotable(plain(part)) for part in parts or [quote]]
        if sum(map(len, letters)) < SHORTEST_QUOTE:
            return f"too few words to find them in the paper: {quote.strip()[:120]!r}"
        both = zip(parts, letters, strict=False)
        missing = (part for part, text in both if text not in self.letters and not self.has(part))
        lacking = next(missing, None)
        return f"the paper doesn't have these words: {lacking.strip()[:120]!r}" if lacking else ""


def lines_of(
    quote: str, file: str, near: int, files: Mapping[str, str]
) -> tuple[str, int, int] | None:
    """Where lines of code stand: the file and its lines, both included. Blanks don't matter.

    `file` may be named by its end (`train.py` for `src/train.py`), and the nearest place to line
    `near` counts; a quotation that isn't there may stand in one other file alone.
    """
    wanted = [_squeezed(line) for line in quote.strip("\n").split("\n")]
    wanted = [line for line in wanted if line and line not in ("…", "...")][:MOST_QUOTED_LINES]
    if not wanted or len("".join(wanted)) < 3:
        return None
    wanted_name = _as_python(file)
    named = [name for name in files if f"/{_as_python(name)}".endswith(f"/{wanted_name}")]
    for among in (named, list(files)):
        at = [(name, *place) for name in among for place in _places_in(files[name], wanted)]
        if at and (among is named or len({name for name, *_ in at}) == 1):
            return min(at, key=lambda one: abs(one[1] - near))
    return None


def _as_python(name: str) -> str:
    """A notebook's name as that of a Python file, by which its code may be named."""
    name = name.removesuffix(".py") if name.endswith(".ipynb.py") else name
    return f"{name.removesuffix('.ipynb')}.py" if name.endswith(".ipynb") else name


def _places_in(text: str, wanted: Sequence[str]) -> list[tuple[int, int]]:
    """First and last line of each place where the lines follow one another, empty ones apart."""
    lines = [(number, _squeezed(line)) for number, line in enumerate(text.split("\n"), 1)]
    filled = [(number, line) for number, line in lines if line]
    found = []
    for start in range(len(filled) - len(wanted) + 1):
        here = filled[start : start + len(wanted)]
        if all(part in line for part, (_, line) in zip(wanted, here, strict=True)):
            found.append((here[0][0], here[-1][0]))
    return found


def _squeezed(line: str) -> str:
    """A line without blanks, and without the number that a listing puts before it."""
    return re.sub(r"\s+", "", re.sub(r"^\s*\d+\|", "", line))


def _says_the_same_numbers(item: Item) -> bool:
    """True where the difference is said to be in a number, and both phrases have the same ones."""
    if item.kind in ("absent", "leak"):
        return False
    ours, theirs = ([one.value for one in numbers_in(text)] for text in (item.does, item.says))
    if not ours or len(ours) != len(theirs):
        return False
    same = all(same_number(a, b) for a, b in zip(ours, theirs, strict=True))
    return same and not _differing_words(item.says, item.does)


def _differing_words(one: str, other: str) -> set[str]:
    """Words that only one of two phrases has, names of the two sides apart."""
    first, second = (set(re.findall(r"[a-z]+|[<>=≤≥]+", text.lower())) for text in (one, other))
    return (first ^ second) - {"paper", "code", "the", "a", "uses", "says", "is", "value"}


def _is_same(one: Difference, other: Difference) -> bool:
    """True if both are of one kind, of the same words of the paper, and of the same lines."""
    if (one.agrees, one.kind, one.file) != (other.agrees, other.kind, other.file):
        return False
    if one.file and not (one.first <= other.last and other.first <= one.last):
        return False
    ours, theirs = (quotable(plain(each.paper)) for each in (one, other))
    if ours and theirs:
        return ours in theirs or theirs in ours
    return not ours and not theirs and _words_shared(one.does, other.does) >= MOSTLY


def _words_shared(one: str, other: str) -> float:
    """The part of the words of two phrases that both have."""
    ours, theirs = (set(re.findall(r"\w+", text.lower())) for text in (one, other))
    return len(ours & theirs) / max(1, len(ours | theirs))

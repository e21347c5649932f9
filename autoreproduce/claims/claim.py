"""A claim: one number that a paper states, with everything that decides what is compared with it.

`ClaimsFile` is written, with its rules and a digest, before the first line of code, and nothing
changes it afterwards: what counts as reproduced is settled before anything is measured.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Collection, Sequence
from itertools import chain, count
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from autoreproduce.config import digest
from autoreproduce.errors import UsageError
from autoreproduce.files.bounded import LARGEST_JSON, is_usable, parse_json
from autoreproduce.files.shared import read_plain
from autoreproduce.papers.numbers import is_misprint, number_of
from autoreproduce.papers.plain import names_metric, plain

CLAIMS = "claims.json"
KEY = r"^[A-Za-z0-9]([A-Za-z0-9 ._-]*[A-Za-z0-9._-])?$"  # as metrics of tasks are named
ROUNDING = 1e-12  # relative: what the mean of equal floats may be off by, with room
Direction = Literal["lower", "higher", "match"]
# What the paper says of its number: it is this, is at least or at most this, is this rank; or that
# the row is better than, or as good as, the row `than`, where what is measured is the difference.
Kind = Literal["number", "at_least", "at_most", "rank", "order", "equal"]
SPREAD_KINDS = {  # as papers and models name them
    "std": "std",
    "sd": "std",
    "standard deviation": "std",
    "sem": "sem",
    "se": "sem",
    "standard error": "sem",
    "95% ci": "ci95",
    "95 % ci": "ci95",
    "ci": "ci95",
    "none": "unstated",
    "unknown": "unstated",
    "not stated": "unstated",
    "": "unstated",
}
Scale = Literal["fraction", "percent", "raw"]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Name = Annotated[str, Field(min_length=1)]


class Frozen(BaseModel):
    """What is written down once."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Spread(Frozen):
    """What is after ±. `value` is half the width if `kind` is an interval or a range; of one
    with two sides, as +1/-5, the larger of `plus` and `minus`, by which verdicts are computed.
    """

    value: Annotated[Finite, Field(ge=0)]
    kind: Literal["std", "sem", "ci95", "range", "unstated"] = "unstated"
    # left out of a file if there is none, so that the digest of files without stays what it was
    plus: Annotated[Finite, Field(ge=0)] | None = Field(None, exclude_if=lambda side: side is None)
    minus: Annotated[Finite, Field(ge=0)] | None = Field(None, exclude_if=lambda side: side is None)

    def is_of_estimate(self, n: int | None) -> bool:
        """True of a standard error or interval of one estimate: it says how uncertain the estimate
        is, and not how far another run on the same data may be.
        """
        return self.kind in ("sem", "ci95") and (n or 1) < 2


class Claim(Frozen):
    """One number of the paper, from a table's cell (`table`) or from a sentence (`sentence`)."""

    id: Annotated[str, Field(pattern=KEY)] = Field(description="its key in metrics.json")
    experiment: str = Field("", description="e.g. Table 2")
    row: tuple[Name, ...] = Field(
        (), description="what was measured: row headings as in the table, outermost first"
    )
    column: tuple[Name, ...] = Field(
        (), description="column headings as in the table, outermost first"
    )
    metric: Name
    direction: Direction = Field(description="match: nearer is better, as of an estimate")
    kind: Kind = Field("number", exclude_if=lambda kind: kind == "number")
    than: tuple[Name, ...] = Field(
        (),
        description="row headings of what the row is compared with, of an order or equal",
        exclude_if=lambda than: not than,
    )
    value: Finite
    corrected: Finite | None = Field(
        None,
        description="what a misprinted value must mean: ours, and not the paper's",
        exclude_if=lambda value: value is None,
    )
    printed: str = Field("", description="the number as printed, which says how exact it is")
    unit: str = ""
    scale: Scale = "raw"
    spread: Spread | None = None
    n: Annotated[int, Field(ge=1, le=10**9)] | None = Field(
        None, description="seeds or runs behind it; None: not stated"
    )
    replicates: Annotated[int, Field(ge=2, le=10**12)] | None = Field(
        None,
        description="simulated data sets behind a mean, share, bias or RMSE; None: it is none",
        exclude_if=lambda count: count is None,
    )
    items: Annotated[int, Field(ge=1, le=10**12)] | None = Field(
        None,
        description="how many items of the split it was measured on; None: not stated",
        exclude_if=lambda items: items is None,  # as a spread's sides
    )
    split: Literal["validation", "test", "train", "unstated"] = "unstated"
    epoch: Literal["best", "last", "unstated"] = "unstated"
    per: Literal["item", "batch", "dataset", "unstated"] = "unstated"
    is_baseline: bool = Field(
        False, description="not the paper's method, but what it is compared with"
    )
    main: bool = Field(False, description="one of those that carry the paper")
    table: str = Field("", description="number or label of the table")
    sentence: str = Field("", description="the exact words, where it is in the text")
    # left out of a file if empty, as a spread's sides are
    line: str = Field(
        "",
        description="the row's exact line, if the table is only lines of text",
        exclude_if=lambda line: not line,
    )
    remark: str = Field(
        "",
        description="what code could not check of its place, e.g. column unchecked",
        exclude_if=lambda remark: not remark,
    )
    source: Literal["paper", "user", "task"] = "paper"
    not_comparable: str = Field(
        "", description="why what a trial measures cannot be compared with it, e.g. stand-in data"
    )

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if self.source == "paper" and bool(self.table) == bool(self.sentence):
            raise ValueError(
                "give either table (with row and column) or sentence, as the place of the number"
            )
        if self.line and not self.table:
            raise ValueError("a line is of a table: give its number as table too")
        if self.table and not (self.row and self.column):
            raise ValueError("a number in a table has row and column headings: give both")
        if (self.kind in ("order", "equal")) != bool(self.than):
            raise ValueError("than names the row that an order or equal compares with")
        if self.corrected is not None and not is_misprint(self.value, self.corrected):
            raise ValueError(
                f"corrected: {self.value:g} isn't a misprint of {self.corrected:g}: of a misprint "
                "only the sign, the point or one digit is wrong, or two digits are swapped"
            )
        if self.scale == "fraction" and abs(self.value) > 1:
            raise ValueError(
                f"{self.value:g} isn't a fraction (-1 to 1): its scale is percent or raw"
            )
        return self

    @property
    def sign(self) -> int:
        """-1 if lower is better, else 1."""
        return -1 if self.direction == "lower" else 1

    @property
    def is_of_metric(self) -> bool:
        """Whether its number is the metric's own: no difference of two rows, and no rank by it."""
        return self.kind in ("number", "at_least", "at_most")

    @property
    def meant(self) -> Claim:
        """The claim with its corrected value, which is what measured numbers are held against."""
        if self.corrected is None:
            return self
        return self.model_copy(update={"value": self.corrected, "printed": "", "corrected": None})

    @property
    def half_step(self) -> float:
        """Half a unit of the last printed digit, in the unit of `value`; 0 if that is not known.

        No smaller than a mean of equal numbers may be off by.
        """
        printed = number_of(self.printed) or number_of(repr(self.value).removesuffix(".0"))
        if printed is None or (printed.value == 0 and "." not in printed.text):
            return 0.0  # a bare 0 does not say how exact it is
        # a heading such as "×10⁻³" makes 0.0015 of a printed 1.5
        factor = abs(self.value / printed.value) if printed.value and self.value else 1.0
        return max(printed.step * factor / 2, abs(self.value) * ROUNDING)

    @property
    def title(self) -> str:
        """Row, column, and the metric if they do not name it, without markup."""
        metric = plain(self.metric)
        if not self.headings:
            return metric
        named = names_metric(self.headings, metric)
        return self.place if named else f"{self.place}: {metric}"

    @property
    def headings(self) -> tuple[str, ...]:
        """Row and column as a reader sees them, without markup."""
        return tuple(plain(heading) or heading for heading in (*self.row, *self.column))

    @property
    def place(self) -> str:
        """The headings in a line; "" without any."""
        return " / ".join(self.headings)


class Rules(Frozen):
    """The limits by which verdicts are computed; docs/claims.md says why each has its value."""

    confidence: float = Field(0.95, gt=0, lt=1, description="of the prediction interval")
    margin: float = Field(0.02, ge=0, description="relative; within it a number is close")
    cap: float = Field(0.10, ge=0, description="relative; outside it nothing is reproduced")
    cap_of_scale: float = Field(
        0.02, ge=0, description="the same, of the whole scale of a percentage or fraction"
    )
    cap_of_gain: float = Field(
        0.50, ge=0, description="the same, of the paper's gain over the baseline"
    )
    # of the readings of one paper, not of its claims: left out of claims.json
    tested: int = Field(
        1,
        ge=1,
        exclude=True,
        description="alternatives tested; what counts as a success is divided by it",
    )


class ClaimedTable(Frozen):
    """A table of the paper, or all: how many of its numbers are claimed, and which aren't."""

    name: str
    claimed: int
    numbers: int
    others: tuple[str, ...] = Field((), description="by row and column")


class ClaimsFile(Frozen):
    """`claims.json`: the claims of one experiment and the rules, or why there are none."""

    paper: str = ""
    experiment: str = ""
    claims: tuple[Claim, ...] = ()
    none_because: str = Field("", description="why the paper gives no number for this experiment")
    rules: Rules = Rules()
    version: int = 1

    @model_validator(mode="after")
    def _consistent(self) -> Self:
        if bool(self.claims) == bool(self.none_because):
            raise ValueError("either claims, or none_because with the reason why there are none")
        ids = [claim.id for claim in self.claims]
        twice = sorted({one for one in ids if ids.count(one) > 1})
        if twice:
            raise ValueError(f"the id {twice[0]} is given to several claims")
        return self

    @property
    def digest(self) -> str:
        """Of claims and rules together."""
        return digest(self.model_dump(mode="json"))

    def to_json(self) -> str:
        """The file's text."""
        return json.dumps(
            {**self.model_dump(mode="json"), "digest": self.digest}, indent=1, ensure_ascii=False
        )

    @classmethod
    def from_json(cls, text: str) -> ClaimsFile:
        """The claims of a file. Raises UsageError if it is damaged or was changed."""
        try:
            content = parse_json(text)
            frozen = content.pop("digest")
            found = cls.model_validate(content)
        except (ValueError, KeyError, TypeError, AttributeError, ValidationError) as error:
            raise UsageError(
                f"claims.json cannot be read ({error})", fix="start a new trial"
            ) from None
        if found.digest != frozen:
            raise UsageError(
                "claims.json was changed after it was frozen",
                fix="restore it, or start a new trial",
            )
        return found


def claims_of(folder: Path) -> ClaimsFile | None:
    """The frozen claims of a trial's folder; None without any.

    Raises UsageError if the file is damaged or was changed.
    """
    try:
        data = read_plain(folder / CLAIMS, LARGEST_JSON)
    except FileNotFoundError:
        return None
    return ClaimsFile.from_json(data.decode(errors="replace"))


def not_stated(before: Sequence[Claim], claims: Sequence[Claim]) -> list[Claim]:
    """Those of `claims` that are not in `before`: under another row, column or metric, of another
    split, or with another number.
    """
    known = {_stated(claim) for claim in before}
    return [claim for claim in claims if _stated(claim) not in known]


def _stated(claim: Claim) -> tuple[object, ...]:
    place = (claim.headings, plain(claim.metric), claim.table, claim.sentence)
    return (*place, claim.split, claim.epoch, claim.value)


def finite(values: tuple[float, ...]) -> bool:
    """True if all of `values` are numbers that can be averaged."""
    return all(map(is_usable, values))


# The keys of claims in metrics.json: made of row, column and metric, in letters, digits and _.
#
# A sign or a Greek letter that tells two rows apart becomes its word: NAC_• is nac_dot, NAC_+ is
# nac_plus, the row × is times. A word that a heading has already said isn't repeated for the
# metric.

_LONGEST = 1_000  # characters of a key, and of a name that it is made of
_MOST = 20  # headings that it is made of
_SIGNS = {
    "+": "plus",
    "×": "times",
    "⋅": "dot",
    "∙": "dot",
    "•": "dot",
    "·": "dot",
    "÷": "over",
    "±": "plus_minus",
    "∞": "infinity",
    "√": "root",
}
_MINUS = re.compile(r"(?:^|(?<=[_^(]))-")  # and no hyphen
_GREEK = re.compile(r"GREEK (?:SMALL|CAPITAL) LETTER (?:FINAL )?(\w+)")


def id_of(headings: Sequence[str], metric: str, taken: Collection[str]) -> str:
    """A key for metrics.json that is not `taken`, if need be with a number at its end."""
    names = list(dict.fromkeys(heading[:_LONGEST] for heading in headings[:_MOST]))
    found = [word for name in names for word in _key_words(name)]
    if not names_metric(names, metric[:_LONGEST]):
        found += [word for word in _key_words(metric) if word not in found]
    key = "_".join(found)[:_LONGEST].strip("_") or "claim"
    numbered = (f"{key}_{number}" for number in count(2))
    return next(one for one in chain([key], numbered) if one not in taken)


def _key_words(name: str) -> list[str]:
    text = _MINUS.sub(" minus ", plain(name[:_LONGEST]).casefold())
    return re.findall(r"[a-z0-9]+", "".join(map(_spelled, text)))


def _spelled(char: str) -> str:
    """A sign or a Greek letter as its word, a letter without its accent."""
    if char in _SIGNS:
        return f" {_SIGNS[char]} "
    if char.isascii():
        return char
    if found := _GREEK.match(unicodedata.name(char, "")):
        return f" {found[1].lower()} "
    return unicodedata.normalize("NFKD", char).encode("ascii", "ignore").decode() or " "

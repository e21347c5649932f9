"""Choices: each decision an implementation takes, with its source, as `choices.json` holds them.

Where a decision differs from the paper it is a difference, what was scaled down first; and what was
scaled down makes claims incomparable. Whether the program keeps to what was decided is read in its
code.
"""

import math
import re
from collections.abc import Sequence
from typing import Annotated, Literal, Self

from pydantic import Field, TypeAdapter, model_validator

from autoreproduce.claims.claim import Claim, Finite, Frozen, Name
from autoreproduce.files.bounded import parse_json
from autoreproduce.papers.numbers import number_of
from autoreproduce.papers.plain import plain

CHOICES = "choices.json"  # in a trial's folder
Value = int | Finite | str
Key = Literal[
    "optimizer",
    "learning_rate",
    "weight_decay",
    "momentum",
    "betas",
    "schedule",
    "batch_size",
    "steps",
    "epochs",
    "seeds",
    "samples",
    "parameters",
    "input_shape",
    "output_shape",
    "loss",
]
# of these there may be less than the paper has, to fit a limit; `seeds` only widen an interval
SCALED = ("steps", "epochs", "samples", "parameters", "input_shape", "seeds")
DECIDES = ("steps", "epochs", "samples", "parameters", "input_shape")
_SHAPE = re.compile(r"\d{1,15}(x\d{1,15}){1,9}")
FITS = 0.95  # of the paper's: 285 of 300 epochs is no other experiment


class Alternative(Frozen):
    """Another value that a careful reader might take, and the reason for it."""

    value: Value
    why: Name
    # left out of a file if it is not so, so that digests of files without stay what they were
    against_text: bool = Field(
        False,
        description="the paper's text says otherwise; registered as what it doesn't say",
        exclude_if=lambda against: not against,
    )


class Cut(Frozen):
    """Where a run that was shortened says how many, and of what."""

    words: Name
    file: str = Field(
        "", description='the driver\'s, if they stand there; "": the command has them'
    )
    replicates: bool = Field(
        False, description="they are simulated data sets or other draws behind each number"
    )


class Choice(Frozen):
    """One decision. `key` names the usual setting that it sets, if it is one.

    `place`: where the paper states it, or what it is inferred from. `paper`: the paper's value,
    if another one was taken to fit a limit; `value` is then that one, and `why` the limit.
    """

    what: Name
    key: Key | None = None
    value: Value
    kind: Literal["stated", "inferred", "open"]
    place: str = Field("", description="the words of the paper, or what it is inferred from")
    why: str = Field("", description="of a default, and of a value that is not the paper's")
    paper: Value | None = None
    claims: tuple[str, ...] = Field((), description="ids of the claims that it affects; () for all")
    alternatives: Annotated[tuple[Alternative, ...], Field(max_length=2)] = Field(
        (), description="of one that may move a number: what else it may be"
    )
    cited: str = Field("", description="of an open one: the cited paper that would settle it")
    cut: Cut | None = Field(
        None, description="of a run that was shortened", exclude_if=lambda cut: cut is None
    )

    @model_validator(mode="after")
    def _sourced(self) -> Self:
        if self.kind != "open" and not self.place:
            raise ValueError(
                f"a choice that is {self.kind} names its place: "
                "the words, or what it is inferred from"
            )
        if self.kind == "open" and not self.why:
            raise ValueError("a choice that is open says why this default is taken")
        if self.paper is not None and self.paper != self.value and not self.why:
            raise ValueError("a value other than the paper's says why")
        if self.kind == "stated" and not all(one.against_text for one in self.alternatives):
            raise ValueError(
                "an alternative to what the paper states is one that its text doesn't say: mark it "
                "with against_text: true, or leave it out"
            )
        if any(alike(self.value, one.value) for one in self.alternatives):
            raise ValueError("alternatives: one is the default's value")
        return self

    @property
    def due(self) -> Value:
        """What the paper has, else what was decided."""
        return self.value if self.paper is None else self.paper

    @property
    def factor(self) -> float | None:
        """What was decided over what is due; None if these are no numbers."""
        return ratio(self.due, self.value)

    @property
    def scaled_down(self) -> bool:
        """True if less was decided than is due."""
        return self.key in SCALED and self.factor is not None and self.factor < FITS

    @property
    def difference(self) -> str:
        """What was decided beside what is due, as one line of the report."""
        times = f" (×{self.factor:.3g})" if self.factor is not None else ""
        source = f" as {self.kind} in {self.place}" if self.place else ""
        reason = f": {self.why}" if self.why else ""
        return f"{self.what}: {self.due}{source}; taken {self.value}{times}{reason}"


def parse_choices(text: str) -> list[Choice]:
    """The choices of a file. Raises ValueError if it cannot be read."""
    return TypeAdapter(list[Choice]).validate_python(parse_json(text, finite=True))


def differences(choices: Sequence[Choice]) -> list[Choice]:
    """The choices of which another value was taken than is due, scaled-down ones first, then by
    factor.
    """
    found = [choice for choice in choices if not alike(choice.due, choice.value)]
    return sorted(found, key=lambda one: (not one.scaled_down, -_distance_from_one(one.factor)))


def _distance_from_one(factor: float | None) -> float:
    """How far a factor is from 1, the same both ways; a word for another comes last."""
    if factor is None:
        return -1.0
    return abs(math.log(factor)) if factor > 0 else math.inf


def incomparable(claims: Sequence[Claim], choices: Sequence[Choice]) -> dict[str, str]:
    """The reason for each claim that a scaled-down choice makes incomparable, by id.

    Fewer seeds make none incomparable.
    """
    reasons: dict[str, str] = {}
    scaled = [one for one in choices if one.scaled_down and one.key in DECIDES]
    for choice in sorted(scaled, key=lambda one: one.factor or 0):
        reason = (
            f"scaled down: {choice.what} {choice.value} for {choice.due} (×{choice.factor:.3g})"
        )
        for claim in claims:
            if not choice.claims or claim.id in choice.claims:
                reasons.setdefault(claim.id, reason)
    return reasons


def shortened_of(claim: str, choices: Sequence[Choice]) -> list[Choice]:
    """What a claim's number is a mean over, and the run was planned with fewer of than the paper
    has, most shortened first.
    """
    found = [
        one
        for one in choices
        if one.cut and one.key == "seeds" and one.scaled_down and claim in one.claims
    ]
    return sorted(found, key=lambda one: one.factor or 0)


def with_count(words: str, had: int, count: int) -> str:
    """The words of a command that say how many (`--reps 50`, `--seeds 0 1 2`) with another, smaller
    count; "" if they don't say `had` in one place.
    """
    numbers = list(re.finditer(r"(?<![\w.])\d+(?![\w.])", words))
    named = [one for one in numbers if int(one[0]) == had]
    if len(named) == 1:
        return f"{words[: named[0].start()]}{count}{words[named[0].end() :]}"
    if len(numbers) == had > count > 0:  # a list of as many
        return words[: numbers[count - 1].end()] + words[numbers[-1].end() :]
    return ""


def says(text: str, words: str) -> bool:
    """Whether these words stand in a command or a script, and not as a part of longer ones."""
    return bool(_standing(words).search(text))


def instead(text: str, words: str, others: str) -> str:
    """A command or a script with other words in their place."""
    return _standing(words).sub(lambda _: others, text)


def _standing(words: str) -> re.Pattern[str]:
    return re.compile(rf"(?<![\w.]){re.escape(words)}(?![\w.])")


def scaled_down_warning(choices: Sequence[Choice]) -> str:
    """What was scaled down and decides the number, in a sentence; "" if nothing was."""
    scaled = [one for one in choices if one.key in DECIDES]
    lines = [one.difference for one in differences(scaled) if one.scaled_down]
    if not lines:
        return ""
    return f"scaled down, so the number is not comparable with the paper's: {'; '.join(lines)}"


def ratio(due: Value, taken: Value) -> float | None:
    """taken / due of two numbers, or of the sizes of two shapes; None if they are neither."""
    one, other = _numeric_size(due), _numeric_size(taken)
    return other / one if one and other is not None else None


def alike(one: Value, other: Value) -> bool:
    """True for equal numbers or lists of numbers, and for the same words (Adam, adam)."""
    first, second = _numeric_size(one), _numeric_size(other)
    if first is not None and second is not None:
        return math.isclose(first, second, rel_tol=1e-6) and shape_of(one) == shape_of(other)
    if (listed := _numbers_of(one)) and listed == _numbers_of(other):
        return True
    return _bare_word(one) == _bare_word(other)


def _numeric_size(value: Value) -> float | None:
    """A number, or how many numbers a shape such as 3x32x32 holds."""
    if isinstance(value, int | float):
        return float(value)
    shape = shape_of(value)
    if shape:
        return float(math.prod(shape))
    printed = number_of(plain(value))
    return printed.value if printed else None


def shape_of(value: Value) -> tuple[int, ...]:
    """(3, 32, 32) of 3x32x32, up to ten sizes of 15 digits; () of what is no shape."""
    text = str(value).replace("×", "x").replace(" ", "")
    return tuple(map(int, text.split("x"))) if _SHAPE.fullmatch(text) else ()


def _numbers_of(value: Value) -> list[float]:
    """The numbers of a list in any brackets, 0.9x0.999 included; [] if there is anything else."""
    parts = re.split(r"[\s,;x×]+", re.sub(r"[\[\]()'\"]", " ", str(value)).strip())
    found = [printed.value for part in parts if (printed := number_of(part))]
    return found if len(found) == len(parts) > 1 else []


def _bare_word(value: Value) -> str:
    return re.sub(r"[^a-z0-9.]+", "", str(value).casefold())

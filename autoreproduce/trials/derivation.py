"""Derivations: how a number comes from what a run wrote.

A derivation names numbers in the outputs (a line, a key, the rows of a table that meet conditions,
in one file or in all that a pattern fits) and says what is taken of them: the value itself, a mean,
a quantile, the difference of two, … A single value is its simplest form. Whoever writes it, a user
or a model, writes no number: code reads them, computes, and says in words what it did. There are no
constants in it, so that it can't be made to give a number that the run didn't.

`--metric-from FILE:KEY` is short for the last number at a key. FILE is read as its name says
(`program_output`): JSON by a path of keys and places with dots between, JSON lines and CSV by the
last row that has the key, any other text, and what was printed (`stdout`), by the number after the
key, or by a pattern between slashes where no word is before the number. `#12.3` is the third number
of the twelfth line of any text.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path, PurePosixPath
from statistics import NormalDist, fmean, median, pstdev, stdev
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    Tag,
    ValidationError,
    field_validator,
    model_validator,
)

from autoreproduce.claims.verdicts.intervals import t_quantile
from autoreproduce.errors import CommandError, SandboxError, UsageError
from autoreproduce.files.bounded import is_usable
from autoreproduce.files.kinds import REMADE, ending
from autoreproduce.files.tree import Tree
from autoreproduce.trials.metrics_file import MAX_BYTES
from autoreproduce.trials.numbers_in_text import form_of, numbers_on_line, pattern_of
from autoreproduce.trials.program_output import (
    PRINTED,
    TEXTS,
    Cell,
    cells_at,
    ended,
    number_at,
    readable,
)

Take = Literal[
    "value", "last", "mean", "median", "sum", "min", "max", "std", "population std", "quantile",
    "count", "lower", "upper", "difference", "ratio", "change",
]  # fmt: skip
PAIRS = ("difference", "ratio", "change")
Then = Literal[
    "times 10", "divided by 10", "times 100", "divided by 100", "times 1000", "divided by 1000",
    "absolute", "exp", "log", "log10", "negated", "square root", "one minus",
]  # fmt: skip
THEN: dict[str, Callable[[float], float]] = {
    "times 10": partial(operator.mul, 10.0),
    "divided by 10": lambda x: x / 10,
    "times 100": partial(operator.mul, 100.0),
    "divided by 100": lambda x: x / 100,
    "times 1000": partial(operator.mul, 1000.0),
    "divided by 1000": lambda x: x / 1000,
    "absolute": abs,
    "exp": math.exp,
    "log": math.log,
    "log10": math.log10,
    "negated": operator.neg,
    "square root": math.sqrt,
    "one minus": lambda x: 1 - x,
}
THEN_WORDS = {
    **{one: f"{{}}, {one}" for one in THEN},
    "absolute": "size of {}", "exp": "exp of {}", "log": "log of {}", "log10": "log10 of {}",
    "negated": "minus {}",
    "square root": "square root of {}", "one minus": "1 minus {}",
}  # fmt: skip
DEEPEST, MOST_LISTED = 8, 12  # derivations in one another; numbers of a list that are shown
LINE = re.compile(r"#(\d{1,7})\.(\d{1,4})")  # a key by its place in a text
GRAMMAR = "write --metric-from FILE:KEY, such as log.csv:test_mse, or stdout:KEY"


class _Strict(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Values(_Strict):
    """Numbers of an output: on a line of it (`line`, or `line` to `to`), or at a `key`.

    `file`: stdout, a file, or a pattern such as runs/*/metrics.json. `key`: a path in JSON, where *
    stands for each item; a column of a table; else the words before a number. `where`: conditions
    on the columns (or keys) of a row: a value, several, or "< 0.05"; the column "" is the first
    one of a printed table. `text`: the line, copied, by which it's found where another run prints
    it elsewhere.
    """

    file: str = Field(min_length=1, max_length=300)
    key: str = Field("", max_length=300)
    where: dict[str, str | list[str]] = {}
    line: int | None = Field(None, ge=1)
    to: int | None = Field(None, ge=1, description="last line, of several")
    number: int = Field(1, ge=1, description="which number of the line or cell")
    text: str = Field("", max_length=2_000)

    @field_validator("where", mode="before")
    @classmethod
    def _as_texts(cls, where: Any) -> Any:
        """Conditions as texts: a model writes {"seed": 3}."""
        if not isinstance(where, dict):
            return where
        return {k: [str(x) for x in v] if isinstance(v, list) else str(v) for k, v in where.items()}

    @model_validator(mode="after")
    def _named(self) -> Self:
        path = PurePosixPath(self.file)
        if path.is_absolute() or ".." in path.parts:
            raise ValueError(f"{self.file} leads out of the run's folder")
        if not self.key and self.line is None:
            raise ValueError(f"name a key or a line of {self.file}")
        if self.to is not None and (self.line is None or self.to < self.line):
            raise ValueError("`to` is the last line of several that begin at `line`")
        return self

    @property
    def is_pattern(self) -> bool:
        """Whether several files may be meant."""
        return bool(re.search(r"[*?\[]", self.file))


def _kind(value: Any) -> str:
    """Which of the two an operand is."""
    if isinstance(value, dict):
        return "values" if "file" in value else "derivation"
    return "values" if isinstance(value, Values) else "derivation"


Operand = Annotated[
    Annotated[Values, Tag("values")] | Annotated["Derivation", Tag("derivation")],
    Discriminator(_kind),
]


class Derivation(_Strict):
    """What is taken of which numbers, and what is done with it then.

    A difference is the first minus the second, a ratio the first over the second, a change their
    difference over the second; of as many numbers on both sides they're taken pair by pair.
    `lower` and `upper` are the ends of the interval of a mean at `level`, by Student's t, or by the
    normal distribution. `scale`: whether the output's numbers are fractions or percentages, where
    it shows. `runs`: each number is one run (or seed) of the same experiment.
    """

    take: Take = "value"
    of: Operand | tuple[Operand, ...]
    q: float | None = Field(None, ge=0, le=1, description="which quantile, 0 to 1")
    level: float = Field(0.95, gt=0, lt=1)
    by: Literal["t", "normal"] = "t"
    then: tuple[Then, ...] = Field((), max_length=3)
    unit: str = Field("", max_length=40, description="as the output names it")
    scale: Literal["", "fraction", "percent"] = ""
    runs: bool = False

    @field_validator("then", mode="before")
    @classmethod
    def _several(cls, then: Any) -> Any:
        return ([then] if then else []) if isinstance(then, str) else then

    @model_validator(mode="after")
    def _fits(self) -> Self:
        two = isinstance(self.of, tuple) and len(self.of) == 2
        if self.take in PAIRS and not two:
            raise ValueError(f"a {self.take} is of two: [what, beside what]")
        if self.take == "quantile" and self.q is None:
            raise ValueError("a quantile needs q, as 0.5")
        if isinstance(self.of, tuple) and not 0 < len(self.of) <= 20:
            raise ValueError("`of` holds 1 to 20 places")
        if self.depth > DEEPEST:
            raise ValueError(f"expressions may stand at most {DEEPEST} deep in one another")
        return self

    @property
    def operands(self) -> tuple[Values | Derivation, ...]:
        """What it's of, one after the other."""
        return self.of if isinstance(self.of, tuple) else (self.of,)

    @property
    def depth(self) -> int:
        """How many derivations are in one another."""
        return 1 + max(
            (one.depth for one in self.operands if isinstance(one, Derivation)), default=0
        )

    @property
    def values(self) -> list[Values]:
        """All places that it names."""
        return [
            place
            for one in self.operands
            for place in ([one] if isinstance(one, Values) else one.values)
        ]

    @property
    def text(self) -> str:
        """As `--metric-from` takes it."""
        fields = set(Derivation.model_fields)
        return self.model_dump_json(exclude_defaults=True, include=fields)


@dataclass(frozen=True)
class Outputs:
    """What a run left: the names of its text files, and the text of each by `read`."""

    names: Sequence[str]
    read: Callable[[str], str]

    @classmethod
    def of(cls, texts: dict[str, str]) -> Outputs:
        """Texts that were read before."""

        def read(name: str) -> str:
            if name not in texts:
                raise CommandError(f"{name} is none of the outputs")
            return texts[name]

        return cls([*texts], read)

    @classmethod
    def left(cls, workspace: Path, printed: str, unwritten: Collection[str] = ()) -> Outputs:
        """What a run left in its workspace and printed. `unwritten`: files from before the run."""
        tree = Tree(workspace)

        def read(name: str) -> str:
            if name in unwritten:
                raise CommandError(
                    f"--metric-from: {name} is from before the run, which didn't write it"
                )
            if name == PRINTED:
                return readable(name, printed)
            try:
                return readable(name, tree.read(name, MAX_BYTES).decode("utf-8", "replace"))
            except FileNotFoundError:
                raise CommandError(f"--metric-from: {name} was not written") from None
            except SandboxError as error:
                why = f"--metric-from: {name} cannot be read ({error})"
                raise CommandError(why) from None

        names = [e.name for e in tree.walk(REMADE) if e.kind == "file"]
        return cls([name for name in names if name not in unwritten], read)

    def matching(self, place: Values) -> list[str]:
        """The files that a place names. Raises CommandError if a pattern fits none."""
        if not place.is_pattern or place.file in self.names:
            return [place.file]
        fits = [n for n in sorted(self.names) if fnmatchcase(n, place.file) and n != PRINTED]
        fits = [name for name in fits if ending(name) in TEXTS]
        if not fits:
            raise CommandError(f"no output fits {place.file}")
        return fits


@dataclass(frozen=True)
class Derived:
    """Numbers, in words how they come about, and what was read, to be shown."""

    numbers: tuple[float, ...]
    words: str
    read: str = ""

    @property
    def value(self) -> float:
        """The one number."""
        return self.numbers[0]


def derive(derivation: Derivation, outputs: Outputs) -> Derived:
    """The one number of a derivation. Raises CommandError that says which part names nothing, or
    more than one number.
    """
    found = _evaluated(derivation, outputs)
    if len(found.numbers) != 1:
        raise CommandError(
            f"it is {len(found.numbers)} numbers ({_listed(found.numbers)}): say what is taken of "
            "them (mean, median, min, last, …), or name one by `where` or `line`"
        )
    if not is_usable(found.value):
        raise CommandError(f"{found.words} is {found.value:g}, which isn't a usable number")
    if derivation.unit:
        texts = (outputs.read(n) for place in derivation.values for n in outputs.matching(place))
        if not any(re.search(rf"(?<!\w){re.escape(derivation.unit)}(?!\w)", t) for t in texts):
            raise CommandError(f"the output names no unit {derivation.unit!r}: leave it out")
    return found


def _evaluated(one: Values | Derivation, outputs: Outputs) -> Derived:
    if isinstance(one, Values):
        return _read(one, outputs)
    if _is_last_at_key(one) and isinstance(one.of, Values):
        file, key = one.of.file, one.of.key
        cell = number_at(file, key, outputs.read(file))
        found = Derived((cell.number,), f"{key} in {file}", cell.text)
    else:
        parts = [_evaluated(part, outputs) for part in one.operands]
        found = _pairs(one, *parts) if one.take in PAIRS else _taken(one, parts)
    numbers, words = found.numbers, found.words
    for step in one.then:
        try:
            numbers = tuple(map(THEN[step], numbers))
        except (ValueError, OverflowError):
            raise CommandError(f"{words} is {_listed(numbers)}, which has no {step}") from None
        words = THEN_WORDS[step].format(words)
    return Derived(numbers, words + (f", in {one.unit}" if one.unit else ""), found.read)


def _is_last_at_key(one: Derivation) -> bool:
    """Whether it's a user's FILE:KEY, whose text may hold the key in several ways."""
    plain = isinstance(one.of, Values) and not (one.of.where or one.of.line or one.of.is_pattern)
    return one.take == "last" and plain and isinstance(one.of, Values) and "*" not in one.of.key


def _taken(one: Derivation, parts: Sequence[Derived]) -> Derived:
    """One number of several, or the value itself."""
    numbers = [number for part in parts for number in part.numbers]
    named = " and ".join(part.words for part in parts)
    read = next((part.read for part in parts if part.read), "") if len(parts) == 1 else ""
    read = read if len(numbers) == 1 and read else _listed(numbers)
    if one.take == "value":
        return Derived(tuple(numbers), named, read)
    needed = 2 if one.take in ("std", "lower", "upper") else 0 if one.take == "count" else 1
    if len(numbers) < needed:
        raise CommandError(f"{named}: {len(numbers)} number(s), too few for a {one.take}")
    half = _half_width(one, numbers) if one.take in ("lower", "upper") else 0.0
    taken: dict[str, Callable[[Sequence[float]], float]] = {
        "last": lambda x: x[-1],
        "mean": fmean,
        "median": median,
        "sum": math.fsum,
        "min": min,
        "max": max,
        "std": stdev,
        "population std": pstdev,
        "quantile": lambda x: _quantile(x, one.q or 0.0),
        "count": lambda x: float(len(x)),
        "lower": lambda x: fmean(x) - half,
        "upper": lambda x: fmean(x) + half,
    }
    names = {
        "sum": "sum", "min": "least", "max": "largest", "std": "standard deviation",
        "population std": "population standard deviation", "quantile": f"{one.q}-quantile",
        "count": "number", "lower": f"lower end of the {100 * one.level:g} % interval of the mean",
        "upper": f"upper end of the {100 * one.level:g} % interval of the mean",
    }  # fmt: skip
    word = names.get(one.take, one.take)
    return Derived((taken[one.take](numbers),), f"{word} of {named}", read)


def _quantile(numbers: Sequence[float], q: float) -> float:
    """Linear between neighbours, as NumPy's default."""
    ordered = sorted(numbers)
    at = q * (len(ordered) - 1)
    low = math.floor(at)
    high = min(low + 1, len(ordered) - 1)
    return ordered[low] + (ordered[high] - ordered[low]) * (at - low)


def _half_width(one: Derivation, numbers: Sequence[float]) -> float:
    times = NormalDist().inv_cdf((1 + one.level) / 2)
    if one.by == "t":
        times = t_quantile(one.level, len(numbers) - 1)
    return times * stdev(numbers) / math.sqrt(len(numbers))


def _pairs(one: Derivation, first: Derived, second: Derived) -> Derived:
    """A difference, ratio or change; pair by pair, or each with the one number beside it."""
    ours, theirs = list(first.numbers), list(second.numbers)
    if len(theirs) == 1:
        theirs *= len(ours)
    elif len(ours) == 1:
        ours *= len(theirs)
    if len(ours) != len(theirs):
        raise CommandError(
            f"{first.words} is {len(ours)} numbers and {second.words} {len(theirs)}: a {one.take} "
            "needs as many, or one; say what is taken of them first"
        )
    if one.take != "difference" and 0.0 in theirs:
        raise CommandError(f"{second.words} is 0: nothing is divided by it")
    both = zip(ours, theirs, strict=True)
    numbers = {
        "difference": lambda: tuple(a - b for a, b in both),
        "ratio": lambda: tuple(a / b for a, b in both),
        "change": lambda: tuple((a - b) / b for a, b in both),
    }[one.take]()
    words = {
        "difference": f"{first.words} minus {second.words}",
        "ratio": f"{first.words} over {second.words}",
        "change": f"relative change from {second.words} to {first.words}",
    }[one.take]
    shown = f"{_listed(first.numbers)} and {_listed(second.numbers)}"
    return Derived(numbers, words, shown)


def _read(place: Values, outputs: Outputs) -> Derived:
    """The numbers that a place names, in all its files."""
    files = outputs.matching(place)
    cells: list[Cell] = []
    for name in files:
        text = outputs.read(name)
        found = _on_lines(place, name, text) if place.line and not place.key else None
        if found is None:
            heading = None
            if place.line:
                heading = _line_of(place, name, text.split("\n"))
            found = cells_at(name, text, place.key, place.where, place.number, heading)
        cells += found
    numbers = tuple(cell.number for cell in cells)
    read = cells[0].text if len(cells) == 1 else _listed(numbers)
    return Derived(numbers, _place_words(place, files, len(cells)), read)


def _place_words(place: Values, files: Sequence[str], count: int) -> str:
    """As "cost in 6 rows of summary.csv where method = lqr"."""
    named = place.file if len(files) == 1 else f"{len(files)} files {place.file}"
    if place.line and not place.key:
        if place.to and place.to > place.line:
            return f"number {place.number} of lines {place.line} to {place.to} of {named}"
        return f"number {place.number} of line {place.line} of {named}"
    where = " and ".join(
        f"{column or 'the first column'} {_condition(wanted)}"
        for column, wanted in place.where.items()
    )
    rows = f"{count} rows of " if count != 1 else "the row of " if where else ""
    return f"{place.key} in {rows}{named}{f' where {where}' if where else ''}"


def _condition(wanted: str | list[str]) -> str:
    if isinstance(wanted, list):
        return f"is {' or '.join(wanted)}"
    return wanted if re.match(r"[<>!]", wanted) else f"= {wanted}"


def _on_lines(place: Values, name: str, text: str) -> list[Cell]:
    """The nth number of a line, or of each of several."""
    lines = text.split("\n")
    first = _line_of(place, name, lines)
    assert place.line is not None
    last = first + (place.to - place.line if place.to else 0)
    cells = []
    for number in range(first, last + 1):
        line = lines[number - 1] if number <= len(lines) else ""
        found = numbers_on_line(line)
        if place.to and not found:
            continue  # a rule, or a blank line, between the rows of a table
        if place.number > len(found):
            raise CommandError(f"line {number} of {name} has {len(found)} numbers: {line[:200]!r}")
        cells.append(Cell(float(found[place.number - 1]), line.strip()))
    if not cells:
        raise CommandError(f"lines {first} to {last} of {name} hold no number")
    return cells


def _line_of(place: Values, name: str, lines: Sequence[str]) -> int:
    """The number of the line that is meant: the one that is named, if it has the form of the copied
    text, else the only one that has it, since another run may print more or less above.
    """
    assert place.line is not None
    there = lines[place.line - 1] if place.line <= len(lines) else ""
    if not place.text or form_of(there) == form_of(place.text):
        if not there.strip():
            raise CommandError(f"{name} has no line {place.line} with a text")
        return place.line
    alike = [n for n, line in enumerate(lines, 1) if form_of(line) == form_of(place.text)]
    if len(alike) != 1:
        raise CommandError(f"line {place.line} of {name} reads {there[:200]!r}")
    return alike[0]


def _listed(numbers: Iterable[float]) -> str:
    shown = [f"{number:.6g}" for number in numbers]
    more = ["…"] if len(shown) > MOST_LISTED else []
    return ", ".join([*shown[:MOST_LISTED], *more]) or "none"


@dataclass(frozen=True)
class MetricSource:
    """One number: its name in metrics.json ("": the task's metric), and how it comes about."""

    name: str
    derivation: Derivation


def parse_metric_source(text: str) -> MetricSource:
    """`[NAME=]FILE:KEY`, or `[NAME=]` and a derivation as JSON. Raises UsageError for another form,
    a key that is no pattern, or a file outside the workspace.
    """
    if written := re.fullmatch(r"\s*(?:([^={}]*)=)?\s*(\{.*\})\s*", text, re.DOTALL):
        try:
            derivation = Derivation.model_validate_json(written[2])
        except ValidationError as error:
            wrong = f"--metric-from {text!r} is no derivation ({field_faults(error)})"
            raise UsageError(wrong, fix="docs/verify.md shows its form") from None
        return MetricSource((written[1] or "").strip(), derivation)
    place, colon, key = text.partition(":")
    name, _, file = place.rpartition("=")
    file, key, line = file.strip(), key.strip(), LINE.fullmatch(key.strip())
    try:
        if line:
            on_line = Values(file=file, line=int(line[1]), number=int(line[2]))
            return MetricSource(name.strip(), Derivation(of=on_line))
        at = Values(file=file, key=key)
    except ValidationError:
        at = None
    if at is None or not colon:
        raise UsageError(f"--metric-from {text!r} names no file and key", fix=GRAMMAR)
    _check_pattern(key, text)
    return MetricSource(name.strip(), Derivation(take="last", of=at))


def _check_pattern(key: str, text: str) -> None:
    """Raises UsageError for a pattern that is none, or that has no one group for the number."""
    try:
        groups = re.compile(pattern_of(key) or "()").groups
    except re.error as error:
        why = f"--metric-from {text!r} holds no pattern ({error})"
        raise UsageError(why, fix=GRAMMAR) from None
    if groups != 1:
        fix = "put one pair of brackets around the number, as stdout:/loss (\\S+)$/"
        raise UsageError(f"--metric-from {text!r} does not say which number", fix=fix)


def field_faults(error: ValidationError) -> str:
    """Each fault with its field, without the names of the kinds of operands."""
    found = []
    for one in error.errors(include_url=False)[:8]:
        parts = [str(part) for part in one["loc"] if part not in ("values", "derivation")]
        found.append(
            f"{'.'.join(parts) or 'the object'}: {one['msg'].removeprefix('Value error, ')}"
        )
    return "; ".join(found)


def files_of(texts: Sequence[str]) -> set[str]:
    """The files, and patterns of files, in which `--metric-from` looks, without what's printed."""
    sources = map(parse_metric_source, texts)
    return {place.file for one in sources for place in one.derivation.values} - {PRINTED}


@dataclass(frozen=True)
class DerivedMetrics:
    """Numbers by name, how each comes about, the single runs behind a mean, the scale where it is
    known, and the line or cell of one that is read as it stands.
    """

    metrics: dict[str, float]
    words: dict[str, str]
    runs: dict[str, list[float]]
    scales: dict[str, Literal["fraction", "percent"]]
    lines: dict[str, str]


def metrics_from(
    texts: Sequence[str],
    workspace: Path,
    printed: str,
    metric: str,
    *,
    unwritten: Collection[str] = (),
    whole: bool = True,
) -> DerivedMetrics:
    """The numbers that `--metric-from` names; `metric` is the name of the task's own. `unwritten`:
    files that lay there before the run, and that it didn't write. `whole`: the program ended well,
    so that a last line without an end is no half of one.

    Raises CommandError that says what is missing where.
    """
    outputs = Outputs.left(workspace, printed, unwritten)
    found, missing = DerivedMetrics({}, {}, {}, {}, {}), list[str]()
    for source in map(parse_metric_source, texts):
        name, derivation = source.name or metric, source.derivation
        try:
            if not whole:
                for place in derivation.values:
                    for file in outputs.matching(place):
                        ended(file, place.key, outputs.read(file))
            made = derive(derivation, outputs)
        except CommandError as error:
            missing.append(str(error))
            continue
        found.metrics[name], found.words[name] = made.value, made.words
        if (derivation.take == "value" or _is_last_at_key(derivation)) and not derivation.then:
            found.lines[name] = made.read
        if derivation.scale:
            found.scales[name] = derivation.scale
        if derivation.runs and derivation.take == "mean" and not derivation.then:
            found.runs[name] = [
                n for one in derivation.operands for n in _evaluated(one, outputs).numbers
            ]
    if metric not in found.metrics or not texts:
        raise CommandError("; ".join(missing) or f"--metric-from names no place for {metric}")
    return found

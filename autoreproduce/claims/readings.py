"""Readings: the ways to fill in what a paper leaves open, fixed before any code is written.

An open choice that may move a number has its default and one or two alternatives. A reading gives
each open choice one of its values; the program takes it as `--reading NAME=VALUE`. Running several
is a multiverse analysis (Steegen, Tuerlinckx, Gelman and Vanpaemel, "Increasing transparency
through a multiverse analysis", Perspectives on Psychological Science 11, 2016).
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from textwrap import wrap
from typing import Annotated

from pydantic import Field, TypeAdapter, ValidationError

from autoreproduce.claims.choices import Alternative, Choice, Value, alike
from autoreproduce.claims.claim import Frozen, Name, id_of
from autoreproduce.config import digest
from autoreproduce.errors import UsageError
from autoreproduce.files.bounded import LARGEST_JSON, parse_json
from autoreproduce.files.shared import read_plain

READINGS = "readings.json"  # in a trial's folder, or beside a program that is handed in
# beside the program and in a trial's folder: the defaults that were changed while coding
DEFAULTS = "reading_defaults.json"
MOST_OPEN = 8  # choices with alternatives
LONGEST_NAME = 56  # characters, in whole words; a number may follow
FLAG = "--reading"
TAKEN = "taken while coding, by what the text still says"

Reading = Mapping[str, Value]  # by name, the values that differ from the defaults; {}: the default


class OpenChoice(Frozen):
    """One choice that the paper leaves open: its default, and what else a careful reader may take.

    `name` is how `--reading` names it. `claims`: the ids of those it may move; () for all.
    """

    name: Annotated[str, Field(pattern=r"^[a-z0-9_]{1,60}$")]
    what: Name
    default: Value
    why: str = ""
    alternatives: Annotated[tuple[Alternative, ...], Field(min_length=1, max_length=2)]
    claims: tuple[str, ...] = ()

    @property
    def values(self) -> tuple[Value, ...]:
        """The default first."""
        return (self.default, *(one.value for one in self.alternatives))

    @property
    def takeable(self) -> tuple[Value, ...]:
        """Those that may be the default: all that the paper's text leaves open."""
        against = [one.value for one in self.alternatives if one.against_text]
        return tuple(value for value in self.values if value not in against)

    def taking(self, taken: Taken) -> OpenChoice:
        """This choice with another default, whose value is one of `values`."""
        others = [one for one in self.alternatives if not alike(one.value, taken.value)]
        if not alike(self.default, taken.value):
            before = Alternative(value=self.default, why=self.why or "the default before coding")
            others.insert(0, before)
        why = f"{TAKEN}: {taken.why}"
        update = {"default": taken.value, "why": why, "alternatives": tuple(others)}
        return self.model_copy(update=update)


def open_choices(choices: Iterable[Choice]) -> list[OpenChoice]:
    """Those of `choices` that have alternatives, in their order, `MOST_OPEN` at most."""
    found: list[OpenChoice] = []
    for choice in choices:
        if choice.alternatives and len(found) < MOST_OPEN:
            words = wrap(id_of([choice.what], "", ()).replace("_", " "), LONGEST_NAME)
            name = id_of(words[:1], "", {one.name for one in found})
            found.append(
                OpenChoice(
                    name=name,
                    what=choice.what,
                    default=choice.value,
                    why=choice.why or choice.place,
                    alternatives=choice.alternatives,
                    claims=choice.claims,
                )
            )
    return found


def freeze_readings(opened: Sequence[OpenChoice]) -> str:
    """The text of readings.json, with its digest."""
    listed = [one.model_dump(mode="json") for one in opened]
    return json.dumps({"open": listed, "digest": digest(listed)}, indent=1, ensure_ascii=False)


class Taken(Frozen):
    """A registered value that became the default while the program was written, and why."""

    value: Value
    why: Name


def parse_defaults(text: str) -> dict[str, Taken]:
    """Values by name of a file's text, `{"NAME": {"value": …, "why": …}}`. Raises ValueError."""
    try:
        return TypeAdapter(dict[str, Taken]).validate_python(parse_json(text, finite=True))
    except ValidationError as error:
        first = error.errors()[0]
        raise ValueError(f"{'.'.join(map(str, first['loc']))}: {first['msg']}") from None


def defaults_text(taken: Mapping[str, Taken]) -> str:
    """The text of reading_defaults.json."""
    listed = {name: one.model_dump(mode="json") for name, one in taken.items()}
    return json.dumps(listed, indent=1, ensure_ascii=False)


def with_defaults(opened: Sequence[OpenChoice], taken: Mapping[str, Taken]) -> list[OpenChoice]:
    """The open choices with other defaults; the one before becomes an alternative.

    Raises ValueError for a value that isn't registered, or only as one that the paper's text
    doesn't say.
    """
    known = {one.name: one for one in opened}
    for name, one in taken.items():
        if name not in known:
            raise ValueError(f"{name!r} is none of the open choices: {', '.join(known) or 'none'}")
        if not any(alike(one.value, value) for value in known[name].takeable):
            allowed = " or ".join(map(str, known[name].takeable))
            raise ValueError(f"the default of {name} can't be {one.value}, only {allowed}")
    return [one.taking(taken[one.name]) if one.name in taken else one for one in opened]


def frozen_readings(folder: Path) -> list[OpenChoice]:
    """The open choices as they were frozen in a folder; [] without a file.

    Raises UsageError if the file is damaged, or was changed after it was frozen.
    """
    path = folder / READINGS
    text = _text_of(path)
    return [] if text is None else parse_readings(text, str(path))


def readings_of(folder: Path) -> list[OpenChoice]:
    """Those of `frozen_readings`, with the defaults taken while coding.

    Raises UsageError as that does.
    """
    opened, path = frozen_readings(folder), folder / DEFAULTS
    text = _text_of(path)
    if text is None:
        return opened
    try:
        return with_defaults(opened, parse_defaults(text))
    except ValueError as error:
        raise UsageError(
            f"{path} cannot be read ({error})", fix="see docs/claims.md, Readings"
        ) from None


def _text_of(path: Path) -> str | None:
    try:
        return read_plain(path, LARGEST_JSON).decode("utf-8", "replace")
    except FileNotFoundError:
        return None


def parse_readings(text: str, place: str) -> list[OpenChoice]:
    """The open choices of a file's text. Raises UsageError as `readings_of`, naming `place`."""
    try:
        content = parse_json(text)
        opened = TypeAdapter(list[OpenChoice]).validate_python(content["open"])[:MOST_OPEN]
    except (ValueError, TypeError, KeyError, ValidationError) as error:
        why = " ".join(str(error).split())[:200]
        raise UsageError(
            f"{place} cannot be read ({why})", fix="see docs/claims.md, Readings"
        ) from None
    if content.get("digest", digest(content["open"])) != digest(content["open"]):
        raise UsageError(
            f"{place} was changed after it was frozen",
            fix="restore the file, or start the trial anew in another folder",
        )
    return opened


def arguments(reading: Reading) -> str:
    """The command-line arguments of a reading: "" for the default one."""
    return " ".join(f"{FLAG} {shlex.quote(f'{name}={value}')}" for name, value in reading.items())


def label(reading: Reading) -> str:
    """A reading in words; "default" for the default one."""
    return ", ".join(f"{name}={value}" for name, value in reading.items()) or "default"


def folder_name(reading: Reading) -> str:
    """A short, safe and unique name for the folder of a reading's runs."""
    words = re.sub(r"[^a-z0-9_.=-]+", "-", label(reading).casefold())[:60].strip("-.")
    return f"{words}-{digest(dict(reading))[:8]}"


def single_readings(opened: Sequence[OpenChoice]) -> list[dict[str, Value]]:
    """Each alternative by itself: the first of every choice, that which matters most in front, then
    their second ones.
    """
    return [
        {one.name: one.alternatives[place].value}
        for place in range(2)
        for one in opened
        if place < len(one.alternatives) and not alike(one.alternatives[place].value, one.default)
    ]


def paired_readings(helped: Sequence[tuple[Reading, set[str]]]) -> list[dict[str, Value]]:
    """Two alternatives of different choices together that each brought one experiment nearer to the
    paper. `helped`: each with the names of the experiments that it did so for.
    """
    return [
        {**one, **other}
        for (one, of_one), (other, of_other) in combinations(helped, 2)
        if of_one & of_other and not set(one) & set(other)
    ]

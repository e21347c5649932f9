"""Readings: the ways to fill in what a paper leaves open, fixed before any code is written.

An open choice that may move a number has its default and one or two alternatives. A reading gives
each open choice one of its values; the program takes it as `--reading NAME=VALUE`. Running several
is a multiverse analysis (Steegen, Tuerlinckx, Gelman and Vanpaemel, "Increasing transparency
through a multiverse analysis", Perspectives on Psychological Science 11, 2016).
"""

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
MOST_OPEN = 8  # choices with alternatives
LONGEST_NAME = 56  # characters, in whole words; a number may follow
FLAG = "--reading"

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


def readings_of(folder: Path) -> list[OpenChoice]:
    """The open choices frozen in a folder; [] without a file.

    Raises UsageError if the file is damaged, or was changed after it was frozen.
    """
    path = folder / READINGS
    try:
        text = read_plain(path, LARGEST_JSON).decode("utf-8", "replace")
    except FileNotFoundError:
        return []
    return parse_readings(text, str(path))


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

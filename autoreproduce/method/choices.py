"""The choices of an implementation.

The research agent writes them once it has read the paper (`choices.json`), and its review checks
that the program keeps to them. Nothing here can end a trial: without a usable reply there is a note
and no choices.

A choice that is called stated must be stated: its words are in the paper or in the task.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from autoreproduce.claims.check import Problem
from autoreproduce.claims.choices import CHOICES, Choice, Key, alike, ratio
from autoreproduce.claims.places import in_column, in_row, tables_named
from autoreproduce.claims.readings import (
    DEFAULTS,
    FLAG,
    MOST_OPEN,
    READINGS,
    Taken,
    defaults_text,
    freeze_readings,
    frozen_readings,
    open_choices,
    with_defaults,
)
from autoreproduce.claims.replies import choice_value, read_choices
from autoreproduce.claims.source import Source, read_source
from autoreproduce.claims.user_claims import read_user_claims
from autoreproduce.errors import CommandError, ReaderError, ReplyError
from autoreproduce.files.confined import confined
from autoreproduce.papers.plain import plain, quotable
from autoreproduce.papers.table import Table

if TYPE_CHECKING:
    from autoreproduce.claims.claim import Claim
    from autoreproduce.method.workbench import Workbench
    from autoreproduce.task import Task

PROMPT = "claims/choices"
MOST = 16  # choices of one experiment


def write_choices(bench: Workbench, task: Task, claims: Sequence[Claim] = ()) -> list[Choice]:
    """The research agent's choices, checked and stored; [] with a note without a usable reply."""
    reader = ChoicesReader(bench.paper, task)
    try:
        choices = bench.research.checked(
            PROMPT, reader.read, paper=bench.paper, task=task, claims=claims, **form_values(bench)
        )
    except (ReplyError, ReaderError) as error:
        bench.trial.note(f"choices: continuing without: {error}")
        choices = []
    return take_choices(bench, reader, choices)


def form_values(bench: Workbench) -> dict[str, Any]:
    """What the form of choices is rendered with."""
    return {
        "most_choices": MOST,
        "most_open": MOST_OPEN,
        "keys": get_args(Key),
        "limit": max(1, round(bench.planned_minutes)),
        "cores": bench.planned_cores,
    }


def take_choices(bench: Workbench, reader: ChoicesReader, choices: list[Choice]) -> list[Choice]:
    """Store what a reader accepted; what it left out is noted."""
    for what in reader.left_out:
        bench.trial.note(f"choices: {what} is left out: its words are not in the paper")
    store_choices(bench, choices)
    freeze_open_choices(bench, choices)
    return choices


def correct_choices(bench: Workbench, lines: str) -> None:
    """Carry out a review's lines `- name: value (why)`.

    Raises CommandError for a choice that there is not, and for a value that isn't registered, of
    one whose alternatives are frozen.
    """
    known = {choice.what.casefold(): choice for choice in bench.choices}
    registered = {one.what: one.name for one in bench.open_choices}
    corrected: dict[str, Choice] = {}
    taken = dict(bench.taken)
    for line in filter(None, map(str.strip, lines.splitlines())):
        found = re.fullmatch(r"[-*]?\s*(.+?):\s+(.+?)(?:\s+\((.+)\))?", line)
        choice = known.get(found[1].strip("`*").casefold()) if found else None
        if found is None or choice is None:
            names = "; ".join(one.what for one in bench.choices)
            raise CommandError(f"`{line[:100]}` names no choice. There are: {names}")
        value, why = choice_value(found[2]), found[3] or "a review"
        if choice.what in registered:
            taken[registered[choice.what]] = Taken(value=value, why=why)
            continue
        new = {"value": value, "paper": choice.due, "why": why}
        corrected[choice.what] = choice.model_copy(update=new)
    if taken != bench.taken:
        try:
            take_defaults(bench, taken)
        except ValueError as error:
            raise CommandError(str(error)) from None
    bench.choices = [corrected.get(choice.what, choice) for choice in bench.choices]
    store_choices(bench, bench.choices)


def freeze_open_choices(bench: Workbench, choices: Sequence[Choice]) -> None:
    """Write readings.json once: a resumed trial has the readings that were frozen first."""
    if not (bench.trial.folder / READINGS).exists() and (opened := open_choices(choices)):
        bench.trial.write(READINGS, freeze_readings(opened) + "\n")
    bench.open_choices = frozen_readings(bench.trial.folder)


def take_defaults(bench: Workbench, taken: Mapping[str, Taken]) -> None:
    """Make registered values the defaults that fit what the paper's text still says, as a coder or
    a review found. Raises ValueError for what isn't registered.
    """
    frozen = frozen_readings(bench.trial.folder)
    bench.open_choices = with_defaults(frozen, taken)
    bench.taken = dict(taken)
    bench.trial.write(DEFAULTS, defaults_text(taken) + "\n")
    now = {one.what: one for one in bench.open_choices}
    for place, choice in enumerate(bench.choices):
        one = now.get(choice.what)
        if one is not None and not alike(one.default, choice.value):
            new = {"value": one.default, "why": one.why, "alternatives": one.alternatives}
            bench.choices[place] = choice.model_copy(update=new)
    store_choices(bench, bench.choices)


def cited_by_choices(choices: Sequence[Choice]) -> list[str]:
    """The titles of cited papers that would settle what is not stated."""
    return list(dict.fromkeys(one.cited for one in choices if one.cited and one.kind != "stated"))


def store_choices(bench: Workbench, choices: Sequence[Choice]) -> None:
    """Write choices.json."""
    listed = [choice.model_dump(mode="json") for choice in choices]
    bench.trial.write(CHOICES, json.dumps(listed, indent=1, ensure_ascii=False) + "\n")


class ChoicesReader:
    """Reads replies as choices: the first one with wrong places goes back, in a second one the
    choices with wrong places are left out.
    """

    def __init__(self, paper: str, task: Task) -> None:
        self.paper = paper
        claimed = [claim.title for claim in read_user_claims(task.user_claims)]
        given = [task.instruction, task.metric.definition, task.preprocess or "", *claimed]
        self.given = "\n".join(given)
        self.left_out: list[str] = []
        self._replies = 0

    def read(self, reply: str) -> list[Choice]:
        """The choices in a reply. Raises CommandError with all that is wrong."""
        self._replies += 1
        choices = read_choices(reply)[:MOST]
        problems = confined(check_choices, choices, self.paper, self.given, what="the paper")
        if problems and self._replies == 1:
            raise CommandError("; ".join(map(str, problems)))
        self.left_out = [problem.id for problem in problems]
        return [choice for choice in choices if choice.what not in self.left_out]


def choice_lines(bench: Workbench) -> list[str]:
    """The choices as the code agent reads them: what and which value, and why it is not the
    paper's.
    """
    return [bench.blank(_decision(choice)) for choice in bench.choices]


def open_lines(bench: Workbench) -> list[str]:
    """The open choices as the code agent reads them: the argument and the values that it takes."""
    return [
        f"{one.what}: `{FLAG} {one.name}=VALUE` with {' or '.join(map(str, one.values))} "
        f"(default {one.default})"
        for one in bench.open_choices
    ]


def _decision(choice: Choice) -> str:
    text = f"{choice.what}: {choice.value}"
    if choice.paper is None or alike(choice.paper, choice.value):
        return text
    factor = ratio(choice.paper, choice.value)
    times = f", ×{factor:.3g}" if factor is not None else ""
    return f"{text} (the paper has {choice.paper}{times}: {choice.why})"


SHORTEST = 4  # characters of a quotation that can be told from chance
_QUOTED = re.compile(r"[\u00ab\"“„]\s*([^\u00ab\u00bb\"“”„]+?)\s*[\u00bb\"”“]")
_TABLE = re.compile(r"\b(?:table|tab\.?)[\s~]*([\w.:()-]+)", re.IGNORECASE)
_EQUATION = re.compile(
    r"\b(?:eqs?\b\.?|equations?|formulas?|formulae)[\s~]*\(?(\d+[a-z]?)\)?", re.IGNORECASE
)
_LEFT_OUT = re.compile(r"\s*(?:…|\.\.\.|\[\.\.\.\]|\[…\])\s*")


def check_choices(choices: Sequence[Choice], paper: str, task: str = "") -> list[Problem]:
    """The choices called stated whose place does not hold their words, in their order.

    `paper`: its text. `task`: what the task says, which may state a choice too.
    """
    source = read_source(paper)
    texts = [quotable(text) for text in (*source.texts, plain(task)) if text]
    found = []
    for choice in choices:
        if choice.kind == "stated" and not (
            _is_stated(choice.place, source, texts) or _names_equations(choice.place, paper)
        ):
            found.append(
                Problem(
                    choice.what,
                    f"the words {choice.place[:160]!r} stand neither in the paper nor in the task: "
                    "quote the words themselves (a section's name is none), or name table and "
                    "row, or an equation by its number, or call it inferred or open",
                )
            )
    return found


def _is_stated(place: str, source: Source, texts: Sequence[str]) -> bool:
    quotes = _QUOTED.findall(place)
    if named := _TABLE.search(place):
        tables = [t for form in source.forms for t in tables_named(named[1].strip(".,:"), form)]
        if tables:
            return not quotes or any(_all_headed(quotes, table) for table in tables)
    words = quotes or [place]
    parts = [quotable(plain(part)) for word in words for part in _LEFT_OUT.split(word) if part]
    long = [part for part in parts if len(part) >= SHORTEST]
    return bool(long) and all(any(part in text for text in texts) for part in long)


def _names_equations(place: str, paper: str) -> bool:
    """True if nothing is quoted and each equation that is named has its number in the paper: as a
    tag of its LaTeX, or at the end of a line of text.
    """
    numbers = _EQUATION.findall(place)
    return (
        bool(numbers)
        and not _QUOTED.search(place)
        and all(
            re.search(rf"\\tag\*?{{\(?{number}\)?}}|\({number}\)\s*$", paper, re.MULTILINE)
            for number in numbers
        )
    )


def _all_headed(quotes: Sequence[str], table: Table) -> bool:
    """True if each quotation is a heading of the table or a cell's text."""
    cells = {quotable(cell.text) for cell in table.cells}
    return all(
        bool(in_row((quote,), table) or in_column((quote,), table))
        or quotable(plain(quote)) in cells
        for quote in quotes
    )

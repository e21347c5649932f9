"""Whether a choice that is called stated is stated: its words stand in the paper or in the task."""

import re
from collections.abc import Sequence

from autoreproduce.claims.check import Problem
from autoreproduce.claims.choices import Choice
from autoreproduce.claims.plain import plain, quotable
from autoreproduce.claims.source import Source, read_source
from autoreproduce.claims.tables.cells import PaperTable
from autoreproduce.claims.tables.places import in_column, in_row, tables_named

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


def _all_headed(quotes: Sequence[str], table: PaperTable) -> bool:
    """True if each quotation is a heading of the table or a cell's text."""
    cells = {quotable(cell.text) for cell in table.cells}
    return all(
        bool(in_row((quote,), table) or in_column((quote,), table))
        or quotable(plain(quote)) in cells
        for quote in quotes
    )

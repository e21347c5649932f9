"""The gate through which every text passes that a code agent reads.

Withholding is asked for twice. The paper, the summaries and all else that tells of results are
blanked as wholes, where a table's caption and headings say what its numbers are. Then each value
that a prompt's template puts in is searched again (`shown`): what is still a claimed value by its
digits is withheld there, and what can't be decided is kept, so that the trial says that it may have
been seen. What the agent's own program wrote or printed passes: a number withheld there would tell
that it is the paper's.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from autoreproduce.claims.claim import Claim
from autoreproduce.claims.places import SENSES, cells_of, tables_named
from autoreproduce.claims.source import without_tables
from autoreproduce.claims.stated_results import (
    Leak,
    StatedResults,
    digits_of,
    is_bare,
    is_setting_heading,
    is_value_of,
)
from autoreproduce.claims.value_search import (
    ENOUGH_DIGITS,
    Place,
    ValueSearch,
    overlaps,
    places_around,
)
from autoreproduce.errors import UsageError
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.shared import matching, read_plain
from autoreproduce.papers.numbers import numbers_in
from autoreproduce.papers.plain import name_of, named_in, plain, without_output_marks, words
from autoreproduce.papers.table import Cell, Table
from autoreproduce.papers.table_lines import TextTable, text_tables_in
from autoreproduce.papers.table_rows import WITHHELD, LineField, TextRow, numbers_within
from autoreproduce.papers.tables import tables_in

if TYPE_CHECKING:
    from autoreproduce.papers import Paper

SEEN = "seen_values.json"  # in the trial's folder
DOCUMENTS = ("*README*", "*.md", "*.rst", "*.tex", "*.html")  # of data, that a program may print
LARGEST = 500_000  # bytes of a document
MOST = 5  # places that are told of


class Writable(Protocol):
    """A trial, as far as files are written into its folder."""

    def write(self, name: str, text: str) -> None:
        """Write a file of the folder, whole or not at all."""


class Withholding:
    """Withholds the values of `claims`, and remembers which of them may have been seen."""

    def __init__(self, claims: Sequence[Claim] = ()) -> None:
        self._claims = {claim.id: claim for claim in claims}
        self._seen: dict[tuple[str, str], str] = {}  # by claim and words: where
        self._blank = cache(lambda text: blank_values(text, claims))
        self._again = cache(lambda text: search_again(text, claims))

    def __call__(self, text: str) -> str:
        """A whole text with `[withheld]` for the claimed values."""
        return self._blank(text) if self._claims else text

    def shown(self, text: str, where: str) -> str:
        """A text as it's put into what `where` names. Raises nothing."""
        if not self._claims:
            return text
        passed, undecided = self._again(text)
        for leak in undecided:
            self._seen.setdefault((leak.id, leak.excerpt), where)
        return passed

    def paper(self, paper: "Paper") -> "Paper":
        """The paper with its results withheld."""
        return paper.model_copy(update={"text": self(paper.text), "body": self(paper.body)})

    def look_through(self, folder: Path | None, given: str | None = None) -> None:
        """Remember the values in files that a program can read and nobody may change: documents
        beside the data in `folder`, and the code that the task gives.
        """
        for name, text in [*_documents(folder), ("preprocess.py", given or "")]:
            self.look_in(name, text)

    def look_in(self, name: str, text: str) -> None:
        """Remember the values in the text of a file that's shown as it is."""
        for leak in leaks(text, list(self._claims.values())) if self._claims else ():
            self._seen.setdefault((leak.id, leak.excerpt), name)

    def write(self, trial: "Writable") -> None:
        """Leave what may have been seen in the trial's folder, for its outcome."""
        told = [
            f'{_named(self._claims[claim])} in {where}: "{words}"'
            for (claim, words), where in self._seen.items()
        ]
        trial.write(SEEN, json.dumps(told, indent=1, ensure_ascii=False) + "\n")


def _named(claim: Claim) -> str:
    return f"{claim.title} ({claim.printed or format(claim.value, 'g')})"


def _documents(folder: Path | None) -> list[tuple[str, str]]:
    if folder is None or not folder.is_dir():
        return []
    found = []
    try:
        for name, path in sorted(matching(folder, DOCUMENTS)):
            found.append((name, read_plain(path, LARGEST).decode("utf-8", "replace")))
    except (UsageError, OSError):  # too large to be one, or unreadable for the program too
        return found
    return found


def may_have_been_seen(folder: Path) -> list[str]:
    """Warnings of the outcome: which of the paper's values the code agent may have seen."""
    try:
        told = list(map(str, parse_json(read_plain(folder / SEEN).decode("utf-8"))))
    except (FileNotFoundError, UsageError, ValueError, TypeError):
        return []
    warnings = [f"the paper's value may have been seen: {each}" for each in told[:MOST]]
    more = len(told) - MOST
    return [*warnings, *([f"and {more} more, in {SEEN}"] if more > 0 else [])]


# The values of claims withheld from a text, by place: nothing can be tuned to them or copied.
#
# By place and not by value: a momentum of 0.9 stays, though a claimed accuracy is 0.9 too.
# Withheld:
#
# - in a table that holds a claim, every cell with a result, those of other rows as well, which
#   would tell nearly as much, and what repeats one of them elsewhere in the text, from three digits
#   on; columns of settings (parameters) stay, unless a claim is there;
# - in another table, a cell with the number under or beside the name of the claim's metric or
#   column;
# - in a table that's only lines of text and holds a claim, every result of its rows;
# - in sentences, what `stated_results` finds: a claimed value as a result, also rounded, and
#   results beside the metric's name that nobody claimed, such as an ablation's.
#
# What is derived from a value ("twice as good") is not found.


def places_in_lines(
    text: str, parsed: Sequence[Table], claims: Sequence[Claim]
) -> Iterator[tuple[int, int]]:
    """(start, end) of each result in the tables of lines that hold one of `claims`.

    `parsed`: the tables of `text` that have cells; they are left alone.
    """
    tables = text_tables_in(text, parsed)
    held = [table for claim in claims for table in _tables_with(claim, tables)]
    columns = {name for claim in claims for name in claim.column}
    for table in held:
        for row in table.rows:
            yield from _places_in_row(row, table, columns)
        first = table.rows[0].start
        for line in table.lines:  # values before words, or in lines without an end of numbers
            if line.kind != "blank" and line.start >= first:
                rows = [row for row in table.rows if row.start == line.start]
                label = rows[0].label if rows else line.text
                at = line.start + line.text.index(label)
                yield from ((at + start, at + end) for start, end in numbers_within(label))


def _places_in_row(row: TextRow, table: TextTable, columns: set[str]) -> Iterator[tuple[int, int]]:
    headings = table.columns_of(row)
    for number, field in enumerate(row.fields):
        setting = bool(headings) and is_setting_heading(headings[number])
        if field.is_value and (not setting or headings[number] in columns):
            yield field.start, field.end


def _tables_with(claim: Claim, tables: Sequence[TextTable]) -> list[TextTable]:
    """The tables that hold the claim."""
    own = [table for table in tables if any(_is_row_of(claim, row) for row in table.rows)]
    named = tables_named(claim.table, tables) if claim.table else []
    alone = [table for table in named if len(table.names) == 1]
    repeats = [table for table in tables if any(_repeats(claim, row, table) for row in table.rows)]
    return [*(own or alone or named), *repeats]


def _is_row_of(claim: Claim, row: TextRow) -> bool:
    """True if the row has the claim's name and its value, or one that is withheld."""
    if not claim.row or not any(alike(claim.row[-1], row.label) for alike in SENSES):
        return False
    return any(field.is_withheld or _is_value(claim, field, 1) for field in row.fields)


def _repeats(claim: Claim, row: TextRow, table: TextTable) -> bool:
    headings = table.columns_of(row)
    return any(
        _is_value(claim, field, ENOUGH_DIGITS)
        for number, field in enumerate(row.fields)
        if not (headings and is_setting_heading(headings[number]))
    )


def _is_value(claim: Claim, field: LineField, digits: int) -> bool:
    numbers = numbers_in(plain(field.text), cell=True)[:1]
    return any(digits_of(one) >= digits and is_value_of(claim, one) for one in numbers)


def blank_values(text: str, claims: Sequence[Claim]) -> str:
    """`text` with the claims' values withheld. A second time changes nothing."""
    if not claims:
        return text
    printed, text = text, without_output_marks(text)
    tables = tables_in(text)
    outside = without_tables(text, tables)
    results = StatedResults(claims)
    in_tables, settings = _places_in_tables(tables, claims)
    in_lines = list(places_in_lines(text, tables, claims))
    found, _ = ValueSearch(claims, _beside(tables, claims)).find(text, settings)
    hits = [(one.start, one.end) for one in found]
    placed = {
        claim.id
        for claim in claims
        if claim.sentence or any(_claim_cells(claim, table, tables) for table in tables)
    }
    cells = [(c.start, c.end) for table in tables for c in table.cells if len(c.numbers) == 1]
    unread = [  # in no table that a reader read
        place
        for leak, place in zip(found, hits, strict=True)
        if not overlaps(place, in_lines)
        if leak.id and (leak.id not in placed or not overlaps(place, [*in_tables, *cells]))
    ]
    around = [place for place in places_around(text, unread) if not overlaps(place, settings)]
    return _without(
        printed,
        [
            *in_tables,
            *in_lines,
            *((one.start, one.end) for one in results.claimed(text, outside)),
            *((one.start, one.end) for one in results.others(text, outside)),
            *hits,
            *around,
        ],
    )


def _without(text: str, places: Iterable[Place]) -> str:
    """`text` with each place withheld; places that overlap are one."""
    parts, at = list[str](), 0
    for start, end in sorted(places):
        if start >= at:
            parts += [text[at:start], WITHHELD]
        at = max(at, end)
    return "".join([*parts, text[at:]])


def search_again(text: str, claims: Sequence[Claim]) -> tuple[str, list[Leak]]:
    """A text that's about to be shown, without the claimed values that are still in it by their
    digits, and what may be one and stays. It may be a piece of a text that was withheld whole.
    """
    search = ValueSearch(claims)
    printed, text = text, without_output_marks(text)
    values, undecided = search.find(text)
    if not values and not undecided:
        return printed, []
    _, settings = _places_in_tables(tables_in(text), claims)
    values, undecided = search.find(text, settings)
    hits = [(one.start, one.end) for one in values]
    around = [place for place in places_around(text, hits) if not overlaps(place, settings)]
    return _without(printed, [*hits, *around]), undecided


def leaks(text: str, claims: Sequence[Claim]) -> list[Leak]:
    """Every claimed value in `text`, in whatever spelling; also one that may be a setting.

    Tables are read as lines here, and not as tables: so what a table's reader overlooks is found.
    Only columns of settings are left out.
    """
    text = without_output_marks(text)
    _, settings = _places_in_tables(tables_in(text), claims)
    values, undecided = ValueSearch(claims).find(text, settings)
    return [*values, *undecided]


def _places_in_tables(
    tables: Sequence[Table], claims: Sequence[Claim]
) -> tuple[list[Place], list[Place]]:
    """The places of all cells that are withheld, and of settings, which stay."""
    withheld, settings = list[Place](), list[Place]()
    for table in tables:
        held = [cell for claim in claims for cell in _claim_cells(claim, table, tables)]
        columns = {cell.column for cell in held}
        for cell in table.cells:
            setting = any(is_setting_heading(heading) for heading in cell.column)
            whole = bool(held) and (cell.column in columns or not setting)
            if whole or any(_repeats_claim(claim, cell) for claim in claims):
                withheld.append((cell.start, cell.end))
            elif setting:
                settings.append((cell.start, cell.end))
    return withheld, settings


def _beside(tables: Sequence[Table], claims: Sequence[Claim]) -> list[Claim]:
    """The other results of the tables that hold claims, as claims without names: in a sentence or
    a figure's caption they'd tell nearly as much as in the table.
    """
    found = []
    for table in tables:
        held = {c.column: claim for claim in claims for c in _claim_cells(claim, table, tables)}
        for cell in table.cells if held else ():
            number = cell.numbers[0] if cell.numbers else None
            settings = cell.column not in held and any(map(is_setting_heading, cell.column))
            if number is None or settings or not ("." in number.text or number.percent):
                continue
            like = held.get(cell.column) or next(iter(held.values()))
            values = {"value": number.value, "printed": number.text, "corrected": None}
            found.append(like.model_copy(update={**values, "id": "", "sentence": ""}))
    return found


def _claim_cells(claim: Claim, table: Table, tables: Sequence[Table]) -> list[Cell]:
    """The claim's cells in this table, if the claim names it or it holds the number.

    Without such cells, those with the number in the table that the claim names: another form of the
    paper may have lost its headings.
    """
    cells = cells_of(claim, table) if claim.row and claim.column else []
    named = bool(claim.table) and table in tables_named(claim.table, tables)
    if not cells and named:
        return [cell for cell in table.cells if _holds_result(claim, cell)]
    if not cells and claim.source == "user":
        return [cell for cell in table.cells if _may_be_of_user(claim, cell)]
    return [
        cell
        for cell in cells
        if named or any(is_value_of(claim, number, cell.factor) for number in cell.numbers)
    ]


def _repeats_claim(claim: Claim, cell: Cell) -> bool:
    """True for the claim's number in another table, under or beside its metric or its column."""
    if not _holds_result(claim, cell):
        return False
    there = set(name_of(" ".join((*cell.row_path, *cell.column))).split())
    names = (claim.metric.replace("_", " "), *claim.column)
    return any(named_in(word, there) for name in names for word in words(name))


def _may_be_of_user(claim: Claim, cell: Cell) -> bool:
    """True for the number of a claim that's in the user's words, where a heading has one of them,
    or it has too many digits to be there by chance.
    """
    if not _holds_result(claim, cell):
        return False
    there = set(name_of(" ".join((*cell.row_path, *cell.column))).split())
    named = [word for name in claim.headings for word in words(name)]
    meant = [number for number in cell.numbers if is_value_of(claim, number, cell.factor)]
    long = any(digits_of(number) >= ENOUGH_DIGITS for number in meant)
    return long or any(named_in(word, there) for word in named)


def _holds_result(claim: Claim, cell: Cell) -> bool:
    """True for the claim's number in a column of results; small whole numbers may be anything."""
    numbers = [number for number in cell.numbers if not is_bare(number)]
    found = any(is_value_of(claim, number, cell.factor) for number in numbers)
    return found and not any(map(is_setting_heading, cell.column))

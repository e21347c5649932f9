"""Whether a claim is what the paper says: its number is at its headings or in its sentence.

That a number occurs somewhere in the paper proves nothing: numbers are read well and bound to the
wrong row. A problem says what is wrong and what is there instead, in words with which the
reader of the paper can be asked again.
"""

import bisect
import math
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Protocol

from autoreproduce.claims.claim import Claim, ClaimedTable, Spread
from autoreproduce.claims.places import SENSES, cells_at, cells_of, in_column, in_row, tables_named
from autoreproduce.claims.source import Source, read_source
from autoreproduce.papers.model import Paper
from autoreproduce.papers.numbers import Printed, numbers_in, same_number
from autoreproduce.papers.plain import named_in, plain, quotable, word_set, words
from autoreproduce.papers.table import WORDS_BEHIND, Cell, Heading, Table
from autoreproduce.papers.table_lines import TextTable
from autoreproduce.papers.table_rows import TextRow, row_of, without_marks

ORDINALS = ["best", "second", "third", "fourth", "fifth"]
OURS = {"our", "ours", "we", "proposed"}
OUTPUT = 1_500  # characters from a printed block's title to its rows
AFTER = 40  # characters behind a quotation in which the ± of its last number may stand


@dataclass(frozen=True)
class Problem:
    """What is wrong with the claim `id`, as a sentence to its author."""

    id: str
    text: str

    def __str__(self) -> str:
        return f"{self.id}: {self.text}"


@dataclass(frozen=True)
class CheckedClaims:
    """The claims that are what the paper says, with remarks, and what is wrong with the others."""

    right: list[Claim]
    problems: list[Problem]


@dataclass(frozen=True)
class ReadableTables:
    """Whether any table has cells, and the numbers of those that are only lines: a claim of
    one needs its row's `line`.
    """

    with_cells: bool
    of_lines: list[str]


def check_claim(claim: Claim, paper: Source | str) -> Problem | None:
    """None if the paper says what the claim says, else what is wrong.

    `paper`: its text, or `read_source` of several forms of it.
    """
    source = read_source(paper) if isinstance(paper, str) else paper
    if claim.items and not _is_printed(claim.items, source):
        text = f"items: {claim.items} is nowhere in the paper: null if it is not stated"
    elif not claim.table:
        text = _problem_in_sentence(claim, source)
    elif _stands_as_lines(claim, source):
        text = check_line(claim, source).problem
    else:
        text = _problem_by_table(claim, source)
    return Problem(claim.id, text) if text else None


def check_claims(claims: Sequence[Claim], paper: Source | str) -> list[Problem]:
    """The problems of several claims, in their order; a user's own claims are not checked."""
    source = read_source(paper) if isinstance(paper, str) else paper
    found = [check_claim(claim, source) for claim in claims if claim.source == "paper"]
    return [problem for problem in found if problem]


def check_in_paper(claims: list[Claim], paper: Paper | str) -> CheckedClaims:
    """As `check_claims`, of a paper that isn't prepared for look-ups yet. A claim whose number
    stands where it is said to, and only its ± nowhere, is one without ±.
    """
    return _checked(claims, read_source(paper))


def check_without_headings(claims: list[Claim], paper: Paper | str) -> CheckedClaims:
    """The same, where a number in its row is enough if a table is only lines: of a PDF the words
    above a column may be cut apart.
    """
    return _checked(claims, replace(read_source(paper), headings=False))


def _checked(claims: Sequence[Claim], source: Source) -> CheckedClaims:
    claims = [_without_unprinted_spread(claim, source) for claim in claims]
    problems = check_claims(claims, source)
    wrong = {problem.id for problem in problems}
    right = [_with_remark(claim, source) for claim in claims if claim.id not in wrong]
    return CheckedClaims(right, problems)


def _without_unprinted_spread(claim: Claim, source: Source) -> Claim:
    if claim.source != "paper" or claim.spread is None or check_claim(claim, source) is None:
        return claim
    bare = claim.model_copy(update={"spread": None})
    if check_claim(bare, source):
        return claim
    said = f"its ± {claim.spread.value:g} isn't printed with it"
    return bare.model_copy(update={"remark": "; ".join(filter(None, [claim.remark, said]))})


def table_names(paper: Paper | str) -> list[tuple[str, ...]]:
    """Each table of the paper by its number and its label, so far as a reader finds them."""
    source = read_source(paper)
    named = [table.names for form in source.forms for table in form]
    named += [table.names for table in source.text_tables]
    return list(dict.fromkeys(filter(None, named)))


def count_claimed(claims: Sequence[Claim], paper: Paper | str) -> list[ClaimedTable]:
    """Each table with claims, by its name, and last all of the paper's, if they state more numbers
    than are claimed. A table that is only lines of text isn't among them.
    """
    tables = max(read_source(paper).forms, key=_numbers_in, default=())
    by_table: dict[str, list[Claim]] = {}
    for claim in claims:
        if claim.table and not claim.than:
            by_table.setdefault(claim.table, []).append(claim)
    found = [
        ClaimedTable(name=name, claimed=len(mine), numbers=there, others=_others(mine, named))
        for name, mine in by_table.items()
        if (there := _numbers_in(named := tables_named(name, tables)))
    ]
    stated, claimed = _numbers_in(tables), sum(not claim.than for claim in claims)
    if stated > claimed:
        found.append(ClaimedTable(name="All tables", claimed=claimed, numbers=stated))
    return found


def _others(claims: Sequence[Claim], tables: Sequence[Table]) -> tuple[str, ...]:
    """The numbers of the tables that no claim is of."""
    found: list[str] = []
    for table in tables:
        own = {
            cell.at
            for claim in claims
            for cell in cells_of(claim, table)
            if matching_number(claim, cell)
        }
        cells = {cell.at: cell for cell in reversed(table.cells) if cell.numbers}
        for at in sorted(cells.keys() - own):
            where = " / ".join(map(plain, (*cells[at].row_path, *cells[at].column)))
            found.append(f"{where}: {plain(cells[at].text)}")
    return tuple(found)


def _numbers_in(tables: Sequence[Table]) -> int:
    return sum(len({cell.at for cell in table.cells if cell.numbers}) for table in tables)


def readable_tables(paper: Paper | str) -> ReadableTables:
    """How the tables of a paper can be read."""
    source = read_source(paper)
    named = dict.fromkeys(name for table in source.text_tables for name in table.names)
    of_lines = [name for name in named if not _is_parsed(name, source)]
    return ReadableTables(any(source.forms), of_lines)


def _is_printed(count: int, source: Source) -> bool:
    """Whether a whole number is in the paper, with or without signs between thousands, as 10k, 2
    million or 10^6.
    """
    digits = re.escape(f"{count:,}").replace(",", r"(?:,|\{,\}|\\[,;:!]|[~ \u202f\u2009'])?")
    thousands, millions = (re.escape(f"{count / unit:g}") for unit in (1_000, 1_000_000))
    short = rf"{thousands}[ ~]?[kK](?!\w)|{millions}[ ~]?(?:M(?!\w)|million)"
    printed = re.compile(rf"(?<![\d.,])(?:{digits}(?![.,]?\d)|{short})")
    return any(printed.search(text) or _has_power(text, count) for text in source.raw)


def _has_power(text: str, count: int) -> bool:
    return any(same_number(one.value, count) for one in numbers_in(text))


def _stands_as_lines(claim: Claim, source: Source) -> bool:
    """True if no reader of tables finds the claim's table, but lines at its caption."""
    if _is_parsed(claim.table, source):
        return False
    return bool(tables_named(claim.table, source.text_tables))


def _is_parsed(table: str, source: Source) -> bool:
    return any(tables_named(table, tables) for tables in source.forms)


def _with_remark(claim: Claim, source: Source) -> Claim:
    """The claim with what could not be checked of its place, or follows its number, and the
    ± of its sentence.
    """
    said = [claim.remark] if claim.remark else []
    said += [] if claim.corrected is None else [f"misprint: read as {claim.corrected:g}"]
    if claim.source == "paper" and claim.sentence and claim.spread is None:
        claim = _with_spread(claim, source)
    if claim.source == "paper" and claim.table:
        said += _words_behind(claim, source)
        if _stands_as_lines(claim, source) and not check_line(claim, source).column_checked:
            said.append(COLUMN_UNCHECKED)
    return claim.model_copy(update={"remark": "; ".join(said)}) if said else claim


def _words_behind(claim: Claim, source: Source) -> list[str]:
    """The remark that its cell has behind the number, if there is one."""
    named = (table for tables in source.forms for table in tables_named(claim.table, tables))
    cells = (cell for table in named for cell in cells_of(claim, table))
    found = (WORDS_BEHIND.search(cell.text) for cell in cells if matching_number(claim, cell))
    return [f"printed with ({words[1]})" for words in found if words][:1]


def _with_spread(claim: Claim, source: Source) -> Claim:
    """The claim with the ± that follows its number in the sentence, also behind the quoted part."""
    quote = plain(claim.sentence)
    there = [text[text.index(quote) :] for text in source.texts if quote in text]
    for text in (*(one[: len(quote) + AFTER] for one in there), quote):
        fits = [one for one in numbers_in(text) if same_number(one.value, claim.value)]
        if fits and fits[0].spread is not None and fits[0].start < len(quote):
            return claim.model_copy(update={"spread": Spread(value=fits[0].spread)})
    return claim


def _problem_by_table(claim: Claim, source: Source) -> str:
    """What is wrong by the paper's first form whose table holds the number, else by the first that
    has the table (LaTeX before Markdown, where captions may stray), else by the first.
    """
    wrong = "no table can be read in this paper: quote the sentence that states the number"
    if source.text_tables:
        there = ", ".join(dict.fromkeys(table.name for table in source.text_tables))
        wrong = (
            f"no table {claim.table!r} can be read in this paper; there are {there}: quote the "
            "number's own row as `sentence`, and leave `table` out"
        )
    known = False
    for tables in filter(None, source.forms):
        named = tables_named(claim.table, tables)
        problem = _problem_in_tables(claim, tables, source)
        if not problem or any(cells_with_value(claim, table) for table in named):
            return problem
        if not known:
            wrong, known = problem, bool(named)
    return wrong if known or not _is_printed_output(claim, source) else ""


def _is_printed_output(claim: Claim, source: Source) -> bool:
    """True if the claim's `line` has its number and one of its names, below its `table`'s title: a
    program's output that the paper prints as it is, which is no table to any reader.
    """
    line, title = plain(claim.line), plain(claim.table)
    names = [plain(name) for name in (*claim.row, *claim.column, claim.metric)]
    if not line or not title or not any(name and name in line for name in names):
        return False
    if not any(same_number(one.value, claim.value) for one in numbers_in(line)):
        return False
    return any(
        title in text[max(0, there.start() - OUTPUT) : there.start()]
        for text in source.texts
        for there in re.finditer(re.escape(line), text)
    )


def _problem_in_tables(claim: Claim, tables: Sequence[Table], source: Source) -> str:
    named = tables_named(claim.table, tables)
    problems = [(_problem_in_table(claim, table, source), table) for table in named or tables]
    if any(not problem for problem, _ in problems):
        return ""
    led = [problem for problem, table in problems if cells_of(claim, table)]
    if not named and not led:
        there = ", ".join(table.name for table in tables if table.names) or "none with a name"
        return f"no table {claim.table!r} has this row, column and number; there are {there}"
    return led[0] if led else problems[0][0]


def _problem_in_table(claim: Claim, table: Table, source: Source) -> str:
    if claim.than:
        return _problem_of_order(claim, table)
    cells = cells_of(claim, table)
    if not cells:
        return _missing_heading(claim, table)
    if len(cells) > 1:
        places = "; ".join(f"{cell.place} reads {cell.text}" for cell in cells[:MOST_QUOTED])
        many = f"in {table.name} the names lead to {len(cells)} cells ({places})"
        return f"{many}: name every heading of the one you mean"
    beside = [one for one in table.cells if one.row_path == cells[0].row_path]
    return wrong_number(claim, cells[0], table) or wrong_spread(claim, cells[0], source, beside)


def _problem_of_order(claim: Claim, table: Table) -> str:
    """What is wrong with an order or equality of two rows of a table."""
    if claim.value:
        return f"{claim.kind} is said of two rows, and has no value: leave it out"
    numbers = []
    for row in (claim.row, claim.than):
        cells = cells_at(row, claim.column, table)
        if len(cells) != 1:
            names = f"row {' / '.join(row)!r} and column {' / '.join(claim.column)!r}"
            return f"in {table.name} {names} lead to {len(cells)} cells: name those of one"
        numbers.append(cells[0].numbers[0])
    if claim.kind == "order" and claim.sign * (numbers[0].value - numbers[1].value) <= 0:
        ours, theirs = (number.text for number in numbers)
        return f"{table.name} prints {ours} and {theirs}: the row isn't the better one"
    return ""


def _missing_heading(claim: Claim, table: Table) -> str:
    """Which name is not there, and which ones are."""
    row, column = " / ".join(claim.row), " / ".join(claim.column)
    if not in_row(claim.row, table):
        there = quoted_names([" / ".join(cell.row_path) for cell in table.cells])
        text = f"{table.name} has no row named {row!r}: its rows are {there}"
    elif not in_column(claim.column, table):
        there = quoted_names([" / ".join(cell.column) for cell in table.cells])
        text = f"{table.name} has no column named {column!r}: its columns are {there}"
    else:
        text = f"in {table.name} row {row!r} has no value under {column!r}"
    return text + actual_place(claim, table)


def _problem_in_sentence(claim: Claim, source: Source) -> str:
    quote = plain(claim.sentence)
    wanted = quotable(quote)
    if len(wanted) < 8 or not any(wanted in quotable(text) for text in source.texts):
        given = claim.sentence[:120]
        return f"the sentence {given!r} is not in the paper: quote its exact words"
    if (claim.than and not claim.value) or _says_significance(claim, quote):
        return _missing_name(claim, quote)
    if claim.kind == "rank" and _names_rank(round(claim.value), quote):
        return _missing_name(claim, quote)
    there = numbers_in(quote)
    fits = [number for number in there if same_number(number.value, claim.value)]
    if not fits:
        numbers = ", ".join(number.text for number in there) or "none"
        return f"the sentence does not hold {claim.value:g}; its numbers are {numbers}"
    if fits[0].percent and claim.scale != "percent":
        return f"the sentence says {fits[0].text}%: the scale is percent, not {claim.scale}"
    return _missing_name(claim, quote)


def _says_significance(claim: Claim, quote: str) -> bool:
    """Whether a sentence says in words that a p-value is below or above a customary level."""
    said = re.search(
        r"(?i)\b(?:not?|without|in)\W{0,3}(?:\w+\W+){0,2}significan|insignifican", quote
    )
    bound = claim.kind in ("at_least", "at_most")
    level = bound and claim.value in (0.1, 0.05, 0.01, 0.001)
    of_p = re.search(r"(?i)\bp\b|p[- ]?value", claim.metric) is not None
    there = re.search(r"(?i)significan", quote) is not None
    return level and of_p and there and bool(said) == (claim.kind == "at_least")


def _names_rank(rank: int, quote: str) -> bool:
    """Whether a sentence says this place in a word."""
    said = ORDINALS[rank - 1 : rank] if rank > 0 else []
    return any(word in quote.casefold() for word in [*said, *(["first"] if rank == 1 else [])])


def _missing_name(claim: Claim, quote: str) -> str:
    """Which of row and metric the sentence does not name."""
    there = word_set(quote)
    ours = not claim.is_baseline and there & OURS
    missing = [name for name in claim.than if not all(named_in(w, there) for w in words(name))]
    if missing:
        return f"the sentence does not name {missing[0]!r}: quote from where it is named"
    rows = [word for name in claim.row for word in words(name)]
    if rows and not ours and not any(named_in(word, there) for word in rows):
        return f"the sentence does not name {' / '.join(claim.row)!r}: quote from where it is named"
    named = () if _says_significance(claim, quote) else (claim.metric, *claim.column)
    metric = [w for name in named for w in words(name.replace("_", " "))]
    if metric and not any(named_in(word, there) for word in metric):
        return (
            f"the sentence does not name the metric {claim.metric!r}: quote from where it is named"
        )
    return ""


# Whether a claim from a table that's only lines of text is what its row's line says.
#
# The line must be at the table's caption, name the row before its values and hold the number with
# its ±. The column is checked by its position if the heading line has as many fields as the row;
# else nobody can tell, and the claim has a remark.
#
# Whether a cell holds a claim's number, with its percent sign, its multiplier and its ±, is here
# too.


class WithCells(Protocol):
    """What holds a cell: a table, or a line of one."""

    @property
    def name(self) -> str:
        """What to call it."""

    @property
    def cells(self) -> tuple[Cell, ...]:
        """Its values."""


@dataclass(frozen=True)
class _Line:
    name: str
    cells: tuple[Cell, ...]


def wrong_number(claim: Claim, cell: Cell, table: WithCells) -> str:
    """What is wrong with number and scale; "" if nothing is."""
    if cell.doubt:
        return f"in {table.name} the cell at {cell.place} can't be read for sure: {cell.doubt}"
    number, shown = matching_number(claim, cell), _own_numbers(cell)
    reads = f"in {table.name} the cell at {cell.place} reads {cell.text!r}"
    if number is None and any(same_number(one.value, 100 * claim.value) for one in shown):
        return f"{reads}: give the number as printed, scale percent"
    if number is None and any(same_number(one.value, claim.value) for one in shown):
        return f"{reads}, and its heading says ×{cell.factor:g}: give the value multiplied out"
    if number is None:
        return f"{reads}, not {claim.value:g}{actual_place(claim, table)}"
    headed = any(re.search(r"(?<!\d)(?<!\d )%", text) for text in (*cell.column, *cell.row_path))
    if (number.percent or headed) and claim.scale != "percent":
        return f"{reads}, in %: the scale is percent, not {claim.scale}"
    return ""


def matching_number(claim: Claim, cell: Cell) -> Printed | None:
    """The number in the cell that is the claim's; None if none is."""
    own = cell.numbers if _NAMES_A_SPREAD.search(claim.metric) else _own_numbers(cell)
    fits = [n for n in own if same_number(_scaled_value(n, cell, claim), claim.value)]
    return fits[0] if fits else None


def _own_numbers(cell: Cell) -> list[Printed]:
    """The number of a cell, or each of "12.3 / 4.5"; one in brackets belongs to that before it."""
    apart = re.search(r"\d\s*[/|]\s*[-+]?\.?\d", cell.text) or _INTERVAL.fullmatch(cell.text)
    return cell.numbers if apart else cell.numbers[:1]


def _scaled_value(number: Printed, cell: Cell, claim: Claim) -> float:
    """The number with what its heading multiplies it by, unless the claim's unit says the same."""
    in_words = numbers_in(plain(claim.unit), cell=True)
    in_unit = bool(in_words) and same_number(in_words[-1].value, cell.factor)
    return number.value * (1.0 if in_unit else cell.factor)


def cells_with_value(claim: Claim, table: WithCells) -> list[Cell]:
    """The cells that show the claim's number, wherever they are."""
    return [cell for cell in table.cells if matching_number(claim, cell)]


def actual_place(claim: Claim, table: WithCells) -> str:
    """The cells of the table where the number really is."""
    printed = claim.printed or f"{claim.value:g}"
    there = " and ".join(cell.place for cell in cells_with_value(claim, table)[:3])
    if not there:
        return f"; {printed} is nowhere in it"
    return f'; {printed} stands in {there}, not in row "{" / ".join(claim.row)}"'


def wrong_spread(claim: Claim, cell: Cell, source: Source, beside: Sequence[Cell] = ()) -> str:
    """What is wrong with the claim's ±; "" if nothing is. `beside`: the other cells of its row, in
    which the ± or an interval's ends may stand.
    """
    number = matching_number(claim, cell)
    if number is None:
        return ""
    factor = _scaled_value(number, cell, claim) / number.value if number.value else cell.factor
    given = claim.spread.value if claim.spread else None
    printed = None if number.spread is None else number.spread * factor
    reads = f"the cell at {cell.place} reads {cell.text!r}"
    if given is None:
        return "" if printed is None else f"{reads}: give the spread {printed:g} too"
    spreads = _possible_spreads(cell, number)
    if any(same_number(given, x * factor) for x in spreads) or _in_row(claim, [cell, *beside]):
        return ""
    if printed is not None:
        return f"{reads}: its spread is {printed:g}, not {given:g}"
    if any(
        same_number(given, number.value) or same_number(given, number.spread or math.inf)
        for text in source.texts
        for number in numbers_in(text)
    ):
        return ""
    return f"the spread {given:g} stands neither in the cell ({cell.text!r}) nor in the text"


def _in_row(claim: Claim, cells: Sequence[Cell]) -> bool:
    """Whether a ± stands in the cells of a row: itself, or as the two ends of an interval."""
    there = [one.value * cell.factor for cell in cells for one in cell.numbers]
    spread = claim.spread

    def printed(end: float) -> bool:
        return any(math.isclose(end, one, rel_tol=1e-9, abs_tol=1e-12) for one in there)

    if spread is None:
        return False
    plus = spread.value if spread.plus is None else spread.plus
    minus = spread.value if spread.minus is None else spread.minus
    ends = printed(claim.value - minus) and printed(claim.value + plus)
    return ends or printed(spread.value)


def _possible_spreads(cell: Cell, number: Printed) -> list[float]:
    """What can be the spread: after ±, in brackets after the number, half of an interval."""
    rest = [abs(one.value) for one in cell.numbers if one.start > number.start]
    half = [abs(rest[-1] - rest[-2]) / 2] if len(rest) >= 2 else []
    return [*([] if number.spread is None else [number.spread]), *rest, *half]


_NAMES_A_SPREAD = re.compile(
    r"(?i)\b(lower|upper|interval|ci|bound|half[ -]width|deviation|error of)\b"
)
_INTERVAL = re.compile(
    r"\s*[(\[]?[^,;\d]{0,3}[\d.]+\s*%?\s*(?:,|;|to|–|--)\s*[^\d]{0,2}[\d.]+\s*%?[)\]]?\s*"
)
COLUMN_UNCHECKED = "column unchecked"
MOST_QUOTED = 8


@dataclass(frozen=True)
class LineCheck:
    """What is wrong, "" if nothing is, and whether the column was checked by its position."""

    problem: str
    column_checked: bool = False


def check_line(claim: Claim, source: Source) -> LineCheck:
    """Holds a claim with a `table` and perhaps a `line` against the tables of lines there are."""
    named = tables_named(claim.table, source.text_tables)
    there = f"{claim.table} is only lines of text in this paper"
    if claim.than:
        return LineCheck(f"{there}: quote the sentence that compares the two rows")
    if not claim.line:
        return LineCheck(f"{there}: copy the row's whole line, exactly, to `line`")
    rows = [(row, table) for table in named for row in _quoted_rows(claim.line, table)]
    if not rows:
        given = claim.line[:120]
        there = quoted_names([row.label for table in named for row in table.rows])
        text = f"{given!r} isn't a row of {claim.table}: copy one whole line; its rows are {there}"
        return LineCheck(text)
    checks = [_check_in_row(claim, row, table, source) for row, table in rows]
    return next((check for check in checks if not check.problem), checks[0])


def _quoted_rows(line: str, table: TextTable) -> Iterator[TextRow]:
    """The whole lines that `line` quotes, as one row, wherever they are in the table; none if
    they hold several rows.
    """
    wanted = _comparable(line)
    texts = [_comparable(one.text) for one in table.lines]
    starts = [0, *accumulate(map(len, texts))]
    joined = "".join(texts)
    at = joined.find(wanted) if wanted else -1
    while at >= 0:
        first = bisect.bisect_right(starts, at) - 1
        last = bisect.bisect_left(starts, at + len(wanted))
        lines = [one for one in table.lines[first:last] if one.text.strip()]
        rows = [row_of(one.text, one.start) for one in lines]
        if sum(bool(row.fields and row.label) for row in rows) <= 1:
            whole = " ".join(one.text.strip() for one in lines)
            yield rows[0] if len(rows) == 1 else row_of(whole, rows[0].start)
        at = joined.find(wanted, at + 1)


def _comparable(text: str) -> str:
    return quotable(re.sub(r"\^?[†‡§*]", "", plain(text)))


def _check_in_row(claim: Claim, row: TextRow, table: TextTable, source: Source) -> LineCheck:
    wrong = _wrong_label(claim, row, table)
    if wrong:
        return LineCheck(wrong)
    columns = table.columns_of(row) if row in table.rows else ()
    cells = [
        Cell(
            plain(without_marks(field.text)),
            field.start,
            field.end,
            (Heading(row.label),),
            columns[number : number + 1],
        )
        for number, field in enumerate(row.fields)
        if field.is_value
    ]
    if not columns or not source.headings:
        return _check_anywhere(claim, cells, table, source)
    under = _under(claim.column[-1], cells)
    if not under:
        name = claim.column[-1]
        return LineCheck(
            f"{table.name} has no column {name!r}: its columns are {quoted_names(columns)}"
        )
    if len(under) > 1:
        return _check_anywhere(claim, under, table, source)
    return LineCheck(_wrong_cell(claim, under[0], table, source), column_checked=True)


def _check_anywhere(
    claim: Claim, cells: Sequence[Cell], table: TextTable, source: Source
) -> LineCheck:
    """As far as can be said without the column: one of the cells is the claim's."""
    problems = [_wrong_cell(claim, cell, table, source) for cell in cells]
    if "" in problems:
        return LineCheck("")
    held = [p for p, cell in zip(problems, cells, strict=True) if matching_number(claim, cell)]
    there = ", ".join(cell.text for cell in cells) or "none"
    return LineCheck(held[0] if held else f"the line has not {claim.value:g}; its values: {there}")


def _wrong_cell(claim: Claim, cell: Cell, table: TextTable, source: Source) -> str:
    return wrong_number(claim, cell, _Line(table.name, (cell,))) or wrong_spread(
        claim, cell, source
    )


def _under(name: str, cells: Sequence[Cell]) -> list[Cell]:
    for alike in SENSES:
        found = [cell for cell in cells if alike(name, cell.column[0])]
        if found:
            return found
    return []


def _wrong_label(claim: Claim, row: TextRow, table: TextTable) -> str:
    """What is wrong with the row's names: the last one must come before the line's values, the
    others there or in a line above; a row that is named more exactly goes before.
    """
    *outer, name = claim.row
    rows = [one for one in table.rows if one.label]
    near = next((n for n, alike in enumerate(SENSES) if alike(name, row.label)), None)
    if near is None:
        return f'the line\'s row is "{row.label}", which does not name {name!r}'
    for alike in SENSES[: near + 1]:
        others = [one.label for one in rows if alike(name, one.label) and one.label != row.label]
        if others:
            there = quoted_names(others)
            return f"{name!r} names other rows as well or better, {there}: give the whole label"
    above = [line.text for line in table.lines if line.start < row.start]
    missing = [one for one in outer if not any(SENSES[-1](one, t) for t in (row.label, *above))]
    return f"neither the line nor one above it names {missing[0]!r}" if missing else ""


def quoted_names(names: Sequence[str]) -> str:
    """The first names, each in quotation marks."""
    once = list(dict.fromkeys(filter(None, names)))
    more = f" and {len(once) - MOST_QUOTED} more" if len(once) > MOST_QUOTED else ""
    return ", ".join(f'"{name}"' for name in once[:MOST_QUOTED]) + more

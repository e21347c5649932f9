"""The paper against itself: sentences that its own tables contradict, found by rule.

Three kinds, each only where a sentence leaves no doubt which cells it speaks of:

- a number: the sentence names one row and one column of a table, and another number than its cell;
- an order: "A outperforms B", where A is worse in the column that is named, or in every one;
- an extreme: "A has the lowest bias", where another row of that column has a lower one.

Sentences that negate, hedge, or speak of a difference, a part or an exception are left alone: a
contradiction that is none costs more than one that is missed.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from autoreproduce.claims.claim import Claim
from autoreproduce.claims.places import cells_at
from autoreproduce.claims.source import without_tables
from autoreproduce.claims.stated_results import is_setting, sentences
from autoreproduce.claims.user_claims import direction_of
from autoreproduce.papers.model import Paper
from autoreproduce.papers.numbers import Printed, number_of, numbers_in
from autoreproduce.papers.plain import name_of, plain
from autoreproduce.papers.table import Cell, Table

MOST, MOST_CELLS = 12, 2000  # contradictions of a paper, and cells of a table that is looked at
LONGEST = 600  # characters of a sentence
_UNSURE = re.compile(
    r"\b(?:not|no|never|nor|neither|fails?|unlike|without|hardly|almost|nearly|about|around|roughly"
    r"|approximately|except|but|although|though|whereas|while|however|second|among|unless|if|would"
    r"|could|may|might|should|expect\w*|original\w*|reported|previous\w*|prior|average\w*|most|some"
    r"|often|sometimes|usually|typically|generally|comparable|similar\w*|competitive|respectively"
    r"|after|before|behind|nominal|target|desired|suppose|assum\w+|hypothes\w+|whether|earlier"
    r"|et al)\b|n't\b|~|≈|\?$",
    re.IGNORECASE,
)
_BEATS = re.compile(
    r"\b(?:outperforms?|outperformed|beats?|surpass(?:es|ed)?|improves? (?:up)?on|dominates?"
    r"|(?:is|are|performs?|does|works) (?:\w+ )?better than)\b",
    re.IGNORECASE,
)
_LESS, _MORE = r"lower|smaller|lesser|shorter", r"higher|larger|greater|longer"
_COMPARED = re.compile(
    r"\b(?:has|have|achieves?|attains?|gives?|shows?|yields?|obtains?|gets?|with)\s+"
    rf"(?:a |an |the )?(?:(?:\w+ly|much|far) )?(?P<word>{_LESS}|{_MORE})"
    r"\s+(?P<what>[^.;,]{2,60}?)\s+than\b",
    re.IGNORECASE,
)
_LEAST, _GREATEST = r"lowest|smallest|least|shortest", r"highest|largest|greatest|longest"
_EXTREME = re.compile(
    rf"\b(?:has|have|achieves?|attains?|gives?|shows?|yields?|obtains?|gets?|reaches)\s+the\s+"
    rf"(?:\w+ly )?(?P<word>{_LEAST}|{_GREATEST}|best|worst)\s+(?P<what>[^.;,]{{2,60}})",
    re.IGNORECASE,
)
_IS_BEST = re.compile(
    r"\b(?:is|are|was|were|ranks?|performs?)\s+(?:the\s+)?(?:\w+ly )?(?P<word>best|worst)\b"
    r"(?![ -](?:known|way|practice|of|choice|to|suited))(?P<what>[^.;,]{0,60})",
    re.IGNORECASE,
)
# What a sentence may call the numbers of a table whatever they are.
_RESULT = re.compile(
    r"(?:(?:overall|performing|test|over all)\b\s*)*(?:results?|performance|scores?|numbers?"
    r"|values?|methods?|models?|estimators?|classifiers?|algorithms?|optimi[sz]ers?|rules?|policy|policies"
    r"|approach(?:es)?|baselines?|variants?|ones?)?\s*$",
    re.IGNORECASE,
)
_BEFORE_WHERE = re.compile(r"\b(?:on|in|for|at|across|over|under|with|among|per|when|of all)\b")
_ALL_OTHERS = re.compile(
    r"\s*(?:all|every|each)\s+(?:of )?(?:the |its |our )?(?:other |remaining |competing |rival )?"
    r"(?:methods?|baselines?|estimators?|models?|approach(?:es)?|algorithms?|optimi[sz]ers?|others"
    r"|competitors|variants?|rivals)\b",
    re.IGNORECASE,
)
_EVERYWHERE = re.compile(
    r"\b(?:all|every|each|both|always|consistently|uniformly|throughout|everywhere|across)\b",
    re.IGNORECASE,
)
_STATED = re.compile(
    r"(?:\b(?:of|is|was|are|were|at|to|equals?|reach(?:es|ed)?|achiev(?:es|ed)|attain(?:s|ed)|gives?"
    r"|gave|scor(?:es|ed)|obtain(?:s|ed)|yield(?:s|ed)|has|with)|[=:(])\s*(?:only |just )?[$+−-]?$",
    re.IGNORECASE,
)
_CHANGE = re.compile(
    r"\b(?:by|than|from|differences?|differs?|reduc\w+|improv\w+|increas\w+|decreas\w+|gains?|drops?"
    r"|more|less|times|fold|ratio|relative|gap|points?|fewer|over|between|range|above|below)\b",
    re.IGNORECASE,
)
_CONDITION = re.compile(  # "with 50 samples", "for small n", "in Figure 3"
    r"\b(?:with|for|under|at|when|using|in|on|within|given)\s+(?:(?:the|an?|its|our)\s+)?"
    r"(?P<what>[^,.;()]+)",
    re.IGNORECASE,
)
_ANY = (
    rf"(?:all|every|each|both|terms|this|that|here|table|best|worst|{_LEAST}|{_GREATEST}|{_LESS}"
    rf"|{_MORE})\b|[+-]?[\d.]++(?: %)?+(?! ?[a-z])"
)
_STATISTIC = re.compile(
    r"\b(?:median|std|standard (?:error|deviation)|variance|quantile|minimum|maximum|min|max"
    r"|initial|training|validation|relative|normali[sz]ed)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Contradiction:
    """What contradicts what, with the paper's words on both sides."""

    what: str
    quotes: tuple[str, str]


@dataclass(frozen=True)
class _Value:
    """A cell that shows one number, with the names of its row and column."""

    cell: Cell
    row: str
    section: tuple[str, ...]
    column: tuple[str, ...]
    number: Printed

    @property
    def value(self) -> float:
        """As its headings multiply it."""
        return self.number.value * self.cell.factor

    @property
    def columns(self) -> set[str]:
        """The names of its headings."""
        return {name_of(heading) for heading in self.column}

    @property
    def shown(self) -> str:
        """Its words as a quotation."""
        return f"{' / '.join(self.cell.row_path)} | {' / '.join(self.column)}: {self.cell.text}"


def contradictions(paper: Paper, claims: list[Claim]) -> list[Contradiction]:
    """What sentences and tables of a paper say against one another, at most `MOST`.

    `claims`: those of the paper, whose sentences are held against the cells of their names, and
    which say of a metric which way is better.
    """
    tables = [table for table in paper.tables_with_values if len(table.cells) <= MOST_CELLS]
    found = list(_of_claims(claims, tables))
    grids = [grid for table in tables if (grid := _Grid(table, claims)).values]
    for start, end in sentences(paper.text, without_tables(paper.text, paper.tables)):
        sentence = " ".join(plain(paper.text[start:end]).split())
        if not 10 <= len(sentence) <= LONGEST or _UNSURE.search(sentence):
            continue
        for grid in grids:
            found += grid.against(sentence)
    return list({each.quotes[0]: each for each in reversed(found)}.values())[::-1][:MOST]


def _of_claims(claims: Sequence[Claim], tables: Sequence[Table]) -> Iterator[Contradiction]:
    """Claims of a sentence whose own headings lead to a cell with another number."""
    for claim in claims:
        if not claim.sentence or claim.kind != "number" or not claim.row:
            continue
        printed = number_of(claim.printed)
        for table in tables if printed else ():
            cells = cells_at(claim.row, claim.column or (claim.metric,), table)
            values = [each for cell in cells if (each := _value_of(cell))]
            if len(values) == 1 and printed and _is_other(printed, values[0]):
                yield Contradiction(
                    f"a sentence gives {claim.printed} for {claim.title}, {table.name} "
                    f"{values[0].cell.text}",
                    (claim.sentence, values[0].shown),
                )


class _Grid:
    """A table's numbers by the names that sentences give them."""

    def __init__(self, table: Table, claims: Sequence[Claim]) -> None:
        self.table = table
        self.values = [each for cell in table.cells if (each := _value_of(cell))]
        self.rows = {name_of(one.row): one.row for one in self.values if _is_name(one.row)}
        self.columns = {name_of(c): c for one in self.values for c in one.column if _is_name(c)}
        self.claims = claims

    def against(self, sentence: str) -> list[Contradiction]:
        """What the table says against a sentence."""
        rows = _named(self.rows, sentence)
        if not rows or self._is_of_others(sentence):
            return []
        made = [*self._order(sentence), *self._extreme(sentence), *self._number(sentence, rows)]
        return [Contradiction(what, (sentence, told)) for what, told in made]

    def _is_of_others(self, sentence: str) -> bool:
        """Whether it names a condition, a statistic or a metric that the table doesn't."""
        names = {*self.rows, *self.columns, *map(name_of, self.table.names)}
        said = name_of(" ".join((self.table.caption, *self.columns, *self.rows)))
        if any(name_of(one[0]) not in said for one in _STATISTIC.finditer(sentence)):
            return True
        metrics = {word for word in said.split() if direction_of(word)}
        if metrics and {word for word in name_of(sentence).split() if direction_of(word)} - metrics:
            return True
        for found in _CONDITION.finditer(sentence):
            what = name_of(found["what"])
            known = any(f"{what} ".startswith(f"{name} ") for name in names)
            if not (known or re.match(_ANY, what) or what.partition(" ")[0] in said.split()):
                return True
        return False

    def _meant(self, what: str, sentence: str) -> list[_Value]:
        """The values that a sentence speaks of by a metric's name: of the columns that it names, of
        all if the table's caption has the metric, or if it names none ("the best results").
        """
        metric = name_of(_BEFORE_WHERE.split(what)[0])
        own = _named(self.columns, metric)
        if not own and not self._has(metric) and not _RESULT.match(metric):
            return []
        columns = set(own) | set(_named(self.columns, sentence))
        if not columns:
            return self.values
        whole = [one for one in self.values if columns <= one.columns]
        return whole or [one for one in self.values if columns & one.columns]

    def _has(self, metric: str) -> bool:
        return bool(metric) and f" {metric} " in f" {name_of(self.table.caption)} "

    def _is_everywhere(self, text: str, what: str) -> bool:
        """Whether each column is meant; of columns with metrics of their own only if one is named:
        "best on all" may leave the seconds out.
        """
        if _EVERYWHERE.search(text) is None:
            return False
        own = any(direction_of(heading) for one in self.values for heading in one.column)
        return not own or not _RESULT.match(name_of(_BEFORE_WHERE.split(what)[0]))

    def _number(self, sentence: str, rows: list[str]) -> Iterator[tuple[str, str]]:
        """One row, one column, one number, and it is another."""
        columns = _named(self.columns, sentence)
        if len(rows) != 1 or not columns or _CHANGE.search(sentence):
            return
        names = [*rows[0].split(), *" ".join(columns).split()]
        stated = [
            number
            for number in numbers_in(sentence)
            if ("." in number.text or number.percent)
            and _STATED.search(sentence[: number.start])
            and not is_setting(sentence, number.start, number.end, names)
        ]
        cells = [
            one
            for one in self.values
            if name_of(one.row) == rows[0] and set(columns) <= one.columns
        ]
        if len(stated) != 1 or len(cells) != 1 or not _is_other(stated[0], cells[0]):
            return
        if any(not _is_other(stated[0], one) for one in self.values):
            return  # it is of another cell, by names that the sentence before gives
        what = f"a sentence gives {stated[0].text} where {self.table.name} has {cells[0].cell.text}"
        yield what, cells[0].shown

    def _order(self, sentence: str) -> Iterator[tuple[str, str]]:
        """ "A outperforms B", or "A has a lower bias than B"."""
        verb = _BEATS.search(sentence) or _COMPARED.search(sentence)
        if verb is None:
            return
        before, behind = (
            _named(self.rows, part) for part in (sentence[: verb.start()], sentence[verb.end() :])
        )
        if not behind and (others := _ALL_OTHERS.match(sentence, verb.end())):
            rest = sentence[others.end() :]
            yield from self._best_of(before, sentence, rest) if len(before) == 1 else ()
            return
        if len(before) != 1 or not behind or before[0] in behind:
            return
        word = (verb.groupdict().get("word") or "").casefold()
        sign = -1 if word and re.fullmatch(_LESS, word) else 1 if word else 0
        what = verb.groupdict().get("what") or ""
        everywhere = self._is_everywhere(sentence, what)
        for other in behind:
            pairs = list(self._pairs(before[0], other, self._meant(what, sentence), sign))
            wrong = [pair for pair in pairs if pair[2] < 0]
            if wrong and (everywhere or len(wrong) == len(pairs)):
                one, worse, _ = wrong[0]
                told = f"{one.shown}; {worse.shown}"
                yield f"a sentence orders two rows of {self.table.name} as its cells don't", told

    def _best_of(self, rows: list[str], sentence: str, rest: str) -> Iterator[tuple[str, str]]:
        """ "A outperforms all other methods": in each column that may be meant another is ahead, or
        in one of them if the `rest` says "on all data sets".
        """
        worse, best = list[str](), False
        for one in self._meant("", sentence):
            sign = self._direction(one)
            if name_of(one.row) != rows[0] or not sign:
                continue
            if ahead := [each for each in self._beside(one) if _lead(sign, one, each) < 0]:
                worse.append(f"{one.shown}; {ahead[0].shown}")
            else:
                best = True
        if worse and (not best or self._is_everywhere(rest, "")):
            yield f"a sentence puts a row of {self.table.name} before all, and others are", worse[0]

    def _beside(self, one: _Value) -> list[_Value]:
        """The values of other rows in the same column and section."""
        return [
            other
            for other in self.values
            if (other.column, other.section) == (one.column, one.section) and other.row != one.row
        ]

    def _pairs(
        self, better: str, worse: str, meant: Sequence[_Value], sign: int
    ) -> Iterator[tuple[_Value, _Value, float]]:
        """The cells of two rows in the same columns, with the better one's lead, where it is known
        which way is better.
        """
        for one in meant:
            direction = sign or self._direction(one)
            if name_of(one.row) != better or not direction:
                continue
            for other in self._beside(one):
                if name_of(other.row) == worse:
                    yield one, other, _lead(direction, one, other)

    def _extreme(self, sentence: str) -> Iterator[tuple[str, str]]:
        """ "A has the lowest bias", "A is best in bias"."""
        found = _EXTREME.search(sentence) or _IS_BEST.search(sentence)
        if found is None:
            return
        rows = _named(self.rows, sentence[: found.start()])
        elsewhere = _named(self.rows, sentence[found.end() :])
        if len(rows) != 1 or elsewhere:
            return
        word = found["word"].casefold()
        wrong, right = list[tuple[_Value, _Value]](), 0
        for one in self._meant(found["what"], sentence):
            if name_of(one.row) != rows[0]:
                continue
            sign = self._direction(one) * (-1 if word == "worst" else 1)
            if word not in ("best", "worst"):
                sign = -1 if re.fullmatch(_LEAST, word) else 1
            rivals = [other for other in self._beside(one) if _lead(sign, one, other) < 0]
            if rivals:
                wrong.append((one, max(rivals, key=lambda other: sign * other.value)))
            elif sign:
                right += 1
        if wrong and (not right or self._is_everywhere(sentence, found["what"])):
            one, rival = wrong[0]
            what = f"a sentence calls a row of {self.table.name} the {word}, and another one is"
            yield what, f"{one.shown}; {rival.shown}"

    def _direction(self, one: _Value) -> int:
        """1 if higher is better in the cell's column, -1 if lower is, 0 if that isn't known."""
        for claim in self.claims:
            names = {name_of(claim.metric), *map(name_of, claim.column)}
            if claim.direction != "match" and names & one.columns:
                return claim.sign
        for heading in (*reversed(one.column), self.table.caption):
            if direction := direction_of(heading):
                return 1 if direction == "higher" else -1
        return 0


def _lead(sign: int, one: _Value, other: _Value) -> float:
    """By how much the first is ahead, in size too: of a bias, -0.1 isn't lower than 0.01."""
    signed, sized = one.value - other.value, abs(one.value) - abs(other.value)
    return max(sign * signed, sign * sized)


def _value_of(cell: Cell) -> _Value | None:
    numbers, path = cell.numbers, cell.row_path
    if len(numbers) != 1 or not path or not cell.column:
        return None
    return _Value(cell, path[-1], path[:-1], cell.column, numbers[0])


def _is_name(heading: str) -> bool:
    """Whether a sentence that has a heading's words speaks of it: of two letters only capitals."""
    named = name_of(heading)
    if named.replace(" ", "").isdigit():
        return False
    return len(named) >= 3 or re.fullmatch(r"[A-Z]{2}", heading.strip()) is not None


def _named(names: dict[str, str], text: str) -> list[str]:
    """Those of the names that a text has, without those within a longer one."""
    words = f" {name_of(text)} "
    there = sorted((name for name in names if f" {name} " in words), key=len, reverse=True)
    found: list[str] = []
    for name in there:
        words, rest = words.replace(f" {name} ", "  "), words
        if words != rest and (len(name) > 2 or re.search(rf"\b{names[name].strip()}\b", text)):
            found.append(name)
    return found


def _is_other(stated: Printed, cell: _Value) -> bool:
    """Whether a number is not the cell's, as exactly as the less exact of the two is printed, as it
    is or in percent.
    """
    value = cell.value
    for factor in (1.0, 100.0, 0.01):
        step = max(stated.step, cell.number.step * cell.cell.factor * factor)
        if abs(abs(stated.value) - abs(value) * factor) <= step * 0.5 * (1 + 1e-9):
            return False
    return True

"""Claimed values found in any text by their digits, however they are spelt and wherever they stand.

This is the check behind `withholding`, so it trusts no reader of tables, but reads numbers and
lines. A number is one of the claims' values if both have at least three digits and one is the other
rounded or cut off: 0.912, .912, 91.2 %, 91,2, 0,912, 9.12e-1, 9.12 × 10^-1, with any minus sign or
none. Fewer digits prove nothing by themselves; they count in a sentence or line that names what
they're values of (`StatedResults`). What's named as a setting ("a threshold of 0.912"), and a whole
number of three digits that nothing names ("122"), can't be withheld without harm: it's *undecided*,
and whoever asks says so.

Around a value in lines that look like a table's, every number of these lines is a result.
"""

import bisect
import math
import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from autoreproduce.claims.claim import Claim
from autoreproduce.claims.stated_results import (
    VALUED,
    Leak,
    StatedResults,
    is_setting,
    is_setting_heading,
)
from autoreproduce.papers.numbers import plain_digits
from autoreproduce.papers.table_rows import WITHHELD

Place = tuple[int, int]
ENOUGH_DIGITS = 3  # of a number that nothing else has by chance
RUN_TOGETHER = 4  # numbers of a whole table in one line
LONGEST = 40  # digits
MOST_BETWEEN = 2  # lines without numbers between two rows of a table

_SEPARATOR = r"(?:[.,'’\u2009\u202f\u00a0\u066b]|\{[.,]\}|\\[,;!]){1,2}"
_RUN = re.compile(rf"(?<!\d)(?:\d+|(?<![\w)\]])(?=\.\d))(?:{_SEPARATOR}\d+)*")
_PIECE = re.compile(rf"(\d+)|({_SEPARATOR})")
_SPACED = re.compile(r"(?<![\d.,])\d{1,3}(?: \d{3})+(?:[.,]\d+)?(?!\d)")
# a column that's aligned at the decimal point may come as two cells
_TWO_CELLS = re.compile(r"(?<![\d.,])(?=(?P<whole>\d{1,4})\s*[|&]\s*(?P<rest>\d{2,})(?![\d.,]))")
_SUPERSCRIPTS = str.maketrans("⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹−–‑", "+-0123456789---")
_POWER = re.compile(
    r"[eE](?P<exponent>[-−–+]?\d{1,3})(?!\d)"
    r"|\s*\$?\s*(?:×|\\times|·|\\cdot|\*|x)\s*\$?\s*10"
    r"(?:\s*(?:\^|\*\*)?\s*\{?\s*(?P<power>[-−–‑+]?\d{1,3})\s*\}?|(?P<small>[⁺⁻]?[⁰¹²³⁴-⁹]+))"
)
_PERCENT = re.compile(r"[\s${}~]*(?:\\?%|percent\b|per cent\b|pct\b)", re.IGNORECASE)
_UNIT = re.compile(
    r"[\s~$]{0,2}(ms|s|sec|seconds?|min|minutes|h|hours|[kKMGT]i?B|[kKMGT]?Hz|[kM]?W|[kmc]?m|k?g|[KMBG]|"
    r"(?:[KMBG]|million|billion)?\s?(?:param\w*|weights|FLOPs|MACs|tokens))(?![\w/-])"
)
_TIMES = re.compile(r"[\s~$]{0,2}([kKM](?![\w/-])|thousand|million|billion)")
_IDENTIFIER = re.compile(  # what's before the number of a section, a release, a paper
    r"(?:arxiv|doi|https?|www\.|version|release|(?<![A-Za-z])v|[=<>~]=|(?<![A-Za-z])(?:sec|fig|tab|eq|chap|app)"
    r"(?:tion|ure|le|uation|ter|endix)?s?\.?)[\s~:(/#]*\S{0,60}$",
    re.IGNORECASE,
)
_WHOLE_NUMBER = r"(\d{1,3}(?:[,\u2009\u202f]\d{3})+|\d{1,6})"
_COUNT = re.compile(
    rf"(?<![\w./,\\-]){_WHOLE_NUMBER}\s{{0,2}}(?:/|out of|of)\s{{0,2}}(?:the\s)?{_WHOLE_NUMBER}"
    r"(?![\w/]|[.,]\d)"
)
# A share of what is right, or wrong, tells the other: an error of 15.3 % an accuracy of 84.7 %.
_HAS_REST = re.compile(r"accura|error|correct|success|coverage|\brate\b|misclass", re.IGNORECASE)
_WHOLE = re.compile(r"(?<![\w.])(\d{2,6})(?![\w.%])")  # "seeds triggered of 40"
COUNT_DIGITS, FEWEST_COUNTED = 2, 20  # of a share, and of what it's a share of: others say little


@dataclass(frozen=True)
class _Number:
    """A number at its place in a text, without its sign; `step`: one unit of its last digit."""

    value: float
    step: float
    digits: int
    exact: bool  # printed with a point, a power or a percent sign
    percent: bool
    unit: str
    start: int
    end: int


@dataclass(frozen=True)
class _Target:
    claim: str
    value: float
    step: float
    digits: int
    share: bool  # no unit of measurement belongs to it
    percent: bool = False  # only of a number with a percent sign


class ValueSearch:
    """Finds the values of `claims` in texts, and by their digits alone those of `beside`, which
    nobody claimed: their id is "".
    """

    def __init__(self, claims: Sequence[Claim], beside: Sequence[Claim] = ()) -> None:
        self._stated = StatedResults(claims)
        self._names = self._stated.names | {
            "": [w for names in self._stated.names.values() for w in names]
        }
        targets = [target for claim in [*claims, *beside] for target in _targets_of(claim)]
        self._targets = sorted(enumerate(targets), key=lambda one: one[1].value)
        self._values = [target.value for _, target in self._targets]
        self._counted = {
            (abs(claim.value), whole): claim.id
            for claim in claims
            for name in (claim.metric, *claim.headings)
            for whole in map(int, _WHOLE.findall(name))
        }
        self._whole = {
            target.value: target.claim
            for target in targets
            if target.claim and target.step == 1 and target.digits == ENOUGH_DIGITS
            if not _is_power_of_two(round(target.value))
        }

    def _claim_of(self, number: _Number) -> str | None:
        """The first claim whose value the number is; three digits are at most 1 % off."""
        first = bisect.bisect_left(self._values, number.value * 0.98)
        last = bisect.bisect_right(self._values, number.value * 1.02)
        found = [(n, t.claim) for n, t in self._targets[first:last] if _is_value(number, t)]
        return min(found)[1] if found else None

    def find(self, text: str, settings: Sequence[Place] = ()) -> tuple[list[Leak], list[Leak]]:
        """The claimed values in `text`, and those of which nobody can say whether they are one.

        `settings`: the places of what is none, as of a column "learning rate".
        """
        plain = plain_digits(text, products=True)
        values, undecided = list[Leak](), list[Leak]()
        for number in _numbers_in(plain):
            claim, sure = self._claim_of(number), True
            if claim is None and not number.exact:
                claim, sure = self._whole.get(number.value), False
            if claim is None or _is_identifier(plain, number):
                continue
            if overlaps((number.start, number.end), settings):
                continue
            leak = Leak(claim, number.start, number.end, _around(text, number))
            settles = (
                re.search(
                    r"[A-Za-z]-$", plain[max(0, number.start - 2) : number.start]
                ),  # Net-94.3
                re.match(r"\s*[*/]\s*[A-Za-z_(]", plain[number.end : number.end + 9]),  # 94.3 * x
                is_setting(plain, number.start, number.end, self._names[claim]),
            )
            if sure:
                (undecided if any(settles) else values).append(leak)
            elif not any(settles):
                undecided.append(leak)
        values += [
            leak
            for leak in self._stated.claimed(_with_points(plain), [(0, len(text))])
            if not overlaps((leak.start, leak.end), settings)
        ]
        values += [
            leak
            for leak in self._counts(plain, text)
            if not overlaps((leak.start, leak.end), settings)
        ]
        longest = {(leak.id, leak.start): leak for leak in sorted(values, key=lambda one: one.end)}
        found = [(leak.start, leak.end) for leak in longest.values()]
        undecided = [leak for leak in undecided if not overlaps((leak.start, leak.end), found)]
        return sorted(longest.values(), key=lambda leak: leak.start), undecided

    def _counts(self, plain: str, text: str) -> Iterator[Leak]:
        """Counts that state a claimed share (3/40 of 7.5 %), or a claimed count of as many as its
        name says ("seeds triggered of 40").
        """
        shares = [
            one
            for _, one in self._targets
            if one.claim and one.share and one.digits >= COUNT_DIGITS
        ]
        for found in _COUNT.finditer(plain) if shares or self._counted else ():
            part, whole = (int(re.sub(r"\D", "", one)) for one in found.groups())
            if not whole >= FEWEST_COUNTED or not 0 <= part <= whole:
                continue
            claim = self._counted.get((part, whole)) or next(
                (one.claim for one in shares if part and _is_share(part / whole, one)), ""
            )
            if claim:
                around = " ".join(text[max(0, found.start() - 40) : found.end() + 40].split())
                yield Leak(claim, found.start(), found.end(), around)


def _targets_of(claim: Claim) -> Iterator[_Target]:
    """A claim's value as printed, and as fraction or percentage."""
    for value in {abs(claim.value), abs(claim.meant.value)} - {0.0}:
        printed = next(
            (n for n in _numbers_in(claim.printed) if abs(n.value - value) <= n.step / 2),
            next(_numbers_in(repr(value).removesuffix(".0")), None),
        )
        if printed is None:
            continue
        share = claim.scale != "raw" or "%" in claim.unit
        own = _Target(claim.id, value, printed.step, printed.digits, share)
        hundredth = replace(own, value=value / 100, step=own.step / 100)
        hundredfold = replace(own, value=value * 100, step=own.step * 100)
        yield own
        if share and _HAS_REST.search(claim.metric):
            yield from _rest_of(own, 1.0 if claim.scale == "fraction" else 100.0)
        if claim.scale == "percent" or "%" in claim.unit:
            yield hundredth
        else:
            yield replace(hundredfold, percent=claim.scale == "raw")


def _rest_of(target: _Target, whole: float) -> Iterator[_Target]:
    """What is missing to the whole, as fraction and percentage."""
    rest = next(_numbers_in(f"{whole - target.value:.{_decimals(target.step)}f}"), None)
    if rest is not None and 0 < rest.value < whole:
        other = 100.0 if whole == 1.0 else 0.01
        missing = replace(target, value=rest.value, digits=rest.digits)
        yield missing
        yield replace(missing, value=rest.value * other, step=target.step * other)


def _decimals(step: float) -> int:
    return max(0, round(-math.log10(step)))


def _is_value(number: _Number, target: _Target) -> bool:
    if min(number.digits, target.digits) < ENOUGH_DIGITS or not math.isfinite(number.value):
        return False
    if (target.percent and not number.percent) or (target.share and number.unit):
        return False
    if not number.exact:  # a count, a year, a size such as 1024
        year = 1900 <= round(number.value) <= 2100
        if number.digits == ENOUGH_DIGITS or year or _is_power_of_two(round(number.value)):
            return False
    step, more = max(number.step, target.step), number.value - target.value
    if number.step > target.step:
        more = -more  # how much the one with more digits is above the other
    rounded = abs(more) <= step / 2 * (1 + 1e-6)
    cut_off = -step * 1e-6 <= more < step * (1 - 1e-6)
    return rounded or cut_off


def _is_power_of_two(whole: int) -> bool:
    return whole & (whole - 1) == 0


def _is_share(value: float, target: _Target) -> bool:
    return any(abs(by * value - target.value) <= target.step / 2 for by in (1, 100))


def _is_identifier(text: str, number: _Number) -> bool:
    line = text.rfind("\n", 0, number.start) + 1
    before = text[max(line, number.start - 80) : number.start]
    return _IDENTIFIER.search(before.rsplit(" ", 1)[-1] or before[-20:]) is not None


def _around(text: str, number: _Number) -> str:
    """The number with the words around it, on one line."""
    return " ".join(text[max(0, number.start - 60) : number.end + 30].split())


def _with_points(text: str) -> str:
    """`text` with a point for each decimal comma, at the same places."""
    return re.sub(r"(?<=\d),(?=\d{1,2}(?!\d))|(?<=(?<!\d)0),(?=\d)", ".", text)


def _numbers_in(text: str) -> Iterator[_Number]:
    """Each number in each way in which it can be read: 1,234 as 1234 and as 1.234, 12.3k as 12.3
    too.
    """
    for number in _as_written(text):
        yield number
        if times := _TIMES.match(text, number.end):
            by = {"t": 1e3, "k": 1e3, "m": 1e6, "b": 1e9}[times[1][0].lower()]
            yield replace(
                number, value=number.value * by, step=number.step * by, unit="", end=times.end()
            )


def _as_written(text: str) -> Iterator[_Number]:
    for run in _RUN.finditer(text):
        pieces = [(one[0], run.start() + one.start()) for one in _PIECE.finditer(run[0])]
        for digits, decimals, start, end in _readings(pieces):
            if len(digits) <= LONGEST:
                yield _number(text, digits, decimals, start, end)
    for spaced in _SPACED.finditer(text):
        whole, _, rest = spaced[0].replace(" ", "").replace(",", ".").partition(".")
        yield _number(text, whole + rest, len(rest), *spaced.span())
    for cells in _TWO_CELLS.finditer(text):
        digits = cells["whole"] + cells["rest"]
        yield _number(text, digits, len(cells["rest"]), cells.start("whole"), cells.end("rest"))


def _readings(pieces: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int, int, int]]:
    """(digits, how many of them are decimals, start, end) of a run of digits and separators."""
    if pieces[0][0][0] in ".,":  # .912
        pieces = [("0", pieces[0][1]), *pieces]
    digits = [text for text, _ in pieces[::2]]
    signs = [next((c for c in text if c in ".,"), " ") for text, _ in pieces[1::2]]
    place = (pieces[0][1], pieces[-1][1] + len(pieces[-1][0]))
    grouped = len(digits[0]) <= 3 and digits[0] != "0" and all(len(d) == 3 for d in digits[1:])
    whole = "".join(digits)
    if not signs:
        yield whole, 0, *place
    elif len(signs) == 1:
        thousands = grouped and signs[0] == "," and digits[1] == "000"  # 1,000 is no 1.000
        if signs[0] != " " and not thousands:
            yield whole, len(digits[1]), *place
        if grouped:
            yield whole, 0, *place
    elif grouped and len(set(signs)) == 1:
        yield whole, 0, *place
    elif signs[0] != " " and set(signs[1:]) == {" "}:  # 0.912 345
        yield whole, len(whole) - len(digits[0]), *place
    elif len(set(signs[:-1])) == 1 and signs[-1] not in (signs[0], " "):  # 1,234.5, or 2,0.912
        if len(digits[0]) <= 3 and all(len(d) == 3 for d in digits[1:-1]):
            yield whole, len(digits[-1]), *place
        yield from _listed(pieces)
    elif set(signs) != {"."}:
        yield from _listed(pieces)


def _listed(pieces: Sequence[tuple[str, int]]) -> Iterator[tuple[str, int, int, int]]:
    """The decimals of a list without blanks: 0.411,0.368."""
    commas = all("," in text for text, _ in pieces[1::2])  # 0,411,0,368
    for at in range(0, len(pieces) - 2, 2):
        (first, start), (sign, _), (rest, end) = pieces[at : at + 3]
        if "." in sign or commas:
            yield first + rest, len(rest), start, end + len(rest)


def _number(text: str, digits: str, decimals: int, start: int, end: int) -> _Number:
    power = _POWER.match(text, end)
    exponent = 0
    if power:
        end = power.end()
        shown = power["exponent"] or power["power"] or power["small"]
        exponent = int(shown.translate(_SUPERSCRIPTS))
    percent = _PERCENT.match(text, end) is not None
    unit = _UNIT.match(text, end)
    step = float(f"1e{exponent - decimals}")  # infinite if it's too large for a float
    significant = digits.lstrip("0") if decimals else digits.strip("0")
    exact = bool(decimals or power or percent)
    value = float(f"{digits}e{exponent - decimals}")
    return _Number(
        value, step, len(significant), exact, percent, unit[1] if unit else "", start, end
    )


def overlaps(place: Place, others: Collection[Place]) -> bool:
    """True if the place has a character in common with one of `others`."""
    return any(place[0] < end and start < place[1] for start, end in others)


_CELL_ENDS = re.compile(
    r"\||(?<!\\)&|\\\\|\t| {2,}|</?t[dhr]\b[^>]*>|</?(?:table|tbody|thead)[^>]*>"
)
_MARKUP = re.compile(
    r"<[^>]*>|\\(?:textbf|mathbf|bf|underline|hline|cr|midrule|toprule|bottomrule|boldmath)\b"
    r"|[*$†‡§{}]|\\[,;! ]"
)
_FIELD = (  # 0.31, -2, 0.31±0.02, 88.3%, 12/15, [withheld], 0.31(2), <0.001
    r"(?:\[withheld\]|[-−–+<>≤≥~≈(]*\.?\d)[^\sA-Za-z|&]*(?:[eE][-+]?\d+)?(?:%|x|ms|s|h|k|M|B|G|K)?[^\w\s]*"
)
_VALUE_CELL = re.compile(
    rf"\s*{_FIELD}(?:\s+(?:{_FIELD}|±|\\pm|\+/-|\\?%|×|/))*(?:\s+[A-Za-zµ]{{1,3}})?\s*"
)
_IS_FIELD = re.compile(rf"{_FIELD}|[-–—]|n/?a|OOM|±|\\pm|\+/-|\\?%|×|/", re.IGNORECASE)
_LOOSE = re.compile(r"(?<![\w.=<>≤≥@#^_(-])(?<![=<>≤≥@] )\d*\.\d+(?:\s?\\?%)?(?![\w.)-])")
_ANY_NUMBER = re.compile(r"[-−–+]?(?:\d[\d.,'’]*\d|\d|\.\d+)(?:[eE][-+]?\d+)?(?:\s?\\?%)?")
_BREAK = re.compile(r"\W*(?:#|(?:table|tab\.|fig(?:ure|\.)|algorithm)\b)", re.IGNORECASE)
_ITEM = re.compile(r"\s*(?:[-*+•]|\\item\b)\s+[A-Za-z]")
_SETTING_ROW = re.compile(rf"(?:{VALUED})", re.IGNORECASE)
_MOST_WORDS = 8  # of a row's name in a line without cells


@dataclass(frozen=True)
class _Line:
    start: int
    text: str
    numbers: tuple[Place, ...]  # its results, if it's a row
    cells: bool  # told apart by more than a blank

    @property
    def is_row(self) -> bool:
        """True for a line with results, also with withheld ones."""
        return bool(self.numbers) or WITHHELD in self.text

    @property
    def kind(self) -> str:
        """What a line of numbers is part of: a list, a table with marked cells, or plain text."""
        return "list" if _ITEM.match(self.text) else "table" if self.cells else "text"


def places_around(text: str, hits: Collection[Place]) -> Iterator[Place]:
    """The numbers of the lines around `hits` that look like rows of a table: in none that a reader
    of tables knows, what is beside and below a claimed value are results too.

    Row names and headings stay, and rows that are named as settings.
    """
    lines, at = list[_Line](), 0
    for written in text.split("\n"):
        lines.append(_read_line(written, at))
        at += len(written) + 1
    ends = [line.start + len(line.text) for line in lines]
    done = -1
    for start, _ in sorted(hits):
        held = bisect.bisect_left(ends, start)
        if held <= done or not lines[held].is_row:
            continue
        first, last = _edge(lines, held, -1), _edge(lines, held, 1)
        done = last
        block = [line for line in lines[first : last + 1] if line.is_row]
        alone = len(block) == 1 and not block[0].cells and len(block[0].numbers) < RUN_TOGETHER
        if alone and re.search("[A-Za-z]", block[0].text.replace(WITHHELD, "")):
            continue  # a sentence
        decimals = any("." in text[slice(*place)] for line in block for place in line.numbers)
        for line in block:
            heading = line is block[0] and line is not lines[held]
            bare = not any("." in text[slice(*place)] for place in line.numbers)
            if heading and bare and decimals and WITHHELD not in line.text:
                continue  # 10, 100, 1000 above 0.31, 0.28, 0.27
            yield from line.numbers


def _edge(lines: Sequence[_Line], at: int, way: int) -> int:
    """The last row of the block in one direction."""
    last, without, blank = at, 0, 0
    kind = lines[at].kind
    while 0 <= (at := at + way) < len(lines):
        line = lines[at]
        if _BREAK.match(line.text) or _begins_table(lines, at):
            break
        if blank and line.is_row and line.kind != kind:
            break  # a list, a sentence or a table of another paragraph
        if line.is_row:
            last, without, blank = at, 0, 0
            continue
        words = _MARKUP.sub(" ", line.text).split()
        blank += not words and not line.text.strip()
        without += bool(words) and bool(re.search(r"\w", line.text))
        if blank > 1 or without > MOST_BETWEEN or len(words) > _MOST_WORDS:
            break
    return last


def _begins_table(lines: Sequence[_Line], at: int) -> bool:
    """True for a title ("Inferential risks:") with another table's headings below it; what has a
    row below it names a group of rows.
    """
    if lines[at].is_row or not lines[at].text.rstrip().endswith(":"):
        return False
    below = next((line for line in lines[at + 1 : at + 3] if line.text.strip()), None)
    return below is not None and not below.is_row


def _read_line(line: str, start: int) -> _Line:
    masked = _MARKUP.sub(lambda found: " " * len(found[0]), line)
    label_end, found, cells = len(line), list[Place](), False
    ends = [(one.start(), one.end()) for one in _CELL_ENDS.finditer(line.rstrip())]
    if ends:
        parts = list(
            zip([0, *(b for _, b in ends)], [*(a for a, _ in ends), len(line)], strict=True)
        )
        parts = [(a, b) for a, b in parts if masked[a:b].strip()]
        values = [(a, b) for a, b in parts[1:] if _VALUE_CELL.fullmatch(masked[a:b])]
        cells = bool(values) or "|" in line
        for a, b in values:
            found += [(a + n.start(), a + n.end()) for n in _ANY_NUMBER.finditer(masked[a:b])]
        label_end = parts[0][1] if parts else 0
        if len(parts) == 1:
            ends = []
    if not ends or not found:
        words = [word.span() for word in re.finditer(r"\S+", masked[:label_end])]
        first = len(words)
        while first and _IS_FIELD.fullmatch(masked[slice(*words[first - 1])]):
            first -= 1
        if first < len(words) and first <= _MOST_WORDS:
            at = words[first][0]
            last = _ANY_NUMBER.finditer(masked[at:label_end])
            found += [(at + n.start(), at + n.end()) for n in last]
            label_end = at
    loose = [one.span() for one in _LOOSE.finditer(masked[:label_end])]
    if len(loose) > 1 and len(masked[:label_end].split()) <= _MOST_WORDS * len(loose):
        found += loose  # rows that a reader ran together
    label = masked[:label_end].replace("_", " ")
    if is_setting_heading(label) or _SETTING_ROW.fullmatch(label.strip()):
        found = []
    return _Line(start, line, tuple((start + a, start + b) for a, b in sorted(found)), cells)

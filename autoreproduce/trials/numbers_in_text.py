"""Numbers in a text that a program printed or wrote: the one that a text is, those of a line, and
those after a word.

A word may fit several numbers. A line that has the word and its number alone goes before one in
which the word stands among others, and that before one in which it is part of a longer name
("top-5 error"). Of lines that differ in their numbers alone, as an epoch's, the last one counts.
What then still fits different numbers is an error that shows the lines.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from autoreproduce.errors import CommandError
from autoreproduce.papers.numbers import plain_minus
from autoreproduce.trials.printed import last_state

LONGEST_LINE = 1_000  # characters of a line that a pattern is held against
LONGEST_CELL = 200  # characters of a value with its spread and unit
MOST_COMPARED = (
    1_000  # lines that a key fits, the last ones, of which it's asked what they have alike
)
_NUMBER = r"[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?"
_BARS = "|│┃║"
# Between a key and its number: what closes the key, a remark in brackets, then a colon, an equals
# sign, "is", an arrow, a row of dots or dashes, or a bar.
BETWEEN = (
    r"[\"'`*_\])\s]{0,20}(?:\((?:[^()\d]{0,40}\)|[^()]{0,40}\)(?=\s*[:=]))[\"'`*_\s]{0,20})?"
    rf"(?:[-=]{{0,40}}[>→➜]|[:=]|\bis\b|[.…·_]{{2,300}}|[-–—]{{2,300}}|\s[-–—]\s|[{_BARS}])?[\s\"'`*]{{0,300}}"
)
_THOUSANDS = r"[-+]?[1-9]\d{0,2}(?:[,_']\d{3})+(?:\.\d+)?(?![\d,])"
_VALUE = re.compile(  # as it is, or as NumPy, PyTorch and JAX print it, in a list of one or not
    rf"(?P<wrapped>(?:\w{{1,12}}\.)?(?:\w{{0,8}}float\w{{0,8}}|u?int\d{{1,2}}|[Tt]ensor|[Aa]rray)\(\s*)?"
    rf"(?P<list>[\[(]{{1,2}}\s*)?[$€~≈]?"
    rf"(?P<number>{_THOUSANDS}|{_NUMBER}|[-+]?(?:nan|inf(?:inity)?)\b)"
    r"(?P<comma>,\d+)?",
    re.IGNORECASE,
)
_NO_END = re.compile(  # 5-fold, 20-39, 3/20, 3 x 10^-4, 12:30, 1.2.3, 0x1F
    r"\d|-\w|\s*[/×x*·]\s*\d|\s*:\s*[\d.]|\.\d|[xX][\da-fA-F]|[eE](?![A-Za-z])"
)
# A spread and a unit after a number; a multiple of it ("1.2 M") is no unit.
_AFTER = re.compile(
    rf"(?:\s*(?:(?:±|\+/?-)\s*{_NUMBER}\s*%?|\(\s*(?:±|\+/?-)?\s*{_NUMBER}\s*%?\s*\)))?"
    r"(?:\s+(?!(?:[kKMGTB]|[Bb]n|[Mm]io|thousand|million|billion)\b)[A-Za-zµμ°‰][\w/^²³·.-]{0,20})?$"
)


def pattern_of(key: str) -> str:
    """The regular expression in a key such as /^19 \\S+ (\\S+)$/, "" in any other."""
    return key[1:-1] if len(key) > 2 and key[0] == key[-1] == "/" else ""


def numbers_on_line(line: str) -> list[str]:
    """The numbers of a line, none that is a part of a word; their minus sign is ASCII's."""
    shown = plain_minus(line[:LONGEST_LINE])
    return re.findall(rf"(?<![\w.])(?<![\d)]-){_NUMBER}(?![\w])", shown)


def groups_of(pattern: str, text: str) -> Iterator[tuple[str | None, str]]:
    """What the one group of a pattern matches, line by line, and the line."""
    searched = re.compile(pattern)
    lines = (line[:LONGEST_LINE] for line in text.splitlines())
    return ((match[1], line) for line in lines if (match := searched.search(line)))


def value_of_text(text: str) -> float | str:
    """The number that a cell or a JSON text is, with its unit % or without; else the text."""
    shown = plain_minus(text.strip())
    match = _VALUE.match(shown)
    rest = shown[match.end() :] if match else ""
    value = _value_of(match, rest) if match else None
    closed = re.fullmatch(r"[\])\s]*%?[\])\s]*|,\s*[a-z_]+=.*\)", rest, re.DOTALL)
    whole = sum(map(text.count, "[(")) == sum(map(text.count, ")]"))  # or it's cut out of a list
    return value if value is not None and closed and whole else text


def without_spread_and_unit(text: str) -> str:
    """What is before a spread ("0.93 ± 0.02", "0.93 (0.02)") and a unit ("12 ms") at the end."""
    found = _AFTER.search(text) if len(text) <= LONGEST_CELL else None
    return text[: found.start()] if found else text


def _value_of(match: re.Match[str], rest: str) -> float | None:
    """The number of a match of `_VALUE`; None for a list of several, and for what a number only
    begins. A decimal comma is one where no thousands can be meant.
    """
    number, comma = match["number"], match["comma"] or ""
    if match["list"] and (comma or re.match(r"\s*[,;]?\s+[-+.\d]|\s*,\s*[-+.\d]", rest)):
        return None
    if match["list"] and not re.match(r"\.?\s*[\])]", rest):  # it begins something else
        return None
    if _NO_END.match(rest):
        return None
    if comma:
        whole = number.lstrip("+-")
        if not whole.isdigit() or (len(comma) == 4 and whole.strip("0")) or rest[:1] == ",":
            return None
        return float(number + comma.replace(",", "."))
    return float(re.sub(r"[,_']", "", number))


@dataclass(frozen=True)
class Fit:
    """A number that a word fits. `rank`: 0 for a line of word and number alone, 1 for a word among
    others, 2 for a part of a longer name, which is `name`. `above`: the line before.
    """

    line: int
    text: str
    value: float
    rank: int
    name: str
    above: str


def numbers_after(word: str, text: str) -> list[Fit]:
    """All numbers that follow the word in its best sense: `test mse: 0.31`, `"test mse" = 0.31`.
    One that is there in another case alone is meant, if it has one spelling.
    """
    fits = list(_fits(word, text))
    if not fits:
        anyhow = re.compile(rf"(?<![\w@]){re.escape(word)}(?![\w@])", re.IGNORECASE)
        spelled = {*anyhow.findall(text)}
        fits = list(_fits(spelled.pop(), text)) if len(spelled) == 1 else []
    rank = min((one.rank for one in fits), default=0)
    return [one for one in fits if one.rank == rank]


def number_after(place: str, word: str, text: str) -> Fit | None:
    """The number that follows the word; None without one. Raises CommandError, which names the
    file `place`, where it fits different numbers.
    """
    best = numbers_after(word, text)
    if not best:
        return None
    names = {one.name for one in best}
    kinds = [(form_of(one.text), form_of(one.above)) for one in best[-MOST_COMPARED:]]
    forms = {form for form, _ in kinds}
    above = {before for form, before in kinds if before != form}  # of an epoch, or of a section
    if len(names) > 1 or len(forms) > 1 or len(above) > 1:
        other = next((one for one in reversed(best) if one.value != best[-1].value), None)
        if other is not None:
            shown = " and ".join(
                f"line {one.line} ({one.text.strip()[:80]!r})" for one in (other, best[-1])
            )
            raise CommandError(
                f"--metric-from {place}:{word} fits different numbers: {shown}; name "
                f"the one that is meant, as {place}:#{best[-1].line}.1 for the first number "
                "of a line, or by a pattern"
            )
    return best[-1]


def _fits(key: str, text: str) -> Iterator[Fit]:
    """All numbers that follow the key, in their order."""
    wanted = re.compile(rf"(?<![\w@]){re.escape(key)}(?![\w@])" + BETWEEN)
    before = ""
    for line, shown in enumerate(map(last_state, plain_minus(text).split("\n")), 1):
        if not shown.strip():
            continue
        for match in wanted.finditer(shown) if key in shown else ():
            found = _VALUE.match(shown, match.end())
            rest = shown[found.end() : found.end() + LONGEST_LINE] if found else ""
            value = _value_of(found, rest) if found else None
            if value is None:
                continue
            name, others = _name_before(shown[max(0, match.start() - 200) : match.start()])
            more = re.search(r"[A-Za-z]{2}|\d", re.sub(r"[\w]+=\S+|\bdtype\b.*", "", rest))
            rank = 2 if name else int(others or bool(more))
            yield Fit(line, shown, value, rank, name, before)
            if any(bar in match[0][len(key) :] for bar in _BARS):  # further cells of a table's row
                for cell in re.finditer(rf"[{_BARS}]\s*({_NUMBER})\s*%?\s*(?=[{_BARS}]|$)", rest):
                    yield Fit(line, shown, float(cell[1]), rank, f"{name} cell", "")
        before = shown


def form_of(line: str) -> str:
    """A line without its numbers, by which those that a loop prints are told to be of one kind."""
    numbers = r"[-+]?\d[\d.,]*(?:[eE][-+]?\d+)?|\bnan\b|\binf\b"
    return " ".join(re.sub(numbers, " ", line[:LONGEST_LINE], flags=re.IGNORECASE).split())


def _name_before(text: str) -> tuple[str, bool]:
    """The words before a key that make one name with it ("top-5 " of "top-5 error"), and whether
    anything else stands before it. A number by itself, a comma, a bar or a bracket ends a name.
    """
    part = re.split(rf"[,;:=(){{}}\[\]{_BARS}\"'\t]|(?<![\w.-])[-+]?\d[\d./:%]*(?=\s)|\s-\s", text)[
        -1
    ]
    name = " ".join(re.sub(r"[^\w@./-]+", " ", part).split()).strip("-_./*#> ")
    return (name if re.search(r"[A-Za-z]", name) else ""), bool(re.search(r"\w", text))

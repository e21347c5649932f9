r"""Numbers as papers print them: 94.3, 1{,}234, 1\,000, 1.2e-4, $3 \times 10^{-3}$, 94.3\% ± 0.2.

The patterns read LaTeX as well as plain text, so that a number has its place in the text it was
found in.
"""

import math
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation, Overflow

_MINUS = "-−–‐‑‒﹣－"
_GAP = r"(?:[\s${}_^~*]|&nbsp;|\\(?:tiny|scriptsize|footnotesize|small|,|;|!|:| ))*"
_THOUSANDS = (
    r"(?!0\D)\d{1,3}(?:(?:,|\{,\}|\\,|\u2009|\u202f|\u00a0|')\d{3})+(?![\d])"
    r"|[1-9]\d{0,2}(?:\.\d{3}){2,}(?![\d.])"  # 1.204.500
)
_SPACED = r"[1-9]\d{0,2}(?:[ \u00a0]\d{3})+(?!\d)"
_POWER = (
    rf"10\s*(?:\^|\*\*|<sup>)\s*[{{(]?\s*(?P<power>[{_MINUS}+]?\d+)(?:\s*[}})]|</sup>)?"
    r"|10(?P<small>[⁺⁻]?[⁰¹²³⁴-⁹]+)"
)
_TIMES = rf"\s*\$?\s*(?:×|\\times|·|\\cdot|\*|x)\s*\$?\s*(?:{_POWER})"
_EXPONENT = rf"[eE][{_MINUS}+]?\d+"
_SPREAD = (
    rf"{_GAP}\(?{_GAP}(?:±|∓|&plusmn;|\\pm|\+/?[{_MINUS}])"
    rf"{_GAP}(?P<spread>\d*\.?\d+(?:{_EXPONENT})?)"
)
_BOUND = r"\d*\.?\d+(?:\s*(?:×|·|\\times|\\cdot)\s*10\s*\^\s*\{?[-−]?\d+\}?)?"
_UPPER = rf"\^\s*\{{?\s*\+\s*(?P<up>{_BOUND})\s*\\?%?\s*\}}?"
_LOWER = rf"_\s*\{{?\s*[{_MINUS}]\s*(?P<down>{_BOUND})(?:\s*\\?%)?\s*\}}?"
_TWO_SIDED = (  # 13%^{+8%}_{-5%}, 5.9·10⁴ with +7.8·10³ above and −6.6·10³ below, in either order
    rf"\s*\\?%?[\s{{}}~$]*(?:{_UPPER}\s*{_LOWER}"
    + rf"|{_LOWER}\s*{_UPPER})".replace("<up>", "<upper>").replace("<down>", "<lower>")
)
# with one above, it is a lower bound
_INDEX = r"\$?_\{?(?P<index>\d*\.\d+)\}?\$?(?!\s*\^|[\d.])"
_DIGITS = r"\((?P<digits>\d{1,2})\)"
# Behind a word or a closing dollar it's a hyphen or a minus, behind an opening one a sign; it may
# have dollars or braces of its own: $-0.5$, $-$0.5, ${-}0.5$.
_OPENED = r"(?:(?<=^\$)|(?<=[\s(\[{,;:~|&=>]\$))"
_SIGN = (
    rf"(?:(?<![\w)\]}}$.%])|{_OPENED})(?:[{_MINUS}+]|\{{[{_MINUS}+]\}})\s?"
    rf"|(?<![\w)\]}}$.%])\$[{_MINUS}+]\$\s?"
)
_NOT_NUMBERS = {"D", "d", "st", "nd", "rd", "th"}  # 3D, 1st


def _pattern(spaced: bool) -> re.Pattern[str]:
    grouped = f"{_THOUSANDS}|{_SPACED}" if spaced else _THOUSANDS
    mantissa = rf"(?:{grouped})(?:\.\d+)?|\d+(?:\.\d+)?|\.\d+"
    bare = _POWER.replace("power", "bare").replace("small", "raised")
    after = _TIMES.replace("power", "after").replace("small", "above")
    after = rf"(?:{after}|[eE](?P<behind>[{_MINUS}+]?\d+))"
    return re.compile(
        rf"(?<![\w.@\\^])(?<!\^{{)(?<![A-Za-z][-‐‑])(?P<sign>{_SIGN})?"
        rf"(?:{bare}|(?P<mantissa>{mantissa})(?:[eE](?P<exponent>[{_MINUS}+]?\d+)|{_TIMES})?)"
        rf"(?P<about>{_TWO_SIDED}|{_INDEX}|(?:{_DIGITS}|\s*\\?%?{_SPREAD})(?:\)?{after})?)?"
        rf"(?P<closing>[\s${{}}]*\\?%|[\s~]{{1,2}}(?:percent|per\s?cent|pct)\b(?!\s+points?))?"
    )


_IN_TEXT, _IN_CELL = _pattern(spaced=False), _pattern(spaced=True)


@dataclass(frozen=True)
class Printed:
    """A number at its place in a text.

    `step`: one unit of its last printed digit; `spread`: what follows ±.
    """

    value: float
    text: str
    start: int
    end: int
    step: float
    percent: bool = False
    spread: float | None = None


_FULL_WIDTH = str.maketrans("０１２３４５６７８９．，％", "0123456789.,%")
_DOT, _NO_FACTOR = "[·⋅∙]", r"(?![\d·⋅∙]|\s*(?:\^|\*\*|[⁺⁻⁰¹²³⁴-⁹]))"
_MAYBE_RAISED = re.compile(rf"(?<![\d.,·⋅∙])(\d+){_DOT}(?=\d+{_NO_FACTOR})")
_SURELY_RAISED = re.compile(  # 0·912, 91·2 %, 38·1 ± 0·2; but 64·64 is a product
    rf"(?<![\d.,·⋅∙])(?:(0){_DOT}(?=\d+{_NO_FACTOR})|(\d+){_DOT}(?=\d+\s*(?:\\?%|±|\\pm|\+/-)))"
)


def plain_digits(text: str, *, products: bool = False) -> str:
    """`text`, as long as it was, with ASCII digits and a point for a raised one: 0·912, ９２.１.

    `products`: also what may be a product, as 92·1 alone.
    """
    raised = _MAYBE_RAISED if products else _SURELY_RAISED
    return raised.sub(lambda found: f"{found[0][:-1]}.", text.translate(_FULL_WIDTH))


def plain_minus(text: str) -> str:
    """`text`, as long as it was, with ASCII's sign for every minus before a number."""
    return re.sub(rf"[{_MINUS}](?=\.?\d)", "-", text)


_ALONE = r"(?<![\d.,])(?:%s)(?!\d|[.,]\d)"
_COMMA_DECIMAL = re.compile(  # 0,912 (no number has a 0 before its thousands), 12,5 and 1.234,5
    _ALONE % r"0,\d{2,}|\d+,(?:\d{1,2}|\d{4,})|\d{1,3}(?:\.\d{3})+,\d+"
)
_POINT_DECIMAL = re.compile(_ALONE % r"0?\.\d+|\d+\.(?:\d{1,2}|\d{4,})|\d{1,3}(?:,\d{3})+\.\d+")
_ZERO_COMMA = re.compile(r"(?<![\d.,(\[{])0,(?=\d{2,}(?!\d|[.,]\d|[)\]}]))")
_PAIR = re.compile(r"[(\[]\s*[-−]?\d,\d\s*[)\]]")  # an interval or two items, as [0,1]


def decimal_comma(texts: Iterable[str]) -> bool | None:
    """Whether a comma stands before the decimals of a table with these cells: True or False by what
    only one notation writes, such as 0,88 or 0.88; None if nothing tells, or both are there.
    """
    comma = point = False
    for text in map(plain_digits, texts):
        bare = _PAIR.sub(" ", text)
        comma = comma or bool(_COMMA_DECIMAL.search(bare))
        point = point or bool(_POINT_DECIMAL.search(bare))
    return None if comma == point else comma


def _with_points(text: str, comma: bool | None) -> str:
    """A cell with a point before the decimals, and as long as it was."""
    if comma:  # 1.234,5 and 1.304.500 and 1,304
        text = re.sub(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?!\d)", _without_points, text)
        return re.sub(r"(?<=\d),(?=\d+(?!\d|,\d))", ".", text)
    text = re.sub(r"(?<![\d.])([1-9])\.10(?=\s?\^)", r"\1×10", text)  # 2.10^3, as in French
    bare = _PAIR.sub(lambda found: found[0].replace(",", ";"), text)
    text = re.sub(r"(?<![\d.,])\d{1,3}(?:\.\d{3})+(?=,\d{1,2}(?!\d))", _without_points, bare)
    text = re.sub(r"(?<=\d),(?=\d{1,2}(?!\d))", ".", text)
    return re.sub(r"(?<![\d.,])0,(?=\d{3})", "0.", text)


def _without_points(found: re.Match[str]) -> str:
    return found[0].replace(".", "\u202f")


def numbers_in(text: str, *, cell: bool = False, comma: bool | None = None) -> list[Printed]:
    """The numbers of a text in their order.

    `cell`: the text is a table's cell, where a blank may separate thousands, and a comma decimals;
    `comma`: whether it does in this table, where that is known (`decimal_comma`).
    """
    text = plain_digits(text)
    text = _with_points(text, comma) if cell else _ZERO_COMMA.sub("0.", text)
    found = []
    for match in (_IN_CELL if cell else _IN_TEXT).finditer(text):
        printed = _printed_number(match, text)
        if printed is not None:
            found.append(printed)
    return found


def number_of(text: str) -> Printed | None:
    """The one number that `text` is, with its ± and %; None if it is more or less than that."""
    found = numbers_in(text.strip(), cell=True)
    if len(found) != 1:
        return None
    rest = text.strip()[: found[0].start] + text.strip()[found[0].end :]
    return found[0] if not re.search(r"[\w]", rest) else None


def same_number(value: float, other: float) -> bool:
    """True for one number in two notations; rounding is a difference."""
    return math.isclose(value, other, rel_tol=1e-9, abs_tol=1e-300)


def is_misprint(printed: float, meant: float) -> bool:
    """True if only the sign, the point or one digit is wrong, or two neighbours are swapped."""
    one, other = (f"{abs(value):.12g}".replace(".", "").strip("0") for value in (printed, meant))
    if same_number(printed, meant) or not other:
        return False
    if one == other:
        return True
    wrong = [n for n, pair in enumerate(zip(one, other, strict=False)) if pair[0] != pair[1]]
    if len(one) != len(other) or len(one) < 2:
        return False
    swapped = len(wrong) == 2 and one[wrong[0]] + one[wrong[1]] == other[wrong[1]] + other[wrong[0]]
    return len(wrong) == 1 or (swapped and wrong[1] == wrong[0] + 1)


def _printed_number(match: re.Match[str], text: str) -> Printed | None:
    after = re.match(r"[A-Za-z]+", text[match.end() :])
    if after and after[0] in _NOT_NUMBERS:
        return None
    digits = _mantissa(match)
    if digits is None:
        return None
    value, step = digits
    sign = -1.0 if (match["sign"] or "+").strip("${} ") in tuple(_MINUS) else 1.0
    spread = _spread_of(match, step)
    behind = _power_of_ten(match["after"] or match["above"] or match["behind"])
    # 3.1 ± 0.2 × 10^-3 is of both, unless the number has a power of its own: 3.1e-3 ± 2 × 10^-4
    factor = 1.0 if match["exponent"] or match["power"] or match["small"] else behind
    parts = (value * factor, step * factor, (spread or 0.0) * behind)
    if not all(map(math.isfinite, parts)):
        return None
    percent = bool(match["closing"]) or "%" in (match["about"] or "")
    return Printed(
        sign * value * factor,
        match[0].strip(),
        match.start(),
        match.start("closing") if match["closing"] else match.end(),
        step * factor,
        percent,
        None if spread is None else spread * behind,
    )


def _mantissa(match: re.Match[str]) -> tuple[float, float] | None:
    """Value without its sign, and one unit of its last digit; None if no float holds them."""
    if match["mantissa"] is None:
        power = _power_of_ten(match["bare"] or match["raised"])
        return power, power
    digits = re.sub(r"\\,|[{},'\s]", "", match["mantissa"])
    factor = _power_of_ten(match["exponent"] or match["power"] or match["small"])
    if digits.count(".") > 1:  # points between thousands
        digits = digits.replace(".", "")
    try:
        exact = Decimal(digits)
        exponent = exact.as_tuple().exponent
        last = Decimal(1).scaleb(exponent if isinstance(exponent, int) else 0)
        scale = Decimal(repr(factor))
        return float(exact * scale), float(last * scale)
    except (InvalidOperation, Overflow):  # 0 times a power that no float holds
        return None


def _power_of_ten(text: str | None) -> float:
    """10 to the power of `text`, 1 if there is none."""
    if not text:
        return 1.0
    plain = re.sub(rf"[{_MINUS}⁻]", "-", text)
    power = plain.translate(str.maketrans("⁺⁰¹²³⁴⁵⁶⁷⁸⁹", "+0123456789"))
    return float(f"1e{power}")  # infinite if it is too large for a float


def _spread_of(match: re.Match[str], step: float) -> float | None:
    bounds = [match[name] for name in ("up", "down", "upper", "lower") if match[name]]
    if bounds:
        return max(map(_bound_value, bounds))
    if match["digits"]:
        return float(Decimal(repr(step)) * int(match["digits"]))
    mantissa, _, exponent = (match["spread"] or match["index"] or "").lower().partition("e")
    return float(mantissa) * _power_of_ten(exponent) if mantissa else None


def _bound_value(text: str) -> float:
    """The value of "7.8 × 10^3"."""
    mantissa, *power = re.split(r"×|·|\\times|\\cdot", text)
    exponent = re.search(r"\^\s*\{?([-−]?\d+)", power[0]) if power else None
    return float(mantissa) * _power_of_ten(exponent[1] if exponent else None)

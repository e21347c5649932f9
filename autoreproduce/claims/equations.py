r"""Places in a text whose numbers are no stated results, whatever their value.

Equations and algorithms, arguments of macros (`\begin{algorithmic}[1]`), intervals and sets
(`U[1, 2]`, `\{-1, 0, 1\}`), numbers of tables, sections and items. A formula that is nothing but a
number (`$94.3 \pm 0.2$`), or sets a metric's name equal to one, is a statement like any other.
"""

import bisect
import re
from collections.abc import Callable

_TOKEN = re.compile(
    r"\\(?P<edge>begin|end)\s*\{(?P<name>[A-Za-z]+\*?)\}|\\\\|\\\$|(?P<display>\$\$)"
    r"|\\(?P<bracket>[\[\]()])|(?P<dollar>\$)|(?P<paragraph>\n\s*\n)"
)
_DISPLAYED = re.compile(
    r"(?:equation|align(?:at|ed)?|gather(?:ed)?|multline|eqnarray|math|displaymath|split|cases"
    r"|algorithm(?:ic)?|algorithmic|tikzpicture|lstlisting)\*?"
)
_CLOSING = {"[": "]", "(": ")"}
_STYLE = (
    r"\\(?:mathbf|mathrm|textbf|textit|text|textrm|bm|boldsymbol|underline|emph|mathit|phantom|hphantom"
    r"|approx|sim|simeq|pm|geq?|leq?|gt|lt|rightarrow|to|tiny|small|scriptsize|footnotesize|times"
    r"|cdot|%|,|;|!|:| )"
)
_NUMBER_ALONE = re.compile(rf"(?:{_STYLE}|[\d.\s{{}}~^_%±+×·≈<>≤≥→/,−–-])*")
_NAME_EQUALS = re.compile(r"([^=≈:<>]*?)(?:=|≈|:|<|>|\\approx|\\geq?|\\leq?)\s*(?:\\mathbf\{)?\s*$")
_ARGUMENT = re.compile(
    r"\\[A-Za-z]+\*?(?:\{[^{}]*\})*\[[^\[\]]*$"
    r"|\\(?:[dtsc]?frac|nicefrac|sqrt|binom|ref|eqref|[Cc]ref|autoref|label|cite\w*|[vh]space"
    r"|setlength|cmidrule|cline|multicolumn|multirow|includegraphics|Call|Let|State|For|While|If"
    r"|begin|input|url|href)\*?(?:\{[^{}]*\}|\[[^\[\]]*\])*\{[^{}]*$"
)
_LIST_BEFORE = re.compile(
    r"(?:\[|\\\{|(?<=[A-Za-z}])\(|(?<![A-Za-z}])\{)\s*(?P<first>[^\[\](){}]*)$"
)
_LIST_AFTER = re.compile(r"(?P<rest>[^\[\](){}]{0,40})(?:\]|\\\}|\}|\))")
_REFERENCE = re.compile(
    r"(?:tables?|tab\.|figures?|figs?\.|sections?|sec\.|appendix|equations?|eqs?\.|algorithm|theorem"
    r"|lemma|chapter|line|footnote|§)[\s~(]*$",
    re.IGNORECASE,
)
_ITEM = re.compile(r"(?:^|\n)\s*(?:#{1,6}\s*)?$")


class Equations:
    """The equations of a text, found once."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._spans = _equations(text) if "$" in text or "\\" in text else []
        self._starts = [start for start, _, _ in self._spans]

    def hold(self, start: int, end: int, names_metric: Callable[[str], bool]) -> bool:
        """True if the number at these places is part of an equation.

        It is not if the equation is nothing but numbers, or what is left of its equals sign
        `names_metric`.
        """
        at = bisect.bisect_right(self._starts, start) - 1
        if at < 0 or self._spans[at][1] < end:
            return False
        first, last, displayed = self._spans[at]
        if displayed:
            return True
        before, after = self._text[first:start], self._text[end:last]
        if not _NUMBER_ALONE.fullmatch(after):
            return True
        name = _NAME_EQUALS.fullmatch(before)
        named = name is not None and names_metric(name[1])
        return not (named or _NUMBER_ALONE.fullmatch(before))


def is_structure(text: str, start: int, end: int) -> bool:
    """True for an argument of a macro, a bound of an interval, an element of a set, the number of a
    table, a section, an item or a citation.
    """
    before, after = text[max(0, start - 80) : start], text[end : end + 60]
    if before.endswith("[") and after.startswith("]") and text[start:end].isdigit():
        return True
    if _ARGUMENT.search(before) or _REFERENCE.search(before):
        return True
    if _ITEM.search(before) and re.match(r"(?:\.\d+)*[.)]?[ \t]+\S", after):
        return text[max(0, start - 7) : start].rstrip(" \t")[-1:] == "#" or after[:1] in ".)"
    return _in_list(before, after)


def _in_list(before: str, after: str) -> bool:
    """True between brackets that hold nothing but numbers and symbols, with a comma."""
    first, rest = _LIST_BEFORE.search(before), _LIST_AFTER.match(after)
    if first is None or rest is None:
        return False
    inside = f"{first['first']}0{rest['rest']}"
    return "," in inside and not re.search(r"(?<!\\)\b[A-Za-z]{3,}", inside)


def _equations(text: str) -> list[tuple[int, int, bool]]:
    """(start, end, whether displayed) of the contents of equations, in order, none in another."""
    found: list[tuple[int, int, bool]] = []
    closing, start = "", 0
    for token in _TOKEN.finditer(text):
        kind, displayed = _kind_of(token), len(closing) > 1 or closing == "]"
        if closing and kind == closing and _may_close(text, token):
            found.append((start, token.start(), displayed))
            closing = ""
        elif closing and (displayed or kind not in ("paragraph", "$")):
            continue
        elif (opened := _closing_of(kind)) and _may_open(text, token):
            closing, start = opened, token.end()
        elif kind == "paragraph":
            closing = ""
    return found


def _kind_of(token: re.Match[str]) -> str:
    """What opens or closes an equation (`$`, `[`, `begin align`), "" for any other mark."""
    if token["edge"]:
        known = _DISPLAYED.fullmatch(token["name"])
        return f"{token['edge']} {token['name']}" if known else ""
    if token["paragraph"]:
        return "paragraph"
    return token["display"] or token["bracket"] or token["dollar"] or ""


def _closing_of(kind: str) -> str:
    if kind.startswith("begin "):
        return kind.replace("begin", "end")
    return kind if kind in ("$", "$$") else _CLOSING.get(kind, "")


def _may_open(text: str, token: re.Match[str]) -> bool:
    return token["dollar"] is None or not text[token.end() : token.end() + 1].isspace()


def _may_close(text: str, token: re.Match[str]) -> bool:
    """Not for the dollar sign of a price: after a blank, or before a digit."""
    if token["dollar"] is None:
        return True
    follows = text[token.end() : token.end() + 1]
    return not text[token.start() - 1].isspace() and not follows.isdigit()

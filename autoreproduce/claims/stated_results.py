"""Numbers that sentences state as results: the claimed values, and others beside them.

A claimed value counts in a sentence that speaks of a result or names what it is a value of. A
number that nobody claimed counts as a result if it follows a metric's name or a verb such as "drops
to", with a percent sign, a claim's unit or "points". Neither is a setting, a part of an equation,
or a small whole number alone.
"""

import bisect
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from autoreproduce.claims.claim import Claim
from autoreproduce.papers.numbers import Printed, numbers_in, same_number
from autoreproduce.papers.plain import named_in, plain, quotable, word_set, words

# "error rate of 5.7 %" is a result
_RESULT_RATES = ("error ", "success ", "hit ", "win ", "detection ", "failure ", "accept ")
_RATE = "".join(f"(?<!{word})" for word in _RESULT_RATES) + "(?:rate|ratio|probability)"
VALUED = "|".join(  # "momentum of 0.9", "λ = 0.9"
    [
        r"batch(?:[ -]size)?|learning rate|lr|weight decay|decay|momentum|drop ?out|temperature",
        r"threshold|default|size|width|depth|resolution|warm-?up|coefficient|dimensionality|dimension",
        r"gamma|alpha|beta|lambda|epsilon|[αβγλεητσμ]",
        r"\\(?:alpha|beta|gamma|lambda|epsilon|varepsilon|eta|tau|sigma|mu)",
        _RATE,
    ]
)
COUNTED = (  # "10 epochs", "epochs = 10"; not "over 5 seeds: 94.3"
    r"epochs?|iterations?|steps?|batches|seeds?|runs?|trials?|layers?|heads?|blocks?|dims?"
    r"|dimensions|params?|parameters|flops|macs|gpus?|hours?|minutes?|samples|images|classes"
    r"|patch(?:es)?"
)
_SYMBOL = r"(?:\s*\$?(?:\\[a-zA-Z]+|[A-Za-zα-ω])(?:_\{?\w+\}?)?\$?)?"
_SET = r"(?:set|fixed|equal|initiali[sz]ed)\s+(?:to|at)"
_SETTING_BEFORE = re.compile(
    rf"(?<!\w)(?P<valued>{VALUED})(?:_\{{?\w+\}}?)?{_SYMBOL}"
    rf"(?:\s|[$=:∈]|is|was|of|value|by|{_SET})*[\s${{(]*$"
    rf"|(?<!\w)(?P<counted>{COUNTED}){_SYMBOL}\s*(?:is\s+)?(?:=|{_SET})[\s${{]*$"
    r"|number of (?P<number>\w+)\s+(?:is|was|of|to)\s*$",
    re.IGNORECASE,
)
_PREPOSITION = r"(?:on|over|with|in|at|for|and|by|from|across|using|per|of|after|to)"
_SETTING_AFTER = re.compile(
    rf"^[\s~$}}-]*(?:(?!{_PREPOSITION}\s)\w+\s)?(?P<after>{VALUED}|{COUNTED})(?!\w)(?!\s*[=:])",
    re.IGNORECASE,
)
CONFIDENCE = r"confidence|conf\.|CI|credib\w+|(?:inter)?quantiles?|percentiles?|intervals?"
# "a 95 % confidence interval"
_LEVEL_AFTER = re.compile(rf"^\s*\\?%?[$}}\s~-]*(?:\w+[\s-])?(?:{CONFIDENCE})(?!\w)", re.IGNORECASE)
_SIZE_AFTER = re.compile(r"-(?!point|fold|percent)[A-Za-z]")  # "16-bit integers"
_SETTING_HEADING = re.compile(
    rf"(?:^|\W)(?:#.*|{COUNTED}|learning rate|lr|(?<!effect )size|momentum|dropout|width|depth"
    r"|year)(?:\W|$)",
    re.IGNORECASE,
)


def _is_part_of_data(sentence: str, number: Printed) -> bool:
    """True for a share of what is trained on or tested: "10 % of the labels". What happens "in 62 %
    of the samples" is a result.
    """
    if not _SHARE.match(sentence[number.end : number.end + 40]):
        return False
    return _IN_SHARE.search(sentence[: number.start][-30:]) is None


def is_setting(sentence: str, start: int, end: int, names: Sequence[str]) -> bool:
    """True if sentence[start:end] is a setting's value; one whose words are all `names` is none."""
    before, after = sentence[max(0, start - 60) : start], sentence[end : end + 30]
    before = re.sub(r"(?<=[A-Za-z])_(?=[A-Za-z])", " ", before)  # n_layers = 12
    sized = "." not in sentence[start:end] and _SIZE_AFTER.match(after)
    if sized or _LEVEL_AFTER.match(after):
        return True
    for found in (_SETTING_BEFORE.search(before), _SETTING_AFTER.match(after)):
        if found and found.lastgroup:
            named = set(words(found[found.lastgroup]))
            if not named or not named <= set(names):
                return True
    return False


def is_setting_heading(heading: str) -> bool:
    """True for a column that holds settings and no results: parameters, epochs, batch size."""
    return _SETTING_HEADING.search(heading) is not None


_RESULT = re.compile(
    r"\b(achiev|reach|obtain|attain|yield|outperform|improv|surpass|exceed|report|scor|perform"
    r"|accura|error|state-of-the-art|sota|result|beat|gain|succe|solv|converg)\w*",
    re.IGNORECASE,
)
_ABBREVIATIONS = (
    "e.g",
    "i.e",
    "et al",
    "vs",
    "cf",
    "Fig",
    "Tab",
    "Sec",
    "Eq",
    "resp",
    "acc",
    "Acc",
)
_END = re.compile(
    r"\n\s*\n|\n(?=\s*(?:[|#>*+-]|\d+[.)]\s))|(?<=\|)\s*\n|\\\\[^\n]*\n|"
    + "".join(f"(?<!{re.escape(word)})" for word in _ABBREVIATIONS)
    + r"[.!?][\"'*)]*\s+(?=[\"'*(\[$\\A-Z\d])"
)
_CHANGES = (
    r"\b(?:achiev|reach|obtain|attain|drop|fall|fell|ris|rose|increas|decreas|improv|degrad|gain|los"
    r"|outperform|reduc|yield|scor|succeed|solv|beat|surpass|exceed|worsen|hurt)\w*\b"
)
_BETWEEN = r"(?P<between>(?:[^.;\n]|(?<=\d)\.(?=\d)|(?<=[,d])\n){0,50})$"
_NO_RESULT = re.compile(
    rf"(?<!\w)(?:{VALUED}|{COUNTED}|{CONFIDENCE}|noise|split|mask\w*|top)"
    r"(?!\w)",
    re.IGNORECASE,
)
_SHARE = re.compile(  # "10 % of the labels", "80 % for training"; a level is a setting
    r"^\s*\\?%?[$}\s~-]*(?:of\b(?!\s+(?:the\s+)?(?:time|cases|runs|seeds|trials))"
    r"|(?:for|as|in)\s+(?:the\s+)?(?:train|test|valid|held|dev)"
    r"|label|missing|nois|random|drop|train|test|valid|split|subset|spars|overlap|mask|of$)",
    re.IGNORECASE,
)
_IN_SHARE = re.compile(r"\bin\s+(?:\w+\s+)?[$~({]*$", re.IGNORECASE)  # "in 62 % of the samples"
# "61 % higher than its rival"; not "a 20 % lower learning rate"
_COMPARED = rf"(?:higher|lower|better|worse)(?!\w)(?!\s+(?:\w+\s+)?(?:{VALUED}|{COUNTED}))"
_POINTS = re.compile(r"^\s*\\?%?[$}\s~-]*(?:percentage\s+|percent\s+)?points?\b", re.IGNORECASE)


FEWEST_NAMED = 3  # words that hardly stand together by chance
SHORTEST = 12  # letters and digits of a sentence that says whose it is


@dataclass(frozen=True)
class Leak:
    """A claimed value that is in a text near its names; `id` "" for a result nobody claimed."""

    id: str
    start: int
    end: int
    excerpt: str


class StatedResults:
    """Finds the results that belong to `claims` in texts."""

    def __init__(self, claims: Sequence[Claim]) -> None:
        self.claims = claims
        self.names = {claim.id: _name_words(claim) for claim in claims}
        self._named = {claim.id: _named_values(claim) for claim in claims}
        self.metrics = list(dict.fromkeys(claim.metric.replace("_", " ") for claim in claims))
        metric = "|".join(filter(None, map(_metric_pattern, self.metrics))) or r"(?!)"
        self._metric = re.compile(metric, re.IGNORECASE)
        self._before = re.compile(rf"(?:{_CHANGES}|{metric}){_BETWEEN}", re.IGNORECASE)
        self._attached = re.compile(
            rf"(?:{metric})(?:\s+(?:on|for|in|over)\s+[\w-]+(?:\s[\w-]+){{0,2}}(?=\s+(?:is|was)\s))?"
            rf"[^\w.;\n]{{0,4}}(?:(?:is|was|of|to|at|by|only|just|about|the)\W+){{0,3}}"
            rf"[^\w.;\n]{{0,12}}(?:mathbf\W|textbf\W)?$",
            re.IGNORECASE,
        )
        self._after = re.compile(rf"^\s*\\?%?[$}}\s~-]*(?:{metric}|{_COMPARED})", re.IGNORECASE)
        units = [re.escape(c.unit) for c in claims if c.unit.strip() not in ("", "%")]
        self._unit = re.compile(rf"^[$}}\s~]*(?:{'|'.join(units) or '(?!)'})(?!\w)")

    def claimed(self, text: str, parts: Sequence[tuple[int, int]]) -> list[Leak]:
        """The claimed values in sentences that name what they are values of."""
        found = []
        for start, sentence, numbers in self._numbers(text, parts):
            fits = [(c, n) for n in numbers for c in self.claims if self._fits(c, n, sentence)]
            if not fits:
                continue
            there, speaks = word_set(plain(sentence)), _RESULT.search(sentence) is not None
            # What stands beside a claimed result and is claimed too is one: "a mean of 0.76,
            # between 0.60 and 0.92".
            if speaks or any(named_in(word, there) for c, _ in fits for word in self.names[c.id]):
                found += [_leak(claim.id, start, sentence, number) for claim, number in fits]
        found += [leak for leak in self._in_own_sentences(text, parts) if leak.id]
        return sorted(set(found), key=lambda leak: (leak.start, leak.id))

    def _in_own_sentences(self, text: str, parts: Sequence[tuple[int, int]]) -> Iterator[Leak]:
        """A claim's value in the very sentence that it was taken from, whatever is around it: in an
        equation ("$\\bar R = 0.91$"), too; and beside a percentage the others, which may be its
        rest. Where the value stands there as a setting and otherwise as well, the setting stays.
        """
        quotations = {claim.id: quotable(claim.sentence) for claim in self.claims}
        if not any(quotations.values()):
            return
        equations = Equations(text)
        for start, end in sentences(text, parts):
            sentence = text[start:end]
            given = quotable(sentence)
            own = [claim for claim in self.claims if _is_same(quotations[claim.id], given)]
            for claim in own:
                yield from self._in_own_sentence(claim, text, start, sentence, equations)

    def _in_own_sentence(
        self, claim: Claim, text: str, start: int, sentence: str, equations: "Equations"
    ) -> Iterator[Leak]:
        """The claim's value in the sentence at `start`, and the percentages beside one."""
        numbers = [
            one
            for one in numbers_in(sentence)
            if not is_structure(text, start + one.start, start + one.end)
        ]
        results = [
            one
            for one in numbers
            if not is_setting(sentence, one.start, one.end, self.names[claim.id])
            and not _is_part_of_data(sentence, one)
        ]
        values = [
            one
            for one in numbers
            if is_value_of(claim, one) and one.value not in self._named[claim.id]
            if not is_bare(one) or self._is_attached(sentence, one)
        ]
        stated = [
            one
            for one in values
            if one in results
            and not equations.hold(start + one.start, start + one.end, lambda _: False)
        ]
        for number in stated or values:
            yield _leak(claim.id, start, sentence, number)
        if any(number.percent for number in values):
            for number in results:
                if number.percent and number not in values:
                    yield _leak("", start, sentence, number)

    def others(self, text: str, parts: Sequence[tuple[int, int]]) -> Iterator[Leak]:
        """The results beside them that no claim holds, as an ablation's in its sentence."""
        for start, sentence, numbers in self._numbers(text, parts):
            for number in numbers:
                if self._is_other_result(sentence, number):
                    yield _leak("", start, sentence, number)
        yield from (leak for leak in self._in_own_sentences(text, parts) if not leak.id)

    def _numbers(
        self, text: str, parts: Sequence[tuple[int, int]]
    ) -> Iterator[tuple[int, str, list[Printed]]]:
        """Each sentence with its start, and its numbers outside equations and structure."""
        equations = Equations(text)

        def names_metric(left: str) -> bool:
            return self._metric.search(plain(left).replace("_", " ")) is not None or any(
                _is_symbol(left, claim) for claim in self.claims
            )

        for start, end in sentences(text, parts):
            numbers = [
                number
                for number in numbers_in(text[start:end])
                if not equations.hold(start + number.start, start + number.end, names_metric)
                and not is_structure(text, start + number.start, start + number.end)
            ]
            if numbers:
                yield start, text[start:end], numbers

    def _fits(self, claim: Claim, number: Printed, sentence: str) -> bool:
        if not is_value_of(claim, number) or number.value in self._named[claim.id]:
            return False
        if is_setting(sentence, number.start, number.end, self.names[claim.id]):
            return False
        if number.percent:
            return not _is_part_of_data(sentence, number)
        other = not is_value_of(claim.model_copy(update={"scale": "raw"}), number)
        if other and not re.search(r"[|&]", sentence):  # 0.25 for 25 %, in no row of a table
            return self._follows_result(sentence, number) or _is_named(claim, sentence)
        return not is_bare(number) or self._is_attached(sentence, number)

    def _is_attached(self, sentence: str, number: Printed) -> bool:
        """True directly behind a metric's name, or before one, or before a claim's unit."""
        before, after = sentence[: number.start][-60:], sentence[number.end : number.end + 40]
        found = (self._attached.search(before), self._after.match(after), self._unit.match(after))
        return any(found)

    def _is_other_result(self, sentence: str, number: Printed) -> bool:
        after = sentence[number.end : number.end + 40]
        if any(number.value in named for named in self._named.values()):
            return False
        if _is_part_of_data(sentence, number):
            return False
        if is_setting(sentence, number.start, number.end, ()):
            return False
        if not (number.percent or _POINTS.match(after) or self._unit.match(after)):
            return (
                not is_bare(number) and "." in number.text and self._is_attached(sentence, number)
            )
        return self._follows_result(sentence, number)

    def _follows_result(self, sentence: str, number: Printed) -> bool:
        """True behind a verb or a metric's name without a setting's between, or before a metric."""
        found = self._before.search(sentence[: number.start][-90:])
        if found is not None and not _NO_RESULT.search(found["between"]):
            return True
        return self._after.match(sentence[number.end : number.end + 40]) is not None


def is_value_of(claim: Claim, number: Printed, factor: float = 1.0) -> bool:
    """True for the claim's value as printed, as fraction or percentage, or rounded."""
    times = {"percent": 0.01, "fraction": 100.0}.get(claim.scale, 1.0)
    values = {claim.value, claim.value * times}
    if number.percent and claim.scale != "raw":
        values = {max(values, key=abs)}
    elif number.percent and abs(claim.value) <= 1:  # 88 % of 0.88
        values.add(100 * claim.value)
    for value in values:
        for by_heading in {1.0, factor}:
            shown, half = number.value * by_heading, number.step * by_heading / 2
            rounded = digits_of(number) >= 2 and abs(shown - value) <= half * (1 + 1e-9)
            if rounded or same_number(shown, value):
                return True
    return False


def is_bare(number: Printed) -> bool:
    """True for a whole number of one digit, perhaps with zeros behind it (3, 20, 10^6), without a
    percent sign: too many settings and indices have its value.
    """
    digits = re.sub(r"\D", "", _mantissa(number)).strip("0")
    return not number.percent and len(digits) <= 1 and "." not in number.text


def digits_of(number: Printed) -> int:
    """How many significant digits it is printed with."""
    return len(re.sub(r"\D", "", _mantissa(number)).lstrip("0"))


def _mantissa(number: Printed) -> str:
    return re.split(r"±|\\pm|[eE×·]|\\times|\\cdot|\(|_|\^", number.text)[0]


def _leak(claim_id: str, start: int, sentence: str, number: Printed) -> Leak:
    place = (start + number.start, start + number.end)
    return Leak(claim_id, *place, " ".join(sentence.split()))


def _is_same(quotation: str, sentence: str) -> bool:
    """Whether a quotation is of this sentence, or holds it (both as `quotable` has them)."""
    shorter = min(quotation, sentence, key=len)
    return len(shorter) >= SHORTEST and (sentence in quotation or quotation in sentence)


def _metric_pattern(metric: str) -> str:
    """Finds a metric's name in its usual forms: success rate, success-rates, accuracy, acc."""
    named = re.findall(r"[^\W_]+", plain(metric).casefold())
    if named == ["accuracy"]:
        return r"(?<!\w)acc(?:urac(?:y|ies))?(?!\w)"
    joined = r"[\s_-]+".join(map(re.escape, named))
    return rf"(?<!\w){joined}s?(?!\w)" if named else ""


def _name_words(claim: Claim) -> list[str]:
    parts = (claim.metric.replace("_", " "), *claim.row, *claim.column)
    return [word for name in parts for word in words(name)]


_COMMAND = re.compile(r"\\(?:mathrm|mathit|mathsf|mathbf|text|textrm|textit|rm|operatorname)\b")


def _is_named(claim: Claim, sentence: str) -> bool:
    """True where the sentence has most of the words of a heading: "the per-round band covers only
    0.82 at L=2".
    """
    there = word_set(plain(sentence))
    for name in (*claim.row, *claim.column):
        has = [named_in(word, there) for word in words(name)]
        if sum(has) >= FEWEST_NAMED and 2 * sum(has) > len(has):
            return True
    return False


def _is_symbol(left: str, claim: Claim) -> bool:
    """Whether an equation's left side is the metric's symbol: q_{\\mathrm{collapse}} of a claim of
    the "collapse point".
    """
    symbol, metric = (
        re.findall(r"[^\W_]+", text.casefold()) for text in (_COMMAND.sub(" ", left), claim.metric)
    )
    long = {part for part in symbol if len(part) > 1}
    return len(symbol) > 1 and bool(long) and long <= set(metric)


def _named_values(claim: Claim) -> set[float]:
    """The numbers in a claim's name, as shares and percentages too: "power 80%" names a setting of
    0.80, though it's the claimed 0.796, rounded.
    """
    named = {one.value for name in (*claim.row, *claim.column) for one in numbers_in(name)}
    shares = {round(value * by, 12) for value in named for by in (1, 0.01, 100)}
    return shares - {claim.value, claim.meant.value}


def sentences(text: str, parts: Sequence[tuple[int, int]]) -> Iterator[tuple[int, int]]:
    """Start and end of each sentence of `text` within `parts`."""
    ends = [found.end() for found in _END.finditer(text)]
    for start, end in parts:
        inside = ends[bisect.bisect_right(ends, start) : bisect.bisect_left(ends, end)]
        yield from zip([start, *inside], [*inside, end], strict=True)


# Places in a text whose numbers are no stated results, whatever their value.
#
# Equations and algorithms, arguments of macros (`\begin{algorithmic}[1]`), intervals and sets
# (`U[1, 2]`, `\{-1, 0, 1\}`), numbers of tables, sections and items. A formula that is nothing
# but a number (`$94.3 \pm 0.2$`), or sets a metric's name equal to one, is a statement like any
# other.

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
# A unit in its own style belongs to the number: $0.76 \text{ s}$, $4.2\,\mathrm{m/s}$.
_UNIT = r"\\(?:text|mathrm|textrm|rm|si|unit)\s*\{[^{}$=]{0,20}\}"
_NUMBER_ALONE = re.compile(rf"(?:{_STYLE}|{_UNIT}|[\d.\s{{}}~^_%±+×·≈<>≤≥→/,−–-])*")
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

        It is not if the equation is nothing but numbers with their units, or what is left of its
        equals sign `names_metric`, or the words before it do ("the sample size is $n = 122$").
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
        apart = re.search(
            r"([^.;:,]{1,40}?)\s+(?:is|was|of|are|at)\s*\$?$", self._text[:first][-60:]
        )
        named = name is not None and (
            names_metric(name[1]) or (apart is not None and names_metric(apart[1]))
        )
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

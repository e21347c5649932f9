"""Numbers that are settings and no results, by the words around them: "momentum of 0.9"."""

import re
from collections.abc import Sequence

from autoreproduce.claims.plain import words

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
    rf"^[\s~$}}-]*(?:(?!{_PREPOSITION}\s)\w+\s)?(?P<after>{VALUED}|{COUNTED})(?!\w)", re.IGNORECASE
)
CONFIDENCE = r"confidence|conf\.|CI|credib\w+|(?:inter)?quantiles?|percentiles?|intervals?"
# "a 95 % confidence interval"
_LEVEL_AFTER = re.compile(rf"^\s*\\?%?[$}}\s~-]*(?:\w+[\s-])?(?:{CONFIDENCE})(?!\w)", re.IGNORECASE)
_SETTING_HEADING = re.compile(
    rf"(?:^|\W)(?:#.*|{COUNTED}|learning rate|lr|batch size|momentum|dropout|width|depth|year)"
    r"(?:\W|$)",
    re.IGNORECASE,
)


def is_setting(sentence: str, start: int, end: int, names: Sequence[str]) -> bool:
    """True if sentence[start:end] is a setting's value; one whose words are all `names` is none."""
    before, after = sentence[max(0, start - 60) : start], sentence[end : end + 30]
    if _LEVEL_AFTER.match(after):
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

"""The research agent's replies as claims and as choices, read from one fenced block.

Every value of a block is read as the text that it is: 94.30 stays exact to two digits, 1e-4 is a
number, and "no" is a word. All errors of a reply come together, each with its item and field, so
that one more question is enough.
"""

import re
from collections.abc import Callable, Collection, Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from autoreproduce.claims.choices import Choice, Value, shape_of
from autoreproduce.claims.claim import SPREAD_KINDS, Claim, ClaimsFile, id_of
from autoreproduce.errors import CommandError
from autoreproduce.models.fenced import data_in_reply
from autoreproduce.papers.numbers import Printed, number_of, numbers_in
from autoreproduce.papers.plain import plain
from autoreproduce.papers.table import WORDS_BEHIND

Item = TypeVar("Item")

_NOTHING = {"", "null", "none", "~", "n/a", "unknown", "not stated", "unstated"}
_MOST_ERRORS = 12  # of one reply that are listed
# counts that a run shows, if nobody said so
_COUNTS = {
    "seeds": r"(?:number of )?(?:random |independent )?(?:repetitions|repeats|seeds|runs)\b",
    "samples": r"(?:number of )?(?:data |training )?(?:rows|instances|records|samples)\b",
}
_LONGEST_NUMBER = 300  # characters of a number with its markup and its spread
_LONGEST_TITLE = 200  # characters of what an error calls an item
_SIDES = re.compile(
    r"\+\s*(?P<plus>[^\s/,;%+-]+)\s*%?\s*[/,;]?\s*[-−–]\s*(?P<minus>[^\s/,;%+-]+)\s*%?"
)


def read_claims(
    reply: str,
    *,
    paper: str = "",
    experiment: str = "",
    left_out: list[str] | None = None,
    keys: Collection[str] = (),
) -> ClaimsFile:
    """The claims in a reply. Raises CommandError that names each item and field that is wrong.

    `left_out`: takes what is wrong with single items, if others can be read; these are returned.
    `keys`: those of claims that were read before.
    """
    content = data_in_reply(reply, "items")
    alone = isinstance(content, Mapping) and set(content) - {"notes"} == {"none_because"}
    if alone and (reason := str(content["none_because"]).strip()):
        return ClaimsFile(paper=paper, experiment=experiment, none_because=reason)
    taken = set(keys)

    def new_claim(item: Any) -> Claim:
        claim = claim_of(item, taken)
        taken.add(claim.id)
        return claim

    alternative = ", or `none_because: …` if the paper gives no number"
    claims = all_items(content, "claim", new_claim, alternative, left_out)
    return ClaimsFile(paper=paper, experiment=experiment, claims=tuple(claims))


def read_choices(reply: str) -> list[Choice]:
    """The choices in a reply. Raises CommandError that names each item and field that is wrong."""
    return all_items(data_in_reply(reply, "items"), "choice", _choice)


def field_errors(error: ValidationError) -> list[str]:
    """Each error with its field."""
    found = []
    for one in error.errors(include_url=False):
        field = ".".join(map(str, one["loc"])) or "as a whole"
        found.append(f"{field}: {one['msg'].removeprefix('Value error, ')}")
    return found


def all_items(
    content: Any,
    kind: str,
    item_of: Callable[[Any], Item],
    alternative: str = "",
    left_out: list[str] | None = None,
) -> list[Item]:
    """`item_of` each item of a block. Raises CommandError with the errors of all items, unless
    `left_out` takes them and an item is left.
    """
    items = content.get(f"{kind}s") if isinstance(content, Mapping) else content
    if not isinstance(items, list) or not items:
        raise CommandError(f"the block must hold a list of {kind}s{alternative}")
    found: list[Item] = []
    wrong: list[str] = []
    for number, item in enumerate(items, 1):
        title = f"{kind} {number}{_item_title(item)}"
        try:
            found.append(item_of(item))
        except ValidationError as error:
            wrong += [f"{title}, {text}" for text in field_errors(error)]
        except CommandError as error:
            wrong.append(f"{title}, {error}")
    if left_out is not None and found:
        left_out += wrong
    elif wrong:
        raise CommandError("; ".join(wrong[:_MOST_ERRORS]))
    return found


def _item_title(item: Any) -> str:
    """What an item is about, in brackets: a claim's row, a choice's name."""
    if not isinstance(item, Mapping):
        return ""
    title = item.get("what") or " / ".join(map(str, _as_tuple(item.get("row") or ())))
    return f" ({str(title)[:_LONGEST_TITLE]})" if title else ""


def claim_of(item: Any, taken: set[str]) -> Claim:
    """The claim that an item of a reply states, with an id that is not `taken`.

    Raises CommandError or pydantic's ValidationError for what is wrong with it.
    """
    if not isinstance(item, Mapping):
        raise CommandError("as a whole: must be a mapping of fields, such as `metric: accuracy`")
    fields = _given_fields(item)
    place = fields.pop("where", None)
    if isinstance(place, Mapping):
        fields |= _given_fields(place)
    fields.pop("remark", None)  # code's own
    for name in ("row", "column", "than"):
        fields[name] = _as_tuple(fields.get(name, ()))
    if fields["than"]:
        fields.setdefault("value", "0")
    if fields.get("kind") == "order":  # its rows have values, and it has none
        fields["value"] = "0"
    if "corrected" in fields:
        fields["corrected"] = _printed_number(fields["corrected"], "corrected").value
    printed = _printed_number(_without_words(fields.get("value")), "value")
    fields |= {"value": printed.value, "printed": printed.text}
    if printed.percent:
        fields.setdefault("scale", "percent")
    for count in {"items", "replicates"} & fields.keys():
        fields[count] = _printed_number(fields[count], count).value
    fields |= _spread_given(fields.pop("spread", None), fields.pop("interval", None), printed)
    headings = [*fields["row"], *fields["column"], *fields["than"]]
    # a baseline's bare metric would have the key of the task's own number
    if str(fields.get("is_baseline")).casefold() == "true" and not fields["row"]:
        headings.insert(0, "baseline")
    metric = str(fields.get("metric", ""))
    fields.setdefault("id", id_of(list(map(str, headings)), metric, taken))
    if fields["id"] in taken:
        raise CommandError(f"id: {fields['id']} is given to two claims")
    return Claim.model_validate(fields)


def _choice(item: Any) -> Choice:
    if not isinstance(item, Mapping):
        raise CommandError("as a whole: must be a mapping of fields, such as `what: learning rate`")
    fields = {
        str(k): v for k, v in item.items() if str(v).strip().casefold() not in ("", "null", "~")
    }
    for name in ("value", "paper"):
        if name in fields:
            fields[name] = choice_value(fields[name])
    others = fields.get("alternatives")
    for other in others if isinstance(others, list) else []:
        if isinstance(other, dict) and "value" in other:
            other["value"] = choice_value(other["value"])
    if "key" not in fields and isinstance(fields.get("value"), int):
        what = str(fields.get("what", ""))
        for key in (key for key, name in _COUNTS.items() if re.match(name, what, re.IGNORECASE)):
            fields["key"] = key
    return Choice.model_validate(fields)


def choice_value(given: Any) -> Value:
    """A number as such; a percentage, a shape or anything else as text, a list as "0.9, 0.999"."""
    text = ", ".join(map(str, given)) if isinstance(given, list) else str(given)
    printed = _number_in(text)
    if printed is None or printed.percent or shape_of(text):
        return text
    return int(printed.value) if printed.value.is_integer() and "." not in text else printed.value


def _given_fields(item: Mapping[Any, Any]) -> dict[str, Any]:
    """The fields that state something."""
    return {str(key): value for key, value in item.items() if not _is_nothing(value)}


def _is_nothing(value: Any) -> bool:
    return value is None or (isinstance(value, str) and value.strip().casefold() in _NOTHING)


def _as_tuple(value: Any) -> tuple[Any, ...]:
    """Headings: a list, or one name."""
    return tuple(value) if isinstance(value, list | tuple) else (value,)


def _without_words(value: Any) -> Any:
    """ "162 (seeds vary)" without its remark, which is read from the cell; with a number in
    brackets as it is.
    """
    text = plain(str(value))[:_LONGEST_NUMBER]
    found = WORDS_BEHIND.search(text)
    return text[: found.start()] if found and not re.search(r"\d", found[1]) else value


def _printed_number(value: Any, field: str) -> Printed:
    usable = value is not None and not isinstance(value, bool)
    printed = _number_in(str(value)) if usable else None
    if printed is None:
        given = repr(value)[:_LONGEST_NUMBER]
        raise CommandError(f"{field}: {given} is not one number, as the paper prints it")
    return printed


def _number_in(text: str) -> Printed | None:
    """The one number that a text with markup is; None for any other text, and for a long one."""
    return number_of(plain(text)) if len(text) <= _LONGEST_NUMBER else None


def _spread_given(spread: Any, interval: Any, printed: Printed) -> dict[str, Any]:
    """The field `spread`, if one is given or printed; its interval may stand in it or beside it."""
    if isinstance(spread, Mapping):
        spread = _given_fields(spread)
        interval = spread.pop("interval", interval)
        spread = spread or None
    if interval is not None:
        return {"spread": _of_interval(interval, spread, printed)}
    if spread is None and printed.spread is None:
        return {}
    return {"spread": _spread_fields(spread, printed)}


def _spread_fields(given: Any, printed: Printed) -> dict[str, Any]:
    """A spread given as a mapping (`value` or `plus` and `minus`, and `kind`), as a number, as
    "+1/-5", or after the value.
    """
    if given is None:
        return {"value": printed.spread}
    if not isinstance(given, Mapping):
        return _spread_sizes({"value": given})
    kind = str(given.get("kind", "unstated"))
    sizes = _spread_sizes(given)
    return {**given, **sizes, "kind": SPREAD_KINDS.get(kind.casefold(), kind)}


def _of_interval(given: Any, spread: Any, printed: Printed) -> dict[str, Any]:
    """The spread whose ends are those of an interval, as [22.1, 23.4]; of 95 % if nothing else is
    said.
    """
    text = " ; ".join(map(str, given)) if isinstance(given, list) else str(given)
    ends = [one.value for one in numbers_in(plain(text[:_LONGEST_NUMBER]))]
    if len(ends) != 2 or not ends[0] <= printed.value <= ends[1]:
        raise CommandError(
            f"interval: {text[:80]!r} isn't two ends around {printed.text}: give [lower, upper]"
        )
    sides = {"plus": ends[1] - printed.value, "minus": printed.value - ends[0]}
    kind = str(spread.get("kind", "95% ci")) if isinstance(spread, Mapping) else "95% ci"
    return {**sides, "value": max(sides.values()), "kind": SPREAD_KINDS.get(kind.casefold(), kind)}


def _spread_sizes(given: Mapping[Any, Any]) -> dict[str, float]:
    """`value` of a spread, and its two sides if it has two; `value` is then the larger one."""
    sides = {name: given[name] for name in ("plus", "minus") if not _is_nothing(given.get(name))}
    text = str(given.get("value"))
    if not sides and (two := _SIDES.fullmatch(text.strip())):
        sides = two.groupdict()
    if sides:
        sizes = {
            name: abs(_printed_number(side, f"spread.{name}").value) for name, side in sides.items()
        }
        return {**sizes, "value": max(sizes.values())}
    bare = re.sub(r"^\s*(±|\+/-|\\pm)", "", text)
    return {"value": _printed_number(bare, "spread").value}

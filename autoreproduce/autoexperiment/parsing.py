"""The numbers of a run: from a results file, or from what it printed.

The public tasks say what is wanted only as the shape of a JSON answer, and their programs print as they please. So
the output is read in the order of trust: by the task's own patterns, as the last JSON object (or Python dict) with
the keys wanted, and last by the names of the keys before a number. How it was read is told with the result.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from autoreproduce.autoexperiment.rows import as_json

# Never a part of a longer number: of 31.42dB there is none, and not 31. What repeats gives nothing back (`(?>`, `*+`),
# or an output of spaces would take hours.
NUMBER = r"[-+]?(?>\d+\.?\d*(?:[eE][-+]?\d+)?|\.\d+(?:[eE][-+]?\d+)?|nan|inf)"
_WRAPPED = re.compile(r"\b(?:np\.|numpy\.)?(?:float|int)\d*\(([^()]*)\)|\b(?:torch\.)?tensor\(([^()]*)\)")
_NUMBER = re.compile(rf"(?<![\w.]){NUMBER}(?!\w)")
# A brace that is not inside another object: after a key's colon, a comma or another opening it is.
_OPENING = re.compile(r"(?<![\[{,])(?<![\[{,] )(?<![\"']:)(?<![\"']: )\{")
LARGEST = 4_000_000
MOST_OBJECTS = 300


@dataclass(frozen=True)
class Read:
    """A result and how it was read; `value` is None where there is none, and then `how` says what is missing."""

    value: Any
    how: str


def read_results_file(data: bytes, wanted: Any = None) -> Read:
    """The result in a JSON file; of an object only the keys that `wanted` has, where it is given."""
    if len(data) > LARGEST:
        return Read(None, f"the results file holds over {LARGEST // 1_000_000} MB")
    try:
        value = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError) as error:
        return Read(None, f"the results file is no JSON ({error})")
    return Read(_only(value, wanted), "the results file")


def read_output(text: str, wanted: Any = None, patterns: Mapping[str, str] | None = None) -> Read:
    """The result that a program printed.

    `wanted` is a value of the shape wanted, whose numbers are not looked at; where it is None, the last JSON object
    with a number is the result. `patterns` find leaves of an object by regular expressions with one group each,
    the last match counting.
    """
    if patterns:
        return _by_patterns(text, patterns)
    objects = [each for each in _objects(text) if _fits(each, wanted)]
    if objects:
        return Read(_only(objects[-1], wanted), "the last JSON object of the output")
    if isinstance(wanted, dict):
        return _by_names(text, wanted)
    if isinstance(wanted, int | float):
        numbers = _NUMBER.findall(text)
        return Read(float(numbers[-1]), "the last number of the output") if numbers else Read(None, _NONE)
    return Read(None, _NONE if wanted is None else "the output holds no result of the shape wanted")


_NONE = "the output holds no JSON object with a number: print one, as its last line"


def _objects(text: str) -> Iterator[Any]:
    """The JSON objects and Python dicts in a text, in order, outermost ones alone, the last few hundred."""
    decoder = json.JSONDecoder()
    end = 0
    for at in [found.end() - 1 for found in _OPENING.finditer(text)][-MOST_OBJECTS:]:
        if at < end:
            continue
        try:
            value, end = decoder.raw_decode(text, at)
            yield value
        except (ValueError, RecursionError):
            found = _python_dict(text, at)
            if found is not None:
                yield found[0]
                end = found[1]


def _python_dict(text: str, at: int) -> tuple[Any, int] | None:
    """A dict as Python prints it, on one line, with NumPy's and torch's wrappers around numbers taken off."""
    stop = text.find("\n", at)
    line = text[at : stop if stop >= 0 else len(text)]
    last = line.rfind("}") + 1
    if not last or len(line) > 20_000:
        return None
    try:
        return as_json(ast.literal_eval(_unwrapped(line[:last], "0"))), at + last
    except (ValueError, SyntaxError, RecursionError, MemoryError, TypeError):
        return None


def _unwrapped(text: str, empty: str = "") -> str:
    """`text` with NumPy's and torch's wrappers around numbers taken off, and what torch says after the numbers."""
    return _WRAPPED.sub(lambda m: m[1] or re.split(r",\s*\w+=", m[2] or "", maxsplit=1)[0] or empty, text)


def _fits(value: Any, wanted: Any) -> bool:
    if not isinstance(value, dict):
        return False
    if isinstance(wanted, dict):
        return set(wanted) <= set(value)
    return wanted is None and any(_is_number(each) for each in _values(value))


def _values(value: Any) -> Iterator[Any]:
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _values(each)
    else:
        yield value


def _only(value: Any, wanted: Any) -> Any:
    """Of an object the keys wanted: a program may print more than it is asked for."""
    if isinstance(value, dict) and isinstance(wanted, dict):
        return {key: each for key, each in value.items() if key in wanted}
    return value


def _by_patterns(text: str, patterns: Mapping[str, str]) -> Read:
    found = {}
    for key, pattern in patterns.items():
        matches = list(re.finditer(pattern, text))
        if not matches:
            return Read(None, f"the output has nothing for {key} (pattern {pattern})")
        said = matches[-1][1] if matches[-1].re.groups else matches[-1][0]
        try:
            found[key] = float(said)
        except (TypeError, ValueError):
            return Read(None, f"what the pattern of {key} finds is no number: {said!r:.60}")
    return Read(found, "the task's patterns")


def _by_names(text: str, wanted: Mapping[str, Any]) -> Read:
    found = {}
    for key, shape in wanted.items():
        value = _after_name(text, key, shape)
        if value is None:
            return Read(None, f"the output holds no number for {key}")
        found[key] = value
    return Read(found, "the names before the numbers of the output")


def _after_name(text: str, key: str, shape: Any) -> Any:
    """The last number, or list of numbers, that follows a name: `Total loss: 0.3`, `total_loss=0.3`."""
    name = r"[\W_]*".join(re.escape(word) for word in re.findall(r"[A-Za-z]+|\d+", key))
    start = rf"(?i)(?<![A-Za-z0-9]){name}[\"']?\s*+(?:(?:is|of|=|:|->|\|)\s*+)?"
    if not name or isinstance(shape, dict):
        return None
    plain = _unwrapped(text)
    if isinstance(shape, list):
        lists = re.findall(rf"{start}[\[(]([^\[\]()]*)[\])]", plain)
        return [float(each) for each in re.findall(NUMBER, lists[-1])] if lists else None
    numbers = re.findall(rf"{start}({NUMBER})(?!\w)", plain)
    return float(numbers[-1]) if numbers else None


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)

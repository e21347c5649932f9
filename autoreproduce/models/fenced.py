"""Data in a model's reply: its fenced blocks, found by one scan of its lines, and JSON and YAML as
models write them: with comments and commas after the last item, and with bare colons in a text.

For code, whose blocks hold fences of their own, see `agents/fences.py`.
"""

import json
import re
from typing import Any, NamedTuple

import yaml

from autoreproduce.files.bounded import LARGEST_REPLY, parse_json, yaml_value

# A string comes first, so that nothing inside one is taken for the others.
_PARTS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.{0,2000}?\*/|,(?=\s*[\]}])', re.DOTALL)
# A field whose text isn't quoted and holds a colon, as in `place: from "Table 2: errors"`.
_BARE_COLON = re.compile(r"^([ \t]*(?:- )?\w+:[ \t]+)(?![\s\"'|>\[{&*!])(.*:[ \t].*)$", re.M)


def json_in_reply(text: str) -> Any:
    """The value of a JSON text in a reply. Its numbers are finite and its keys unique.

    Raises ValueError if it cannot be read, also without comments and last commas.
    """
    try:
        return _read(text)
    except json.JSONDecodeError:
        without_comments = _PARTS.sub(_string_alone, text)
        plain = _PARTS.sub(_string_alone, without_comments)  # a comma before a comment is last now
        if plain == text:
            raise
        return _read(plain)


def yaml_in_reply(text: str) -> Any:
    """The value of a YAML text in a reply, every scalar as text.

    Raises yaml.YAMLError or ValueError if it cannot be read, also with texts that hold a bare
    colon in quotes.
    """
    try:
        return yaml_value(text, verbatim=True)[1]
    except yaml.YAMLError:
        quoted = _BARE_COLON.sub(_in_quotes, text)
        if quoted == text:
            raise
        return yaml_value(quoted, verbatim=True)[1]


def _read(text: str) -> Any:
    return parse_json(text, finite=True, unique=True, largest=LARGEST_REPLY)


def _in_quotes(found: re.Match[str]) -> str:
    return found[1] + json.dumps(found[2], ensure_ascii=False)


def _string_alone(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else ""


DATA_LANGUAGES = ("", "yaml", "yml", "json")  # of a block that holds data
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})(.*)")


class FencedBlock(NamedTuple):
    """A block's text, and the language that its opening line names ("yaml"), in lower case."""

    language: str
    text: str


def fenced_blocks(reply: str) -> list[FencedBlock]:
    """The closed blocks of a reply in their order; the first bare fence of its mark closes one.

    The time is linear in the reply's length, whatever it holds.
    """
    lines = reply.split("\n")
    fences = [
        (index, found[1], found[2].strip().casefold())
        for index, line in enumerate(lines)
        if (found := _FENCE.fullmatch(line.rstrip()))
    ]
    last_closing = {mark: index for index, mark, info in fences if not info}
    blocks: list[FencedBlock] = []
    opening: tuple[int, str, str] | None = None
    for index, mark, info in fences:
        if opening is None:
            opening = (index, mark, info) if last_closing.get(mark, -1) > index else None
        elif mark == opening[1] and not info:
            text = "\n".join(lines[opening[0] + 1 : index])
            blocks.append(FencedBlock(opening[2], text))
            opening = None
    return blocks

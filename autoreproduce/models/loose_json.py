"""JSON as models write it: with comments, and commas after the last item."""

import json
import re
from typing import Any

from autoreproduce.files.bounded import LARGEST_REPLY, parse_json

# A string comes first, so that nothing inside one is taken for the others.
_PARTS = re.compile(r'"(?:[^"\\\n]|\\.)*"|//[^\n]*|/\*.{0,2000}?\*/|,(?=\s*[\]}])', re.DOTALL)


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


def _read(text: str) -> Any:
    return parse_json(text, finite=True, unique=True, largest=LARGEST_REPLY)


def _string_alone(found: re.Match[str]) -> str:
    return found[0] if found[0].startswith('"') else ""

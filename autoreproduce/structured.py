"""A judge's reply as data: one JSON object, checked by a schema, or an error that says what is wrong.

Nothing is guessed. A reply that names a key twice, gives 21 of 20 points, ends in mid-sentence or holds no
object is refused with the reason, which goes back to the judge once; after that there is no score. (Text with
JSON in it, rather than a provider's own structured output, since that exists at some providers and not at
others, and a recorded reply must be checked as a live one is.)
"""

from __future__ import annotations

import json
import re
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError

from autoreproduce.errors import CommandError

Content = TypeVar("Content", bound=BaseModel)
_FENCED = re.compile(r"```(?:json)?[ \t]*\n(.*?)\n[ \t]*```", re.DOTALL)


def read_structured(reply: str, schema: type[Content]) -> Content:
    """The object in `reply`. Raises CommandError that a model can mend its reply by."""
    value = _object(reply)
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        wrong = "; ".join(f"{'.'.join(map(str, e['loc'])) or 'the object'}: {e['msg']}" for e in error.errors()[:8])
        raise CommandError(f"the JSON object does not fit: {wrong}") from None


def _object(reply: str) -> Any:
    """The one JSON object of a reply: in a fence, or from the first brace to the last."""
    fenced = [text for text in _FENCED.findall(reply) if text.lstrip().startswith("{")]
    if len(fenced) > 1:
        raise CommandError(f"the reply holds {len(fenced)} JSON objects: give one")
    text = fenced[0] if fenced else reply[reply.find("{") : reply.rfind("}") + 1]
    if not text.strip():
        raise CommandError("the reply holds no JSON object: answer with the object alone")
    try:
        return json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise CommandError(
            f"the JSON object cannot be read ({error}): mind that a backslash in a string is written twice"
        ) from None


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    names = [name for name, _ in pairs]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"the key {twice[0]!r} stands twice")
    return dict(pairs)


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no JSON number")

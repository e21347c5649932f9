"""A judge's reply as data: one JSON object, checked by a schema, or an error that explains what is
wrong.

Nothing is guessed. A reply that names a key twice, gives 21 of 20 points, ends in mid-sentence or
holds no object is refused with the reason, which is sent to the judge once; after that there is no
score. (Text with JSON in it, rather than a provider's own structured output, since that exists at
some providers and not at others, and a recorded reply must be checked as a live one is.)
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TypeVar

from pydantic import BaseModel, ValidationError

from autoreproduce.errors import CommandError
from autoreproduce.models.fenced import data_in_reply

Content = TypeVar("Content", bound=BaseModel)


def read_structured(reply: str, schema: type[Content]) -> Content:
    """The object in `reply`. Raises a CommandError from which a model can correct its reply."""
    value = data_in_reply(reply, "object")
    try:
        return schema.model_validate(value)
    except ValidationError as error:
        wrong = "; ".join(
            f"{_place(e['loc']) or 'the object'}: {e['msg'].removeprefix('Value error, ')}"
            for e in error.errors()[:8]
        )
        raise CommandError(f"the JSON object does not fit: {wrong}") from None


def _place(path: Sequence[int | str]) -> str:
    """Where in the object, as `places.0.of`, without the names of the schema's own alternatives."""
    return ".".join(str(part) for part in path if not re.search(r"[\[(]|^[A-Z]", str(part)))

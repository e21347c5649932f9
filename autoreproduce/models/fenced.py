"""The fenced blocks of data in a model's reply, found by one scan of its lines.

For code, whose blocks hold fences of their own, see `agents/fences.py`.
"""

import re
from typing import NamedTuple

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

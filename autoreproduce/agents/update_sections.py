"""The sections of an UPDATE: what must change, the corrected summary, and corrected choices."""

from __future__ import annotations

import re
from collections.abc import Sequence

from autoreproduce.agents.fences import Blocks, fence_of
from autoreproduce.errors import CommandError

_SECTION = re.compile(
    r" {0,3}(?:(?:#{1,6}\s*|\*\*|__)(feedback|summary|choices)[\s:*_#]*"
    r"|(feedback|summary|choices)\s*:)"
    r"(?:(?<=[:*_\s])\s*(\S.*))?\s*",
    re.IGNORECASE,
)


def feedback_and_summary(lines: Sequence[str]) -> dict[str, str]:
    """The texts below the first headings `Feedback`, `Summary` and `Choices` outside fences, and
    under "" what comes before them.
    """
    starts: dict[str, int] = {"": -1}
    first: dict[str, str] = {}  # what is in a heading's own line
    index, blocks = 0, Blocks(lines)
    while index < len(lines):
        heading = _SECTION.fullmatch(lines[index])
        name = (heading[1] or heading[2]).lower() if heading else ""
        if heading and name not in starts:
            starts[name], first[name] = index, heading[3] or ""
        if fence_of(lines[index]) is not None:
            closed = blocks.closing(index)
            if closed is None:
                mark = lines[index].strip()
                raise CommandError(
                    f"A fenced block of UPDATE ({mark}) is not closed: was the reply cut off?"
                )
            index = closed
        index += 1
    ordered = sorted(starts, key=starts.__getitem__)
    ends = [*(starts[name] for name in ordered[1:]), len(lines)]
    return {
        name: "\n".join([first.get(name, ""), *lines[starts[name] + 1 : end]]).strip()
        for name, end in zip(ordered, ends, strict=True)
    }

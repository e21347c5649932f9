"""A reply that was cut at the limit on its length, and what continued it, as one text.

Asked to continue exactly there, a model may think again, open the code block once more, with a
sentence before it, repeat the lines before the cut, or begin its whole reply again.
"""

from __future__ import annotations

import re

from autoreproduce.agents.fences import Fence, fence_of, open_fence
from autoreproduce.models.replies import begins_by_thinking, without_thinking

SHORTEST_REPEAT = 8  # characters of a cut line that show that it comes again
LEAST_LINES, LEAST_REPEATED = 2, 40  # whole lines, and characters, that show the same
LONGEST_REPEAT = 4_000  # characters before the cut that may come again
OPENING = 80  # characters by which a reply that begins again is known
LINES_BEFORE_FENCE = 4  # of a sentence and blanks before a block that is opened once more
_SENTENCE = re.compile(r"[^\W\d_a-z][^=]*[:.!…：。]\s*")


def continued(text: str, following: str) -> str:
    """`text` continued by `following`, without what comes again. Where the reply begins again, the
    longer of both.
    """
    if not text:
        return following
    if begins_by_thinking(following) or without_thinking(text) != text:
        following = without_thinking(following)  # the first part's own has ended
    if _begins_again(text, following):
        return max(text, following, key=len)
    outer = open_fence(text)
    if outer is not None:
        following = _without_reopening(following, outer)
    return text + following[_repeated(text, following) :]


def _begins_again(text: str, following: str) -> bool:
    opening = text.lstrip()[:OPENING]
    return len(opening) == OPENING and following.lstrip().startswith(opening)


def _without_reopening(following: str, outer: Fence) -> str:
    """The lines after a fence that opens the block `outer` once more, closed as that is."""
    lines = following.split("\n")
    at = _reopening(lines)
    if at is None:
        return following
    inner, rest = fence_of(lines[at]), lines[at + 1 :]
    assert inner is not None
    closing = [n for n, line in enumerate(rest) if _is_bare(line, inner.mark)]
    if closing and inner.mark != outer.mark:
        rest[closing[-1]] = outer.mark
    return "\n".join(rest)


def _reopening(lines: list[str]) -> int | None:
    """Where a fence opens the block again: at once, or after a sentence that announces it."""
    for at, line in enumerate(lines[:LINES_BEFORE_FENCE]):
        fence = fence_of(line)
        if fence is not None:
            again = any(_is_bare(later, fence.mark) for later in lines[at + 1 :])
            return at if fence.opens or (not fence.info and again) else None
        if line.strip() and not _SENTENCE.fullmatch(line):
            return None
    return None


def _is_bare(line: str, mark: str) -> bool:
    fence = fence_of(line)
    return fence is not None and fence.mark == mark and not fence.info


def _repeated(text: str, following: str) -> int:
    """How many characters `following` begins with that are the end of `text`: the cut line, or
    whole lines.
    """
    tail = text[-LONGEST_REPEAT:]
    starts = [0, *(found.end() for found in re.finditer("\n", tail))]
    for start in starts:
        end = tail[start:]
        if end and following.startswith(end) and _is_repeat(end):
            return len(end)
    return 0


def _is_repeat(end: str) -> bool:
    """True if no program says these lines twice by intent."""
    whole, cut = end.count("\n"), end[end.rfind("\n") + 1 :]
    if whole >= LEAST_LINES and len(end) >= LEAST_REPEATED:
        return True
    indented = cut[:1].isspace() and bool(cut.strip())  # nothing continues by an indentation
    return indented or len(cut.strip()) >= SHORTEST_REPEAT

"""Fenced code blocks in a model's reply: where one opens, and where it really closes.

In Markdown the first bare fence of the same mark closes a block. Models break that rule: they put a
docstring with an example in it, or a whole README, between three backticks. So a block that holds
code is closed by nesting: a fence with an info string opens an inner block, and so does a bare one
that is inside a triple-quoted string or in a Markdown file. Fences that are shorter, of another
mark or deeper indented than the opening one are text.

The sections of an UPDATE are found outside such blocks: what must change, the corrected summary,
and corrected choices.
"""

from __future__ import annotations

import re
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import islice

from autoreproduce.errors import CommandError
from autoreproduce.models.fenced import Fence, fence_of, fences_in

_QUOTES = re.compile(r'"""|\'\'\'')
MOST_FENCES = 2_000  # of a reply that is read: each may be matched with each


def open_fence(text: str) -> Fence | None:
    """The fence that opens the block of `text` which is not closed; None if all are."""
    lines = text.split("\n")
    index, blocks = 0, Blocks(lines)
    while index < len(lines):
        if (fence := fence_of(lines[index])) is not None:
            closed = blocks.closing(index)
            if closed is None:
                return fence
            index = closed
        index += 1
    return None


class Blocks:
    """The fenced blocks of a reply given as `lines`. A block is named by the index of its opening
    line.
    """

    def __init__(self, lines: Sequence[str]) -> None:
        self.lines = lines

    @cached_property
    def _fences(self) -> list[Fence]:
        return fences_in(self.lines)

    def _after(self, start: int) -> Iterator[Fence]:
        """The fences below line `start`."""
        first = bisect(self._fences, start, key=lambda fence: fence.line)
        return islice(self._fences, first, None)

    @cached_property
    def _below(self) -> list[bool]:
        return _unbalanced_below(self.lines)

    def closing(self, start: int) -> int | None:
        """The line that closes a block of prose, by nesting; None if none does."""
        return self._matching(start, lambda _: True)

    def closing_of_code(self, start: int, ends: Callable[[int], bool]) -> int | None:
        """The line that closes a block holding a piece of a file.

        `ends(i)` is true if line i is followed by nothing, or by a command: there, a closing
        fence is one, whatever the quotes say (an edit may begin or end inside a docstring: hence
        both sides are looked at).
        """
        markdown = self._opening(start).info.lower() in {"md", "markdown"}
        quote = _Quote(self.lines, start + 1)

        def final(index: int) -> bool:
            return ends(index) or not (markdown or quote.open_before(index) or self._below[index])

        found = self._matching(start, final)
        return found if found is not None else self._only_one(start)

    def content(self, start: int, end: int) -> list[str]:
        """The lines between the two fences, less the indentation of the opening fence."""
        indent = self._opening(start).indent
        inside = self.lines[start + 1 : end]
        return [re.sub(rf"^[ ]{{0,{indent}}}", "", line) if indent else line for line in inside]

    def _opening(self, start: int) -> Fence:
        fence = fence_of(self.lines[start])
        if fence is None:
            raise ValueError(f"line {start} opens no block")
        return fence

    def _matching(self, start: int, final: Callable[[int], bool]) -> int | None:
        outer = self._opening(start)
        inner: list[str] = []  # the marks of the blocks that are open inside this one
        for fence in self._after(start):
            if not fence.within(outer):
                continue
            if fence.opens:
                inner.append(fence.mark)
            elif inner and fence.mark == inner[-1]:
                inner.pop()
            elif fence.info or inner:
                continue
            elif fence.mark == outer.mark and final(fence.line):
                return fence.line
            else:
                inner.append(fence.mark)
        return None

    def _only_one(self, start: int) -> int | None:
        """The one fence after `start` that could close the block, None if there are others."""
        outer = self._opening(start)
        fences = [fence for fence in self._after(start) if fence.within(outer)]
        return fences[0].line if len(fences) == 1 and not fences[0].info else None


class _Quote:
    """Whether a triple-quoted string is open, asked for lines further and further down."""

    def __init__(self, lines: Sequence[str], start: int) -> None:
        self._lines, self._at, self._quote = lines, start, ""

    def open_before(self, index: int) -> bool:
        for line in self._lines[self._at : index]:
            for found in _QUOTES.findall(line):
                self._quote = (
                    found if not self._quote else "" if found == self._quote else self._quote
                )
        self._at = index
        return bool(self._quote)


def _unbalanced_below(lines: Sequence[str]) -> list[bool]:
    """For each line, whether the triple quotes below it do not pair up: one of them closes what is
    open here.
    """
    below, odd = [], {'"""': False, "'''": False}
    for line in reversed(lines):
        below.append(any(odd.values()))
        for quote in _QUOTES.findall(line):
            odd[quote] = not odd[quote]
    return below[::-1]


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

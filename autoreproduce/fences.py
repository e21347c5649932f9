"""Fenced code blocks in a model's reply: where one opens, and where it really closes.

Markdown says that the first bare fence of the same mark closes a block. Models break that rule: they put a
docstring with an example in it, or a whole README, between three backticks. So a block that holds code is
closed by nesting: a fence with an info string opens an inner block, and so does a bare one that stands inside
a triple-quoted string or in a Markdown file. Fences that are shorter, of another mark or deeper indented than
the opening one are text.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

_FENCE = re.compile(r"([ \t]*)(`{3,}|~{3,})[ \t]*(.*?)[ \t]*")
_QUOTES = re.compile(r'"""|\'\'\'')


@dataclass(frozen=True)
class Fence:
    """One fence line: `mark` is the run of backticks or tildes, `info` what follows it."""

    mark: str
    indent: int
    info: str

    @property
    def opens(self) -> bool:
        """True where an info string makes it an opening fence for certain."""
        return self.info[:1].isalnum() or self.info[:1] in {"{", "."}

    def within(self, outer: Fence) -> bool:
        """True where it can open or close something in a block that `outer` opened."""
        return self.mark.startswith(outer.mark) and self.indent <= outer.indent


def fence_of(line: str) -> Fence | None:
    """The fence that this line is, None where it is text."""
    found = _FENCE.fullmatch(line)
    if found is None or (found[2][0] == "`" and "`" in found[3]):
        return None
    return Fence(found[2], len(found[1].expandtabs(4)), found[3])


def closing(lines: Sequence[str], start: int) -> int | None:
    """The line that closes the block of prose opened on line `start`, by nesting; None where none does."""
    return _matching(lines, start, lambda _: True)


def closing_of_code(lines: Sequence[str], start: int, ends: Callable[[int], bool]) -> int | None:
    """The line that closes a block holding a piece of a file.

    `ends(i)` is true where line i is followed by nothing, or by a command: there, a closing fence is one,
    whatever the quotes say (an edit may begin or end inside a docstring).
    """
    markdown = _opening(lines, start).info.lower() in {"md", "markdown"}

    def final(index: int) -> bool:
        return ends(index) or not (markdown or _in_string(lines[start + 1 : index]))

    found = _matching(lines, start, final)
    return found if found is not None else _only_one(lines, start)


def content(lines: Sequence[str], start: int, end: int) -> list[str]:
    """The lines between the two fences, less the indentation that the opening fence has."""
    indent = _opening(lines, start).indent
    return [re.sub(rf"^[ ]{{0,{indent}}}", "", line) if indent else line for line in lines[start + 1 : end]]


def fence_for(text: str) -> str:
    """A fence of backticks longer than any that begins a line of `text`."""
    runs = [
        len(fence.mark) for line in text.split("\n") if (fence := fence_of(line)) and fence.mark[0] == "`"
    ]
    return "`" * max(3, *(run + 1 for run in runs), 3)


def _opening(lines: Sequence[str], start: int) -> Fence:
    fence = fence_of(lines[start])
    if fence is None:
        raise ValueError(f"line {start} opens no block")
    return fence


def _matching(lines: Sequence[str], start: int, final: Callable[[int], bool]) -> int | None:
    outer = _opening(lines, start)
    inner: list[str] = []  # the marks of the blocks that are open inside this one
    for index in range(start + 1, len(lines)):
        fence = fence_of(lines[index])
        if fence is None or not fence.within(outer):
            continue
        if fence.opens:
            inner.append(fence.mark)
        elif inner and fence.mark == inner[-1]:
            inner.pop()
        elif fence.info or inner:
            continue
        elif fence.mark == outer.mark and final(index):
            return index
        else:
            inner.append(fence.mark)
    return None


def _only_one(lines: Sequence[str], start: int) -> int | None:
    """The one fence after `start` that could close the block, None where there are others."""
    outer = _opening(lines, start)
    fences = [
        (i, fence)
        for i in range(start + 1, len(lines))
        if (fence := fence_of(lines[i])) and fence.within(outer)
    ]
    return fences[0][0] if len(fences) == 1 and not fences[0][1].info else None


def _in_string(lines: Sequence[str]) -> bool:
    quote = ""
    for found in _QUOTES.findall("\n".join(lines)):
        if not quote:
            quote = found
        elif found == quote:
            quote = ""
    return bool(quote)

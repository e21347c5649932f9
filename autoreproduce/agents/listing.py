"""The numbered listing of a file that EDIT counts by, and what an edit makes of the file.

Only a line feed ends a line here, as in an editor: `str.splitlines` would also cut at form feeds
and other separators inside a line of code, and the numbers shown would not be those that
count.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from autoreproduce.errors import CommandError

_LISTED = re.compile(r" *(\d{1,9})\|(.*)")
COMPARED = 500 * 500  # pairs of lines; the time that the exact difference of more takes is cubic


@dataclass(frozen=True)
class Edit:
    """Lines `first`..`last` (from 1, both included) become `replacement`, whose lines all end in a
    newline.

    An empty `replacement` deletes; `last` = `first` - 1 inserts before `first`. `path` None is the
    file under work.
    """

    first: int
    last: int
    replacement: str = ""
    path: str | None = None


@dataclass(frozen=True)
class EditStat:
    """How many lines an edit really removed and added; unchanged lines are in neither."""

    removed: int
    added: int


def number(text: str) -> str:
    """The listing that EDIT counts by: `  12|code`, a line each."""
    return "\n".join(f"{index:>4}|{line}" for index, line in enumerate(file_lines(text), 1))


def file_lines(text: str) -> list[str]:
    """The lines of a file without their ends; only a line feed ends a line, as in an editor."""
    return [line.rstrip("\n").removesuffix("\r") for line in _with_ends(text)]


def apply_edit(text: str, edit: Edit) -> str:
    """`text` with the edit made; line ends and the presence of a final newline stay those of the
    file.

    Raises CommandError if the file has no such lines.
    """
    old = _with_ends(text)
    check_range(edit, len(old))
    end = "\r\n" if 2 * text.count("\r\n") > text.count("\n") else "\n"
    new = [line + end for line in file_lines(edit.replacement)]
    merged = [*old[: edit.first - 1], *new, *old[edit.last :]]
    whole = "".join(line if line.endswith("\n") else line + end for line in merged)
    final = not old or old[-1].endswith("\n")
    return (
        whole
        if final or whole.endswith(("\n\n", "\n\r\n")) or whole == end
        else whole.removesuffix(end)
    )


def apply_edits(text: str, edits: Sequence[Edit]) -> str:
    """`text` with all edits made; the lines of each count as in `text`.

    Raises CommandError if the file has no such lines, or two edits overlap.
    """
    ordered = sorted(edits, key=lambda edit: (edit.first, edit.last))
    for one, other in pairwise(ordered):
        if other.first <= one.last:
            raise CommandError(
                f"EDIT {one.first} {one.last} and EDIT {other.first} {other.last} overlap: lines "
                "count as in the listing shown, so take one range that covers both."
            )
    for edit in reversed(ordered):  # from the end, so that the lines above keep their numbers
        text = apply_edit(text, edit)
    return text


def edit_stat(text: str, edit: Edit) -> EditStat:
    """Lines removed and added by `edit` on `text`, by their difference."""
    check_range(edit, len(_with_ends(text)))
    old, new = file_lines(text)[edit.first - 1 : edit.last], file_lines(edit.replacement)
    if len(old) * len(new) > COMPARED:
        old, new = _without_common_ends(old, new)
    if len(old) * len(new) > COMPARED:  # by how often each line occurs, anywhere
        unchanged = (Counter(old) & Counter(new)).total()
    else:
        matcher = difflib.SequenceMatcher(None, old, new, autojunk=False)
        unchanged = sum(block.size for block in matcher.get_matching_blocks())
    return EditStat(len(old) - unchanged, len(new) - unchanged)


def _without_common_ends(old: list[str], new: list[str]) -> tuple[list[str], list[str]]:
    """Both without the lines that they begin with in common, nor those that they end with."""
    start = _same_at_start(old, new)
    old, new = old[start:], new[start:]
    end = _same_at_start(old[::-1], new[::-1])
    return old[: len(old) - end], new[: len(new) - end]


def _same_at_start(old: list[str], new: list[str]) -> int:
    shorter = min(len(old), len(new))
    return next((index for index in range(shorter) if old[index] != new[index]), shorter)


def _with_ends(text: str) -> list[str]:
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def check_range(edit: Edit, count: int) -> None:
    """Raise CommandError if a file of `count` lines does not have the lines that `edit` names."""
    if edit.first < 1 or edit.last < edit.first - 1:
        raise CommandError(
            f"EDIT {edit.first} {edit.last} isn't a range: lines count from 1, and the last is not "
            "before the first (except EDIT n n-1, which inserts before line n)."
        )
    if edit.last > count or edit.first > count + 1:
        raise CommandError(
            f"EDIT {edit.first} {edit.last} goes beyond the end: the file has {count} lines. "
            f"To append, write EDIT {count + 1} {count}."
        )


def unlisted(body: Sequence[str], first: int) -> list[str] | None:
    """The lines without the listing's numbers, None if they are not a copied listing."""
    listed = [_LISTED.fullmatch(line) for line in body]
    shown = [(index, match) for index, match in enumerate(listed) if match or body[index].strip()]
    if not shown or any(match is None for _, match in shown):
        return None
    starts = {int(match[1]) - index for index, match in shown if match}
    if len(starts) != 1 or (len(shown) == 1 and starts != {first}):
        return None
    return [match[2] if match else "" for match in listed]

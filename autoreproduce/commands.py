"""The commands an agent may answer with: EDIT, ADD, UPDATE, SUBMIT and Bash. One grammar, pure functions.

A command begins on a line of its own, outside code fences, by its name in capitals. Prose may come before it.
One command a reply: the first counts, and the agent is told of the others. Whatever cannot be carried out is
a CommandError whose text is written for the model: what was found, what is expected, an example. What models
really do (bold command lines, `EDIT 3-5`, a listing's numbers copied into the code) is understood where it
can mean one thing only.

    EDIT first last [path]     then a fenced block: replaces these lines, counted from 1, both included
                               an empty block deletes them; last = first - 1 inserts before line `first`
    ADD path [path ...]        files to read
    UPDATE                     then `## Feedback` and, where the summary must change, `## Summary`
    SUBMIT                     a reason may follow
    Bash command               or the command in a fenced block
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from autoreproduce.command_lines import (
    PATH,
    PATH_LIKE,
    RANGE,
    Found,
    block_lines,
    header_of,
    is_command,
    scan,
    shown,
    words_of,
)
from autoreproduce.errors import CommandError
from autoreproduce.fences import Blocks, fence_for, fence_of
from autoreproduce.listing import (
    Edit,
    EditStat,
    apply_edit,
    check_range,
    edit_stat,
    file_lines,
    number,
    unlisted,
)

__all__ = [
    "Add", "Bash", "Command", "Edit", "EditStat", "Parsed", "Submit", "Update",
    "apply_edit", "edit_stat", "file_lines", "format_command", "number", "parse",
]  # fmt: skip


EXAMPLES = {
    "EDIT": "EDIT 12 14\n```python\nx = x.float()\n```",
    "ADD": "ADD src/model.py src/train.py",
    "UPDATE": "UPDATE\n## Feedback\nThe loss must be relative.\n## Summary\nunchanged",
    "SUBMIT": "SUBMIT",
    "BASH": "Bash pip install einops",
}


_SECTION = re.compile(r" {0,3}(?:#{1,6}\s*|\*\*)(feedback|summary)[\s:*#]*", re.IGNORECASE)


@dataclass(frozen=True)
class Add:
    """Files asked for, relative to the repository that was shown."""

    paths: tuple[str, ...]


@dataclass(frozen=True)
class Update:
    """What is wrong with the code, and the whole corrected summary (None: it stays as it is)."""

    feedback: str
    summary: str | None = None


@dataclass(frozen=True)
class Submit:
    """The work is done."""

    reason: str = ""


@dataclass(frozen=True)
class Bash:
    """A shell command; a policy elsewhere says which are allowed."""

    command: str


Command = Edit | Add | Update | Submit | Bash


@dataclass(frozen=True)
class Parsed:
    """A reply understood: its command, the prose before it, and what the agent should be told."""

    command: Command
    thought: str = ""
    notes: tuple[str, ...] = ()


def parse(reply: str, allowed: Collection[str]) -> Parsed:
    """The first command of `reply` whose name is in `allowed` (capitals). Raises CommandError."""
    lines = _readable(reply).replace("\r\n", "\n").split("\n")
    found = scan(lines)
    fitting = [each for each in found if each.name in allowed]
    if not fitting:
        raise CommandError(_no_command(lines, found, allowed))
    first, others = fitting[0], fitting[1:]
    if first.name == "ADD":  # its paths may come in several ADD lines
        others = [each for each in others if each.name != "ADD"]
    end = others[0].line if others else len(lines)
    command, notes = _READERS[first.name](lines, first, end)
    if passed := dict.fromkeys(shown(each.name) for each in found if each.line < first.line):
        notes.insert(0, f"Passed over, as this step cannot use it: {', '.join(passed)}.")
    if others:
        taken = f"{shown(first.name)} was taken, {len(others)} after it ignored"
        notes.append(f"One command a reply: {taken}. Send them one by one.")
    return Parsed(command, "\n".join(lines[: first.line]).strip(), tuple(notes))


def format_command(command: Command) -> str:
    """The reply that `parse` reads as `command`."""
    match command:
        case Edit(first, last, replacement, path):
            fence = fence_for(replacement)
            return f"EDIT {first} {last}{f' {path}' if path else ''}\n{fence}\n{replacement}{fence}"
        case Add(paths):
            return "\n".join(f"ADD {path}" for path in paths)
        case Update(feedback, summary):
            return f"UPDATE\n## Feedback\n{feedback}\n## Summary\n{'unchanged' if summary is None else summary}"
        case Submit(reason):
            return f"SUBMIT\n{reason}".rstrip()
        case Bash(text):
            fence = fence_for(text)
            return f"Bash\n{fence}\n{text}\n{fence}" if "\n" in text or "`" in text else f"Bash {text}"


def _readable(reply: str) -> str:
    try:
        reply.encode()
    except UnicodeEncodeError as error:
        raise CommandError(
            f"The reply holds a character that no file can ({error.reason}): send it again without."
        ) from None
    return reply


def _read_edit(lines: Sequence[str], found: Found, end: int) -> tuple[Command, list[str]]:
    numbers = RANGE.fullmatch(found.rest)
    if numbers is None:
        raise CommandError(
            f"`EDIT {found.rest}` is not understood: EDIT takes the first and the last line to replace "
            f"(one line: EDIT 7 7) and, where needed, a path.{_example('EDIT')}"
        )
    path = None if numbers[3] is None else _checked_path(numbers[3].strip("`'\"()"))
    edit = Edit(int(numbers[1]), int(numbers[2]), path=path)
    check_range(edit, max(edit.first, edit.last))
    replacement, notes = _replacement(lines, found, end, edit)
    return Edit(edit.first, edit.last, replacement, path), notes


def _replacement(lines: Sequence[str], found: Found, end: int, edit: Edit) -> tuple[str, list[str]]:
    if found.block is None:
        if edit.last < edit.first or any(line.strip() for line in lines[found.line + 1 : end]):
            raise CommandError(
                f"`EDIT {found.rest}` is not followed by its fenced block: put the replacement between "
                "fences right after the line, with no text between; to delete, use an empty block."
                f"{_example('EDIT')}"
            )
        return "", []
    body = block_lines(lines, found)
    plain = unlisted(body, edit.first)
    if plain is None:
        return "".join(f"{line}\n" for line in body), []
    note = "The listing's line numbers (`12|`) were taken off your replacement: leave them out."
    return "".join(f"{line}\n" for line in plain), [note]


def _read_add(lines: Sequence[str], found: Found, end: int) -> tuple[Command, list[str]]:
    words, listing = words_of(found.rest), True
    for line in block_lines(lines, found) if found.block else lines[found.line + 1 : end]:
        header = header_of(line)
        more = words_of(header[1] if header else line)
        listing = bool(found.block or header or (listing and all(map(PATH_LIKE.fullmatch, more))))
        words += more if listing else []  # prose ends the list, another ADD takes it up again
    if not words:
        raise CommandError(f"ADD names no file: write the paths after it, as they stand in the tree.{_example('ADD')}")
    return Add(tuple(dict.fromkeys(_checked_path(word) for word in words))), []


def _read_update(lines: Sequence[str], found: Found, end: int) -> tuple[Command, list[str]]:
    sections = _sections(lines[found.line + 1 : end])
    if not sections.get("feedback"):
        have = "an empty one" if "feedback" in sections else "none"
        raise CommandError(
            f"UPDATE needs a section `## Feedback` saying what must change; found {have}.{_example('UPDATE')}"
        )
    summary = sections.get("summary", "")
    unchanged = summary.strip("`*_.()[] \n").casefold() in {"", "unchanged"}
    return Update(sections["feedback"], None if unchanged else summary), []


def _sections(lines: Sequence[str]) -> dict[str, str]:
    """The texts below the first heading `Feedback` and the first `Summary` outside fences."""
    starts: dict[str, int] = {}
    index, blocks = 0, Blocks(lines)
    while index < len(lines):
        heading = _SECTION.fullmatch(lines[index])
        if heading and heading[1].lower() not in starts:
            starts[heading[1].lower()] = index
        if fence_of(lines[index]) is not None:
            closed = blocks.closing(index)
            if closed is None:
                mark = lines[index].strip()
                raise CommandError(f"A fenced block of UPDATE ({mark}) is not closed: was the reply cut off?")
            index = closed
        index += 1
    ends = [*sorted(starts.values())[1:], len(lines)]
    ordered = sorted(starts, key=starts.__getitem__)
    return {name: "\n".join(lines[starts[name] + 1 : end]).strip() for name, end in zip(ordered, ends, strict=False)}


def _read_submit(lines: Sequence[str], found: Found, end: int) -> tuple[Command, list[str]]:
    return Submit("\n".join(lines[found.line + 1 : end]).strip()), []


def _read_bash(lines: Sequence[str], found: Found, end: int) -> tuple[Command, list[str]]:
    text = "\n".join(block_lines(lines, found)) if found.block else found.rest
    if len(text) > 1 and text[0] == text[-1] == "`":
        text = text[1:-1]
    if not text.strip():
        raise CommandError(f"Bash is not followed by a command.{_example('BASH')}")
    return Bash(text.strip()), []


_READERS: dict[str, Callable[[Sequence[str], Found, int], tuple[Command, list[str]]]] = {
    "EDIT": _read_edit,
    "ADD": _read_add,
    "UPDATE": _read_update,
    "SUBMIT": _read_submit,
    "BASH": _read_bash,
}


def _checked_path(path: str) -> str:
    parts = PurePosixPath(path).parts
    if not PATH.fullmatch(path) or path[0] in "/~" or ".." in parts or path.endswith("/") or not parts:
        raise CommandError(f"`{path}` is no path to a file below the folder: give it relative, without `..`.")
    return str(PurePosixPath(path))


def _no_command(lines: Sequence[str], found: Sequence[Found], allowed: Collection[str]) -> str:
    """Why there is nothing to carry out, as the model should be told."""
    names = [name for name in EXAMPLES if name in allowed]
    words = " or ".join(map(shown, names))
    expected = f"Expected {words}, so written, on a line of its own outside code fences.{_example(*names[:1])}"
    if not any(line.strip() for line in lines):
        return f"The reply is empty. {expected}"
    if found:
        return f"{shown(found[0].name)} cannot be used in this step. {expected}"
    meant = re.compile(rf"\s*[*_`#> -]*({'|'.join(names)})\b.*", re.IGNORECASE)
    for index, line in enumerate(lines, 1):
        if names and meant.fullmatch(line):
            inside = "stands inside a code fence" if is_command(line) else "is not of the form expected"
            return f"Line {index} of the reply (`{line.strip()[:80]}`) {inside}. {expected}"
    return f"The reply holds no command. {expected}"


def _example(*names: str) -> str:
    return "".join(f" Example:\n\n{EXAMPLES[name]}" for name in names)

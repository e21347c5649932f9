"""Reads the command in a model's reply, by the grammar in `commands`. Pure functions.

One command a reply, or several that write: the first counts, and `Parsed.notes` names the others.
Whatever cannot be carried out is a CommandError whose text is written for the model: what was
found, what is expected, an example. What models really do (bold command lines, `EDIT 3-5`, a
listing's numbers copied into the code, Bash inside a fence) is understood if it can mean one thing
only.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import PurePosixPath

from autoreproduce.agents.command_lines import (
    NEW_FILE,
    PATH,
    PATH_LIKE,
    RANGE,
    CommandLine,
    block_lines,
    fenced_bash,
    header_of,
    is_command,
    scan,
    shown,
    words_of,
)
from autoreproduce.agents.commands import (
    Add,
    Bash,
    Cannot,
    Command,
    Edit,
    NewFile,
    Parsed,
    ShowSection,
    Submit,
    Update,
)
from autoreproduce.agents.fences import MOST_FENCES, feedback_and_summary
from autoreproduce.agents.listing import check_range, unlisted
from autoreproduce.agents.loose import WHOLE_FILE, freed, only_code
from autoreproduce.errors import CommandError
from autoreproduce.models.fenced import fence_of

EXAMPLES = {
    "EDIT": "EDIT 12 14\n```python\nx = x.float()\n```",
    "ADD": "ADD src/model.py src/train.py",
    NEW_FILE: "ADD src/model.py\n```python\nimport torch\n```",
    "UPDATE": "UPDATE\n## Feedback\nThe loss must be relative.\n## Summary\nunchanged",
    "SUBMIT": "SUBMIT",
    "SECTION": "SECTION: 4.1 Training",
    "CANNOT": "CANNOT: the images of Table 2 are not here and cannot be generated",
    "BASH": "Bash pip install einops",
}

WRITING = {"EDIT", NEW_FILE}


def parse(reply: str, allowed: Collection[str]) -> Parsed:
    """The first command of `reply` whose name is in `allowed` (capitals), with all that is written
    if it is an EDIT or a new file (NEW_FILE). Where WHOLE_FILE is allowed, code without a command
    is the file. Raises CommandError.
    """
    lines = _readable(reply).replace("\r\n", "\n").split("\n")
    if sum(fence_of(line) is not None for line in lines) > MOST_FENCES:
        raise CommandError(f"The reply has over {MOST_FENCES:,} fences: send less at once.")
    found, fitting = _commands(lines, allowed)
    if not fitting and (without := freed(lines, allowed)):
        lines = without
        found, fitting = _commands(lines, allowed)
    if not fitting:
        code = only_code(lines) if WHOLE_FILE in allowed and not found else None
        if code is None:
            raise CommandError(_no_command(lines, found, allowed))
        note = "The code alone was taken for the whole file: put EDIT and the lines before it."
        return Parsed(Edit(1, 0, "".join(f"{line}\n" for line in code)), notes=(note,))
    first = fitting[0]
    # ADD's paths may come in several lines; what is written is carried out together
    alike = WRITING if first.name in WRITING else {first.name} & {"ADD"}
    others = [each for each in fitting[1:] if each.name not in alike]
    following = fitting if first.name in WRITING else [first, *others]
    ends = {each.line: after.line for each, after in pairwise(following)}
    read = [first, *(each for each in fitting[1:] if each.name in WRITING & alike)]
    commands, notes = list[Command](), list[str]()
    for each in read:
        command, remarks = _READERS[each.name](lines, each, ends.get(each.line, len(lines)))
        commands.append(command)
        notes += remarks
    if passed := dict.fromkeys(shown(each.name) for each in found if each.line < first.line):
        notes.insert(0, f"Passed over, as this step cannot use it: {', '.join(passed)}.")
    if others:
        taken = f"{shown(first.name)} was taken, {len(others)} after it ignored"
        notes.append(f"One command a reply: {taken}. Send them one by one.")
    thought = "\n".join(lines[: first.line]).strip()
    more = tuple(each for each in commands[1:] if isinstance(each, Edit | NewFile))
    return Parsed(commands[0], thought, tuple(dict.fromkeys(notes)), more)


def _commands(
    lines: Sequence[str], allowed: Collection[str]
) -> tuple[list[CommandLine], list[CommandLine]]:
    """All commands of a reply, and those that its step allows."""
    found = scan(lines)
    if NEW_FILE in allowed:  # an ADD is then the command that writes one
        found = [replace(one, name=NEW_FILE) if one.name == "ADD" else one for one in found]
    fitting = [each for each in found if each.name in allowed]
    if not fitting and "BASH" in allowed:
        fitting = fenced_bash(lines)
    return found, fitting


def _readable(reply: str) -> str:
    try:
        reply.encode()
    except UnicodeEncodeError as error:
        raise CommandError(
            f"The reply holds a character that no file can ({error.reason}): send it again without."
        ) from None
    return reply


def _read_edit(lines: Sequence[str], found: CommandLine, end: int) -> tuple[Command, list[str]]:
    numbers = RANGE.fullmatch(found.rest)
    if numbers is None:
        raise CommandError(
            f"`EDIT {found.rest}` is not understood: EDIT takes the first and the last line to "
            f"replace (one line: EDIT 7 7) and, where needed, a path.{_example('EDIT')}"
        )
    path = None if numbers[3] is None else _checked_path(numbers[3].strip("`'\"()"))
    edit = Edit(int(numbers[1]), int(numbers[2]), path=path)
    check_range(edit, max(edit.first, edit.last))
    replacement, notes = _replacement(lines, found, end, edit)
    return Edit(edit.first, edit.last, replacement, path), notes


def _replacement(
    lines: Sequence[str], found: CommandLine, end: int, edit: Edit
) -> tuple[str, list[str]]:
    if found.block is None:
        if edit.last < edit.first or any(line.strip() for line in lines[found.line + 1 : end]):
            raise CommandError(
                f"`EDIT {found.rest}` is not followed by its fenced block: put the replacement "
                "between fences right after the line, with no text between; to delete, use an "
                f"empty block.{_example('EDIT')}"
            )
        return "", []
    body = block_lines(lines, found)
    plain = unlisted(body, edit.first)
    if plain is None:
        return "".join(f"{line}\n" for line in body), []
    note = "The listing's line numbers (`12|`) were taken off your replacement: leave them out."
    return "".join(f"{line}\n" for line in plain), [note]


def _read_add(lines: Sequence[str], found: CommandLine, end: int) -> tuple[Command, list[str]]:
    words, listing = words_of(found.rest), True
    listed = found.block if not words else None  # a block after a path may be anything
    for line in block_lines(lines, found) if listed else lines[found.line + 1 : end]:
        header = header_of(line)
        more = words_of(header[1] if header else line)
        listing = bool(listed or header or (listing and all(map(PATH_LIKE.fullmatch, more))))
        words += more if listing else []  # prose ends the list, another ADD takes it up again
    if not words:
        raise CommandError(
            "ADD names no file: write the paths after it, as they stand in the "
            f"tree.{_example('ADD')}"
        )
    return Add(tuple(dict.fromkeys(_checked_path(word) for word in words))), []


def _read_new_file(lines: Sequence[str], found: CommandLine, end: int) -> tuple[Command, list[str]]:
    words = words_of(found.rest)
    if len(words) != 1 or found.block is None:
        raise CommandError(
            f"`ADD {found.rest}` isn't a new file: after ADD comes its one path, and right below "
            f"it the whole content in a fenced block.{_example(NEW_FILE)}"
        )
    body = block_lines(lines, found)
    plain = unlisted(body, 1)
    text = "".join(f"{line}\n" for line in (body if plain is None else plain))
    return NewFile(_checked_path(words[0]), text), []


def _read_update(lines: Sequence[str], found: CommandLine, end: int) -> tuple[Command, list[str]]:
    sections = feedback_and_summary(lines[found.line + 1 : end])
    # without its heading, or under one in another language, what is written is what must change
    feedback = sections.get("feedback", sections[""])
    choices = sections.get("choices", "")
    if not feedback and not choices:  # a choice may be corrected of a program that is right
        have = "an empty one" if "feedback" in sections else "none"
        raise CommandError(
            "UPDATE needs a section `## Feedback` saying what must change; found "
            f"{have}.{_example('UPDATE')}"
        )
    summary = sections.get("summary", "")
    unchanged = summary.strip("`*_.()[] \n").casefold() in {"", "unchanged"}
    return Update(feedback, None if unchanged else summary, choices), []


def _read_submit(lines: Sequence[str], found: CommandLine, end: int) -> tuple[Command, list[str]]:
    return Submit("\n".join(lines[found.line + 1 : end]).strip()), []


def _read_section(lines: Sequence[str], found: CommandLine, end: int) -> tuple[Command, list[str]]:
    return ShowSection(found.rest.strip("`'\"*_<> ")), []


def _read_cannot(lines: Sequence[str], found: CommandLine, end: int) -> tuple[Command, list[str]]:
    return Cannot("\n".join([found.rest, *lines[found.line + 1 : end]]).strip("*`_ \n")), []


def _read_bash(lines: Sequence[str], found: CommandLine, end: int) -> tuple[Command, list[str]]:
    text = "\n".join(block_lines(lines, found)) if found.block else found.rest
    if len(text) > 1 and text[0] == text[-1] == "`":
        text = text[1:-1]
    if not text.strip():
        raise CommandError(f"Bash is not followed by a command.{_example('BASH')}")
    return Bash(text.strip()), []


_READERS: dict[str, Callable[[Sequence[str], CommandLine, int], tuple[Command, list[str]]]] = {
    "EDIT": _read_edit,
    "ADD": _read_add,
    NEW_FILE: _read_new_file,
    "UPDATE": _read_update,
    "SUBMIT": _read_submit,
    "SECTION": _read_section,
    "CANNOT": _read_cannot,
    "BASH": _read_bash,
}


def _checked_path(path: str) -> str:
    parts = PurePosixPath(path).parts
    leads_out = path.startswith(("/", "~")) or ".." in parts
    if not PATH.fullmatch(path) or leads_out or path.endswith("/") or not parts:
        raise CommandError(
            f"`{path}` isn't a path to a file below the folder: give it relative, without `..`."
        )
    longest = max(len(part.encode()) for part in parts)
    if longest > 255 or len(path.encode()) > 1000 or len(parts) > 30:
        raise CommandError(
            f"The path `{path[:60]}…` is too long: a name has at most 255 bytes, a path 1,000 "
            "bytes and 30 names."
        )
    return str(PurePosixPath(path))


def _no_command(
    lines: Sequence[str], found: Sequence[CommandLine], allowed: Collection[str]
) -> str:
    """Why there is nothing to execute, worded for the model."""
    names = [name for name in EXAMPLES if name in allowed]
    words = " or ".join(map(shown, names))
    expected = (
        f"Expected {words}, so written, on a line of its own outside code "
        f"fences.{_example(*names[:1])}"
    )
    if not any(line.strip() for line in lines):
        return f"The reply is empty. {expected}"
    if found:
        return f"{shown(found[0].name)} cannot be used in this step. {expected}"
    meant = re.compile(rf"\s*[*_`#> -]*({'|'.join(map(shown, names))})\b.*", re.IGNORECASE)
    for index, line in enumerate(lines, 1):
        if names and meant.fullmatch(line):
            inside = "is inside a code fence" if is_command(line) else "is not of the form expected"
            return f"Line {index} of the reply (`{line.strip()[:80]}`) {inside}. {expected}"
    return f"The reply holds no command. {expected}"


def _example(*names: str) -> str:
    return "".join(f" Example:\n\n{EXAMPLES[name]}" for name in names)

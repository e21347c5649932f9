"""The commands an agent may answer with (the paper's section 3.3): EDIT, ADD, UPDATE, SUBMIT,
SECTION, CANNOT, Bash.

A command begins on a line of its own, outside code fences, by its name in capitals. Prose may come
before it. `parsing` reads a reply by this grammar.

    EDIT first last [path]     then a fenced block: replaces these lines, from 1, both included;
                               an empty block deletes them; last = first - 1 inserts before `first`;
                               several in one reply all count by the listing that was shown
    ADD path [path ...]        files to read
    ADD path                   then a fenced block: a new file with this content, if a step is to
                               write files; several, and EDITs of other files, in one reply
    UPDATE                     then `## Feedback` and, if they must change, `## Summary` (whole, or
                               lines `replace: …` and `by: …`) and `## Choices`
    SUBMIT                     a reason may follow
    SECTION: heading           a section of the paper to be shown
    CANNOT: reason             what is asked for cannot be done, which ends the phase
    Bash command               or the command in a fenced block
"""

from __future__ import annotations

from dataclasses import dataclass

from autoreproduce.agents.listing import Edit
from autoreproduce.errors import CommandError

__all__ = [
    "Add",
    "Bash",
    "Cannot",
    "Command",
    "Edit",
    "NewFile",
    "Parsed",
    "ShowSection",
    "Submit",
    "Update",
]


@dataclass(frozen=True)
class Add:
    """Files asked for, relative to the repository that was shown."""

    paths: tuple[str, ...]


@dataclass(frozen=True)
class NewFile:
    """A file with its whole content, whose lines all end in a newline."""

    path: str
    text: str


@dataclass(frozen=True)
class Update:
    """What is wrong with the code ("": nothing, choices alone are corrected), the corrected summary
    or its replacements (None: it stays as it is), and lines about choices that are to be others.
    """

    feedback: str
    summary: str | None = None
    choices: str = ""


@dataclass(frozen=True)
class Submit:
    """The work is done."""

    reason: str = ""


@dataclass(frozen=True)
class ShowSection:
    """A section of the paper asked for, by its heading or number."""

    heading: str


@dataclass(frozen=True)
class Cannot:
    """What is asked for cannot be done."""

    reason: str


@dataclass(frozen=True)
class Bash:
    """A shell command; a policy elsewhere decides which are allowed."""

    command: str


Command = Edit | Add | NewFile | Update | Submit | ShowSection | Cannot | Bash


@dataclass(frozen=True)
class Parsed:
    """A reply understood: its command, the prose before it, remarks on what was passed over, and
    what else is written after a first EDIT or new file: lines count as before all of it.
    """

    command: Command
    thought: str = ""
    notes: tuple[str, ...] = ()
    more: tuple[Edit | NewFile, ...] = ()

    @property
    def edits(self) -> tuple[Edit, ...]:
        """All EDITs of the reply; () if it has none."""
        return tuple(each for each in (self.command, *self.more) if isinstance(each, Edit))

    @property
    def new_files(self) -> tuple[NewFile, ...]:
        """All new files of the reply; () if it has none."""
        return tuple(each for each in (self.command, *self.more) if isinstance(each, NewFile))

    def whole_file(self) -> str:
        """The text of a reply that gives a whole file. Raises CommandError if it is not one
        EDIT.
        """
        if len(self.edits) != 1:
            raise CommandError("the whole file is asked for, as one EDIT that holds all of it")
        return self.edits[0].replacement

"""Notes on the paper: what contradicts itself, is missing, or is misprinted, with quoted words.

A model says them, when it reads the paper for its numbers (`reading`) or asked for nothing else
(`notes_on`), and code keeps those whose quotations stand in the paper.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pydantic import BaseModel, Field, ValidationError

from autoreproduce.agents.structured import read_structured
from autoreproduce.claims.plain import plain
from autoreproduce.errors import CommandError, ReplyError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoreproduce.agents.agent import Agent
    from autoreproduce.papers.model import Paper
    from autoreproduce.trials.trial import Trial

MOST_NOTES = 12
SHORTEST = 8  # characters of a quotation that says where
SECTION = "Notes on the paper"  # of a report


class PaperNote(BaseModel):
    """One thing that a reader of the paper should know, and its words, or two that contradict."""

    kind: Literal["contradiction", "missing setting", "misprint", "undefined", "unverifiable"]
    what: str = Field(min_length=1, max_length=500)
    quotes: list[str] = Field(min_length=1, max_length=3)


class PaperNotes(BaseModel):
    """What was noted."""

    notes: list[PaperNote] = Field([], max_length=MOST_NOTES)


def notes_on(paper: Paper, agent: Agent, trial: Trial) -> list[PaperNote]:
    """The notes whose quotations are in the paper word for word; others go back once, then out."""
    trial.phase("notes")
    text, kept = plain(f"{paper.text}\n{paper.latex}"), list[PaperNote]()

    def read(reply: str) -> list[PaperNote]:
        notes = read_structured(reply, PaperNotes).notes
        wrong = {id(note): why for note in notes if (why := _not_quoted(note, text))}
        kept[:] = [note for note in notes if id(note) not in wrong]
        if wrong:
            raise CommandError("; ".join(wrong.values()))
        return notes

    try:
        return agent.checked("notes", read, paper=paper.body)
    except ReplyError as error:
        trial.note(f"notes: {error}")
        return kept


def quoted_notes(items: object, paper: Paper) -> tuple[list[PaperNote], list[str]]:
    """The notes of a list that stood in a reply whose words are in the paper; why others aren't."""
    if not items:
        return [], []
    text, kept, wrong = plain(f"{paper.text}\n{paper.latex}"), list[PaperNote](), list[str]()
    for item in items if isinstance(items, list) else [items]:
        try:
            note = PaperNote.model_validate(item)
        except ValidationError:
            wrong.append("it lacks its kind, what it says or its words")
            continue
        why = _not_quoted(note, text)
        if why:
            wrong.append(why)
        else:
            kept.append(note)
    return kept[:MOST_NOTES], wrong


def note_lines(notes: Sequence[PaperNote]) -> list[tuple[str, str]]:
    """A report's section: what each note says, and the paper's words."""
    return [(f"{note.kind}: {note.what}", "\n".join(note.quotes)) for note in notes]


def _not_quoted(note: PaperNote, text: str) -> str:
    """Why the note is none, "" if each quotation is in the paper's text."""
    quotes = [plain(quote) for quote in note.quotes]
    if note.kind == "contradiction" and len(quotes) < 2:
        return f"a contradiction has two quotations: {note.what[:100]}"
    for quote in quotes:
        if len(quote) < SHORTEST or quote not in text:
            return f"the paper doesn't have these words: {quote[:150]!r}"
    return ""

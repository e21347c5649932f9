"""Tapes: the recorded replies of one trial as a JSON-lines file, and how one is written and read.

The first line is the head, which says what was recorded of which model, when and with which settings; each
further line is one model call. A call is found again by its place (role, phase, name) and its number there,
not by its prompt: prompts hold timings and measured floats that no second run repeats. Digests of the prompt
tell drift from that: `prompt` of the exact text, `shape` of the text with every number replaced.

Reading and writing are here and cheap; the model that replays is in `tape_model`, which needs LangChain.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

from pydantic import BaseModel, Field, ValidationError

from autoreproduce import content
from autoreproduce.config import digest
from autoreproduce.errors import UsageError

_NUMBER = re.compile(
    r"(?<![ \t])[ \t]*(?:\b(?=[a-f]*\d)[0-9a-f]{7,64}\b"  # a digest or a commit
    r"|[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|\b(?:nan|inf)\b)"
)
_MAY_HAVE = re.compile(r"\d|nan|inf")  # no number without one of these, and none goes over the end of a line

_Line = TypeVar("_Line", bound=BaseModel)


class Place(NamedTuple):
    """Where a model is called: research or code, the phase, and the prompt's name."""

    role: str
    phase: str
    name: str


class TapeHead(BaseModel):
    """The first line of a tape."""

    tape: Literal[1] = 1
    model: str
    recorded: str = Field(description="date, ISO 8601")
    task: str
    profile: str
    settings: dict[str, Any] = Field({}, description="Settings.kept() of the recording")
    note: str = ""


class TapeEntry(BaseModel):
    """One model call. `step` counts the calls of its place from 1."""

    role: str
    phase: str
    name: str
    step: int = Field(ge=1)
    prompt: str = Field("", description="digest of the messages")
    shape: str = Field("", description="digest of the messages with every number replaced")
    reply: str
    usage: dict[str, int] = {}
    finish: str = "stop"

    @property
    def place(self) -> Place:
        """Where the call was made."""
        return Place(self.role, self.phase, self.name)


class Tape(NamedTuple):
    """A tape that was read."""

    head: TapeHead
    entries: list[TapeEntry]


class Drift(NamedTuple):
    """A replayed call whose prompt is not the recorded one; `numbers_only` where it differs in numbers alone."""

    place: Place
    step: int
    numbers_only: bool


class ModelStep(Protocol):
    """What a tape needs of a journal's step (`trial.Step`)."""

    kind: Any
    role: str
    phase: str
    name: str
    result: dict[str, Any]


def prompt_digests(messages: Iterable[tuple[str, Any]]) -> tuple[str, str]:
    """The digests `prompt` and `shape` of messages given as (type, content); content is text or a list of blocks."""
    plain = [[kind, text] for kind, text in messages]
    return digest(plain), digest(_without_numbers(plain))


def _without_numbers(value: Any) -> Any:
    match value:
        case str():
            return "\n".join(map(_line_without_numbers, value.split("\n")))
        case int() | float():
            return " #"
        case Mapping():
            return {key: _without_numbers(each) for key, each in value.items()}
        case list() | tuple():
            return [_without_numbers(each) for each in value]
        case _:
            return value


@lru_cache(maxsize=4096)
def _line_without_numbers(line: str) -> str:
    """Remembered, for a trial's prompts share most of their lines."""
    return _NUMBER.sub(" #", line) if _MAY_HAVE.search(line) else line


def read_tape(path: Path) -> Tape:
    """The head and the calls of a tape. Raises UsageError naming the line that is damaged."""
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise UsageError(
            f"the tape {path} cannot be read ({error.strerror}): name a tape written by --record"
        ) from None
    except UnicodeDecodeError:
        raise UsageError(f"the tape {path} is not text: name a tape written by --record") from None
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise UsageError(f"the tape {path} is empty: record it again by --record")
    head = _line(TapeHead, lines[0], path, 1)
    return Tape(head, _numbered([_line(TapeEntry, line, path, n) for n, line in enumerate(lines[1:], 2)], path))


def write_tape(path: Path, head: TapeHead, entries: Iterable[TapeEntry]) -> None:
    """Write a whole tape, so that a reader sees the old one or the new. Raises UsageError where it cannot."""
    lines = [head.model_dump_json(), *(entry.model_dump_json() for entry in entries)]
    part = path.with_name(f".{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with part.open("w", encoding="utf-8") as file:
            file.writelines(f"{line}\n" for line in lines)
            file.flush()
            os.fsync(file.fileno())
        part.replace(path)
    except OSError as error:
        with suppress(OSError):
            part.unlink(missing_ok=True)
        raise UsageError(f"the tape {path} cannot be written ({error.strerror}): name another file") from error


def tape_from_journal(steps: Iterable[ModelStep]) -> list[TapeEntry]:
    """The calls of a trial's journal, in order: its steps of kind `model`."""
    calls: Counter[Place] = Counter()
    entries = []
    for step in steps:
        if step.kind == "model":
            place = Place(step.role, step.phase, step.name)
            calls[place] += 1
            entries.append(entry_of(place, calls[place], step.result))
    return entries


def entry_of(place: Place, step: int, result: Mapping[str, Any]) -> TapeEntry:
    """One call as a line of tape; `result` is that of a journal's model step."""
    kept = {key: result[key] for key in ("prompt", "shape", "reply", "finish") if key in result}
    usage = {key: int(value) for key, value in dict(result.get("usage") or {}).items() if value is not None}
    return TapeEntry(**place._asdict(), step=step, usage=usage, **kept)


def find_tape(task_id: str, profile: str) -> Path | None:
    """The tape that ships for a task under a profile, None where there is none."""
    path = content.folder("reproducebench") / task_id / "tapes" / f"{profile}.jsonl"
    return path if path.is_file() else None


def _line(kind: type[_Line], line: str, path: Path, number: int) -> _Line:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        what = error.errors()[0]
        where = ".".join(map(str, what["loc"]))
        raise UsageError(
            f"the tape {path}, line {number} is damaged ({f'{where}: ' if where else ''}{what['msg']}): restore it, "
            "or record it again by --record"
        ) from None


def _numbered(entries: list[TapeEntry], path: Path) -> list[TapeEntry]:
    """The entries, after a check that each place counts its calls 1, 2, 3 …: a line lost is found here."""
    calls: Counter[Place] = Counter()
    for number, entry in enumerate(entries, 2):
        calls[entry.place] += 1
        if entry.step != calls[entry.place]:
            raise UsageError(
                f"the tape {path}, line {number} is call {entry.step} of {'/'.join(entry.place)}, where call "
                f"{calls[entry.place]} is due: lines are missing, restore the file or record it again by --record"
            )
    return entries

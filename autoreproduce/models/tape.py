"""Tapes: the recorded replies of one trial as a JSON-lines file, written and read.

The first line is the head: what was recorded of which model, when and with which settings; each
further line is one model call. A call is found by its place (role, phase, name) and its number
there, not by its prompt: prompts contain timings and measured floats that no second run repeats.
Digests of the prompt tell drift from that: `prompt` of the exact text, `shape` of the text with
every number replaced.

Reading and writing are here and cheap; the model that replays is in `tape_model`, which needs
LangChain.
"""

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
from autoreproduce.files.shared import read_plain

LARGEST_TAPE = 512 * 2**20  # bytes
_NUMBER = re.compile(
    r"(?<![ \t])[ \t]*(?:\b(?=[a-f]*\d)[0-9a-f]{7,64}\b"  # a digest or a commit
    r"|[-+]?(?:\d[\d_]*(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d+)?|\b(?:nan|inf)\b)"
)
# No number without one of these, and none goes over the end of a line.
_MAY_HAVE_NUMBER = re.compile(r"\d|nan|inf")

_Line = TypeVar("_Line", bound=BaseModel)


class CallSite(NamedTuple):
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
    settings: dict[str, Any] = Field({}, description="Settings.identity() of the recording")
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
    tool_calls: list[dict[str, Any]] = Field([], description="name, args and id of each")

    @property
    def place(self) -> CallSite:
        """Where the call was made."""
        return CallSite(self.role, self.phase, self.name)


class Tape(NamedTuple):
    """A tape that was read."""

    head: TapeHead
    entries: list[TapeEntry]


class Drift(NamedTuple):
    """A replayed call with another prompt than recorded; `numbers_only` if only numbers differ."""

    place: CallSite
    step: int
    numbers_only: bool


class CallCounts(Protocol):
    """Tokens of a call (`trials.steps.TokenCounts`)."""

    def as_dict(self) -> dict[str, int]:
        """The counts by name."""
        ...


class RecordedCall(Protocol):
    """What a tape needs of a model call (`trials.steps.ModelResult`)."""

    @property
    def reply(self) -> str:
        """The text."""

    @property
    def finish(self) -> str:
        """How it ended: stop, length, filter."""

    @property
    def prompt(self) -> str:
        """Digest of the messages."""

    @property
    def shape(self) -> str:
        """Digest of the messages without numbers."""

    @property
    def usage(self) -> CallCounts:
        """Its tokens."""

    @property
    def tool_calls(self) -> list[dict[str, Any]]:
        """The tools that it calls."""


def prompt_digests(messages: Iterable[tuple[str, Any]]) -> tuple[str, str]:
    """The digests `prompt` and `shape` of messages given as (type, content).

    Content is text or a list of blocks.
    """
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
    """Cached, for a trial's prompts share most of their lines."""
    return _NUMBER.sub(" #", line) if _MAY_HAVE_NUMBER.search(line) else line


def read_tape(path: Path) -> Tape:
    """The head and the calls of a tape. Raises UsageError naming the line that is damaged."""
    try:
        lines = read_plain(path, LARGEST_TAPE).decode("utf-8").split("\n")
    except (OSError, UsageError) as error:
        raise UsageError(
            f"the tape {path} cannot be read ({getattr(error, 'strerror', None) or error})",
            fix="name a tape written with --record",
        ) from None
    except UnicodeDecodeError:
        raise UsageError(
            f"the tape {path} is not text", fix="name a tape written with --record"
        ) from None
    while lines and not lines[-1]:
        lines.pop()
    if not lines:
        raise UsageError(f"the tape {path} is empty", fix="record it again with --record")
    head = _parsed_line(TapeHead, lines[0], path, 1)
    entries = [_parsed_line(TapeEntry, line, path, n) for n, line in enumerate(lines[1:], 2)]
    _check_numbers(entries, path)
    return Tape(head, entries)


def write_tape(path: Path, head: TapeHead, entries: Iterable[TapeEntry]) -> None:
    """Write a whole tape; a reader sees the old one or the new. Raises UsageError if it cannot."""
    lines = [head.model_dump_json(), *(_line_of(entry) for entry in entries)]
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
        raise UsageError(
            f"the tape {path} cannot be written ({error.strerror})", fix="name another file"
        ) from error


def tape_of(calls: Iterable[tuple[CallSite, RecordedCall]]) -> list[TapeEntry]:
    """The lines of a tape for a trial's model calls, in order."""
    counts: Counter[CallSite] = Counter()
    entries = []
    for place, call in calls:
        counts[place] += 1
        entries.append(entry_of(place, counts[place], call))
    return entries


def entry_of(place: CallSite, step: int, call: RecordedCall) -> TapeEntry:
    """One call as a line of tape, the `step`th (from 1) at its place."""
    return TapeEntry(
        **place._asdict(),
        step=step,
        prompt=call.prompt,
        shape=call.shape,
        reply=call.reply,
        usage=call.usage.as_dict(),
        finish=call.finish,
        tool_calls=call.tool_calls,
    )


def find_tape(task_id: str, profile: str) -> Path | None:
    """The tape that ships for a task under a profile, None if there is none."""
    path = content.folder("reproducebench") / task_id / "tapes" / f"{profile}.jsonl"
    return path if path.is_file() else None


def _line_of(entry: TapeEntry) -> str:
    """A reply without tools is written as it was before replies could have some."""
    return entry.model_dump_json(exclude=None if entry.tool_calls else {"tool_calls"})


def _parsed_line(kind: type[_Line], line: str, path: Path, number: int) -> _Line:
    try:
        return kind.model_validate_json(line)
    except ValidationError as error:
        what = error.errors()[0]
        field = ".".join(map(str, what["loc"]))
        reason = f"{field}: {what['msg']}" if field else what["msg"]
        raise UsageError(
            f"the tape {path}, line {number} is damaged ({reason})",
            fix="restore it, or record it again with --record",
        ) from None


def _check_numbers(entries: list[TapeEntry], path: Path) -> None:
    """Raise UsageError unless each place counts its calls 1, 2, 3 …: else a line is missing."""
    calls: Counter[CallSite] = Counter()
    for number, entry in enumerate(entries, 2):
        calls[entry.place] += 1
        if entry.step != calls[entry.place]:
            raise UsageError(
                f"the tape {path}, line {number} is call {entry.step} of {'/'.join(entry.place)}, "
                f"and should be call {calls[entry.place]}",
                fix="lines are missing, restore the file or record it again with --record",
            )

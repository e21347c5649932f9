"""The journal of a trial: `steps.jsonl`, one line a step, written for good before its result is used."""

from __future__ import annotations

import contextlib
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, Field, ValidationError

from autoreproduce import turns
from autoreproduce.errors import TrialError

Kind = Literal["model", "execute", "fetch", "install"]


class Step(BaseModel):
    """One line of the journal. `result` depends on `kind`:

    model: reply, usage {input, cached, output, reasoning}, price (dollars or null), model, finish, prompt (digest)
    execute, install: command, exit_code, stdout, stderr, seconds, stopped
    fetch: whatever was learnt
    """

    index: int
    phase: str
    kind: Kind
    role: str = Field(description="research, code, sandbox or network")
    name: str = Field(description="what for, e.g. the prompt's name")
    digest: str = Field(description="of what was asked; a resumed trial must ask the same")
    at: str
    seconds: float
    result: dict[str, Any]


def now() -> str:
    """This moment in UTC, to the second."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def write_whole(path: Path, text: str) -> None:
    """Write a file so that a reader sees the old or the new, never a part. A full disk is a TrialError."""
    part = path.with_name(f".{path.name}.part")
    try:
        _write(part, os.O_TRUNC, text.encode())
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _no_room(path, error) from error


def write_soon(path: Path, text: str) -> None:
    """Write a file that a power cut may take back, and its folder where there is none. A full disk is a TrialError."""
    try:
        try:
            _write(path, os.O_TRUNC, text.encode(), wait=False)
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            _write(path, os.O_TRUNC, text.encode(), wait=False)
    except OSError as error:
        raise _no_room(path, error) from error


def append_line(path: Path, line: str) -> None:
    """Append one line for good; a part of it that a full disk let through is taken back."""
    try:
        _write(path, os.O_APPEND, line.encode() + b"\n")
    except OSError as error:
        raise _no_room(path, error) from error


def _write(path: Path, how: int, data: bytes, wait: bool = True) -> None:
    """All of `data`, on the disk where `wait` is set, or as if nothing had been written.

    With system calls: one of a file object is several, and at each of them another of a hundred threads may run.
    """
    file, written = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | how, 0o666), 0
    try:
        while written < len(data):
            written += os.write(file, data[written:])
        if wait:
            with turns.pausing():
                os.fsync(file)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(file, os.fstat(file).st_size - written)
        raise
    finally:
        os.close(file)


def _no_room(path: Path, error: OSError) -> TrialError:
    return TrialError(f"cannot write {path} ({error.strerror}): make room, then run the same command")


def read_journal(path: Path, mend: bool = False) -> list[Step]:
    """The steps of a journal. A torn last line is owed again (`mend` removes it); any other damage is an error."""
    if not path.exists():
        return []
    data = path.read_bytes()
    lines = data.split(b"\n")
    torn = lines.pop()  # what follows the last line break: nothing, or a line that was not finished
    if torn and mend:
        os.truncate(path, len(data) - len(torn))
    steps = []
    for number, line in enumerate(lines, 1):
        try:
            steps.append(Step.model_validate_json(line))
        except ValidationError as error:
            raise TrialError(
                f"{path}, line {number} is damaged ({error.errors()[0]['msg']}). The {number - 1} steps before it are "
                f"whole: to go on from them, keep the file's first {number - 1} lines (head -n), then resume."
            ) from None
    return steps

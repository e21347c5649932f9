"""The journal: `steps.jsonl` of a folder, one line a step, on the disk before its result is used.

A process that is started again does the same from the start, and each step that the journal holds
is answered from it: nothing finished is repeated, and no second record can disagree with it. A
process killed at any moment loses at most the step it was in. A trial is a journal with a workspace
and an outcome (`trial`); `open_journal` opens one that is by itself (a judge's question).
"""

import contextlib
import json
import os
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Self, TypeVar

from filelock import FileLock
from filelock import Timeout as LockTimeout
from pydantic import BaseModel

from autoreproduce.config import digest
from autoreproduce.errors import TrialError
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.shared import read_plain
from autoreproduce.job import now
from autoreproduce.trials.chain import HEAD, STEPS, TRIAL, linked
from autoreproduce.trials.folders import refuse_links
from autoreproduce.trials.journal_reader import NEW_TRIAL, load_journal
from autoreproduce.trials.steps import AnyResult, FetchResult, Observer, Step

StepResult = TypeVar("StepResult", bound=AnyResult)
Learnt = TypeVar("Learnt", bound=BaseModel)


class Journal:
    """The steps of one folder, to be appended to by this process alone, or read."""

    def __init__(self, folder: Path, observers: Iterable[Observer] = ()) -> None:
        self.folder = folder
        self.observers = list(observers)
        self.steps: list[Step] = []
        self.phase_name = ""
        self.altered = ""  # where it was altered after it was written
        self._link, self._next = "", 0
        self._lock: FileLock | None = None

    @property
    def file(self) -> Path:
        """The file of steps."""
        return self.folder / STEPS

    @property
    def replaying(self) -> bool:
        """True while the next step is answered from the journal."""
        return self.next_step is not None

    @property
    def next_step(self) -> Step | None:
        """The step that the journal answers next; None if the next one is new."""
        return self.steps[self._next] if self._next < len(self.steps) else None

    @property
    def position(self) -> int:
        """How many steps are behind, made or replayed."""
        return self._next

    def lock(self) -> None:
        """Make the folder and take it. Raises TrialError if it is taken, or holds a link."""
        self._lock = _locked(self.folder)

    def load(self, repair: bool = False) -> None:
        """Read the steps; `repair` removes a torn last line. Raises TrialError for damage."""
        parsed = load_journal(self.file, repair)
        self.steps, self._link, self.altered = parsed.steps, parsed.link, parsed.broken
        if repair and self.altered:
            raise TrialError(
                f"{self.folder} cannot be resumed, {self.altered}. Restore {TRIAL} and {STEPS} "
                f"from a copy, cut the journal before that line (head -n), or {NEW_TRIAL}"
            )

    def phase(self, name: str) -> None:
        """Begin a phase: the steps that follow belong to it."""
        self.phase_name = name
        for observer in self.observers:
            observer.phase(name)

    def planned(self, names: Sequence[str]) -> None:
        """Tell whoever watches which phases are to come."""
        for observer in self.observers:
            observer.planned(names)

    def note(self, text: str) -> None:
        """Tell whoever watches."""
        for observer in self.observers:
            observer.note(text)

    def step(
        self,
        kind: type[StepResult],
        role: str,
        name: str,
        asked: object,
        do: Callable[[], StepResult],
    ) -> StepResult:
        """The result of `do`: from the journal if it was done before, else done now and written.

        Raises TrialError if the journal holds another step here: prompts, code or task changed.
        """
        key, replayed = digest(asked), self.replaying
        step = self._replayed(kind, name, key) if replayed else self._done(role, name, key, do)
        for observer in self.observers:
            observer.step(step, replayed)
        assert isinstance(step.result, kind)
        return step.result

    def fetch(
        self, kind: type[Learnt], name: str, asked: object, do: Callable[[], Learnt]
    ) -> Learnt:
        """What `do` learnt from a network, as a step of kind `fetch`. Raises as `step`."""

        def fetched() -> FetchResult:
            return FetchResult(learnt=do().model_dump(mode="json"))

        result = self.step(FetchResult, "network", name, asked, fetched)
        return kind.model_validate(result.learnt)

    def _replayed(self, kind: type[StepResult], name: str, asked_digest: str) -> Step:
        step = self.steps[self._next]
        held, asked = (step.phase, step.name, step.digest), (self.phase_name, name, asked_digest)
        if held != asked or not isinstance(step.result, kind):
            raise TrialError(
                f"{self.file} cannot be resumed: its step {step.index} is {step.phase}/"
                f"{step.name}, but {self.phase_name}/{name} is asked now, or asked differently. "
                "The prompts, the task or the program changed since",
                fix=f"restore them, or {NEW_TRIAL}.",
            )
        self._next += 1
        return step

    def _done(
        self, role: str, name: str, key: str, do: Callable[[], AnyResult], began: float = 0.0
    ) -> Step:
        began, result = began or time.monotonic(), do()
        step = Step(
            index=len(self.steps),
            phase=self.phase_name,
            role=role,
            name=name,
            digest=key,
            at=now(),
            seconds=round(time.monotonic() - began, 3),
            result=result,
        )
        line, link = linked(step.model_dump_json(), self._link)
        append_line(self.file, line)
        self._link = link
        self.steps.append(step)
        self._next = len(self.steps)
        return step

    def write(self, name: str, text: str) -> None:
        """Write one of the folder's files, whole or not at all."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)

    def keep_prompt(self, name: str, text: str) -> None:
        """Save a prompt for audits. Nothing that is resumed reads it: it waits for no disk."""
        file = f"{len(self.steps):04d}-{name.replace('/', '-')}.md"
        write_soon(self.folder / "prompts" / file, text)

    def close(self) -> None:
        """Give the folder back to other processes."""
        if self._lock is not None:
            self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def open_journal(folder: Path, identity: Mapping[str, Any]) -> Journal:
    """A journal of what `identity` says, made or resumed; to be used as a context manager.

    Raises TrialError if the folder is in use, damaged, or the journal of something else.
    """
    journal = Journal(folder)
    journal.lock()
    try:
        head = folder / HEAD
        if head.exists():
            refuse_other(folder, _head(head), identity)
        else:
            write_whole(head, json.dumps(identity, indent=1))
        journal.load(repair=True)
    except BaseException:
        journal.close()
        raise
    return journal


def refuse_other(folder: Path, old: Mapping[str, Any], new: Mapping[str, Any]) -> None:
    """Raises TrialError with the difference where a folder was begun as something else."""
    pairs = {key: (old.get(key), new.get(key)) for key in sorted({*old, *new})}
    changed = [f"{key}: {was!r} → {is_!r}" for key, (was, is_) in pairs.items() if was != is_]
    if changed:
        raise TrialError(
            f"{folder} was begun with other settings ({'; '.join(changed)})",
            fix="give the same, or --out a new folder",
        )


def _head(path: Path) -> dict[str, Any]:
    try:
        return dict(parse_json(read_plain(path)))
    except (ValueError, TypeError) as error:
        raise TrialError(
            f"{path} cannot be read ({error})", fix="remove its folder, and it is asked again"
        ) from error


def _locked(folder: Path) -> FileLock:
    refuse_links(folder)
    lock = FileLock(folder / ".lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except LockTimeout:
        raise TrialError(
            f"{folder} is in use by another process",
            fix="wait for it, or name another folder with --out",
            retryable=True,
        ) from None
    except OSError as error:  # a file, or not open for writing
        raise TrialError(
            f"{folder} cannot be a trial's folder ({error.strerror})", fix="name another with --out"
        ) from None
    return lock


def write_whole(path: Path, text: str, wait: bool = True) -> None:
    """Write a file so that a reader sees the old or the new, never a part. A full disk is a
    TrialError. Without `wait` for the disk a power cut may take it back.
    """
    part = path.with_name(f".{path.name}.part")
    try:
        _write(part, os.O_TRUNC, text.encode(), wait)
        part.replace(path)
    except OSError as error:
        part.unlink(missing_ok=True)
        raise _no_room(path, error) from error


def write_soon(path: Path, text: str) -> None:
    """Write a file that a power cut may take back, and its folder. A full disk is a TrialError."""
    try:
        if not path.parent.is_dir():
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

    With system calls: one of a file object is several, and at each of them another of a hundred
    threads may run. A link in the file's place is not followed, and a pipe is not waited for.
    """
    how |= os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW | os.O_NONBLOCK
    file, written = os.open(path, how, 0o666), 0
    try:
        while written < len(data):
            written += os.write(file, data[written:])
        if wait:
            os.fsync(file)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(file, os.fstat(file).st_size - written)
        raise
    finally:
        os.close(file)


def _no_room(path: Path, error: OSError) -> TrialError:
    return TrialError(
        f"cannot write {path} ({error.strerror})",
        fix="make room, then run the same command",
        retryable=True,
    )

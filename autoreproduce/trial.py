"""A trial: one attempt of one solver on one task, and its folder.

The folder is the only thing that passes between running and scoring. `steps.jsonl` is its journal and the
one record of what was done: every model call, execution and download is a step with an index and the digest
of what was asked. A trial that is started again runs the same code from the start, and each step that the
journal holds is answered from it, so nothing finished is repeated and no second record (a checkpoint) can
disagree with it. A line is written with fsync before its result is used: a process killed at any moment
owes at most the step it was in.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from contextlib import nullcontext
from pathlib import Path
from typing import Any, Literal

from filelock import FileLock
from filelock import Timeout as LockTimeout
from pydantic import BaseModel, Field

from autoreproduce import Observer, turns
from autoreproduce.config import digest
from autoreproduce.errors import TrialError
from autoreproduce.journal import Kind, Step, append_line, now, read_journal, write_soon, write_whole

__all__ = ["Outcome", "Step", "Trial", "TrialRecord", "now"]


class TrialRecord(BaseModel):
    """trial.json: what this trial is."""

    task: str
    profile: str
    solver: str
    model: str
    settings: dict[str, Any]
    task_digest: str
    created: str
    versions: dict[str, str] = {}
    hardware: dict[str, Any] = {}
    seed: int = 0
    replayed: dict[str, Any] | None = Field(None, description="the tape's head, where replies are replayed")
    command: str = ""
    inputs: dict[str, str | None] = Field(
        {}, description="files of the user: paper_file, data, tape; and what the paper held"
    )
    task_json: dict[str, Any] = Field({}, description="the task as it was, so that the folder explains itself")


class Outcome(BaseModel):
    """outcome.json: how the trial ended.

    `status`: succeeded (ran in full, metric measured) · failed (a phase ran out of tries, or the full run
    failed) · stopped (by budget, by the user, or by something outside the solver: it can be resumed).
    """

    status: Literal["succeeded", "failed", "stopped"]
    reason: str
    phase: str = ""
    metrics: dict[str, float] = {}
    metric: float | None = Field(None, description="the number that counts")
    recomputed: bool = Field(False, description="by the task's own metric code, from saved predictions")
    claimed: float | None = Field(None, description="what the program itself wrote")
    gap: float | None = Field(None, description="signed relative distance to the reference; above 0 is worse")
    within_band: bool | None = None
    warnings: list[str] = []
    not_reproduced: list[str] = []
    notes: list[str] = Field([], description="what a reader of the number must know; from the task")
    phases: dict[str, dict[str, Any]] = {}
    lineage: list[dict[str, Any]] = []
    usage: dict[str, int] = {}
    cost: float | None = None
    seconds: float = 0.0
    edits: dict[str, dict[str, int]] = {}
    details: dict[str, Any] = {}


class Trial:
    """A trial folder, open for writing by this process alone (or for reading, with `Trial.read`)."""

    def __init__(self, folder: Path, record: TrialRecord, observers: Iterable[Observer] = ()) -> None:
        self.folder = folder
        self.record = record
        self.observers = list(observers)
        self.steps: list[Step] = []
        self.phase_name = ""
        self.moved = False  # gone on with in another sandbox: what was installed must be installed again
        self._next = 0
        self._lock: FileLock | None = None

    @property
    def workspace(self) -> Path:
        """The program's folder, a git repository."""
        return self.folder / "workspace"

    @property
    def journal(self) -> Path:
        """The file of steps."""
        return self.folder / "steps.jsonl"

    @property
    def replaying(self) -> bool:
        """True while the next step is answered from the journal."""
        return self._next < len(self.steps)

    @classmethod
    def open(cls, folder: Path, record: TrialRecord, observers: Iterable[Observer] = ()) -> Trial:
        """Make the folder, or go on with it. Raises TrialError where it is locked, damaged or another trial's."""
        lock = _locked(folder)
        try:
            kept = folder / "trial.json"
            if kept.exists():
                record = _same_trial(_record(kept), record, folder)
            else:
                write_whole(kept, record.model_dump_json(indent=1))
            trial = cls(folder, record, observers)
            trial._lock = lock
            trial.workspace.mkdir(exist_ok=True)
            trial.steps = read_journal(trial.journal, mend=True)
        except BaseException:
            lock.release()
            raise
        return trial

    @classmethod
    def read(cls, folder: Path) -> Trial:
        """A trial to be read: nothing is locked or written."""
        if not (folder / "trial.json").exists():
            raise TrialError(f"{folder} is no trial folder (it has no trial.json): name one below runs/")
        trial = cls(folder, _record(folder / "trial.json"))
        trial.steps = read_journal(trial.journal)
        return trial

    def phase(self, name: str) -> None:
        """Begin a phase: the steps that follow belong to it."""
        self.phase_name = name
        for observer in self.observers:
            observer.phase(name)

    def note(self, text: str) -> None:
        """Tell whoever watches."""
        for observer in self.observers:
            observer.note(text)

    def output(self, text: str) -> None:
        """Pass on what a running program prints."""
        for observer in self.observers:
            observer.output(text)

    def step(self, kind: Kind, role: str, name: str, asked: object, do: Callable[[], dict[str, Any]]) -> Step:
        """The result of `do`, from the journal where it was done before, else done now and written down.

        Raises TrialError where the journal holds another step at this place: prompts, code or task changed.
        """
        asked_digest, replayed = digest(asked), self.replaying
        known = self._replayed(kind, name, asked_digest) if replayed else None
        step = known or self._done(kind, role, name, asked_digest, do)
        for observer in self.observers:
            observer.step(step, replayed)
        return step

    def _replayed(self, kind: str, name: str, asked_digest: str) -> Step:
        step = self.steps[self._next]
        if (step.kind, step.phase, step.name, step.digest) != (kind, self.phase_name, name, asked_digest):
            raise TrialError(
                f"{self.journal} cannot be gone on with: its step {step.index} is {step.phase}/{step.name}, but "
                f"{self.phase_name}/{name} is asked now, or asked differently. The prompts, the task or the program "
                "changed since: restore them, or start a new trial with --out."
            )
        self._next += 1
        return step

    def _done(self, kind: Kind, role: str, name: str, asked_digest: str, do: Callable[[], dict[str, Any]]) -> Step:
        began = time.monotonic()
        with turns.left() if kind != "model" else nullcontext():  # runs and downloads; a model leaves it by itself
            result = do()
        step = Step(
            index=len(self.steps), phase=self.phase_name, kind=kind, role=role, name=name, digest=asked_digest,
            at=now(), seconds=round(time.monotonic() - began, 3), result=result,
        )  # fmt: skip
        append_line(self.journal, step.model_dump_json())
        self.steps.append(step)
        self._next = len(self.steps)
        return step

    def write(self, name: str, text: str) -> None:
        """Write one of the trial's files, whole or not at all."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, text)

    def keep_prompt(self, name: str, text: str) -> None:
        """A prompt for whoever audits the trial. Nothing that goes on reads it, so it does not wait for the disk."""
        write_soon(self.folder / "prompts" / f"{len(self.steps):04d}-{name.replace('/', '-')}.md", text)

    def close(self, outcome: Outcome | None = None) -> None:
        """Write the outcome and release the folder."""
        if outcome is not None:
            self.write("outcome.json", outcome.model_dump_json(indent=1))
        if self._lock is not None:
            self._lock.release()

    @property
    def outcome(self) -> Outcome | None:
        """How it ended, None while it has not."""
        path = self.folder / "outcome.json"
        try:
            return Outcome.model_validate_json(path.read_text()) if path.exists() else None
        except ValueError:
            raise TrialError(f"{path} is damaged: remove it, and the same command makes it anew") from None


def _locked(folder: Path) -> FileLock:
    lock = FileLock(folder / ".lock")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock.acquire(timeout=0)
    except LockTimeout:
        raise TrialError(
            f"{folder} is in use by another process: wait for it, or name another folder by --out"
        ) from None
    except OSError as error:  # a file, or not open for writing
        raise TrialError(f"{folder} cannot be a trial's folder ({error.strerror}): name another by --out") from None
    return lock


def _record(path: Path) -> TrialRecord:
    try:
        return TrialRecord.model_validate_json(path.read_text())
    except ValueError as error:  # no text, no JSON, or other fields
        raise TrialError(f"{path} cannot be read ({error}): restore it, or start a new trial with --out") from error


def _same_trial(old: TrialRecord, new: TrialRecord, folder: Path) -> TrialRecord:
    """The old record where `new` asks for the same trial; else an error that shows the difference."""
    pairs: dict[str, tuple[Any, Any]] = {
        "task": (old.task, new.task),
        "solver": (old.solver, new.solver),
        "task content": (old.task_digest, new.task_digest),
    }
    papers = old.inputs.get("paper_digest"), new.inputs.get("paper_digest")
    if all(papers):  # where a file lies may change, and it may be gone: the trial has its own copy
        pairs["paper"] = papers
    for key in sorted({*old.settings, *new.settings}):
        pairs[key] = (old.settings.get(key), new.settings.get(key))
    changed = [f"{key}: {was!r} → {is_!r}" for key, (was, is_) in pairs.items() if was != is_]
    if changed:
        raise TrialError(
            f"{folder} was begun with other settings ({'; '.join(changed)}): give the same, or --out a new folder"
        )
    return old

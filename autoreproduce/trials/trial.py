"""A trial: one attempt of one solver on one task, and its folder.

The folder is the only thing that passes between running and scoring. Its journal (`steps.jsonl`) is
the one record of what was done: every model call, execution and download is a step with an index
and the digest of what was asked.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, Field, ValidationError

from autoreproduce.config import FLAGS, digest
from autoreproduce.errors import TrialError
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.shared import read_plain
from autoreproduce.files.tree import Tree
from autoreproduce.job import FILE as JOB
from autoreproduce.job import HOW_IT_IS_RUN, Job, now, read_job, task_digest
from autoreproduce.task import Task
from autoreproduce.trials.chain import RESULT, TRIAL, result_warning, seal
from autoreproduce.trials.journal import Journal, StepResult, refuse_other, write_whole
from autoreproduce.trials.journal_reader import NEW_TRIAL
from autoreproduce.trials.result import Result, read_result
from autoreproduce.trials.steps import AnyResult, Observer, Step
from autoreproduce.trials.written import WrittenSteps

__all__ = ["Step", "Trial", "TrialRecord", "now"]


class TrialRecord(BaseModel):
    """trial.json: what attempted a Job, where and when. The Job itself is in job.json."""

    job: Job = Field(exclude=True)
    model: str
    created: str
    versions: dict[str, str] = {}
    hardware: dict[str, Any] = {}
    planned_minutes: float | None = Field(
        None, description="of the full run, as the program was planned; a later one may take longer"
    )
    planned_cores: float | None = Field(None, description="that the program was planned for")
    replayed: dict[str, Any] | None = Field(
        None, description="the tape's head, where replies are replayed"
    )
    inputs: dict[str, Annotated[str, Field(pattern=r"^[^\x00]*$")] | None] = Field(
        {}, description="the models' server"
    )

    @property
    def task(self) -> str:
        """The task's id."""
        return self.job.of_task.id

    @property
    def profile(self) -> str:
        """The task's profile."""
        return self.job.of_task.profile

    @property
    def solver(self) -> str:
        """The solver's name."""
        return self.job.solver

    @property
    def system(self) -> str:
        """Who wrote the program, as tables and pages name it."""
        return self.job.system

    @property
    def command(self) -> str:
        """The command line, as it was typed."""
        return self.job.command

    @property
    def seed(self) -> int:
        """The seed of the programs."""
        return self.job.settings.seed

    @property
    def settings(self) -> dict[str, Any]:
        """The settings that decide the result, by name."""
        return self.job.settings.identity()

    @property
    def task_digest(self) -> str:
        """Of what in the task affects the trial."""
        return self.job.digests.get("task") or task_digest(self.job.of_task)

    def stored_task(self) -> Task:
        """The task as it was, without its paths: the folder may come from another machine."""
        return self.job.of_task.model_copy(update=dict.fromkeys(Task.PATHS))


class Trial(Journal):
    """A trial folder, open for writing by this process alone (or for reading, with
    `Trial.read`): a journal with a record of what it is, a workspace and a result.
    """

    def __init__(
        self, folder: Path, record: TrialRecord, observers: Iterable[Observer] = ()
    ) -> None:
        super().__init__(folder, observers)
        self.record = record
        self._written = WrittenSteps(Tree(self.workspace))
        self.moved = False  # resumed in another sandbox: packages must be installed again

    @property
    def workspace(self) -> Path:
        """The program's folder, a git repository."""
        return self.folder / "workspace"

    @classmethod
    def open(
        cls,
        folder: Path,
        record: TrialRecord,
        observers: Iterable[Observer] = (),
        begun: Callable[[], None] = lambda: None,
    ) -> Trial:
        """Make the folder, or resume it. Raises TrialError if it is locked, damaged or another
        trial's. `begun` is called of a new one, once its Job is written.
        """
        trial = cls(folder, record, observers)
        trial.lock()
        try:
            begins = not (folder / TRIAL).exists()
            if not begins:
                trial.record = read_record(folder)
                trial.load(repair=True)
                begins = trial._is_asked_anew(record)
            if begins:
                trial.record = record
                (folder / RESULT).unlink(missing_ok=True)  # of a program that wasn't run
                write_whole(folder / JOB, record.job.fixed().model_dump_json(indent=1) + "\n")
                begun()
                write_whole(folder / TRIAL, record.model_dump_json(indent=1))
                trial.load(repair=True)
            Tree(trial.workspace).make_root()
        except BaseException:
            trial.close()
            raise
        return trial

    def _is_asked_anew(self, record: TrialRecord) -> bool:
        """True if nothing was done yet and another model, or another server, is asked than before,
        or the program is run otherwise: what was wrong may be corrected. Raises TrialError for any
        other difference.
        """
        old, new = self.record.job.decides(), record.job.decides()
        if self.steps:
            refuse_other(self.folder, old, new)
            return False
        names = {f"settings {name}" for name, one in FLAGS.items() if one.path[0] == "model"}
        names |= {f"program's {name}" for name in HOW_IT_IS_RUN}
        refuse_other(self.folder, _without(names, old), _without(names, new))
        server = (one.inputs.get("server") for one in (self.record, record))
        return old != new or len(set(server)) > 1

    @classmethod
    def read(cls, folder: Path) -> Trial:
        """A trial to be read: nothing is locked or written."""
        if not (folder / TRIAL).exists():
            raise TrialError(
                f"{folder} isn't a trial folder (it has no {TRIAL})", fix="name one below runs/"
            )
        trial = cls(folder, read_record(folder))
        trial.load()
        trial.altered = trial.altered or result_warning(folder)
        return trial

    def _done(self, *asked: Any, **more: Any) -> Step:  # what a program writes counts from here on
        self._written.begin()
        return super()._done(*asked, **more)

    def append(self, role: str, name: str, asked: object, result: AnyResult, began: float) -> None:
        """Write a step that was done beside others, which no resumed trial will ask for again.

        `began` by the monotonic clock. Not safe for threads: the caller has a lock.
        """
        step = self._done(role, name, digest(asked), lambda: result, began)
        for observer in self.observers:
            observer.step(step, False)

    def pass_over(self) -> list[Step]:
        """The steps up to the next execution, read as replayed: nobody asks for them one by one.

        They are the calls of an agent that is a program of its own.
        """
        passed = []
        while (step := self.next_step) is not None and step.kind != "execute":
            passed.append(step)
            self._next += 1
            for observer in self.observers:
                observer.step(step, True)
        return passed

    def output(self, text: str) -> None:
        """Pass on what a running program prints, and what it writes into files as steps."""
        for observer in self.observers:
            observer.output(text)
        self._written.tell(self.observers)

    def added_step(
        self,
        kind: type[StepResult],
        role: str,
        name: str,
        asked: object,
        do: Callable[[], StepResult],
    ) -> StepResult:
        """The result of a step that may be added after all others, also of an earlier process.

        It is looked up by phase, name and what was asked, anywhere.
        """
        wanted = (self.phase_name, name, digest(asked))
        for place, step in enumerate(self.steps):
            if (step.phase, step.name, step.digest) == wanted:
                self._next = place
                break
        else:
            self._next = len(self.steps)
        return self.step(kind, role, name, asked, do)

    def added_phase(self, name: str) -> None:
        """Begin a phase that may be added after all others: where an earlier process began it, its
        steps answer.
        """
        self.phase(name)
        known = (place for place, step in enumerate(self.steps) if step.phase == name)
        self._next = next(known, len(self.steps))

    def write_result(self, result: Result) -> None:
        """Write result.json, after all that it was made from."""
        result.seal = seal(self.folder, result.model_dump_json())
        self.write(RESULT, result.model_dump_json(indent=1))

    @property
    def result(self) -> Result | None:
        """How it ended, None while it has not. Raises TrialError if result.json is damaged."""
        return read_result(self.folder)


def _without(names: Collection[str], parts: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parts.items() if name not in names}


def read_record(folder: Path) -> TrialRecord:
    """What trial.json and job.json say. Raises TrialError if one is missing or damaged."""
    path = folder / TRIAL
    try:
        told = dict(parse_json(read_plain(path)))
        job = read_job(folder / JOB)
        if job.task is None:
            raise TrialError(f"{folder / JOB} names no task", fix=f"restore it, or {NEW_TRIAL}")
        return TrialRecord.model_validate({**told, "job": job})
    except (ValueError, TypeError) as error:  # no text, no JSON, or other fields
        # never the whole error: it quotes the file, which may be a link to one of the user's
        why = error.errors()[0]["msg"] if isinstance(error, ValidationError) else "no text"
        raise TrialError(
            f"{path} cannot be read ({why})", fix=f"restore it, or {NEW_TRIAL}"
        ) from error

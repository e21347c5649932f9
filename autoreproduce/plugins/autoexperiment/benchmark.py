"""AutoExperiment as a suite takes it: masked tasks of one set, by how many functions are masked."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator

from autoreproduce.plugins.autoexperiment.environment import data_folder
from autoreproduce.plugins.autoexperiment.outcome import RAN, TaskOutcome, judge
from autoreproduce.plugins.autoexperiment.running import made_of
from autoreproduce.plugins.autoexperiment.selection import select_tasks
from autoreproduce.plugins.autoexperiment.tasks import load_task, masked_of, open_set
from autoreproduce.plugins.autoexperiment.unmasked import scorable
from autoreproduce.sandboxes.package_lists import with_packages
from autoreproduce.trials.measurement import Measurement, not_measured
from autoreproduce.trials.steps import ExecutionResult

if TYPE_CHECKING:
    from autoreproduce.contracts import Submission
    from autoreproduce.sandboxes.setup import SandboxSetup
    from autoreproduce.task import Task
    from autoreproduce.trials.trial import Trial


class AutoExperiment:
    """Papers with code of which some functions are masked, and the numbers that come out of it."""

    method = "autoreproduce.plugins.autoexperiment.loop:MaskedLoop"
    takes_coder = True  # of the method
    suite_page = "autoreproduce.plugins.autoexperiment.pass_tables:suite_page"

    class Options(BaseModel):
        """Which set, and which of its tasks a suite of all of them takes."""

        model_config = ConfigDict(extra="forbid")

        dataset: Path | None = Field(None, description="the set's folder; the one that ships")
        n: list[int] = Field([1], description="how many functions are masked")
        gold: Literal["set", "here"] = Field(
            "set", description="here: the numbers that the code as it is gives on this machine"
        )
        sample: int | None = Field(None, ge=1, description="so many of each n, by a fixed draw")

        @field_validator("n", mode="before")
        @classmethod
        def _one_or_several(cls, given: Any) -> Any:
            return [given] if isinstance(given, int) else given

    def __init__(self, options: Options) -> None:
        self.options = options

    def names(self) -> list[str]:
        """The combined ids with n functions masked."""
        chosen = self.options
        found = select_tasks(open_set(chosen.dataset), chosen.n, sample=chosen.sample)
        return [task.id for task in found]

    def load(self, name: str, profile: str) -> Task:
        """The masked task with this combined id. Raises UsageError where the set lacks it."""
        return load_task(name, profile, self.options.dataset, self.options.gold)

    def prepare(
        self, task: Task, cache: Path, note: Callable[[str], None], given: Path | None = None
    ) -> Task:
        """The task with the data that its code reads, where it reads any."""
        found = data_folder(masked_of(task), cache, note, given)
        return task.model_copy(update={"data_dir": found})

    def ready(self, task: Task, sandboxes: SandboxSetup) -> SandboxSetup:
        """The sandboxes with the set's packages, in which its code as it is gave the gold."""
        masked = masked_of(task)
        own = with_packages(sandboxes, made_of(masked).packages)
        scorable(masked, own, here=_gold_is_here(task))
        return own

    def measure(
        self, task: Task, submission: Submission, trial: Trial, sandboxes: SandboxSetup
    ) -> Measurement:
        """Whether the numbers come out in a clean copy with nothing but the attempt's functions."""
        missing = not_measured(submission)
        if missing is not None:
            return missing
        trial.phase("full_run")
        run = trial.step(
            ExecutionResult,
            "sandbox",
            "judge",
            [task.id, submission.answer],
            lambda: _judged(task, submission.answer, trial, sandboxes),
        )
        return measurement_of(TaskOutcome.model_validate(run.judged))


def _judged(task: Task, answer: Any, trial: Trial, sandboxes: SandboxSetup) -> ExecutionResult:
    """The run in the clean copy as a step of the journal."""
    masked, here = masked_of(task), _gold_is_here(task)
    if here:
        masked = scorable(masked, sandboxes, here=True)
    found = judge(masked, trial.workspace, sandboxes, answer=answer)
    if here:
        found.notes.insert(0, "the gold was measured on this machine")
    return ExecutionResult(
        command="bash refsol.sh",
        exit_code=0 if found.numbers else 1,
        stdout=found.reason,
        seconds=found.seconds,
        judged=found.model_dump(mode="json"),
    )


def _gold_is_here(task: Task) -> bool:
    return task.benchmark_options.get("gold") == "here"


def measurement_of(found: TaskOutcome) -> Measurement:
    """Passed where the strict rule passes; the public rule and the losses are in the summary."""
    passed = found.strict.passed
    return Measurement(
        metrics={"passed": float(passed)},
        value=float(passed),
        recomputed=True,
        reason=found.reason or found.kind,
        passed=passed,
        phase="full_run",
        notes=found.notes,
        summary={
            "n": found.n,
            "paper": found.paper_id,
            "kind": found.kind,
            "ran": found.kind in RAN,
            "upstream": found.upstream.passed,
            "losses": found.strict.losses,
            "numbers": found.numbers,
        },
        details=found.model_dump(mode="python"),
    )


def task_outcome(measurement: Measurement) -> TaskOutcome | None:
    """What a measurement of a masked task holds in full; None where it was not measured."""
    return TaskOutcome.model_validate(measurement.details) if measurement.details else None

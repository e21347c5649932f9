"""Runs a program that someone else wrote, as it lies in its trial: no model is asked.

Whoever hands it in says how it is run and where its numbers are (`score --run`, `verify
--metric-from`); the program is in the trial before (`evaluation.submission.put_in`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from autoreproduce.contracts import Need, Submission
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.outside_run import (
    at_seed,
    read_files,
    read_outside_run,
    submission_of,
)
from autoreproduce.evaluation.submission import not_run
from autoreproduce.files.tree import Tree
from autoreproduce.trials.run import Run, run_program
from autoreproduce.trials.steps import ExecutionResult

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.contracts import Sandbox
    from autoreproduce.models import Models
    from autoreproduce.task import Task
    from autoreproduce.trials.trial import Trial


class OutsideProgram:
    """The program once in full by the user's command; what the journal holds is not run again."""

    needs: frozenset[Need] = frozenset()

    def __init__(self, settings: Settings, **_: Any) -> None:
        self.settings = settings

    def solve(self, task: Task, models: Models, sandbox: Sandbox, trial: Trial) -> Submission:
        """What the run left to measure; failed if it was stopped or failed by itself."""
        if trial.record.job.of_program.run is None:
            return not_run()
        asked = read_outside_run(trial.folder)
        if asked is None:
            raise UsageError(
                f"{trial.folder} doesn't hold the whole program",
                fix=f"type again what began it: {trial.record.command or 'score or verify'}",
            )
        trial.phase("full_run")
        limit = (self.settings.method.time_limit_minutes or task.time_limit_minutes) * 60
        run = Run(
            at_seed(asked.command, trial.record.seed),
            limit,
            before=asked.place.link_line,
            files=asked.beside,
            results=(),  # its own files are its own
            counted=True,
            data_at=asked.place.mount,
            read=read_files(asked.metric_from),
        )

        def execution() -> ExecutionResult:
            return trial.step(
                ExecutionResult,
                "sandbox",
                "submission",
                asked.asked,
                lambda: run_program(sandbox, Tree(trial.workspace), run, trial.output),
            )

        result = execution()
        while result.stopped == "timeout" and (trial.replaying or 0 < result.allowed < limit):
            result = execution()  # more time is given than it had
        done = result.execution
        if not done.stopped:
            return submission_of(done, trial.workspace, asked.metric_from)
        why = f"the run was stopped: {done.stopped}"
        if done.stopped == "timeout":
            why = f"it was stopped at its limit of {limit / 60:g} minutes (--time-limit-minutes)"
        return Submission("failed", why, "full_run", run=done)

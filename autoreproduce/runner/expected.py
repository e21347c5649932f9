"""How long a trial may still take: by earlier trials of the task, and by its dry run's rate.

Earlier trials are those below the same folder of runs with the same task, profile and solver; the
middle of their times counts. The dry run's rate gives a least time of the full run
(`method.time_prediction`), which is all that is known of a task's first trial.
"""

import statistics
from collections.abc import Sequence
from pathlib import Path

from autoreproduce.method.results import Run
from autoreproduce.method.time_prediction import planned_steps, step_times
from autoreproduce.task import Task
from autoreproduce.trials.steps import ExecutionResult, Step
from autoreproduce.trials.summary import summaries_below
from autoreproduce.trials.trial import Outcome

FULL_RUN = "full_run"
MOST = 20  # of the newest earlier trials that are read


def earlier_outcomes(runs: Path, task: Task, solver: str) -> list[Outcome]:
    """How measured trials of the same task, profile and solver below `runs` ended."""
    wanted = (task.id, task.profile, solver)
    return [
        outcome
        for trial in summaries_below(runs)[-MOST:]
        if (record := trial.record) and (outcome := trial.outcome)
        if (record.task, record.profile, record.solver) == wanted and outcome.status == "measured"
    ]


def _full_run_seconds(outcome: Outcome) -> float:
    seconds = outcome.phases.get(FULL_RUN, {}).get("seconds", 0.0)
    return float(seconds) if isinstance(seconds, int | float) else 0.0


class RemainingTime:
    """Takes in a trial's phases and steps, and says what may be left. `now`: seconds since it
    began.
    """

    def __init__(self, earlier: Sequence[Outcome] = ()) -> None:
        self._whole = statistics.median([one.seconds for one in earlier]) if earlier else 0.0
        runs = [seconds for one in earlier if (seconds := _full_run_seconds(one)) > 0]
        self._full_run = statistics.median(runs) if runs else 0.0
        self._least = 0.0  # of the full run, by the dry run
        self._began: float | None = None  # when the full run did
        self._replayed = 0.0  # seconds of steps from the journal, which took no time now

    def phase(self, name: str, now: float) -> None:
        """A phase begins."""
        if name == FULL_RUN:
            self._began = now

    def step(self, step: Step, replayed: bool) -> None:
        """A step ended: a run that was watched gives a rate."""
        self._replayed += step.seconds if replayed else 0.0
        if isinstance(step.result, ExecutionResult) and step.phase != FULL_RUN:
            run = Run.of(step.result)
            times, (steps, _) = step_times(run), planned_steps(run, ())
            if times is not None and steps:
                self._least = times.before + steps * times.each

    def seconds(self, now: float) -> float | None:
        """What may be left; None if nothing is known, or it takes longer than was expected."""
        expected = []
        if self._whole:
            expected.append(self._whole - self._replayed - now)
        if self._began is not None:
            run = max(self._full_run, self._least)
            expected = [run - (now - self._began)] if run else expected
        left = max(expected, default=0.0)
        return left if left > 0 else None

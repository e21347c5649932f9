"""How long the full run will take, from what the dry run took.

The probe counts the steps of the dry run's optimiser and times them. How many steps the full run
makes is said by the program itself (`planned_steps` among the settings in metrics.json, with how
many processes share them), else by the choices. Evaluation and what a dry run cuts is not known, so
a prediction is a least time. Other work on the machine slows a dry run down, so the time without
that load is given beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Sequence

    from autoreproduce.claims.choices import Choice
    from autoreproduce.method.results import Run

PLANNED = "planned_steps"
PARALLEL = "parallel_processes"


@dataclass(frozen=True)
class StepTimes:
    """What was timed of a run: seconds before its first step, steps, seconds from one to the
    next.
    """

    before: float
    steps: int
    each: float


def step_times(run: Run) -> StepTimes | None:
    """The times of a watched run; None if fewer than two steps were seen."""
    if run.seen is None:
        return None
    steps, seconds = run.seen.steps_timed or 0, run.seen.seconds_stepping or 0.0
    if steps < 2 or seconds <= 0:
        return None
    return StepTimes(run.seen.seconds_before or 0.0, steps, seconds / (steps - 1))


def planned_steps(run: Run, choices: Sequence[Choice]) -> tuple[int, str]:
    """How many steps the full run makes, and who says so; (0, "") if nobody does."""
    if (number := _whole(_settings(run).get(PLANNED))) > 0:
        return number, "by the program's own planned_steps"
    by_key = {choice.key: choice.value for choice in choices if choice.key}
    if (number := _whole(by_key.get("steps"))) > 0:
        return number, "by the choices"
    epochs, batches = (_whole(by_key.get("epochs")), _whole(run.seen.batches if run.seen else None))
    if epochs > 0 and batches > 0:
        return epochs * batches, f"{epochs} epochs of {batches} batches"
    return 0, ""


def prediction(run: Run, choices: Sequence[Choice], minutes: float, cores: float = 1) -> str:
    """The least time of the full run on `cores` in a few sentences, against its limit, and what it
    would be without other work on the machine; "" if unknown.
    """
    times, (steps, by) = step_times(run), planned_steps(run, choices)
    if times is None or not steps:
        return ""
    processes = parallel_processes(run, cores)
    least = (times.before + steps / processes * times.each) / 60
    alone = least / slowdown(run, cores)
    return (
        f"The dry run took {times.before:.1f} s before its first step and {times.each:.3g} s a "
        f"step. With {steps:,} steps ({by}) in {processes} process(es) at a time the full run "
        f"takes at least {least:.1f} minutes, {least / minutes:.2f} times the {minutes:g} minutes "
        f"that it has. The machine (cores: {run.machine_cores or cores:g}) had a load of "
        f"{run.load or 0.0:.1f} from other work then; without it these are {alone:.1f} minutes, "
        f"{alone / minutes:.2f} times."
    )


def parallel_processes(run: Run, cores: float) -> int:
    """How many processes share the steps, by the program's own word; no more than cores."""
    said = _whole(_settings(run).get(PARALLEL))
    return max(1, min(said, int(cores)))


def slowdown(run: Run, cores: float) -> float:
    """By which factor other work slowed the run down: what all of it wanted, of what there is."""
    if not run.machine_cores:
        return 1.0
    wanted = (run.load or 0.0) + min(cores, run.machine_cores)
    return max(1.0, wanted / run.machine_cores)


def measured_rate(run: Run) -> str:
    """How far a full run came until it was stopped, in a sentence; "" if nothing was seen."""
    times = step_times(run)
    if times is None:
        return ""
    epochs = run.seen.epochs if run.seen else None
    done = f" ({epochs:.2f} epochs)" if isinstance(epochs, float) else ""
    planned = _whole(_settings(run).get(PLANNED))
    of = f" of {planned:,}" if planned > 0 else ""
    return (
        f"It took {times.before:.1f} s before its first step, then made {times.steps:,}{of} steps"
        f"{done}, {times.each:.3g} s a step."
    )


def _settings(run: Run) -> dict[str, Any]:
    return run.written.settings if run.written else {}


def _whole(value: Any) -> int:
    """A whole number, 0 for all else."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return 0
    return int(value) if abs(value) < 1e15 else 0

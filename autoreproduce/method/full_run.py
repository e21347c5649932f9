"""The full run (the paper's section 3.3): the clean program in its time limit.

What it left is measured by others: by the task's benchmark, by the same rules for every solver. A
run that reaches its limit is fixed once, with the rate that was measured, and run again; with a
larger limit it is run again as it is. Both continue from its checkpoint, if it wrote one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from autoreproduce.method.coding import mend
from autoreproduce.method.debugging import fix_once
from autoreproduce.method.experiment_execution import unmet
from autoreproduce.method.phase import GaveUpError, Phase, PhaseResult
from autoreproduce.method.results import discards, results_problem
from autoreproduce.method.time_prediction import measured_rate
from autoreproduce.trials.run import CHECKPOINT

if TYPE_CHECKING:
    from autoreproduce.method.workbench import Workbench
    from autoreproduce.trials.steps import ExecutionResult

MAX_RUNS = 3  # a failed one costs its whole time
WENT_ON = "the full run was interrupted and continued from the checkpoint it had written"
MIXED = (
    "the full run was stopped at its limit, the program was changed, and a checkpoint of the "
    "version before was there to continue from: read whether the number rests on both"
)
FULL_RUN = Phase("full_run", "main.py", "python main.py", stage="experiment", reviewed=False)


def run_in_full(bench: Workbench) -> PhaseResult:
    """Run until a full run passes; an error is fixed as in every phase."""
    try:
        return _run_until_it_passes(bench)
    except GaveUpError as error:
        return PhaseResult("failed", f"it cannot be done: {error}", 0)


def _run_until_it_passes(bench: Workbench) -> PhaseResult:
    history: list[str] = []
    warnings: tuple[str, ...] = ()
    run, fixed_time = _execute(bench), False
    while problem := results_problem(bench.task, run):
        if run.interrupted:
            run, warnings = _after_interruption(bench, run)
            continue
        if run.timed_out:
            then = after_time_out(bench, run, fixed_time)
            if then == "end":
                break
            if then == "fix":
                history.append(_mended(bench, run, time_problem(run), history))
                fixed_time = True
                warnings = (MIXED,) if run.checkpoint else ()
            run = _execute(bench, continued=True)
            continue
        if not bench.settings.method.debug or len(history) - fixed_time == MAX_RUNS - 1:
            break
        try:
            history.append(_mended(bench, run, problem, history))
        except GaveUpError:
            if discards(bench.task, run, problem):
                raise
            break
        run, warnings = _execute(bench), ()
    if problem and not discards(bench.task, run, problem):
        return PhaseResult("ran", problem, len(history), run, warnings)
    if problem:
        warnings = (partial_words(run),) if run.timed_out else ()
        return PhaseResult("failed", problem, len(history), run, warnings)
    if not run.execution.decoys:  # against these, one about the error fails though it is true
        warnings += tuple(f"an expectation does not hold: {text}" for text in unmet(bench, run))
    return PhaseResult("matched", "it ran in full", len(history), run, warnings)


def _mended(bench: Workbench, run: ExecutionResult, problem: str, history: list[str]) -> str:
    """Have whoever wrote the program mend it; the line about it for the history."""
    if bench.coder is not None:
        return mend(bench, bench.coder, run, problem)
    return fix_once(bench, FULL_RUN, run, problem, history)


def _after_interruption(
    bench: Workbench, run: ExecutionResult
) -> tuple[ExecutionResult, tuple[str, ...]]:
    """The same program, from its checkpoint, and a word on it. No dry run has tried to read one:
    where that fails it begins anew, and nobody is asked.
    """
    following = _execute(bench, continued=True)
    if run.checkpoint and not (following.execution.ok or following.execution.stopped):
        bench.trial.note("the run could not continue from its checkpoint: it starts over")
        return _execute(bench), ()
    return following, (WENT_ON,) if run.checkpoint else ()


def after_time_out(
    bench: Workbench, run: ExecutionResult, fixed: bool
) -> Literal["run", "fix", "end"]:
    """What follows a run that was stopped at its limit: what the journal holds; else, if there is
    more time now, the same again; else one fix.
    """
    if (following := bench.trial.next_step) is not None:
        again = following.kind == "execute" and following.phase == FULL_RUN.name
        return "run" if again else "fix"
    if bench.full_run_minutes * 60 > run.allowed:
        return "run"
    return "fix" if bench.settings.method.debug and not fixed else "end"


def time_problem(run: ExecutionResult) -> str:
    """What is asked of the code agent after a run that reached its limit."""
    minutes = f"{run.allowed / 60:g} minutes"
    checkpoint = (
        f" Its {CHECKPOINT} is still there and your version may continue from it; if what it holds "
        f"does not fit your version, do not read it."
        if run.checkpoint
        else ""
    )
    return (
        f"it was still running at its limit of {minutes}. {measured_rate(run)} It must end within "
        f"{minutes}, evaluation included: first make it faster without changing its result; only "
        f"if that is not enough, make fewer steps or epochs, as few fewer as fit.{checkpoint}"
    )


def partial_results(run: ExecutionResult) -> dict[str, Any]:
    """What a run that was stopped at its limit had left until then."""
    return {
        "metrics": run.written.metrics if run.written else {},
        "seconds": run.execution.seconds,
        "checkpoint": run.checkpoint,
        "epochs": len(run.written.history) if run.written else 0,
    }


def partial_words(run: ExecutionResult) -> str:
    """The same in a sentence, for the warnings."""
    left = partial_results(run)
    numbers = ", ".join(f"{name} {value:.6g}" for name, value in left["metrics"].items())
    return (
        f"partial: the full run was stopped at its limit of {run.allowed / 60:g} minutes. "
        f"{measured_rate(run)} Until then it had written {numbers or 'no number'}"
        f"{', and a checkpoint' if run.checkpoint else ''}; the same command with a larger "
        "--time-limit-minutes continues without a model call"
    )


def _execute(bench: Workbench, *, continued: bool = False) -> ExecutionResult:
    seconds = bench.full_run_minutes * 60
    command, name = FULL_RUN.command, FULL_RUN.name
    return bench.run(command, seconds, name, counted=True, continued=continued)

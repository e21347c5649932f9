"""The final program again with other seeds, as many as were asked for or as its time allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from autoreproduce.claims.verdicts.comparable import MISSED
from autoreproduce.claims.verdicts.distribution import FEWEST_SEEDS
from autoreproduce.claims.verdicts.readings import JUDGED
from autoreproduce.claims.verdicts.trial_verdict import SeedRun
from autoreproduce.evaluation.report.wording import duration, plural
from autoreproduce.evaluation.scorers.execution import last_run
from autoreproduce.papers.numbers import same_number
from autoreproduce.runner.many_seeds import LEAST_SECONDS, MOST_SECONDS, MOST_UNASKED, many_seeds
from autoreproduce.runner.readings import SLACK
from autoreproduce.runner.repeater import Repeater, seed_run
from autoreproduce.trials.measurement import Measurement
from autoreproduce.trials.trial import Trial

if TYPE_CHECKING:
    from autoreproduce.config import Settings

PHASE = "seeds"
FEW_SEEDS = 5  # that show how much a number moves


def seed_runs(
    trial: Trial,
    settings: Settings,
    repeater: Repeater | None,
    first: Measurement,
    words: Callable[[list[SeedRun]], set[str]] = lambda runs: set(),
    say: Callable[[list[SeedRun], str], None] = lambda runs, follows: None,
) -> list[SeedRun]:
    """The run in full, whose measurement is `first`, and those with the next seeds.

    There are as many as `settings.seeds` says, and those that were made before. If nobody said, a
    fast program whose claims have such `words` that more may tell something is run with as many as
    its time allows, and a slower one that misses a number, whose noise one run doesn't show, with a
    few. `say` is told of the runs so far before others follow. Raises SandboxError if none works.
    """
    seed, ran = trial.record.seed, last_run(trial)
    runs = [seed_run(seed, first, ran.result.execution.seconds if ran else 0.0)]
    asked = max(settings.seeds, _runs_before(trial, seed))
    if ran is None:
        return runs
    unasked = "seeds" not in settings.given() and asked == 1
    needed = SLACK * (FEWEST_SEEDS - 1) * runs[0].seconds  # for a distribution
    few = SLACK * (FEW_SEEDS - 1) * runs[0].seconds
    own = repeater is not None and _is_own_word(repeater, first)
    fast = own and needed <= MOST_SECONDS
    if unasked and not (
        own and few <= MOST_SECONDS and words(runs) & set(JUDGED if fast else MISSED)
    ):
        return runs
    if repeater is None:
        if asked > 1:
            trial.note("seeds: the program is in no commit, so it cannot be run again")
        return runs
    wanted = range(seed + 1, seed + (MOST_UNASKED if unasked else asked))
    if wanted and (unasked or (fast and len(wanted) >= FEWEST_SEEDS - 1)):
        trial.phase(PHASE)
        seconds = max(LEAST_SECONDS, min(needed, MOST_SECONDS)) if unasked else repeater.limit
        if not trial.replaying:
            say(runs, f"More seeds follow, up to {math.ceil(seconds / 60)} min.")
        folder = trial.folder / PHASE / "many"
        many = many_seeds(repeater, folder, runs[0], wanted, seconds) if fast else None
        if unasked and many is None:
            many = _while_time_is(repeater, runs[0], wanted, seconds)
        if many == []:
            runs[0] = runs[0].model_copy(update={"any_seed": True})
        runs += many or []
    if unasked:
        return runs
    left = [number for number in wanted if number not in {run.seed for run in runs}]
    if left:
        trial.phase(PHASE)
        if not trial.replaying:
            about = duration(len(left) * runs[0].seconds)
            say(runs, f"{plural(len(left), 'more seed')} follow, about {about}.")
    for number in left:
        runs.append(repeater.run(trial.folder / PHASE / str(number), f"seed {number}", number))
    return runs


def _is_own_word(repeater: Repeater, first: Measurement) -> bool:
    """Whether further runs may go by what our program writes: it saw no decoys, and its word on
    the first run was true.
    """
    told = first.claimed is None or first.value is None or same_number(first.claimed, first.value)
    return repeater.outside is None and first.decoys is None and told


def _while_time_is(
    repeater: Repeater, first: SeedRun, wanted: Sequence[int], left: float
) -> list[SeedRun] | None:
    """Runs in a process each, within about `left` seconds; [] if the first of them gives the same
    numbers, None if none gives a number.
    """
    trial = repeater.trial
    runs: list[SeedRun] = []
    trial.phase(PHASE)
    for number in wanted:
        run = repeater.run(trial.folder / PHASE / str(number), f"seed {number}", number)
        left -= run.seconds
        if run.value is None and not run.metrics:
            trial.note(f"seed {number} gave no number: {run.reason}")
            return runs or None
        if not runs and run.metrics == first.metrics:
            return []
        runs.append(run)
        if run.seconds > left:
            break
    return runs


def missing_seeds(trial: Trial, seeds: int) -> bool:
    """True if there are fewer runs than `seeds`."""
    known = trial.result.claims if trial.result is not None else None
    there = len(known.runs) if known is not None else 1
    return max(there, _runs_before(trial, trial.record.seed)) < seeds


def _runs_before(trial: Trial, seed: int) -> int:
    """How many seeds the journal holds, the first included, without a gap."""
    done = {step.name for step in trial.steps if step.phase == PHASE}
    count = 1
    while f"seed {seed + count}" in done:
        count += 1
    return count

"""What came of an attempt on a masked task, by both rules.

`strict` believes no number that the attempt reports: the command is run again in a clean copy with
nothing of the submission but the bodies of the masked functions and their helpers, and each
function is called on inputs that were recorded (`behaviour`). A pass needs both. `upstream` is
the public rule, on the answer that the solver gave, or on the numbers of that run where it gave
none. Both are always stored. Whatever happens is an outcome with a kind and a reason; nothing here
stops a suite but a sandbox that itself fails.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from autoreproduce.errors import BudgetError, ContextError, SourceError
from autoreproduce.files.owner import remove_folder, temporary_folder
from autoreproduce.plugins.autoexperiment.behaviour import Behaviour, behaviour_of, watches
from autoreproduce.plugins.autoexperiment.compare import (
    Comparison,
    Tolerance,
    compare,
    upstream_losses,
)
from autoreproduce.plugins.autoexperiment.layout import LAID_OUT, copy_code, wanted_pairs
from autoreproduce.plugins.autoexperiment.running import Ran, made_of, run_experiments
from autoreproduce.plugins.autoexperiment.selection import MaskedTask
from autoreproduce.plugins.autoexperiment.transplant import left_behind, transplant_files
from autoreproduce.sandboxes.setup import SandboxSetup

NAN_STAYS = ConfigDict(ser_json_inf_nan="constants")  # a null could not be read again as a number
RAN = ("passed", "wrong numbers", "wrong behaviour")
NEVER_RUN = {
    ContextError.kind: "context exceeded",
    BudgetError.kind: "budget spent",
    "": "no usable reply",
}  # by the kind of the error


class Judged(BaseModel):
    """One rule's answer: whether all experiments pass, the loss of each, and why those that fail
    do.
    """

    model_config = NAN_STAYS

    passed: bool
    losses: dict[str, float]
    reasons: dict[str, str] = {}
    source: str = "rerun"


class TaskOutcome(BaseModel):
    """An attempt's end. `kind` is `passed`, `wrong numbers`, `wrong behaviour`, `no numbers`,
    `submission` or what stopped the command (or one of NEVER_RUN, for an attempt that ended before
    it was judged). `strict` passes if both the end numbers and the behaviour do.

    `exp_ids` has the paper's name of each `Experiment i`, which every task counts from 1 anew.
    """

    model_config = NAN_STAYS

    combined_id: str
    paper_id: str
    n: int
    kind: str
    reason: str
    strict: Judged
    upstream: Judged
    by_numbers: bool = False
    behaviour: dict[str, Behaviour] = {}
    exp_ids: dict[str, str] = {}
    numbers: dict[str, Any] = {}
    read_by: dict[str, str] = {}
    seconds: float = 0.0
    notes: list[str] = []


def judge(
    task: MaskedTask, submission: Path | None, sandboxes: SandboxSetup, *, answer: Any = None
) -> TaskOutcome:
    """Call the submission's functions on recorded inputs, run the task's command again in a clean
    copy with them, and judge by both rules.

    `submission` is a folder laid out as the workspace was, None for the code as it is. `answer` is
    what the solver reported, for the `upstream` rule. Each seed is compared with its own gold; the
    first that misses it is the last, and one is run if the behaviour is another. Raises
    SandboxError where no sandbox works; a bad submission is an outcome.
    """
    try:
        behaviour = behaviours(task, submission, sandboxes) if submission else {}
        draws = any(each.draws for each in behaviour.values())
        other = any(each.passed is False for each in behaviour.values())
        ran = run_seeds(task, submission, sandboxes, draws=draws, once=other)
    except (SourceError, OSError) as error:
        return unusable(task, str(error), answer)
    return outcome_of(task, ran, answer, behaviour)


def run_seeds(
    task: MaskedTask,
    submission: Path | None,
    sandboxes: SandboxSetup,
    *,
    draws: bool = False,
    once: bool = False,
) -> dict[int, Ran]:
    """The task's command run in clean copies for its seeds, or `once`, until one misses its gold.

    Raises SourceError or OSError for a bad submission, SandboxError where no sandbox works.
    """
    ran: dict[int, Ran] = {}
    with temporary_folder("autoexperiment-") as made:
        for seed in task.seeds:
            workspace = made / f"seed{seed}"
            copy_code(task.paper.code, workspace)
            notes = _transplanted(task, workspace, submission) if submission else []
            ran[seed] = run_experiments(task, workspace, sandboxes, seed)
            ran[seed].notes[:0] = notes
            remove_folder(workspace)
            if once or not _by_numbers(task, {seed: ran[seed]}, draws).passed:
                break
    return ran


def behaviours(task: MaskedTask, submission: Path, sandboxes: SandboxSetup) -> dict[str, Behaviour]:
    """What each of the submission's functions does, by `file::name`.

    Raises SourceError if the submission lacks one, SandboxError if no sandbox works.
    """
    with temporary_folder("autoexperiment-") as made:  # a bad submission is told as a whole
        copy_code(task.paper.code, made / "whole")
        transplant_files(made / "whole", submission, wanted_pairs(task))
    return {
        "::".join(each.pair): behaviour_of(each, submission) for each in watches(task, sandboxes)
    }


def outcome_of(
    task: MaskedTask,
    ran: Mapping[int, Ran],
    answer: Any = None,
    behaviour: Mapping[str, Behaviour] | None = None,
) -> TaskOutcome:
    """Judge runs of a task by seed; the last one's failures count, the first one's numbers stay."""
    first, last = next(iter(ran.values())), list(ran.values())[-1]
    behaviour = behaviour or {}
    draws = any(each.draws for each in behaviour.values())
    by_numbers = _by_numbers(task, ran, draws)
    strict = _with_behaviour(by_numbers, behaviour)
    if last.failed:
        name, (kind, reason) = next(iter(last.failed.items()))
        reason = f"{name}: {reason}"
    else:
        kind = "passed" if strict.passed else "wrong behaviour"
        kind = kind if by_numbers.passed else "wrong numbers"
        reason = "; ".join(f"{name}: {why}" for name, why in list(strict.reasons.items())[:3])
    notes = [note for each in ran.values() for note in each.notes] + [
        f"{name} is judged by the end numbers alone: {each.reason}"
        for name, each in behaviour.items()
        if each.passed is None
    ]
    if draws:
        notes.append("a function draws random numbers: each number may be as far off as seeds are")
    return TaskOutcome(
        combined_id=task.id,
        paper_id=task.paper.id,
        n=task.n,
        kind=kind,
        reason=reason,
        strict=strict,
        exp_ids=dict(zip(task.gold, task.exp_ids, strict=False)),
        by_numbers=by_numbers.passed,
        behaviour=dict(behaviour),
        upstream=_upstream(task, first.numbers, answer),
        numbers=first.numbers,
        read_by=first.read_by,
        seconds=sum(each.seconds for each in ran.values()),
        notes=list(dict.fromkeys(notes)),
    )


def tolerances_of(
    task: MaskedTask, name: str, draws: bool = False
) -> tuple[Tolerance, Mapping[str, Tolerance]]:
    """The tolerance of an experiment's leaves, and those of their own by path.

    `draws`: a masked function draws random numbers, and may draw them in another order.
    """
    made, exp_id = made_of(task), _exp_id(task, name)
    return made.tolerance, (draws and made.spread.get(exp_id)) or made.tolerances.get(exp_id, {})


def _exp_id(task: MaskedTask, name: str) -> str:
    number = list(task.gold).index(name)
    return task.exp_ids[number] if number < len(task.exp_ids) else ""


def _with_behaviour(by_numbers: Judged, behaviour: Mapping[str, Behaviour]) -> Judged:
    other = {
        f"behaviour of {name}": each.reason
        for name, each in behaviour.items()
        if each.passed is False
    }
    passed = by_numbers.passed and not other
    return by_numbers.model_copy(update={"passed": passed, "reasons": by_numbers.reasons | other})


def _by_numbers(task: MaskedTask, ran: Mapping[int, Ran], draws: bool) -> Judged:
    losses: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for name, gold in task.gold.items():
        own = made_of(task).golds.get(_exp_id(task, name), {})
        found = [_compared(task, name, own.get(str(seed), gold), ran[seed], draws) for seed in ran]
        losses[name] = sum(each.loss for each in found) / len(found)
        bad = next((each for each in found if not each.passed), None)
        if bad is not None:
            failed = [each.failed[name][1] for each in ran.values() if name in each.failed]
            reasons[name] = failed[0] if failed else bad.reason
    return Judged(passed=bool(task.gold) and not reasons, losses=losses, reasons=reasons)


def _compared(task: MaskedTask, name: str, gold: Any, ran: Ran, draws: bool) -> Comparison:
    if name not in ran.numbers:
        return Comparison(())  # no leaf: fails with a loss of 1
    return compare(gold, ran.numbers[name], *tolerances_of(task, name, draws))


def _upstream(task: MaskedTask, numbers: Mapping[str, Any], answer: Any) -> Judged:
    losses, passed = upstream_losses(task.gold, numbers if answer is None else answer)
    return Judged(passed=passed, losses=losses, source="rerun" if answer is None else "answer")


def _transplanted(task: MaskedTask, workspace: Path, submission: Path) -> list[str]:
    pairs = wanted_pairs(task)
    notes = transplant_files(workspace, submission, pairs)
    return notes + left_behind(
        task.paper.code, submission, [*LAID_OUT, *(file for file, _ in pairs)]
    )


def unusable(
    task: MaskedTask, reason: str, answer: Any = None, kind: str = "submission"
) -> TaskOutcome:
    """The outcome of an attempt that there was nothing to run of."""
    failed = Ran(failed=dict.fromkeys(task.gold, (kind, reason)))
    return outcome_of(task, {0: failed}, answer)

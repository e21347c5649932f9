"""What came of an attempt on a masked task, by both rules.

`strict` believes no number that the attempt reports: the command is run again in a clean copy with
nothing of the submission but the bodies of the masked functions and their helpers. `upstream` is
the public rule, on the answer that the solver gave, or on the numbers of that run where it gave
none. Both are always stored. Whatever happens is an outcome with a kind and a reason; nothing here
stops a suite but a sandbox that itself fails.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from autoreproduce.errors import BudgetError, ContextError, SandboxError, SourceError
from autoreproduce.plugins.masked.compare import Comparison, Tolerance, compare, upstream_losses
from autoreproduce.plugins.masked.layout import LAID_OUT, copy_code, wanted_pairs
from autoreproduce.plugins.masked.running import Ran, made_of, run_experiments
from autoreproduce.plugins.masked.selection import MaskedTask
from autoreproduce.plugins.masked.transplant import left_behind, transplant_files
from autoreproduce.sandboxes.owners import remove_folder, temporary_folder
from autoreproduce.sandboxes.setup import SandboxSetup

NAN_STAYS = ConfigDict(ser_json_inf_nan="constants")  # a null could not be read again as a number
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
    """An attempt's end. `kind` is `passed`, `wrong numbers`, `no numbers`, `submission` or what
    stopped the command (or one of NEVER_RUN, for an attempt that ended before it was judged).

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
    exp_ids: dict[str, str] = {}
    numbers: dict[str, Any] = {}
    read_by: dict[str, str] = {}
    seconds: float = 0.0
    notes: list[str] = []


def judge(
    task: MaskedTask,
    submission: Path | None,
    sandboxes: SandboxSetup,
    *,
    answer: Any = None,
    runs: int = 1,
) -> TaskOutcome:
    """Run the task's command again in a clean copy with the submission's functions, and judge by
    both rules.

    `submission` is a folder laid out as the workspace was, None for the code as it is. `answer` is
    what the solver reported, for the `upstream` rule. `runs` is for how many of the task's seeds
    the command is run; all must pass. Raises SandboxError where no sandbox works; a bad submission
    is an outcome.
    """
    ran: list[Ran] = []
    with temporary_folder("autoexperiment-") as made:
        for seed in made_of(task).seeds[: max(runs, 1)]:
            workspace = made / f"seed{seed}"
            try:
                copy_code(task.paper.code, workspace)
                notes = _transplanted(task, workspace, submission) if submission else []
            except (SourceError, SandboxError, OSError) as error:
                return unusable(task, str(error), answer)
            ran.append(run_experiments(task, workspace, sandboxes, seed))
            ran[-1].notes[:0] = notes
            remove_folder(workspace)
            if ran[-1].failed:
                break
    return outcome_of(task, ran, answer)


def outcome_of(task: MaskedTask, ran: Sequence[Ran], answer: Any = None) -> TaskOutcome:
    """Judge runs of a task, one a seed; the last one's failures count."""
    last = ran[-1]
    strict = _strict(task, ran)
    if last.failed:
        name, (kind, reason) = next(iter(last.failed.items()))
        reason = f"{name}: {reason}"
    else:
        kind = "passed" if strict.passed else "wrong numbers"
        reason = "; ".join(f"{name}: {why}" for name, why in list(strict.reasons.items())[:3])
    notes = dict.fromkeys(note for each in ran for note in each.notes)
    return TaskOutcome(
        combined_id=task.id,
        paper_id=task.paper.id,
        n=task.n,
        kind=kind,
        reason=reason,
        strict=strict,
        exp_ids=dict(zip(task.gold, task.exp_ids, strict=False)),
        upstream=_upstream(task, last.numbers, answer),
        numbers=last.numbers,
        read_by=last.read_by,
        seconds=sum(each.seconds for each in ran),
        notes=list(notes),
    )


def tolerances_of(task: MaskedTask, name: str) -> tuple[Tolerance, Mapping[str, Tolerance]]:
    """The tolerance of an experiment's leaves, and those of their own by path."""
    made = made_of(task)
    number = list(task.gold).index(name)
    exp_id = task.exp_ids[number] if number < len(task.exp_ids) else ""
    return made.tolerance, made.tolerances.get(exp_id, {})


def _strict(task: MaskedTask, ran: Sequence[Ran]) -> Judged:
    losses: dict[str, float] = {}
    reasons: dict[str, str] = {}
    for name, gold in task.gold.items():
        found = [_compared(task, name, gold, each) for each in ran]
        losses[name] = sum(each.loss for each in found) / len(found)
        bad = next((each for each in found if not each.passed), None)
        if bad is not None:
            reasons[name] = ran[-1].failed[name][1] if name in ran[-1].failed else bad.reason
    return Judged(passed=bool(task.gold) and not reasons, losses=losses, reasons=reasons)


def _compared(task: MaskedTask, name: str, gold: Any, ran: Ran) -> Comparison:
    if name not in ran.numbers:
        return Comparison(())  # no leaf: fails with a loss of 1
    return compare(gold, ran.numbers[name], *tolerances_of(task, name))


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
    return outcome_of(task, [failed], answer)

"""What came of an attempt on a masked task, by both rules.

`strict` believes no number that the attempt reports: the command is run again in a clean copy with nothing of the
submission but the bodies of the masked functions and their helpers. `upstream` is the public rule, on the answer
that the solver gave, or on the numbers of that run where it gave none. Both are always stored. Whatever happens is
an outcome with a kind and a reason; nothing here stops a suite but a sandbox that itself fails.
"""

from __future__ import annotations

import re
import shutil
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict

from autoreproduce import Sandbox
from autoreproduce.autoexperiment.compare import Comparison, Tolerance, compare, upstream_losses
from autoreproduce.autoexperiment.failing import why_failed
from autoreproduce.autoexperiment.layout import LAID_OUT, code_files, copy_code, digests, wanted_pairs, with_seed
from autoreproduce.autoexperiment.parsing import Read, read_output, read_results_file
from autoreproduce.autoexperiment.selection import MaskedTask
from autoreproduce.autoexperiment.taskset import PaperSet
from autoreproduce.autoexperiment.transplant import left_behind, transplant_files
from autoreproduce.config import Settings
from autoreproduce.errors import SandboxError, SourceError
from autoreproduce.sandboxes import open_sandbox

Note = Callable[[str], None]
NAN_STAYS = ConfigDict(ser_json_inf_nan="constants")  # a null could not be read again as a number
NEVER_RUN = {"ContextError": "context exceeded", "BudgetError": "budget spent", "": "no usable reply"}  # by the error
_ECHO = re.compile(r"^echo Experiment (\d+)[ \t]*\n", re.MULTILINE)


class Judged(BaseModel):
    """One rule's answer: whether all experiments pass, the loss of each, and why those that fail do."""

    model_config = NAN_STAYS

    passed: bool
    losses: dict[str, float]
    reasons: dict[str, str] = {}
    source: str = "rerun"


class TaskOutcome(BaseModel):
    """An attempt's end. `kind` is `passed`, `wrong numbers`, `no numbers`, `submission` or what stopped the command
    (or one of NEVER_RUN, for an attempt that ended before it was judged).

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


@dataclass
class Ran:
    """The experiments of a task, run once: their numbers, and for those without the kind and reason."""

    numbers: dict[str, Any] = field(default_factory=dict)
    read_by: dict[str, str] = field(default_factory=dict)
    failed: dict[str, tuple[str, str]] = field(default_factory=dict)
    seconds: float = 0.0
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Place:
    """Where commands run: the sandbox's settings, the data it sees, the packages installed for it, a label."""

    settings: Settings
    packages: Path
    data_dir: Path | None = None
    label: str = "autoexperiment"
    trusted: bool = False
    note: Note = lambda _: None
    told: set[str] = field(default_factory=set)  # what `note` was told of sandboxes, which are opened many times


def judge(task: MaskedTask, submission: Path | None, place: Place, *, answer: Any = None, runs: int = 1) -> TaskOutcome:
    """Run the task's command again in a clean copy with the submission's functions, and judge by both rules.

    `submission` is a folder laid out as the workspace was, None for the code as it is. `answer` is what the solver
    reported, for the `upstream` rule. `runs` is for how many of the task's seeds the command is run; all must pass.
    Raises SandboxError where no sandbox works; a bad submission is an outcome.
    """
    ran: list[Ran] = []
    with tempfile.TemporaryDirectory(prefix="autoexperiment-") as made:
        for seed in _made(task).seeds[: max(runs, 1)]:
            workspace = Path(made) / f"seed{seed}"
            try:
                copy_code(task.paper.code, workspace)
                notes = _transplanted(task, workspace, submission) if submission else []
            except (SourceError, OSError) as error:
                return unusable(task, str(error), answer)
            ran.append(run_experiments(task, workspace, place, seed))
            ran[-1].notes[:0] = notes
            shutil.rmtree(workspace, ignore_errors=True)
            if ran[-1].failed:
                break
    return outcome_of(task, ran, answer)


def run_experiments(task: MaskedTask, workspace: Path, place: Place, seed: int = 0) -> Ran:
    """Run each experiment of a task in `workspace`, which is changed; what the sandbox itself fails at is raised."""
    made, ran = _made(task), Ran()
    files = code_files(workspace)
    before = digests(workspace, files)
    with closing(open_place(place, workspace)) as sandbox:
        for name, command in split_solution(task.solution, list(task.gold)).items():
            left = made.timeout - ran.seconds
            if left <= 0:
                ran.failed[name] = ("timeout", f"{made.timeout:.0f} s were spent on the experiments before it")
                continue
            _run_one(sandbox, name, command, task.gold.get(name), made, seed, left, ran)
    changed = [name for name, digest in digests(workspace, files).items() if digest != before[name]]
    if changed:
        ran.notes.append(f"the command changes files of its own: {', '.join(changed[:10])}")
    return ran


def split_solution(solution: str, names: Sequence[str]) -> dict[str, str]:
    """The commands of each experiment, at the lines `echo Experiment i`; a text without them is the first's."""
    parts = _ECHO.split(solution if solution.endswith("\n") else f"{solution}\n")
    found = {f"Experiment {number}": text.strip() for number, text in zip(parts[1::2], parts[2::2], strict=True)}
    if parts[0].strip() and names:
        found.setdefault(names[0], parts[0].strip())
    return {name: found.get(name, "") for name in names}


def outcome_of(task: MaskedTask, ran: Sequence[Ran], answer: Any = None) -> TaskOutcome:
    """Judge runs of a task, one a seed; the last one's failures count."""
    last = ran[-1]
    strict = _strict(task, ran)
    if last.failed:
        name, (kind, reason) = next(iter(last.failed.items()))
        reason = f"{name}: {reason}"
    else:
        kind = "passed" if strict.passed else "wrong numbers"
        reason = "; ".join(f"{name}: {said}" for name, said in list(strict.reasons.items())[:3])
    notes = dict.fromkeys(note for each in ran for note in each.notes)
    return TaskOutcome(
        combined_id=task.id, paper_id=task.paper.id, n=task.n, kind=kind, reason=reason, strict=strict,
        exp_ids=dict(zip(task.gold, task.exp_ids, strict=False)),
        upstream=_upstream(task, last.numbers, answer), numbers=last.numbers, read_by=last.read_by,
        seconds=sum(each.seconds for each in ran), notes=list(notes),
    )  # fmt: skip


def tolerances_of(task: MaskedTask, name: str) -> tuple[Tolerance, Mapping[str, Tolerance]]:
    """The tolerance of an experiment's leaves, and those of their own by path."""
    made = _made(task)
    number = list(task.gold).index(name)
    exp_id = task.exp_ids[number] if number < len(task.exp_ids) else ""
    return made.tolerance, made.tolerances.get(exp_id, {})


def _made(task: MaskedTask) -> PaperSet:
    return task.paper.made or PaperSet()


def seeded(command: str, seed: int) -> str:
    """A bash line that runs `command` with a seed, in `{seed}` and in $SEED, and stops at the first line that fails."""
    return f"export SEED={seed} PYTHONHASHSEED={seed}\nset -e\n{with_seed(command, str(seed))}"


def open_place(place: Place, workspace: Path) -> Sandbox:
    """The sandbox of a place for a workspace. Raises SandboxError."""

    def once(text: str) -> None:
        if text not in place.told:
            place.told.add(text)
            place.note(text)

    return open_sandbox(
        place.settings, workspace, data_dir=place.data_dir, packages=place.packages, label=place.label,
        trusted=place.trusted, note=once,
    )  # fmt: skip


def _run_one(
    sandbox: Sandbox, name: str, command: str, gold: Any, made: PaperSet, seed: int, timeout: float, ran: Ran
) -> None:
    if not command:
        ran.failed[name] = ("no command", "the task has no command for it")
        return
    done = sandbox.execute(seeded(command, seed), timeout)
    ran.seconds += done.seconds
    if not done.ok:
        ran.failed[name] = why_failed(done)
        return
    read = _read(sandbox, done.stdout, gold, made)
    if read.value is None:
        ran.failed[name] = ("no numbers", read.how)
    else:
        ran.numbers[name], ran.read_by[name] = read.value, read.how


def _read(sandbox: Sandbox, output: str, gold: Any, made: PaperSet) -> Read:
    if made.results is None:
        return read_output(output, gold, made.patterns)
    try:
        return read_results_file(sandbox.read(made.results), gold)
    except (FileNotFoundError, SandboxError) as error:
        return Read(None, f"{made.results} was not written ({error})")


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
    return notes + left_behind(task.paper.code, submission, [*LAID_OUT, *(file for file, _ in pairs)])


def unusable(task: MaskedTask, reason: str, answer: Any = None, kind: str = "submission") -> TaskOutcome:
    """The outcome of an attempt that there was nothing to run of."""
    failed = Ran(failed=dict.fromkeys(task.gold, (kind, reason)))
    return outcome_of(task, [failed], answer)

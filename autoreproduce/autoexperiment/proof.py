"""A task is proven before it counts: masked it fails, restored it gives the gold, and no trivial body passes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

from autoreproduce.autoexperiment.functions import Function
from autoreproduce.autoexperiment.gold import gold_of
from autoreproduce.autoexperiment.layout import copy_code, wanted_pairs
from autoreproduce.autoexperiment.masking import RAISE, mask, read_source
from autoreproduce.autoexperiment.outcome import Place, TaskOutcome, judge, run_experiments
from autoreproduce.autoexperiment.selection import MaskedTask
from autoreproduce.autoexperiment.taskset import PaperSet, Proof
from autoreproduce.errors import AutoReproduceError, SandboxError, UsageError

Body = Callable[[Function], str | None]


def _first(function: Function) -> str | None:
    return f"return {function.parameters[0]}" if function.parameters else None


def _zeros(function: Function) -> str:
    """Zeros of the kind and shape of the first argument, where it is a number or an array."""
    if not function.parameters:
        return "return 0.0"
    name = function.parameters[0]
    return f"try:\n    return {name} * 0.0\nexcept Exception:\n    return 0.0"


TRIVIAL: dict[str, Body] = {
    "return None": lambda _: "return None",
    "zeros": _zeros,
    "the first argument": _first,
}


def prove(task: MaskedTask, place: Place, restored: TaskOutcome | None = None) -> Proof:
    """Try a task out. `restored` is the outcome of the code as it is, where it was had before.

    Raises SandboxError where no sandbox works; everything else is a proof that failed, with its reason.
    """
    runs: dict[str, str] = {}
    try:
        wanted_pairs(task)
        whole = restored or judge(task, None, place)
        runs["restored"] = _said(whole)
        if not whole.strict.passed:
            return _failed(task, f"the code as it is does not give the gold: {whole.reason}", runs)
        if not task.functions:
            return Proof(combined_id=task.id, proven=True, runs=runs)
        for name, body in {"masked": lambda _: RAISE, **TRIVIAL}.items():
            outcome = _with_bodies(task, place, body)
            if outcome is None:
                continue
            runs[name] = _said(outcome)
            if outcome.strict.passed:
                return _failed(task, _passes(name), runs)
    except SandboxError:
        raise
    except AutoReproduceError as error:
        return _failed(task, str(error), runs)
    return Proof(combined_id=task.id, proven=True, runs=runs)


def measured_here(task: MaskedTask, place: Place, runs: int = 2, floor: float = 0.05) -> MaskedTask:
    """The task with the gold that its code as it is gives on this machine, with the data that are there.

    For stand-in data, other hardware or other versions than the published numbers come from. Its experiments run
    `runs` times; tolerances come from the spread, no less than `floor`. Raises UsageError where one of them fails.
    """
    done = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="gold-") as made:
            workspace = Path(made) / "workspace"
            copy_code(task.paper.code, workspace)
            done.append(run_experiments(task, workspace, place))
        for name, (kind, reason) in done[-1].failed.items():
            raise UsageError(f"{task.id}: {name} does not run on the code as it is ({kind}): {reason}")
    golds = {name: gold_of([each.numbers[name] for each in done], floor) for name in task.gold}
    ids = task.exp_ids or tuple(str(number) for number in range(len(golds)))
    tolerances = {exp_id: gold.tolerances for exp_id, gold in zip(ids, golds.values(), strict=True)}
    known = task.paper.made or PaperSet()
    paper = replace(task.paper, made=known.model_copy(update={"tolerances": {**known.tolerances, **tolerances}}))
    return replace(task, paper=paper, exp_ids=ids, gold={name: gold.value for name, gold in golds.items()})


def _with_bodies(task: MaskedTask, place: Place, body: Body) -> TaskOutcome | None:
    """The outcome of a submission with these bodies; None where no function can have one."""
    with tempfile.TemporaryDirectory(prefix="proof-") as made:
        folder = Path(made) / "submission"
        copy_code(task.paper.code, folder)
        pairs = wanted_pairs(task)
        written = 0
        for file in dict.fromkeys(each for each, _ in pairs):
            source = read_source(folder, file)
            functions = [source.find(address) for each, address in pairs if each == file]
            bodies = [(function, text) for function in functions if (text := body(function)) is not None]
            (folder / file).write_bytes(mask(source, bodies).data)
            written += len(bodies)
        return judge(task, folder, place) if written else None


def _said(outcome: TaskOutcome) -> str:
    return outcome.kind if outcome.strict.passed else f"{outcome.kind}: {outcome.reason[:300]}"


def _passes(name: str) -> str:
    if name == "masked":
        return "it passes with its functions masked: the numbers do not depend on them, or are read from the disk"
    return f"a trivial body passes ({name})"


def _failed(task: MaskedTask, reason: str, runs: dict[str, str]) -> Proof:
    return Proof(combined_id=task.id, proven=False, reason=reason, runs=runs)

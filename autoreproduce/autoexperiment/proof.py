"""A task is proven before it counts: masked it fails, restored it gives the gold, and no trivial body passes."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from autoreproduce.autoexperiment.functions import Function
from autoreproduce.autoexperiment.layout import copy_code, wanted_pairs
from autoreproduce.autoexperiment.masking import RAISE, mask, read_source
from autoreproduce.autoexperiment.outcome import Place, TaskOutcome, judge
from autoreproduce.autoexperiment.selection import MaskedTask
from autoreproduce.autoexperiment.taskset import Proof
from autoreproduce.errors import AutoReproduceError, SandboxError

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

"""The proof of a task: masked it fails, restored it passes, and no trivial body passes.

If all trivial bodies stop the program, nothing showed that the numbers depend on what the functions
compute; the task is proven, and its proof says that it proved little.
"""

from __future__ import annotations

from autoreproduce.errors import AutoReproduceError, SandboxError
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.masked.layout import copy_code, wanted_pairs
from autoreproduce.plugins.masked.masking import RAISE, mask, read_source
from autoreproduce.plugins.masked.outcome import TaskOutcome, judge
from autoreproduce.plugins.masked.selection import MaskedTask
from autoreproduce.plugins.masked.taskset import MaskProof
from autoreproduce.plugins.masked.trivial import TRIVIAL, Body
from autoreproduce.sandboxes.owners import temporary_folder
from autoreproduce.sandboxes.setup import SandboxSetup

# Outcomes of a run that came to its numbers: what a body gave was looked at.
NUMBERS = ("passed", "wrong numbers")
LITTLE = "it proved little: every trivial body ended before the numbers"


def prove(task: MaskedTask, place: SandboxSetup, restored: TaskOutcome | None = None) -> MaskProof:
    """Run a task masked, restored and with trivial bodies. `restored`: that outcome, if known.

    Raises SandboxError if no sandbox works; everything else is a failed proof with its reason.
    """
    runs: dict[str, str] = {}
    try:
        wanted_pairs(task)
        whole = restored or judge(task, None, place)
        runs["restored"] = _outcome_text(whole)
        if not whole.strict.passed:
            return _failed_proof(
                task, f"the code as it is does not give the gold: {whole.reason}", runs
            )
        if not task.functions:
            return MaskProof(combined_id=task.id, proven=True, runs=runs)
        bodies: dict[str, Body] = {"masked": lambda _: RAISE, **TRIVIAL}
        kinds = set()
        for name, body in bodies.items():
            outcome = _with_bodies(task, place, body)
            if outcome is None:
                continue
            runs[name] = _outcome_text(outcome)
            if outcome.strict.passed:
                return _failed_proof(task, _reason_of_pass(name), runs)
            kinds.add(outcome.kind)
    except SandboxError:
        raise
    except AutoReproduceError as error:
        return _failed_proof(task, str(error), runs)
    note = "" if kinds & set(NUMBERS) else LITTLE
    return MaskProof(combined_id=task.id, proven=True, note=note, runs=runs)


def _with_bodies(task: MaskedTask, place: SandboxSetup, body: Body) -> TaskOutcome | None:
    """The outcome of a submission with these bodies; None if no function can have one."""
    with temporary_folder("proof-") as made:
        folder = made / "submission"
        copy_code(task.paper.code, folder)
        pairs = wanted_pairs(task)
        written = 0
        for file in dict.fromkeys(each for each, _ in pairs):
            source = read_source(folder, file)
            functions = [source.find(address) for each, address in pairs if each == file]
            bodies = [
                (function, text) for function in functions if (text := body(function)) is not None
            ]
            Tree(folder).write(file, mask(source, bodies).data)
            written += len(bodies)
        return judge(task, folder, place) if written else None


def _outcome_text(outcome: TaskOutcome) -> str:
    return outcome.kind if outcome.strict.passed else f"{outcome.kind}: {outcome.reason[:300]}"


def _reason_of_pass(name: str) -> str:
    if name == "masked":
        return (
            "it passes with its functions masked: the numbers do not depend on them, or are read "
            "from the disk"
        )
    return f"a trivial body passes ({name})"


def _failed_proof(task: MaskedTask, reason: str, runs: dict[str, str]) -> MaskProof:
    return MaskProof(combined_id=task.id, proven=False, reason=reason, runs=runs)

"""Does it run, and if not, why not: the last run in full, else the last run of any kind, from the journal.

Source: AutoReproduce (arXiv 2505.20662), section 4.3 (execution rate). The classes of failure are ours; they are
read off the limit that stopped the run and the last error it printed, and `other` is a class too: none is guessed.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Literal

from autoreproduce import Score

if TYPE_CHECKING:
    from autoreproduce.eval.scorers import Setup
    from autoreproduce.task import Task
    from autoreproduce.trial import Step, Trial

Failure = Literal["environment", "data", "shape", "dtype", "memory", "time", "other"]
_STOPPED: dict[str, Failure] = {"timeout": "time", "memory": "memory"}
# In the order in which they are tried on the last error; the most particular first.
_SIGNS: list[tuple[Failure, str]] = [
    ("memory", r"out of memory|MemoryError|Cannot allocate memory|bad_alloc|DefaultCPUAllocator"),
    ("environment", r"ModuleNotFoundError|ImportError|No module named|command not found|CUDA driver|undefined symbol|"
                    r"No such file or directory: '?(nvcc|gcc)|GLIBC|SyntaxError|IndentationError"),
    ("dtype", r"expected scalar type|expected (m1 and m2|all tensors).{0,40}dtype|must have the same dtype|"
              r"Found dtype|dtype mismatch|not implemented for '(Half|Long|Int|Double|Bool)|"
              r"can't convert np\.ndarray of type|"
              r"unsupported operand type|should be the same.{0,40}type|_UFuncNoLoopError|TypeError: .*dtype"),
    ("shape", r"size mismatch|mismatch in its core dimension|"
              r"shapes? .{0,60}(cannot be multiplied|not aligned|mismatch|invalid for)|"
              r"mat1 and mat2|must match the size|could not broadcast|broadcast(ed|ing)? together|"
              r"Expected .{0,40}(dimension|D )|expected input.{0,60}channels|Sizes of tensors must match|"
              r"inconsistent numbers? of samples|same number of dimensions|invalid for input of size|out of range"),
    ("data", r"FileNotFoundError|No such file or directory|KeyError: '?[\w./-]+'? is not a file|DATA_DIR|"
             r"is not a file in the archive|UnpicklingError|BadZipFile|EOFError|checksum|Dataset"),
]  # fmt: skip
_ERROR = re.compile(r"^[^\S\n]*([\w.]*(Error|Exception|Interrupt)\b.*|.*command not found.*|Killed.*)$", re.MULTILINE)


class ExecutionScorer:
    """1 where the program ran in full, 0 where it did not; no score where it was never run."""

    name = "execution"

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def score(self, trial: Trial, task: Task) -> Score:
        """From the outcome and the last run; the reason names the class of failure."""
        outcome, run = trial.outcome, last_run(trial)
        if outcome is not None and outcome.status == "stopped":
            return Score(self.name, None, f"not scored: the trial was stopped ({outcome.reason})")
        if run is None:
            if outcome is None or trial.record.solver == "external":
                return Score(self.name, None, "not scored: it was not run; --run COMMAND runs it in the sandbox")
            return Score(self.name, 0.0, f"it was never run: {outcome.reason}", {"failure": "other"})
        if outcome is not None and outcome.status == "succeeded":
            return Score(self.name, 1.0, "it ran in full", {"seconds": run.seconds, "command": run.result["command"]})
        return _failed(self.name, run, outcome.reason if outcome else "")


def _failed(name: str, run: Step, reason: str) -> Score:
    failure, error = classify(run.result)
    details: dict[str, Any] = {"failure": failure, "error": error, "command": run.result["command"]}
    if not run.result["exit_code"]:
        return Score(
            name, 0.0, f"other: {reason or 'it ended well and left no result'}", {**details, "failure": "other"}
        )
    return Score(name, 0.0, f"{failure}: {error}", details)


def last_run(trial: Trial) -> Step | None:
    """The last run in full, else the last of any phase, None where nothing was run."""
    runs = [step for step in trial.steps if step.kind == "execute"]
    full = [step for step in runs if step.phase == "full_run"]
    chosen = full or runs
    return chosen[-1] if chosen else None


def classify(result: dict[str, Any]) -> tuple[Failure, str]:
    """The class of a failed run and the line that says it.

    `result` is an Execution as a dict; what stopped it comes before what it printed.
    """
    if result.get("stopped"):
        return _STOPPED.get(result["stopped"], "other"), f"stopped: {result['stopped']}"
    output = f"{result.get('stdout', '')}\n{result.get('stderr', '')}"
    errors = [match[0].strip() for match in _ERROR.finditer(output)]
    last = errors[-1] if errors else " ".join(output.split())[-200:]
    kinds: list[Failure] = [kind for kind, sign in _SIGNS if re.search(sign, last, re.IGNORECASE)]
    return kinds[0] if kinds else "other", last[:300] or f"exit code {result.get('exit_code')}"

"""What every solver of masked functions does: lay the task out, let it work, and be judged by the harness alone."""

from __future__ import annotations

import ast
import json
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.autoexperiment.helpers import inside_strings, reindented, scopes
from autoreproduce.autoexperiment.layout import lay_out, wanted_pairs
from autoreproduce.autoexperiment.masking import read_source
from autoreproduce.autoexperiment.outcome import Place, TaskOutcome, judge
from autoreproduce.autoexperiment.source import Source
from autoreproduce.autoexperiment.transplant import transplant
from autoreproduce.benchmarks.autoexperiment import masked_of
from autoreproduce.content import folder
from autoreproduce.errors import CommandError, SourceError
from autoreproduce.prompting import Prompts
from autoreproduce.solvers.limits import Meter
from autoreproduce.trial import Outcome

if TYPE_CHECKING:
    from autoreproduce import Sandbox
    from autoreproduce.autoexperiment.selection import MaskedTask
    from autoreproduce.budget import Budget
    from autoreproduce.config import Settings
    from autoreproduce.task import Task
    from autoreproduce.trial import Trial

_BLOCK = re.compile(r"^(`{3,}|~{3,})(?:python|py)?[ \t]*\n(.*?)^\1[ \t]*$", re.DOTALL | re.MULTILINE)


class MaskedSolver:
    """The frame of an attempt; a solver fills in `attempt`, which may return the answer that it reports."""

    task: Task

    def __init__(self, settings: Settings, budget: Budget, **_: Any) -> None:
        self.settings = settings
        self.budget = budget
        self.prompts = Prompts(folder("prompts") / "autoexperiment", folder("prompts"))
        self.meter = Meter(settings)
        self.edits: dict[str, dict[str, int]] = {}

    def solve(self, task: Task, model: Any, sandbox: Sandbox, trial: Trial) -> None:
        """Lay out, attempt, judge by running the command again in a clean copy, write the outcome."""
        masked, self.task = masked_of(task), task
        if not trial.steps:
            shown = self.settings.retrieval != "none"
            lay_out(masked, trial.workspace, variant=self.settings.stub, paper=shown)
        trial.observers.append(self.meter)
        trial.phase("attempt")
        answer = self.attempt(masked, model, sandbox, trial)
        limit = self.meter.reached
        trial.phase("full_run")
        step = trial.step(
            "execute", "sandbox", "judge", [task.id, answer], lambda: self._judged(masked, task, trial, answer)
        )
        found = TaskOutcome.model_validate(step.result["judged"])
        trial.write("judged.json", found.model_dump_json(indent=1))
        outcome = outcome_of(found)
        outcome.edits = self.edits
        outcome.details["limit"] = limit
        trial.write("outcome.json", outcome.model_dump_json(indent=1))

    def attempt(self, masked: MaskedTask, model: Any, sandbox: Sandbox, trial: Trial) -> Any:
        """Write the functions in the trial's workspace; the answer that the solver reports, None for none."""
        raise NotImplementedError

    def _judged(self, masked: MaskedTask, task: Task, trial: Trial, answer: Any) -> dict[str, Any]:
        packages = trial.folder.resolve() / "packages"
        place = Place(self.settings, packages, task.data_dir, label=trial.folder.name)
        found = judge(masked, trial.workspace, place, answer=answer)
        return {
            "command": "bash refsol.sh", "exit_code": 0 if found.numbers else 1, "stdout": found.reason, "stderr": "",
            "seconds": found.seconds, "stopped": "", "judged": found.model_dump(mode="json"),
        }  # fmt: skip


def outcome_of(found: TaskOutcome) -> Outcome:
    """Succeeded where the strict rule passes; the public rule and the losses stand in the details."""
    passed = found.strict.passed
    return Outcome(
        status="succeeded" if passed else "failed", reason=found.reason or found.kind, phase="full_run",
        metrics={"passed": float(passed)}, metric=float(passed), recomputed=True, notes=found.notes,
        details={"n": found.n, "paper": found.paper_id, "kind": found.kind, "upstream": found.upstream.passed,
                 "losses": found.strict.losses, "numbers": found.numbers},
    )  # fmt: skip


def code_in(reply: str) -> str:
    """The Python of a reply: its last fenced block, or all of it. Raises CommandError where it is none."""
    blocks = _BLOCK.findall(reply)
    code = textwrap.dedent(blocks[-1][1] if blocks else reply).strip("\n") + "\n"
    try:
        ast.parse(code)
    except (SyntaxError, ValueError) as error:
        raise CommandError(f"the reply is no Python ({error}): answer with one fenced block") from None
    return code


def put_in(workspace: Path, file: str, address: str, code: str) -> None:
    """Write the function at `address` of a workspace's file from `code`, which holds its whole `def`.

    Raises CommandError where the code does not hold the function.
    """
    clean = read_source(workspace, file)
    try:
        done = transplant(clean, Source(_nested(clean, address, code).encode(), "the reply"), [address])
    except SourceError as error:
        raise CommandError(str(error)) from None
    (workspace / file).write_bytes(done.data)


def _nested(clean: Source, address: str, code: str) -> str:
    """The code in the classes or functions that the function stands in, so that it is found by the same address.

    What stands beside a method stands outside its class as well: it may be called by its name or by `self`.
    """
    target = clean.find(address)
    *outer, name = target.qualname.split(".")
    tree = ast.parse(code)
    if not outer or any(isinstance(node, ast.ClassDef) and node.name == outer[0] for node in tree.body):
        return code
    own = [node for node in tree.body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name == name]
    if not own:
        raise CommandError(f"the reply has no function {name}: write its whole def, at the left margin")
    gone = {line for node in own for line in range(node.lineno, (node.end_lineno or 0) + 1)}
    beside = [line for n, line in enumerate(code.split("\n"), 1) if n not in gone] if target.in_class else []
    around = scopes(clean.tree, target.node)[1:]
    heads = [f"{'    ' * n}{_head(scope)}" for n, scope in enumerate(around)]
    return "\n".join([*beside, *heads, reindented(code, 1, "", "    " * len(outer), inside_strings(tree))])


def _head(scope: ast.AST) -> str:
    name = getattr(scope, "name", "")
    return f"class {name}:" if isinstance(scope, ast.ClassDef) else f"def {name}():"


def functions_of(masked: MaskedTask) -> list[tuple[str, str]]:
    """File and address of each masked function."""
    return wanted_pairs(masked)


def answer_in(text: str) -> Any:
    """The JSON that a solver reports, or its text where it is none: the public rule reads both."""
    try:
        return json.loads(text)
    except ValueError:
        return text

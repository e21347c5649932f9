"""Agentless: retrieval of paper and code, one generation for each function, no feedback.

Source: AutoExperiment (arXiv 2506.19724), the harness without an agent: what a model writes at the
first try. A reply that holds no such function goes back once with the reason; nothing is run before
the harness judges.
"""

from __future__ import annotations

import ast
import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.agents.agent import Agent
from autoreproduce.errors import CommandError, ReplyError
from autoreproduce.files.tree import Tree
from autoreproduce.plugins.autoexperiment.answering import (
    MaskedSolver,
    code_in,
    functions_of,
    put_in,
)
from autoreproduce.plugins.autoexperiment.clones import twin_pairs
from autoreproduce.plugins.autoexperiment.helpers import scopes
from autoreproduce.plugins.autoexperiment.masking import read_source
from autoreproduce.plugins.autoexperiment.retrieval import around, mentions, paper_for
from autoreproduce.plugins.autoexperiment.selection import MaskedTask, with_seed
from autoreproduce.plugins.autoexperiment.surroundings import (
    Project,
    called_elsewhere,
    most_similar,
    read_project,
)

if TYPE_CHECKING:
    from autoreproduce.contracts import Sandbox
    from autoreproduce.models import Models
    from autoreproduce.plugins.autoexperiment.dataset import MaskRow
    from autoreproduce.trials.trial import Trial

ROOM = 60_000  # characters of a file


class Agentless(MaskedSolver):
    """One prompt a function, in the order of the task."""

    def attempt(self, masked: MaskedTask, models: Models, sandbox: Sandbox, trial: Trial) -> None:
        """Ask for each function and put it in; a reply without it leaves the stub, and the harness
        says so.
        """
        agent = Agent.of(models, "code", self.prompts, trial, self.budget, self.settings)
        with tempfile.TemporaryDirectory(prefix="autoexperiment-") as pristine:
            # Prompts are made from the task as it was given: the same on a resume.
            self.lay_out(masked, Path(pristine))
            project = read_project(Path(pristine))
            pairs = zip(functions_of(masked), masked.functions, strict=True)
            unseen = [*functions_of(masked), *twin_pairs(masked.paper.code, functions_of(masked))]
            questions = {
                pair: self._question(masked, Path(pristine), project, unseen, row, *pair)
                for pair, row in pairs
            }
        for (file, address), question in questions.items():
            if self.meter.reached:
                trial.note(f"{address} is left as it is: {self.meter.reached}")
                continue
            read: Callable[[str], str] = partial(_usable, address=address)
            try:
                put_in(trial.workspace, file, address, agent.checked("function", read, **question))
            except (ReplyError, CommandError) as error:
                trial.note(f"{address}: {error}")

    def _question(
        self,
        masked: MaskedTask,
        workspace: Path,
        project: Project,
        unseen: list[tuple[str, str]],
        row: MaskRow,
        file: str,
        address: str,
    ) -> dict[str, Any]:
        about = f"{address} {row.description}"
        shown = self.settings.masked
        how = shown.retrieval
        code = _near(workspace, file, address)
        others = "\n".join(mentions(workspace, file, [address]))
        like = most_similar(project, unseen, about, f"{code}\n{others}")
        return {
            "paper": paper_for(masked.paper.text, [about], how, [row.passage]),
            "passages": how in ("passages", "oracle"),
            "experiments": masked.what_to_do,
            "commands": with_seed(masked.solution, str(masked.seeds[0])) if shown.refsol else "",
            "file": file,
            "function": address,
            "code": code,
            "others": others,
            "calls": "\n".join(called_elsewhere(project, file)),
            "like": like,
        }


def _near(workspace: Path, file: str, address: str) -> str:
    """The file; of a long one the function with what surrounds it, its classes' first lines and
    the file's head.
    """
    source = read_source(workspace, file)
    found = source.find(address)
    first = min([found.line, *(each.lineno for each in found.node.decorator_list)])
    heads = [
        each.lineno for each in scopes(source.tree, found.node)[1:] if isinstance(each, ast.stmt)
    ]
    text = Tree(workspace).read_text(file)
    return around(text, ROOM, first, found.last_line, heads)


def _usable(reply: str, address: str) -> str:
    """The reply's code, if it defines the function. Raises CommandError."""
    code = code_in(reply)
    name = address.rpartition(".")[2].partition("#")[0]
    if f"def {name}(" not in code:
        raise CommandError(
            f"the reply has no function {name}: write its whole def, at the left margin"
        )
    return code

"""Descriptions of functions by a model, for new masked tasks: what a function is to do, and no line
of how.
"""

from __future__ import annotations

import ast
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.prompts import Prompts
from autoreproduce.config import digest
from autoreproduce.content import folder
from autoreproduce.errors import CommandError, UsageError
from autoreproduce.files.bounded import parse_python
from autoreproduce.models.budget import Budget
from autoreproduce.models.open import open_model
from autoreproduce.plugins.masked.retrieval import paper_for
from autoreproduce.trials.journal import open_journal

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.plugins.masked.describing import Describe

SHORT = 20  # characters: a line of code so short may stand in prose by chance


def describer(settings: Settings, home: Path) -> Describe:
    """What describes a function by `settings.model.name`. Each one is asked once, with a journal
    of its own below `home`.

    Raises UsageError where no model is named; the call raises ReplyError where two replies cannot
    be used.
    """
    if not settings.model.name:
        raise UsageError(
            "--describe asks a model", fix="add --model provider:name, or leave --describe out"
        )
    name, model, budget = (
        settings.model.name,
        open_model(settings, settings.model.name),
        Budget.parse(settings.budget.total),
    )
    prompts = Prompts(folder("prompts") / "autoexperiment")

    def describe(function: str, paper: str) -> str:
        shown = paper_for(paper, [function], settings.masked.retrieval)
        place = home / digest([function, shown, name, prompts.digest()])[:12]
        with open_journal(place, {"describes": "a masked function", "model": name}) as journal:
            journal.phase("describe")
            agent = Agent("research", model, name, prompts, journal, budget, settings)
            return agent.checked(
                "describe", partial(usable, function=function), function=function, paper=shown
            )

    return describe


def usable(reply: str, function: str) -> str:
    """The description, if it gives no line of the function's body away. Raises CommandError."""
    text = reply.strip().strip("\"'`").strip()
    given_away = next(
        (line for line in body_lines(function) if line in " ".join(text.split())), None
    )
    if given_away:
        raise CommandError(f"it gives away a line of the code (`{given_away}`): say what, not how")
    if "```" in text or "~~~" in text:
        raise CommandError("it holds a fenced block: answer with the docstring's text alone")
    return text


def body_lines(function: str) -> list[str]:
    """The lines of a function's body that would give it away, without its docstring."""
    inner = function[
        :1
    ].isspace()  # a method: taking its indentation off would change the texts over several lines
    tree = parse_python(f"if True:\n{function}" if inner else function)
    node = next(
        each for each in ast.walk(tree) if isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    body = node.body[1:] if ast.get_docstring(node) is not None else node.body
    lines = [line.strip() for part in body for line in ast.unparse(part).split("\n")]
    return [line for line in lines if len(line) >= SHORT]

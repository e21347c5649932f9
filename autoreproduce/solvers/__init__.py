"""What attempts a task. A solver is one file here and one line in `SOLVERS`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from autoreproduce import Solver
from autoreproduce.errors import UsageError

SOLVERS = {
    "autoreproduce": "autoreproduce.solvers.autoreproduce:AutoReproduce",
    "agentless": "autoreproduce.solvers.agentless:Agentless",
    "agentic": "autoreproduce.solvers.agentic:Agentic",
    "planning": "autoreproduce.solvers.agentic:Planning",
    "lineage": "autoreproduce.solvers.lineage:Lineage",
    "reference": "autoreproduce.solvers.reference:Reference",
}


def open_solver(name: str, **options: Any) -> Solver:
    """The solver of that name, imported now: one of `SOLVERS`, or `module:Class` for one of the user's own.

    Raises UsageError for an unknown one.
    """
    module, colon, attribute = SOLVERS.get(name, name).partition(":")
    if not colon:
        raise UsageError(f"there is no solver {name}: there are {', '.join(SOLVERS)}, or name your own as module:Class")
    solver: Solver = _class(module, attribute, name)(**options)
    return solver


def _class(module: str, attribute: str, name: str) -> Any:
    try:
        return getattr(import_module(module), attribute)
    except (ModuleNotFoundError, AttributeError) as error:
        if name in SOLVERS or getattr(error, "name", "") not in (module, module.partition(".")[0], attribute):
            raise
        raise UsageError(f"the solver {name} cannot be imported ({error}): is it on PYTHONPATH?") from None

"""What attempts a task. A solver is one file here and one line in `SOLVERS`."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from autoreproduce import Solver
from autoreproduce.errors import UsageError

SOLVERS = {
    "autoreproduce": "autoreproduce.solvers.autoreproduce:AutoReproduce",
    "lineage": "autoreproduce.solvers.lineage:Lineage",
    "reference": "autoreproduce.solvers.reference:Reference",
}


def open_solver(name: str, **options: Any) -> Solver:
    """The solver of that name, imported now. Raises UsageError for an unknown one."""
    if name not in SOLVERS:
        raise UsageError(f"there is no solver {name}: there are {', '.join(SOLVERS)}")
    module, _, attribute = SOLVERS[name].partition(":")
    solver: Solver = getattr(import_module(module), attribute)(**options)
    return solver

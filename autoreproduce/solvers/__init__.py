"""What attempts a task. A solver is one file here and one line in `SOLVERS`."""

from __future__ import annotations

from pkgutil import resolve_name
from typing import Any

from autoreproduce import Need, Solver
from autoreproduce.errors import UsageError
from autoreproduce.plugins import table

SOLVERS = {
    "autoreproduce": "autoreproduce.solvers.autoreproduce:AutoReproduce",
    "lineage": "autoreproduce.solvers.lineage:Lineage",
    "reference": "autoreproduce.solvers.reference:ReferenceSolver",
    **table("solvers"),
}
KINDS = table("solver_kinds")  # by the prefix of a solver's name
ALTERED = "reference:"


def open_solver(name: str, **options: Any) -> Solver:
    """The solver of that name, imported now: one of `SOLVERS`, `agent:NAME` or `agent:FILE.yaml`
    for an agent that is a program of its own, `reference:NAME` for an altered program of the task's
    file, or `module:Class` of the user's own.

    Raises UsageError for an unknown one.
    """
    solver: Solver = _class_of(name)(**options)
    return solver


def needs_of(name: str) -> frozenset[Need]:
    """What the solver of that name needs, as its class says. Raises UsageError as `open_solver`."""
    needs: frozenset[Need] | None = getattr(_class_of(name), "needs", None)
    if needs is None:
        raise UsageError(
            f"the solver {name} does not say what it needs",
            fix='give its class needs = frozenset({"model"})',
        )
    return needs


def _class_of(name: str) -> Any:
    for prefix, place in KINDS.items():
        if name.startswith(prefix):
            return resolve_name(place)(name.removeprefix(prefix))
    if name.startswith(ALTERED):
        from autoreproduce.solvers.reference import altered_solver_class

        return altered_solver_class(name.removeprefix(ALTERED))
    place = SOLVERS.get(name, name)
    module, colon, attribute = place.partition(":")
    if not colon:
        raise UsageError(
            f"unknown solver {name}",
            fix=f"choose among {', '.join(SOLVERS)}, agent:NAME, or your own as module:Class",
        )
    try:
        return resolve_name(place)
    except (ModuleNotFoundError, AttributeError) as error:
        own = (module, module.partition(".")[0], attribute)
        if name in SOLVERS or getattr(error, "name", "") not in own:
            raise
        raise UsageError(
            f"the solver {name} cannot be imported ({error})", fix="is it on PYTHONPATH?"
        ) from None

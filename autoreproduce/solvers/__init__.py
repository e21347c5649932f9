"""What attempts a task. A solver is one file here and one line in `SOLVERS`."""

from __future__ import annotations

import re
import sys
from collections.abc import Collection
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Protocol

from autoreproduce.config import digest
from autoreproduce.errors import UsageError, nearest
from autoreproduce.extensions import installed, table
from autoreproduce.job import EXTERNAL
from autoreproduce.solvers.own_code import checked_needs, load_class, make, package_source

if TYPE_CHECKING:
    from autoreproduce.contracts import Need, Sandbox, Submission
    from autoreproduce.models import Models
    from autoreproduce.task import Task
    from autoreproduce.trials.trial import Trial

SOLVERS = {
    "autoreproduce": "autoreproduce.solvers.autoreproduce:AutoReproduce",
    "lineage": "autoreproduce.solvers.lineage:Lineage",
    "reference": "autoreproduce.solvers.reference:ReferenceSolver",
    **table("solvers"),
}
KINDS = table("solver_kinds")  # by the prefix of a solver's name
ALTERED = "reference:"
SHIPPED = "autoreproduce."  # begins the place of a solver that is none of a user's own
_PLAIN = re.compile(r"[A-Za-z0-9_-]+(\.ya?ml)?")  # a file beside, and none elsewhere


class Solver(Protocol):
    """What attempts a Task. It leaves a submission, and never an outcome: others measure it.

    `needs` is the class's own word on what must be there. "model": the chat models of `models`;
    without it none is opened. "tools" beside it: they can call tools. "reference": the task's own
    reference implementation, which is all that it runs. What a plugin's tasks ask for
    ("functions"): such a task.
    """

    needs: frozenset[Need]

    def solve(self, task: Task, models: Models, sandbox: Sandbox, trial: Trial) -> Submission:
        """Attempt `task` in the trial's workspace. A bad attempt is data, and not an exception."""
        ...


def open_solver(name: str, **options: Any) -> Solver:
    """The solver of that name, imported now: one of `SOLVERS`, `agent:NAME` or `agent:FILE.yaml`
    for an agent that is a program of its own, `reference:NAME` for an altered program of the task's
    file, or `module:Class` of the user's own.

    Raises UsageError for an unknown one, and one that can't be loaded or made.
    """
    solver: Solver = make(name, _class_of(name), options)
    return solver


def is_registered(name: str) -> bool:
    """True for a solver of a table, also the plain name of a kind that ships; any other would be
    imported, or names files.
    """
    if name in SOLVERS or name.startswith(ALTERED):
        return True
    kinds = tuple(kind for plugin in installed().values() for kind in plugin.shared_kinds)
    return name.startswith(kinds) and _PLAIN.fullmatch(name.partition(":")[2]) is not None


def refuse_import(name: str, named_by: str, typed: Collection[str], flag: str) -> None:
    """Raise UsageError for a solver of a file that others may have written if it isn't in a table,
    so that its name would be imported, and is not among those `typed` in this command, by `flag`.
    """
    if not is_registered(name) and name not in typed:
        seen = "would be imported from there" if ":" in name else "isn't installed here"
        if name.startswith(tuple(KINDS)):
            seen = "names files of this machine"
        raise UsageError(
            f"{named_by} names the solver {name}, which {seen}",
            fix=f"add {flag} {name} if you know that code, or choose among {', '.join(SOLVERS)}",
        )


def needs_of(name: str) -> frozenset[Need]:
    """What the solver of that name needs, as its class says. Raises UsageError as `open_solver`."""
    return checked_needs(name, _class_of(name))


def source_digest(name: str) -> str:
    """A digest of what a user can edit of the solver: an agent's file and its code, or the source
    of a solver of their own with its package; "" for what ships with this package.

    Raises UsageError as `open_solver`.
    """
    place = SOLVERS.get(name, name)
    if place.startswith(SHIPPED) or name.startswith(ALTERED):
        return ""
    found = _class_of(name)
    named = place.partition(":")[0]  # which may have the class from another module
    modules = {found.__module__, *({named} & sys.modules.keys())}
    return digest([getattr(found, "source", ""), *map(package_source, sorted(modules))])


def refuse_faulty(name: str) -> None:
    """Raise UsageError as `needs_of`, without importing a solver that ships."""
    if not SOLVERS.get(name, "").startswith(SHIPPED):
        needs_of(name)


def unknown_solver(name: str) -> UsageError:
    """The error for a name that no table has, with what it may have meant."""
    return UsageError(
        f"unknown solver {name}",
        fix=f"{nearest(name, SOLVERS)}choose among {', '.join(SOLVERS)}, agent:NAME, or your own "
        "as module:Class",
    )


def _class_of(name: str) -> Any:
    for prefix, place in KINDS.items():
        if name.startswith(prefix):
            return resolve_name(place)(name.removeprefix(prefix))
    if name == EXTERNAL:
        from autoreproduce.solvers.outside_program import OutsideProgram

        return OutsideProgram
    if name.startswith(ALTERED):
        from autoreproduce.solvers.reference import altered_solver_class

        return altered_solver_class(name.removeprefix(ALTERED))
    place = SOLVERS.get(name, name)
    if ":" not in place:
        raise unknown_solver(name)
    if name in SOLVERS and place.startswith(SHIPPED):
        return resolve_name(place)
    return load_class(name, place)

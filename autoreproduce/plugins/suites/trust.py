"""A suite's file of others: what of it holds only once its user says that the file is theirs.

Whoever runs a suite names its file, and has rarely read it. So it imports nothing, sends nothing
elsewhere, takes no wall down, runs nothing on a cluster's nodes but the trials, and reads nothing
that does not lie beside it.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from autoreproduce.content import folder
from autoreproduce.errors import UsageError
from autoreproduce.files.handed_over import raised, reaching, tapes_elsewhere
from autoreproduce.plugins.suites.suite_file import SuiteFile
from autoreproduce.plugins.suites.yaml_errors import Place
from autoreproduce.runner.executors import parse_options
from autoreproduce.runner.settings import by_flag, load_settings
from autoreproduce.solvers import is_registered, unknown_solver

Fault = tuple[Place, str]


def refuse_reaching(suite: SuiteFile) -> None:
    """Raise UsageError that names the first line by which the file reaches out; those of a suite
    that ships may.
    """
    if suite.folder.resolve().is_relative_to(folder("eval").resolve()):
        return
    for place, what in _faults(suite):
        wrong = suite.wrong(place, f"{what}, and the file may be a stranger's")
        raise UsageError(str(wrong), fix="add --trust if the file is yours, or you have read it")


def _faults(suite: SuiteFile) -> Iterator[Fault]:
    variants = suite.variants.items()
    solvers: list[tuple[Place, str]] = [(("solver",), suite.solver)]
    solvers += [(("variants", name, "solver"), each.solver or "") for name, each in variants]
    for place, solver in solvers:
        if solver and not is_registered(solver):
            if ":" not in solver:
                raise suite.wrong(place, str(unknown_solver(solver)))
            yield place, f"the solver {solver} would be imported"
    settings: list[tuple[Place, dict[str, Any]]] = [(("settings",), suite.settings)]
    settings += [(("variants", name, "settings"), each.settings) for name, each in variants]
    mine = load_settings({}).flat()
    for place, named in settings:
        given = by_flag(named)
        for name in raised(given, mine):
            yield (*place, name), f"{name} is above this machine's limit of {mine[name]:g}"
        for name in (*reaching(given), *tapes_elsewhere(given, suite.folder)):
            yield (
                (*place, name),
                f"{name} leads elsewhere, or weakens what holds programs and budgets",
            )
    for name, options in suite.executor.items():
        for option in parse_options(name, options).REACHING & options.keys():
            yield ("executor", name, option), f"{option} runs something outside, or leads there"
    yield from _paths(suite)


def _paths(suite: SuiteFile) -> Iterator[Fault]:
    """The paths that lie elsewhere than beside the file."""
    beside = suite.folder.resolve()
    named: list[tuple[Place, Any]] = [
        (("options", key), each) for key, each in suite.options.items()
    ]
    for number, task in enumerate(suite.tasks or ()):
        named += [(("tasks", number, name), getattr(task, name)) for name in ("paper", "data")]
    for place, value in named:
        if isinstance(value, str | Path) and not _lies_below(beside, str(value)):
            yield place, f"{str(value)!r} lies elsewhere"


def _lies_below(folder: Path, named: str) -> bool:
    """Never of a name with a null byte, which no path has."""
    return "\0" not in named and (folder / named).resolve().is_relative_to(folder)

"""Solvers of a user's own: what is wrong with one is a line that names its file, and no traceback
of the harness. One that can't be loaded is bad input; one that raises stops its trial.
"""

import errno
import hashlib
import inspect
import os
import sys
import traceback
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from autoreproduce.contracts import Need, Submission
from autoreproduce.errors import AutoReproduceError, SolverError, UsageError, nearest
from autoreproduce.extensions import table
from autoreproduce.files.bounded import imported_modules

OPTIONS = ("settings", "budget", "paper_file")  # what every solver is made with
MACHINES = {errno.ENOSPC, errno.EDQUOT, errno.EIO}  # errors of the disk, whoever meets them


def load_class(name: str, place: str) -> Any:
    """What lies at "module:Class". Raises UsageError with file and line if there is none."""
    module, _, wanted = place.partition(":")
    try:
        return resolve_name(place)
    except AutoReproduceError:
        raise
    except ModuleNotFoundError as error:
        if error.name is None or not f"{module}.".startswith(f"{error.name}."):
            raise _not_loaded(name, error, module) from error
        what = f"there is no module {error.name}"
        fix = "correct its name, or put its folder on PYTHONPATH"
    except Exception as error:  # somebody else's code
        if not isinstance(error, AttributeError) or module not in sys.modules:
            raise _not_loaded(name, error, module) from error
        there = sys.modules[module]
        classes = [key for key, each in vars(there).items() if isinstance(each, type)]
        what = f"{getattr(there, '__file__', module)} has no {wanted}"
        fix = f"{nearest(wanted, classes)}name a class of that file"
    raise UsageError(f"the solver {name} cannot be loaded ({what})", fix=fix) from None


def checked_needs(name: str, solver: Any) -> frozenset[Need]:
    """What a solver's class needs. Raises UsageError if it isn't one, as far as can be seen without
    making it.
    """
    at = f"the solver {name} ({_defined_at(solver)})"
    if not _takes(getattr(solver, "solve", None), None, *("task", "models", "sandbox", "trial")):
        fix = "give its class solve(self, task, models, sandbox, trial), which returns a Submission"
        raise UsageError(f"{at} has no method solve that takes these four", fix=fix)
    if not _takes(solver, **dict.fromkeys(OPTIONS)):
        options = ", ".join(OPTIONS)
        raise UsageError(
            f"{at} cannot be made with {options}, which every solver is given by name",
            fix="give its class def __init__(self, **_): pass",
        )
    needs = getattr(solver, "needs", None)
    if isinstance(needs, str) or not isinstance(needs, Collection):
        raise UsageError(
            f"{at} does not say what it needs", fix='give its class needs = frozenset({"model"})'
        )
    known = ("model", "tools", *table("asks"), "reference")
    if unknown := [str(each) for each in needs if each not in known]:
        meant = nearest(unknown[0], known)
        fix = f"{meant}choose among {', '.join(known)}, or leave needs empty: frozenset()"
        raise UsageError(f"{at} needs {unknown[0]!r}, which nobody gives", fix=fix)
    return frozenset(needs)


def package_source(name: str) -> dict[str, str]:
    """Digests of the files of a user's own module that is imported: of its whole package, or of
    itself and the modules beside it that it imports. {} for a module of this package.
    """
    module = sys.modules[name]
    root = sys.modules.get(_root(module.__name__), module)
    if root.__name__ == _root(__name__):
        return {}
    folders = [Path(each) for each in getattr(root, "__path__", ())]
    found = {each for folder in folders for each in folder.rglob("*") if _is_source(each)}
    if not folders and getattr(module, "__file__", None):
        waiting = [Path(str(module.__file__))]
        while waiting:
            file = waiting.pop()
            if file in found or not file.is_file():
                continue
            found.add(file)
            names = imported_modules({"": file.read_text("utf-8", "replace")})
            waiting += [file.parent / f"{each}.py" for each in names]
            packages = [file.parent / each for each in names if (file.parent / each).is_dir()]
            waiting += [each for folder in packages for each in folder.rglob("*.py")]
    top = folders or [Path(str(getattr(module, "__file__", ""))).parent]
    named = {os.path.relpath(each, top[0]): each for each in found}
    return {name: hashlib.sha256(named[name].read_bytes()).hexdigest() for name in sorted(named)}


def _is_source(path: Path) -> bool:
    """Not for what Python or an installer leaves beside it."""
    return path.is_file() and "__pycache__" not in path.parts and path.suffix != ".pyc"


def make(name: str, solver: Any, options: dict[str, Any]) -> Any:
    """An instance of the solver's class. Raises UsageError if its own code fails."""
    with _own_faults(name, solver.__module__, UsageError):
        return solver(**options)


def submitted(name: str, solver: Any, *given: Any) -> Submission:
    """What the solver submits. Raises SolverError if its own code raises, or submits nothing."""
    with _own_faults(name, type(solver).__module__, SolverError):
        done = solver.solve(*given)
    if not isinstance(done, Submission):
        at = _defined_at(solver.solve)
        raise SolverError(
            f"the solver {name} ({at}) returned {done!r:.80}, which isn't a Submission",
            fix='end solve by return Submission("complete", "it ran", "full_run", run=run)',
        )
    return done


@contextmanager
def _own_faults(name: str, module: str, kind: type[AutoReproduceError]) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        if _is_ours(error, module):
            raise
        what = f"the solver {name} raised {_with_place(error, module)}"
        raise kind(what, fix="correct it there") from error


def _is_ours(error: Exception, module: str) -> bool:
    """True for an error that is no fault of a user's code: a solver that ships keeps its
    traceback.
    """
    full = isinstance(error, OSError) and error.errno in MACHINES
    return full or isinstance(error, AutoReproduceError) or _root(module) == _root(__name__)


def _not_loaded(name: str, error: Exception, module: str) -> UsageError:
    fix = "correct it there"
    if isinstance(error, ModuleNotFoundError):
        fix = f"install {error.name}, or correct its name there"
    return UsageError(f"the solver {name} cannot be loaded ({_with_place(error, module)})", fix=fix)


def _with_place(error: Exception, module: str) -> str:
    """The error, and the innermost line of the user's package that led to it."""
    said = traceback.format_exception_only(error)[-1].strip()
    if isinstance(error, SyntaxError) and error.filename:
        return f"{said} in {error.filename}, line {error.lineno}"
    frames = list(traceback.walk_tb(error.__traceback__))
    own = [each for each in frames if _root(each[0].f_globals.get("__name__")) == _root(module)]
    if not own:
        return said
    frame, line = own[-1]
    return f"{said} in {frame.f_code.co_filename}, line {line}"


def _root(module: Any) -> str:
    return str(module).partition(".")[0]


def _defined_at(what: Any) -> str:
    """The file, and the line of a class's method solve or of a function. Not by its source:
    `inspect` parses that, which Python 3.11 can't do in two threads at once.
    """
    code = getattr(inspect.unwrap(getattr(what, "solve", what)), "__code__", None)
    if code:
        return f"{code.co_filename}, line {code.co_firstlineno}"
    try:
        return inspect.getfile(what)
    except (OSError, TypeError):
        return str(what)


def _takes(function: Any, *given: Any, **named: Any) -> bool:
    """True if the function can be called so, or nobody can say."""
    try:
        inspect.signature(function).bind(*given, **named)
    except (TypeError, ValueError) as error:
        return isinstance(error, ValueError)
    return True

"""Who writes the program of our own method (`--coder`): which there are, and the default."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.benchmarks import benchmark_of
from autoreproduce.config import Settings
from autoreproduce.errors import UsageError, nearest
from autoreproduce.extensions import found_at, table
from autoreproduce.files.unpacking import is_url
from autoreproduce.method.coding import EDIT

if TYPE_CHECKING:
    from autoreproduce.method.workbench import Coder
    from autoreproduce.models import Models
    from autoreproduce.models.budget import Budget
    from autoreproduce.papers import Paper
    from autoreproduce.task import Task

TOOLS = "tools"
KINDS = table("coder_kinds")  # by the prefix of a coder's name
METHOD = "autoreproduce"  # the solver whose code agent it is


def takes_coder(solver: str, task: Task) -> bool:
    """Whether `--coder` says who writes what is wanted."""
    if solver != METHOD:
        return False
    return task.wants_program or getattr(benchmark_of(task), "takes_coder", False)


def default_coder(settings: Settings, task: Task, solver: str, model: Any) -> str | None:
    """The coder of a new trial whose user names none: tools where the model can call them and the
    sandbox keeps a shell in; None where nobody asks for one.
    """
    from autoreproduce.models.open import can_call_tools

    if not takes_coder(solver, task):
        return None
    by_paper = settings.method.effort == "paper" or not settings.method.debug
    by_paper = by_paper or not task.wants_program
    if by_paper or settings.sandbox.name == "process" or not can_call_tools(model):
        return EDIT
    return TOOLS


def check_from(settings: Settings, task: Task, solver: str, coder: str, who: str = "") -> None:
    """Raise UsageError for `--from` without code there, or with a coder that begins with nothing.
    `who`: what answers in a coder's place.
    """
    source = settings.method.from_code
    if not source:
        return
    if not is_url(source) and not Path(source).exists():
        fix = "name a folder, an archive or a git URL"
        raise UsageError(f"--from {source}: there is no such file or folder", fix=fix)
    if not takes_coder(solver, task):
        who = f"the solver {solver}"
    if who or coder == EDIT:
        fix = "add --coder tools or --coder agent:NAME, or hold the code against its paper with "
        raise UsageError(
            f"--from gives code to a coder, and {who or 'the EDIT loop'} begins with nothing",
            fix="leave --from out" if who else f"{fix}autoreproduce verify CODE",
        )


def check_coder(settings: Settings, task: Task, solver: str) -> None:
    """Raise UsageError for a coder that there isn't, or that the solver doesn't take, and for a
    login that it can't use.
    """
    name, login = settings.method.coder or "", settings.method.own_login
    if login and not name.startswith(tuple(KINDS)):
        fix = "add --coder agent:claude-code or agent:codex"
        raise UsageError("--own-login is of an agent that writes the program", fix=fix)
    if not name:
        return
    if not takes_coder(solver, task):
        what = f"the solver {solver}" if solver != METHOD else f"{task.id}, which wants no program,"
        raise UsageError(f"{what} takes no --coder", fix="leave it out")
    if settings.method.from_code and not task.wants_program:
        fix = "leave --from out"
        raise UsageError(f"{task.id} begins with its own repository", fix=fix)
    if name not in (EDIT, TOOLS) and not name.startswith(tuple(KINDS)):
        known = [EDIT, TOOLS, *(f"{kind}NAME" for kind in KINDS)]
        raise UsageError(
            f"there is no coder {name}", fix=f"{nearest(name, known)}choose {', '.join(known)}"
        )
    for prefix, place in KINDS.items():
        if name.startswith(prefix):
            found_at(place)(name.removeprefix(prefix), login)  # the error of what can't be had


def coder_maker(
    settings: Settings, budget: Budget, models: Models
) -> Callable[[Paper], Coder] | None:
    """What makes the coder for a paper; None for the EDIT loop. Raises UsageError."""
    name = settings.method.coder or EDIT
    if name == EDIT:
        return None
    for prefix, place in KINDS.items():
        if name.startswith(prefix):
            kind = found_at(place)(name.removeprefix(prefix))
            return lambda paper: kind(settings, budget, models, paper)
    from autoreproduce.solvers.tool_coder import ToolCoder

    return lambda paper: ToolCoder(settings, paper)

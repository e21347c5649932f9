"""Every leaf of a rubric put to the judge, several at once."""

import threading
from collections.abc import Callable

from autoreproduce.errors import BudgetError
from autoreproduce.plugins.paperbench.grading import LeafVerdict
from autoreproduce.plugins.paperbench.leaves import LeafJudge
from autoreproduce.plugins.paperbench.rubric import Node
from autoreproduce.runner.executors import attempt_all
from autoreproduce.runner.executors.local import Threads


def all_verdicts(
    asked: LeafJudge, workers: int, note: Callable[[str], None]
) -> dict[str, LeafVerdict]:
    """Every leaf's verdict, `workers` at once. The first error ends what has not begun, and is
    raised.

    The first leaf is asked alone: its prompt fills the provider's cache, which serves the beginning
    of all others. Ctrl-C leaves the calls under way a few seconds, and then gives them up.
    """
    leaves, stop = asked.rubric.leaves(), threading.Event()
    found: dict[str, LeafVerdict] = {}
    errors: list[Exception] = []

    def one(leaf: Node) -> LeafVerdict | Exception:
        try:
            return asked.verdict(leaf)
        except Exception as error:
            stop.set()
            return error

    def ended(leaf: Node, came: LeafVerdict | Exception) -> None:
        if isinstance(came, Exception):
            errors.append(came)
            return
        found[leaf.key] = came
        words = " ".join(leaf.requirements.split())[:100]
        note(f"{len(found)}/{len(leaves)} {_word(came)}  {words}")

    ended(leaves[0], one(leaves[0]))
    if not errors:
        attempt_all(Threads(workers, one), iter(leaves[1:]), ended, lambda: None, stop)
    if errors:
        raise _explained(errors[0])
    if len(found) < len(leaves):
        note("interrupted: what was graded is saved, and the same command resumes")
        raise KeyboardInterrupt
    return {leaf.key: found[leaf.key] for leaf in leaves}


def _explained(error: Exception) -> Exception:
    if isinstance(error, BudgetError):
        return BudgetError(f"{error.what}; what was graded is saved", fix=error.fix)
    return error


def _word(verdict: LeafVerdict) -> str:
    return ("met    " if verdict.score else "not met") if verdict.valid else "no word"

"""One file a scorer. A scorer reads a finished trial's folder and gives a Score; it runs nothing of the trial.

A new scorer is one file with a class that has a `name` and `score(trial, task)`, one line in `LEVELS`, and one
test. Those that read with a model are made with judges; the others are free.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from importlib import import_module
from typing import TYPE_CHECKING

from autoreproduce.errors import UsageError
from autoreproduce.eval.judging.material import Material

if TYPE_CHECKING:
    from autoreproduce import Scorer
    from autoreproduce.eval.judging.judge import Judge

# name -> module and class, and whether a judge model is needed
LEVELS: dict[str, tuple[str, bool]] = {
    "paper": ("align:PaperLevel", True),
    "code": ("align:CodeLevel", True),
    "mixed": ("align:MixedLevel", True),
    "execution": ("execution:ExecutionScorer", False),
    "gap": ("gap:GapScorer", False),
    "structure": ("structure:StructureScorer", False),
    "lineage": ("lineage:LineageScorer", False),
    "edits": ("edits:EditScorer", False),
    "cost": ("cost:CostScorer", False),
}
FREE = tuple(name for name, (_, model) in LEVELS.items() if not model)


@dataclass(frozen=True)
class Setup:
    """What scorers are made with."""

    judges: Sequence[Judge] = ()
    repeats: int = 1
    material: Material = field(default_factory=Material)
    room: int = 60_000  # tokens for a program in a judge's prompt
    note: Callable[[str], None] = print


def open_scorers(levels: Sequence[str], setup: Setup) -> list[Scorer]:
    """The scorers by name. Raises UsageError for an unknown name, and where a judge is needed and none is there."""
    unknown = [level for level in levels if level not in LEVELS]
    if unknown:
        raise UsageError(f"there is no level {unknown[0]!r}: choose among {', '.join(LEVELS)}")
    needing = [level for level in levels if LEVELS[level][1]]
    if needing and not setup.judges:
        free = ",".join(level for level in levels if not LEVELS[level][1]) or ",".join(FREE)
        raise UsageError(
            f"the level {needing[0]} is judged by a model and none is named: add --judge provider:name "
            f"(or --judge NAME with --base-url), or ask for what is free: --levels {free}"
        )
    return [_open(level, setup) for level in dict.fromkeys(levels)]


def _open(level: str, setup: Setup) -> Scorer:
    module, _, name = LEVELS[level][0].partition(":")
    scorer: Scorer = getattr(import_module(f"autoreproduce.eval.scorers.{module}"), name)(setup)
    return scorer

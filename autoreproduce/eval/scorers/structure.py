"""The structure of a program against the reference's: free, and blind to names. It reads what was measured.

`structure.json` in the trial's folder holds both sides, written when a trial is scored with a sandbox at hand
(`autoreproduce.eval.structure`). Without it both are read from their syntax trees alone, and what cannot be
seen so is said.
"""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from autoreproduce import Score
from autoreproduce.eval.judging.material import program_of
from autoreproduce.eval.structure.compare import compare, value_of
from autoreproduce.eval.structure.measure import with_syntax

if TYPE_CHECKING:
    from autoreproduce.eval.scorers import Setup
    from autoreproduce.task import Task
    from autoreproduce.trial import Trial

FILE = "structure.json"


class StructureScorer:
    """The mean agreement over what both programs show, 0 to 100."""

    name = "structure"

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def score(self, trial: Trial, task: Task) -> Score:
        """None where the task has no reference or nothing could be compared."""
        reference = self.setup.material.reference
        if reference is None:
            return Score(self.name, None, "not scored: the task has no reference program: give one by --reference")
        program = program_of(trial.folder, task)
        if program.empty:
            return Score(self.name, 0.0, "there is no code to compare")
        kept = _kept(trial)
        ours = kept.get("reference") or with_syntax({"unseen": ["it was not run"]}, reference.files)
        theirs = kept.get("generated") or with_syntax({"unseen": ["it was not run"]}, program.files)
        return _compared(self.name, ours, theirs)


def _kept(trial: Trial) -> dict[str, Any]:
    try:
        value = json.loads((trial.folder / FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return value if isinstance(value, dict) else {}


def _compared(name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> Score:
    items = compare(ours, theirs)
    differing = [item.name for item in items if item.agreement is not None and item.agreement < 1]
    hidden = [item.name for item in items if item.agreement is None]
    details = {
        "items": [asdict(item) for item in items], "not_compared": hidden,
        "unseen": {"reference": ours.get("unseen", []), "generated": theirs.get("unseen", [])},
    }  # fmt: skip
    value = value_of(items)
    if value is None:
        return Score(name, None, "not scored: nothing could be seen in both programs", details)
    said = f"{len(items) - len(hidden)} of {len(items)} things compared"
    return Score(name, value, f"{said}; {'differing: ' + ', '.join(differing) if differing else 'all equal'}", details)

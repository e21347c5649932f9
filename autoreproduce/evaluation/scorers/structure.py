"""The structure of a program against the reference's, without a model and blind to names.

`structure.json` in the trial's folder holds both sides, written when a trial is scored with a
sandbox (`autoreproduce.evaluation.structure`). A score needs a model that each program was seen
training or computing with; texts alone have none. What was not seen counts against the program.
"""

from dataclasses import asdict
from typing import Any

from pydantic import BaseModel

from autoreproduce.contracts import Score
from autoreproduce.errors import UsageError
from autoreproduce.evaluation.judging.material import program_of
from autoreproduce.evaluation.scorers import Scorer
from autoreproduce.evaluation.structure.compare import compare, coverage, value_of
from autoreproduce.evaluation.structure.measure import with_syntax
from autoreproduce.files.bounded import LARGEST_JSON, parse_json
from autoreproduce.files.shared import read_plain
from autoreproduce.task import Task
from autoreproduce.trials.probe.observation import Count, Integer, Name, Number, ProbedStructure
from autoreproduce.trials.trial import Trial

FILE = "structure.json"
WATCHED = ("training", "running")


class StructureScorer(Scorer):
    """The mean agreement over what the reference shows, 0 to 100."""

    name = "structure"

    def score(self, trial: Trial, task: Task) -> Score:
        """None if the task has no reference, or a program was not seen using a model."""
        reference = self.setup.material.reference
        if reference is None:
            return Score(
                self.name,
                None,
                "not scored: the task has no reference program: give one with --reference",
            )
        program = program_of(trial.folder, task)
        if program.empty:
            return Score(self.name, 0.0, "there is no code to compare")
        saved = saved_structures(trial)
        ours = saved.get("reference") or with_syntax(
            {"unseen": ["it was not run"]}, reference.files
        )
        theirs = saved.get("generated") or with_syntax(
            {"unseen": ["it was not run"]}, program.files
        )
        return _agreement_score(self.name, ours, theirs)


class SavedStructure(ProbedStructure):
    """One side of structure.json: what was probed, and what the program's text says."""

    batch_size: Integer | Number | None = None  # type: ignore[assignment]  # of a text: any
    epochs: Integer | Number | None = None
    steps_watched: Count | None = None
    syntax: dict[Name, list[Name | Integer | Number]] | None = None


class SavedStructures(BaseModel):
    """structure.json in a trial's folder."""

    reference: SavedStructure
    generated: SavedStructure


def saved_structures(trial: Trial) -> dict[str, Any]:
    """Both sides of `structure.json`, `reference` and `generated`, checked: whoever shared the
    trial could have written it. Empty without a file that can be used.
    """
    try:
        value = parse_json(read_plain(trial.folder / FILE, LARGEST_JSON), finite=True)
        found = SavedStructures.model_validate(value)
    except (OSError, UsageError, ValueError):
        return {}
    return {"reference": found.reference.content, "generated": found.generated.content}


def _agreement_score(name: str, ours: dict[str, Any], theirs: dict[str, Any]) -> Score:
    items = compare(ours, theirs)
    due = [item for item in items if item.agreement is not None]
    differing = [item.name for item in due if item.agreement != 1 and item.seen]
    hidden = [item.name for item in due if not item.seen]
    details = {
        "items": [asdict(item) for item in items],
        "not_seen": hidden,
        "coverage": coverage(items),
        "unseen": {"reference": ours.get("unseen", []), "generated": theirs.get("unseen", [])},
    }
    for side, found in (("the reference", ours), ("the program", theirs)):
        if found.get("source") not in WATCHED:
            why = f"not scored: {side} was not seen training or computing with a PyTorch model"
            return Score(name, None, "; ".join([why, *found.get("unseen", [])[:1]]), details)
    seen = f"{len(due) - len(hidden)} of {len(due)} things seen"
    missing = f"; not seen, which counts as 0: {', '.join(hidden)}" if hidden else ""
    words = f"differing: {', '.join(differing)}" if differing else "all equal"
    return Score(name, value_of(items), f"{seen}{missing}; {words}", details)

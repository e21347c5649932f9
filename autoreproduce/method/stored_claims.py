"""The claims that a model read of a paper, kept for every command: they are paid for once.

`plan`, a trial of `reproduce` and one of code that exists all ask for the claims of an experiment.
Whichever comes first leaves them in `RUNS/papers/readings/`, a folder a paper, model and set of
prompts, and the others take them from there. Trials of a suite are measured alone, and a further
attempt (`--trial 2`) reads the paper for itself: both leave the folder out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import BaseModel, ConfigDict, ValidationError

from autoreproduce.claims.claim import Claim
from autoreproduce.claims.experiments import experiment_key, meant_by, plain_name
from autoreproduce.config import digest
from autoreproduce.errors import AutoReproduceError, UsageError
from autoreproduce.files.bounded import LARGEST_JSON
from autoreproduce.files.shared import read_plain
from autoreproduce.job import now
from autoreproduce.method.paper_notes import PaperNote
from autoreproduce.trials.begun import make_own_folder, was_begun_here
from autoreproduce.trials.journal import write_whole

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.papers import Paper
    from autoreproduce.task import Task

OWN = "paper_reading.json"  # a trial's copy of the stored claims that it uses
PLAN, TRIAL = "a plan", "a trial"  # who read it
WHOLE = "whole"  # the name of claims of no one experiment
TableNames = Callable[[], Sequence[Sequence[str]]]


class StoredClaims(BaseModel):
    """The claims of one experiment ("" is the whole paper), by which model, and when."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    experiment: str
    by: str
    model: str
    created: str
    main: bool = False
    claims: tuple[Claim, ...]
    warnings: tuple[str, ...] = ()
    unplaced: tuple[Claim, ...] = ()
    notes: tuple[PaperNote, ...] = ()
    path: Path = Path()

    @property
    def words(self) -> str:
        """What the user is told of claims that are used again."""
        at = f"{self.created[:10]} at {self.created[11:16]} UTC"
        return (
            f"{self.model} read the paper's numbers on {at}, for {self.by}: that reading is used, "
            f"and not paid again. To have them read anew, remove {self.path}"
        )


class ShelfOfClaims:
    """The claims of one paper, as one model read them with one set of prompts."""

    def __init__(self, settings: Settings, paper: Paper, model: str, prompts: str) -> None:
        asked = [paper.body, model, settings.model.temperature, prompts]
        self.cache, self.model = settings.cache_dir, model
        self.folder = settings.runs_dir / "papers" / "readings" / digest(asked)[:16]

    def find(self, name: str, tables: TableNames) -> StoredClaims | None:
        """The claims of an experiment by any of its names, of the whole paper for "": then a
        plan's main experiments will do. None without one, and of a folder of another machine.

        `tables`: the names that each of the paper's tables has.
        """
        there = self._all()
        if not name:
            whole = there.get(WHOLE)
            return whole or self._together(
                [one for one in there.values() if one.by == PLAN and one.main], self.folder
            )
        key = experiment_key(name)
        if key in there or not there:
            return there.get(key)
        known = {one.experiment: one for one in there.values() if one.experiment}
        found = meant_by(name, list(known), tables())
        return known[found[0]] if len(found) == 1 else None

    def find_all(self, names: Sequence[str], tables: TableNames) -> StoredClaims | None:
        """The claims of several experiments as one; None if one of them is missing."""
        found = [self.find(name, tables) for name in names]
        return self._together([one for one in found if one], self.folder) if all(found) else None

    def read_by_trials(self) -> list[str]:
        """The experiments that trials have read, which a plan needn't read again."""
        return [one.experiment for one in self._all().values() if one.by != PLAN and one.experiment]

    def put(self, name: str, note: Callable[[str], None], **read: object) -> None:
        """Keep what was read of an experiment; `note` is told if that can't be."""
        key = experiment_key(name) if name else WHOLE
        fields = {"experiment": name, "model": self.model, "created": now(), **read}
        text = StoredClaims.model_validate(fields).model_dump_json(indent=1, exclude={"path"})
        file = f"{plain_name(key)[:60]}-{digest(key)[:8]}.json"
        try:
            make_own_folder(self.cache, self.folder)
            write_whole(self.folder / file, text + "\n")
        except (AutoReproduceError, OSError) as error:
            note(f"this reading of the paper isn't kept for other commands: {error}")

    def _all(self) -> dict[str, StoredClaims]:
        """By their keys; those that can't be read aren't there."""
        if not self.folder.is_dir() or not was_begun_here(self.cache, self.folder):
            return {}
        found = {}
        for file in sorted(self.folder.glob("*.json")):
            if one := stored_at(file):
                key = experiment_key(one.experiment) if one.experiment else WHOLE
                found[key] = one.model_copy(update={"path": file})
        return found

    @staticmethod
    def _together(parts: Sequence[StoredClaims], path: Path) -> StoredClaims | None:
        """Several experiments' claims as one; None without any, and where two share a key."""
        claims = [claim for one in parts for claim in one.claims]
        if not claims or len({claim.id for claim in claims}) < len(claims):
            return None
        notes = {note.what: note for one in parts for note in one.notes}
        return parts[0].model_copy(
            update={
                "claims": tuple(claims),
                "warnings": tuple(dict.fromkeys(w for one in parts for w in one.warnings)),
                "unplaced": tuple(claim for one in parts for claim in one.unplaced),
                "notes": tuple(notes.values()),
                "created": max(one.created for one in parts),
                "path": parts[0].path if len(parts) == 1 else path,
            }
        )


def stored_at(file: Path) -> StoredClaims | None:
    """The claims in a file; None without one, or if it's damaged."""
    try:
        return StoredClaims.model_validate_json(read_plain(file, LARGEST_JSON))
    except (OSError, UsageError, ValidationError):
        return None


def names_of(task: Task, instruction: str = "") -> list[str]:
    """Under which names a task's claims are kept: the paper's for its experiments; a task that the
    user named themselves has its metrics beside it, for these are what is looked for. What the
    user told the reader makes them others.
    """
    told = f" {digest(instruction)[:8]}" if instruction else ""
    if task.experiments:
        return [f"{one}{told}" for one in task.experiments]
    name = task.experiment or task.dataset
    own = bool(name) and not task.experiment and not _is_numbered(name)
    metrics = " ".join(metric.name for metric in task.metrics) if own else ""
    return [f"{name} {metrics}".strip() + told]


def _is_numbered(name: str) -> bool:
    return re.match(r"(table|figure)-\w", experiment_key(name)) is not None

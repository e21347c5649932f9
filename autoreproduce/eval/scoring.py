"""Scores a finished trial folder and keeps what came of it in `scores.json`.

An entry belongs to a scorer and, where judges read, to those judges: other judges add an entry, the same ones
replace theirs. Nothing of the trial is run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce import Score, Scorer
from autoreproduce.errors import AutoReproduceError, BudgetError, TrialError
from autoreproduce.journal import now, write_whole
from autoreproduce.trial import Trial

if TYPE_CHECKING:
    from autoreproduce.task import Task

FILE = "scores.json"


def score_trial(folder: Path, task: Task, scorers: Sequence[Scorer]) -> list[Score]:
    """Every scorer's answer, kept as each comes. Raises TrialError for a folder that is no trial, BudgetError
    where the next question would pass the budget; whatever else a scorer meets is its reason for no score."""
    trial = Trial.read(folder)
    scores = []
    for scorer in scorers:
        score = _score(scorer, trial, task)
        scores.append(score)
        keep(folder, score)
    return scores


def _score(scorer: Scorer, trial: Trial, task: Task) -> Score:
    try:
        return scorer.score(trial, task)
    except BudgetError:
        raise
    except AutoReproduceError as error:
        return Score(scorer.name, None, f"not scored: {error}")


_KEPT_BESIDE = {"judge": "judge", "calibration": "external"}  # by folder, the solver that its `trial.json` names


def trials_below(folder: Path) -> list[Path]:
    """The folders of all trials at or below a folder, by path.

    What a judge was asked and the cases of a calibration are kept as trials are, and are none.
    """
    return [path.parent for path in sorted(folder.glob("**/trial.json")) if not _kept_beside(folder, path)]


def _kept_beside(folder: Path, path: Path) -> bool:
    within = _KEPT_BESIDE.keys() & set(path.relative_to(folder).parts)
    if not within:
        return False
    try:
        return json.loads(path.read_text(encoding="utf-8"))["solver"] in {_KEPT_BESIDE[name] for name in within}
    except (OSError, ValueError, KeyError, TypeError):
        return True


def kept_scores(folder: Path) -> list[dict[str, Any]]:
    """The entries of `scores.json`, none where there is no file. Raises TrialError for a damaged one."""
    path = folder / FILE
    if not path.exists():
        return []
    try:
        entries = json.loads(path.read_text(encoding="utf-8"))["scores"]
        return [entry for entry in entries if isinstance(entry, dict)]
    except (ValueError, KeyError, TypeError) as error:
        raise TrialError(f"{path} cannot be read ({error}): delete it and score again") from None


def keep(folder: Path, score: Score) -> None:
    """Write one score into `scores.json`, in the place of an earlier one by the same judges."""
    entry = {**asdict(score), "details": dict(score.details), "judges": judges_of(score), "at": now()}
    same = (entry["scorer"], entry["judges"])
    others = [old for old in kept_scores(folder) if (old.get("scorer"), old.get("judges")) != same]
    text = json.dumps({"version": 1, "scores": [*others, entry]}, indent=1, default=str)
    write_whole(folder / FILE, text + "\n")


def judges_of(score: Score) -> list[str]:
    """The judges that read for a score, none for those that need no model."""
    readings = score.details.get("readings", [])
    return sorted({str(reading["judge"]) for reading in readings})

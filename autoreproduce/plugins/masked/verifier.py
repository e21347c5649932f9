"""Chooses one of k attempts on a masked task without the gold, and says how much of the gap to
Pass@k that closes.

Source: AutoExperiment (arXiv 2506.19724), its verifier. Each candidate was run by the harness; its
numbers are known and the gold is not shown to anyone. Three ways: by agreement (the largest group
of candidates with equal numbers, the first of it), by a model that checks each candidate against
paper and callers, by a model that reads them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, Field

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.prompts import Prompts
from autoreproduce.config import digest
from autoreproduce.content import folder
from autoreproduce.errors import ReplyError, SourceError
from autoreproduce.plugins.masked.answering import functions_of
from autoreproduce.plugins.masked.compare import paths_of, real
from autoreproduce.plugins.masked.masking import read_source
from autoreproduce.plugins.masked.transplant import LARGEST
from autoreproduce.trials.journal import open_journal

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.models.budget import Budget
    from autoreproduce.plugins.masked.outcome import TaskOutcome
    from autoreproduce.plugins.masked.selection import MaskedTask

By = Literal["agreement", "checker", "reader"]
LONG = 300  # lines of a file of which a verifier sees the functions alone
NEAR = 1e-3  # relative: two candidates whose numbers are so near did the same


class VerifierAnswer(BaseModel):
    """A model's answer: what it found in each candidate, and the number of the one it chose, from
    1.
    """

    reasons: list[str] = []
    chosen: int = Field(ge=1, strict=True)


@dataclass(frozen=True)
class CandidateAttempt:
    """One attempt: the functions as they were written, and what the harness's run of them gave."""

    folder: Path
    code: str
    outcome: TaskOutcome


def candidate_of(masked: MaskedTask, attempt: Path, outcome: TaskOutcome) -> CandidateAttempt:
    """The candidate that an attempt's folder holds."""
    wanted = functions_of(masked)
    parts = [
        _shown(attempt / "workspace", file, [a for f, a in wanted if f == file])
        for file, _ in wanted
    ]
    return CandidateAttempt(attempt, "\n\n".join(dict.fromkeys(parts)), outcome)


def _shown(workspace: Path, file: str, addresses: Sequence[str]) -> str:
    """A file as an attempt left it, whole, so that helpers are seen; of a long one the functions
    alone.
    """
    try:
        source = read_source(workspace, file, most=LARGEST)
        text = source.utf8.decode()
        if text.count("\n") > LONG:
            text = "\n\n".join(source.text(source.find(address)) for address in addresses)
    except SourceError as error:
        return f"(no function: {error})"
    return f"~~~python\n# {file}\n{text.strip()}\n~~~"


def by_agreement(candidates: Sequence[CandidateAttempt]) -> int:
    """The index of the first candidate of the largest group with equal numbers; those without
    numbers come last.
    """
    ran = [n for n, each in enumerate(candidates) if each.outcome.numbers]
    if not ran:
        return 0
    groups = {n: [m for m in ran if _alike(candidates[n], candidates[m])] for n in ran}
    return max(ran, key=lambda n: (len(groups[n]), -n))


def by_model(
    masked: MaskedTask,
    candidates: Sequence[CandidateAttempt],
    by: By,
    model: Any,
    model_name: str,
    settings: Settings,
    budget: Budget,
    home: Path,
    code: str,
) -> tuple[int | None, str]:
    """The index that a model chooses and its reasons; None where its replies cannot be used. Kept
    below `home`.

    `code`: the masked file or files, as the solvers saw them.
    """
    shown = [{"code": each.code, "numbers": _gave(each.outcome)} for each in candidates]
    what = digest([masked.id, by, model_name, shown])
    prompts = Prompts(folder("prompts") / "autoexperiment")
    identity = {"verifier": by, "task": masked.id, "model": model_name}
    with open_journal(home / f"{by}-{what[:8]}", identity) as journal:
        journal.phase("verify")
        agent = Agent("research", model, model_name, prompts, journal, budget, settings)
        try:
            found = agent.structured(
                "read",
                VerifierAnswer,
                paper=masked.paper.text,
                experiments=masked.what_to_do,
                code=code,
                candidates=shown,
                checking=by == "checker",
            )
        except ReplyError as error:
            return None, str(error)
    if found.chosen > len(candidates):
        return None, f"it chose candidate {found.chosen} of {len(candidates)}"
    return found.chosen - 1, "; ".join(found.reasons)


def _gave(outcome: TaskOutcome) -> str:
    """The numbers of a run; where there are none, why. A reason beside numbers would name the
    gold.
    """
    return json.dumps(outcome.numbers) if outcome.numbers else outcome.reason


def _alike(one: CandidateAttempt, other: CandidateAttempt) -> bool:
    ours, theirs = paths_of(one.outcome.numbers), paths_of(other.outcome.numbers)
    return ours.keys() == theirs.keys() and all(_near(ours[path], theirs[path]) for path in ours)


def _near(one: Any, other: Any) -> bool:
    if isinstance(one, int | float) and isinstance(other, int | float):
        return math.isclose(real(one), real(other), rel_tol=NEAR, abs_tol=1e-9)
    return bool(one == other)

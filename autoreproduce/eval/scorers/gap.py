"""The performance gap of a trial: its measured number against the reference's (`autoreproduce.eval.gap`)."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from autoreproduce import Score
from autoreproduce.errors import UsageError
from autoreproduce.eval.gap import performance_gap, signed_gap

if TYPE_CHECKING:
    from autoreproduce.eval.scorers import Setup
    from autoreproduce.task import Task
    from autoreproduce.trial import Trial


class GapScorer:
    """The paper's relative performance gap; lower is better, 1 where the program did not run."""

    name = "gap"

    def __init__(self, setup: Setup) -> None:
        self.setup = setup

    def score(self, trial: Trial, task: Task) -> Score:
        """|ref − agent| / max(ref, agent), and the signed gap in the details (above 0 is worse)."""
        outcome, reference = trial.outcome, task.reference
        if reference is None:
            return Score(self.name, None, "not scored: the task has no reference result")
        if outcome is None or outcome.status == "stopped":
            return Score(self.name, None, "not scored: the trial has not ended")
        if trial.record.solver == "external" and outcome.phase == "not run":
            return Score(self.name, None, "not scored: it was not run; --run COMMAND runs it in the sandbox")
        agent = outcome.metric if outcome.status == "succeeded" else None
        try:
            return self._scored(reference.value, agent, task)
        except UsageError as error:
            return Score(self.name, None, f"not scored: {error}")

    def _scored(self, reference: float, agent: float | None, task: Task) -> Score:
        value = performance_gap(reference, agent)
        finite = agent is not None and math.isfinite(agent)
        details: dict[str, Any] = {"reference": reference, "agent": agent if finite else None}
        details["signed"] = (
            signed_gap(reference, agent, task.metric.direction) if agent is not None and finite else None
        )
        details["against"] = "our measured reference" if task.measured else "the published reference"
        if agent is None:
            return Score(self.name, value, "it was not executable, so its number counts as 0", details)
        if not finite:
            return Score(self.name, value, f"its number is {agent}, which counts as not executable", details)
        way = "worse" if details["signed"] > 0 else "better" if details["signed"] < 0 else "equal"
        return Score(self.name, value, f"{agent:.5g} against {reference:.5g} ({details['against']}): {way}", details)

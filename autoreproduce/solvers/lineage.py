"""Builds a paper's lineage and nothing else: what `autoreproduce lineage` runs, as a trial like any
other.
"""

from __future__ import annotations

from pathlib import Path

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.prompts import Prompts
from autoreproduce.config import Settings
from autoreproduce.contracts import Need, Sandbox, Submission
from autoreproduce.method.literature_review import paper_of
from autoreproduce.method.paper_lineage.build import build_lineage
from autoreproduce.method.paper_lineage.entry import table
from autoreproduce.method.paper_lineage.extract import extract
from autoreproduce.models import Models
from autoreproduce.models.budget import Budget
from autoreproduce.task import Task
from autoreproduce.trials.trial import Trial

SUMMARY_CHARACTERS = 6_000  # of the extract that replaces a whole trial's summaries


class Lineage:
    """The phase of Algorithm 1 alone."""

    needs: frozenset[Need] = frozenset({"model"})

    def __init__(self, settings: Settings, budget: Budget, paper_file: Path | None = None) -> None:
        self.settings = settings
        self.budget = budget
        self.paper_file = paper_file

    def solve(self, task: Task, models: Models, sandbox: Sandbox, trial: Trial) -> Submission:
        """Read the paper, build its lineage, print it. There is nothing to measure."""
        from rich.console import Console

        trial.phase("paper")
        paper = paper_of(trial, task, self.settings, self.paper_file)
        given = (Prompts(), trial, self.budget, self.settings)
        research, code = Agent.of(models, "research", *given), Agent.of(models, "code", *given)
        trial.phase("paper_lineage")
        summary = extract(paper.body, SUMMARY_CHARACTERS)
        entries = build_lineage(task, paper, summary, research, code, trial, self.settings)
        Console(stderr=True).print(table(entries))
        found = sum(bool(entry.summary) for entry in entries)
        return Submission(
            status="complete",
            reason=f"{found} of {len(entries)} papers followed",
            phase=trial.phase_name,
            measurable=False,
            lineage=[entry.model_dump(mode="json", exclude={"code"}) for entry in entries],
        )

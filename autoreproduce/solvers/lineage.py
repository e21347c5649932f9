"""Builds a paper's lineage and nothing else: what `autoreproduce lineage` runs, as a trial like any other."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from autoreproduce.agents import Agent
from autoreproduce.paper_lineage import lineage_command
from autoreproduce.papers import read_paper
from autoreproduce.prompting import Prompts
from autoreproduce.trial import Outcome

if TYPE_CHECKING:
    from autoreproduce import Sandbox
    from autoreproduce.budget import Budget
    from autoreproduce.config import Settings
    from autoreproduce.solvers.autoreproduce import Models
    from autoreproduce.task import Task
    from autoreproduce.trial import Trial


class Lineage:
    """The phase of Algorithm 1 alone."""

    def __init__(self, settings: Settings, budget: Budget, paper_file: Path | None = None) -> None:
        self.settings = settings
        self.budget = budget
        self.paper_file = paper_file

    def solve(self, task: Task, model: Models, sandbox: Sandbox, trial: Trial) -> None:
        """Read the paper, build its lineage, print it, write the outcome."""
        from rich.console import Console

        trial.phase("paper")
        paper = read_paper(
            self.settings, trial.folder, arxiv_id=task.arxiv_id, file=self.paper_file, digest=task.digest,
            note=trial.note,
        )  # fmt: skip
        shared = (Prompts(), trial, self.budget, self.settings)
        research = Agent("research", model.research, model.research_name, *shared)
        code = Agent("code", model.code, model.code_name, *shared)
        entries = lineage_command(task, paper, research, code, trial, self.settings, Console(stderr=True))
        kept = [entry.model_dump(mode="json", exclude={"code"}) for entry in entries]
        found = sum(bool(entry.summary) for entry in entries)
        outcome = Outcome(status="succeeded", reason=f"{found} of {len(entries)} papers followed", lineage=kept)
        trial.write("outcome.json", outcome.model_dump_json(indent=1))

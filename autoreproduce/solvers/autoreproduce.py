"""The project's own solver: the two agents of the paper, walking the graph of `workflow`."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.agents import Agent
from autoreproduce.prompting import Prompts
from autoreproduce.solvers.masked_loop import MaskedLoop
from autoreproduce.trial import Outcome
from autoreproduce.workflow import Context, State, build_graph
from autoreproduce.workspace import Workspace

if TYPE_CHECKING:
    from autoreproduce import Sandbox
    from autoreproduce.budget import Budget
    from autoreproduce.config import Settings
    from autoreproduce.task import Task
    from autoreproduce.trial import Trial


@dataclass
class Models:
    """The chat models of the two agents, often the same one, and their names as the user gave them."""

    research: Any = None
    code: Any = None
    research_name: str = ""
    code_name: str = ""


class AutoReproduce:
    """Reproduces a paper's experiment; in a repository with masked functions, writes those (`MaskedLoop`).

    Its submission is the program in the trial's workspace.
    """

    def __init__(self, settings: Settings, budget: Budget, paper_file: Path | None = None) -> None:
        self.settings = settings
        self.budget = budget
        self.paper_file = paper_file

    def solve(self, task: Task, model: Models, sandbox: Sandbox, trial: Trial) -> None:
        """Walk the graph and write the outcome. A phase that runs out of tries is an outcome, not an exception."""
        if task.masked_set is not None:
            MaskedLoop(self.settings, self.budget).solve(task, model, sandbox, trial)
            return
        prompts = Prompts()
        workspace = Workspace(trial.folder)
        workspace.open()
        context = Context(
            task=task,
            settings=self.settings,
            research=Agent("research", model.research, model.research_name, prompts, trial, self.budget, self.settings),
            code=Agent("code", model.code, model.code_name, prompts, trial, self.budget, self.settings),
            sandbox=sandbox,
            trial=trial,
            workspace=workspace,
            paper_file=self.paper_file,
        )
        state: Any = build_graph(self.settings.lineage).invoke({}, context=context)
        trial.write("outcome.json", outcome_of(task, trial, state).model_dump_json(indent=1))


def outcome_of(task: Task, trial: Trial, state: State) -> Outcome:
    """How the trial ended, from what its phases left."""
    ended = state.get("ended", {})
    last, end = next(reversed(ended.items()))
    measured = state.get("measured")
    outcome = Outcome(status="succeeded" if measured else "failed", reason=end.reason, phase=last)
    outcome.phases = {name: {"status": e.status, "reason": e.reason, "tries": e.tries} for name, e in ended.items()}
    outcome.lineage = [entry.model_dump(mode="json", exclude={"code"}) for entry in state.get("lineage", [])]
    outcome.edits = state["bench"].edits
    outcome.not_reproduced, outcome.notes = _not_reproduced(task, outcome), task.notes
    outcome.warnings = [f"{name}: {e.reason}" for name, e in ended.items() if e.status == "ran"]
    if state["paper"].source == "digest":
        outcome.warnings.append(state["paper"].note)
    if measured:
        outcome.metrics, outcome.metric, outcome.claimed = measured.metrics, measured.value, measured.claimed
        outcome.recomputed = measured.recomputed is not None
        outcome.warnings += [measured.warning] if measured.warning else []
    return outcome


def _not_reproduced(task: Task, outcome: Outcome) -> list[str]:
    """What a reader might believe was reproduced and was not."""
    missing = []
    if outcome.status != "succeeded":
        missing.append(f"the metric {task.metric.name}: {outcome.reason}")
    if task.profile != "full":
        missing.append(
            f"the paper's own setting: this is the profile «{task.profile}», so the paper's number is not the mark"
        )
    if task.stand_in:
        missing.append(f"the paper's data: {task.stand_in}")
    missing.append("every other experiment of the paper")
    return missing

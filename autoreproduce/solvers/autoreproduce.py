"""The project's own solver: the two agents of the paper, walking the graph of `workflow`."""

from pathlib import Path
from pkgutil import resolve_name
from typing import Any

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.prompts import Prompts
from autoreproduce.agents.shared_replies import shared_replies
from autoreproduce.benchmarks import benchmark_of
from autoreproduce.claims.choices import scaled_down_warning
from autoreproduce.config import Settings
from autoreproduce.contracts import Need, Sandbox, Submission
from autoreproduce.method.coding import CHANGES, CODING, remaining
from autoreproduce.method.full_run import partial_results
from autoreproduce.method.paper_notes import READ_BEFORE, SECTION, note_lines
from autoreproduce.method.starting_code import changes_to
from autoreproduce.method.workbench import Workbench
from autoreproduce.method.workflow import Context, State, build_graph, phases_of
from autoreproduce.models import Models
from autoreproduce.models.budget import Budget
from autoreproduce.solvers.coders import coder_maker
from autoreproduce.task import Task
from autoreproduce.trials.steps import ExecutionResult
from autoreproduce.trials.trial import Trial
from autoreproduce.trials.workspace import Workspace


class AutoReproduce:
    """Reproduces a paper's experiment; what else a benchmark asks for is attempted by its `method`.

    Its submission is the program in the trial's workspace.
    """

    needs: frozenset[Need] = frozenset({"model"})

    def __init__(self, settings: Settings, budget: Budget, paper_file: Path | None = None) -> None:
        self.settings = settings
        self.budget = budget
        self.paper_file = paper_file

    def solve(self, task: Task, models: Models, sandbox: Sandbox, trial: Trial) -> Submission:
        """Walk the graph. A phase that uses up its attempts is a failed submission."""
        if own := getattr(benchmark_of(task), "method", ""):
            loop = resolve_name(own)(self.settings, self.budget, self.paper_file)
            submission: Submission = loop.solve(task, models, sandbox, trial)
            return submission
        workspace = Workspace(trial.folder)
        at_work = bool(trial.steps) and trial.steps[-1].phase in (CODING, CHANGES)
        workspace.go_on() if at_work else workspace.open()
        given = (Prompts(), trial, self.budget, self.settings)
        context = Context(
            task=task,
            settings=self.settings,
            research=Agent.of(models, "research", *given, shared=shared_replies(trial)),
            code=Agent.of(models, "code", *given),
            sandbox=sandbox,
            trial=trial,
            workspace=workspace,
            paper_file=self.paper_file,
            coder=coder_maker(self.settings, self.budget, models),
        )
        trial.planned(phases_of(self.settings.method))
        state: Any = build_graph(self.settings.method).invoke({}, context=context)
        state["bench"].blank.write(trial)
        return submission_of(task, state)


def submission_of(task: Task, state: State) -> Submission:
    """How the attempt ended, from what its phases left."""
    ended = state.get("ended", {})
    last, end = next(reversed(ended.items()))
    complete = last == "full_run" and end.status != "failed"
    warnings = [f"{name}: {e.reason}" for name, e in ended.items() if e.status == "ran"]
    warnings += state.get("warnings", [])
    warnings += end.warnings
    warnings += state["bench"].coder.notes() if state["bench"].coder else []
    if shares := state["bench"].research.shortened.values():
        warnings.append(
            "the paper did not fit into the model's context (--context-tokens): each question "
            f"showed the passages nearest to it, the least of them {min(shares):.0%} of the paper"
        )
    if complete and (scaled := scaled_down_warning(state["bench"].choices)):
        warnings.append(scaled)
    stopped = last == "full_run" and end.run is not None and end.run.timed_out
    if state["paper"].source == "digest":
        warnings.append(state["paper"].note)
    return Submission(
        status="complete" if complete else "failed",
        reason=end.reason,
        phase=last,
        run=end.run.execution if complete and end.run else None,
        phases={
            name: {"status": e.status, "reason": e.reason, "attempts": e.attempts}
            for name, e in ended.items()
        },
        lineage=[
            entry.model_dump(mode="json", exclude={"code"}) for entry in state.get("lineage", [])
        ],
        edits=state["bench"].edits,
        audit=remaining(state["bench"]) if complete else None,
        warnings=warnings,
        not_reproduced=[*_begun(state["bench"]), *_not_reproduced(task)],
        details=_details(state, end.run if stopped else None),
    )


def _begun(bench: Workbench) -> list[str]:
    if bench.start is None:
        return []
    return [f"a program from the paper alone: it was begun from {bench.start.source}"]


def _details(state: State, stopped: ExecutionResult | None) -> dict[str, Any]:
    """What a run that was stopped had printed, and sections of the report."""
    details: dict[str, Any] = {"partial": partial_results(stopped)} if stopped else {}
    sections: dict[str, Any] = {}
    bench = state["bench"]
    if before := state.get("read_before"):
        sections[READ_BEFORE] = [(before, "")]
    if bench.paper_notes:
        sections[SECTION] = note_lines(bench.paper_notes)
    if bench.start is not None:
        title = f"What was changed of {bench.start.source}, with which the program began"
        sections[title] = changes_to(bench.start.files, bench.files)
    return {**details, "sections": sections} if sections else details


def _not_reproduced(task: Task) -> list[str]:
    """What a reader might believe was reproduced and was not, however well the attempt went."""
    missing = []
    if task.profile != "full":
        missing.append(
            f"the paper's own setting: this is the profile \"{task.profile}\", so the paper's "
            "number is not the mark"
        )
    if task.stand_in:
        missing.append(f"the paper's data: {task.stand_in}")
    return [*missing, "every other experiment of the paper"]

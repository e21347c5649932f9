"""The method of the paper (AutoReproduce, arXiv 2505.20662, section 3) as a graph.

The phases are its nodes, in the paper's order; those that write a file of the program are graphs
of their own (`development`), and one that fails ends the trial. A node reads and adds to the
state; it never calls the next. Each model call and each execution is a step of the trial's journal,
so the graph itself keeps no checkpoint: a trial that is started again walks the graph from the
start, answered by the journal up to the step it had reached.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from autoreproduce.agents.shared_replies import copy_paper
from autoreproduce.claims.user_claims import claims_of_task, claims_to_read
from autoreproduce.method.choices import cited_by_choices, take_choices, write_choices
from autoreproduce.method.claims import (
    FrozenClaims,
    blanked_task,
    claims_read_before,
    freeze_claims,
    titled_task,
    to_measure,
    withholding,
)
from autoreproduce.method.coding import CODING, EDIT, write_program
from autoreproduce.method.data_acquisition import DATA_ACQUISITION
from autoreproduce.method.development import develop, recursion_limit
from autoreproduce.method.experiment_execution import EXPERIMENT_EXECUTION
from autoreproduce.method.full_run import run_in_full
from autoreproduce.method.literature_review import Summaries, paper_of, review_literature
from autoreproduce.method.method_replication import METHOD_REPLICATION
from autoreproduce.method.paper_extract import PaperExtract, extract_at_once, prompts_hold
from autoreproduce.method.paper_lineage import LineageEntry, blanked, build_lineage, render
from autoreproduce.method.phase import PhaseResult, note_result
from autoreproduce.method.refactoring import refactor
from autoreproduce.method.workbench import Workbench
from autoreproduce.papers import Paper

if TYPE_CHECKING:
    from langgraph.graph import StateGraph
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.runtime import Runtime

    from autoreproduce.agents.agent import Agent
    from autoreproduce.config import MethodSettings, Settings
    from autoreproduce.contracts import Sandbox
    from autoreproduce.method.workbench import Coder
    from autoreproduce.task import Task
    from autoreproduce.trials.trial import Trial
    from autoreproduce.trials.workspace import Workspace

__all__ = ["Context", "State", "build_graph", "draw", "phases_of"]

WRITING = (DATA_ACQUISITION, METHOD_REPLICATION, EXPERIMENT_EXECUTION)


class State(TypedDict, total=False):
    """What the phases hand on."""

    paper: Paper
    bench: Workbench  # from the literature review on
    extract: PaperExtract | None  # of a short paper: its claims and choices came with it
    warnings: list[str]  # of claims that had to be left out
    read_before: str  # that another command read the paper's claims, "" if none did
    lineage: list[LineageEntry]
    ended: dict[str, PhaseResult]  # by phase, from data acquisition on


@dataclass
class Context:
    """What the first phases use; passed to each node, nothing is global."""

    task: Task
    settings: Settings
    research: Agent
    code: Agent
    sandbox: Sandbox
    trial: Trial
    workspace: Workspace
    paper_file: Any = None
    coder: Callable[[Paper], Coder] | None = None  # makes who writes the program; None: the loop


def paper(state: State, runtime: Runtime[Context]) -> State:
    """Read the paper: LaTeX, PDF, the user's file, or the task's digest of it."""
    c = runtime.context
    c.trial.phase("paper")
    copy_paper(c.trial)
    return {"paper": paper_of(c.trial, c.task, c.settings, c.paper_file)}


def literature_review(state: State, runtime: Runtime[Context]) -> State:
    """Three summaries: overall, method, experiment; of a short paper one extract in their place.
    With them the workbench is ready.
    """
    c, read = runtime.context, state["paper"]
    c.trial.phase("literature_review")
    task, at_once = _asked_task(state, runtime), prompts_hold(read, c.settings)
    summaries = (
        Summaries(c.trial)
        if at_once
        else review_literature(task, read, c.research, c.trial, c.settings)
    )
    bench = Workbench(
        task, c.settings, c.research, c.code, c.sandbox, c.trial, c.workspace, summaries
    )
    bench.paper, bench.reads_paper = read.body, at_once
    if not at_once:
        return {"bench": bench, "extract": None}
    if claims_to_read(task):
        known = claims_read_before(task, read, c.research, c.trial)
    else:
        brought = claims_of_task(task)
        known = FrozenClaims(brought) if brought else None
    given = to_measure(known.file) if known else []
    if known:
        bench.withhold(withholding(known))
    bench.task = blanked_task(task, bench.blank)
    return {"bench": bench, "extract": extract_at_once(bench, bench.task, read, given)}


def _asked_task(state: State, runtime: Runtime[Context]) -> Task:
    """The task as the research agent reads it: with the paper's title, and nothing withheld."""
    return titled_task(runtime.context.task, state["paper"])


def choices(state: State, runtime: Runtime[Context]) -> State:
    """Each decision that the implementation takes, with its source."""
    bench = state["bench"]
    runtime.context.trial.phase("choices")
    if extract := state["extract"]:
        bench.choices = take_choices(bench, extract.choices, extract.chosen or [])
    else:
        bench.choices = write_choices(bench, _asked_task(state, runtime), bench.to_measure)
    return {"bench": bench}


def claims(state: State, runtime: Runtime[Context]) -> State:
    """What the paper claims, frozen; from here on the code agent and the reviews read every text
    without the claimed values.
    """
    c, bench = runtime.context, state["bench"]
    c.trial.phase("claims")
    read = state["extract"].frozen_claims() if state["extract"] else None
    frozen = freeze_claims(_asked_task(state, runtime), state["paper"], c.research, c.trial, read)
    bench.withhold(withholding(frozen))
    bench.to_measure, bench.paper_notes = to_measure(frozen.file), frozen.notes
    bench.task = blanked_task(bench.task, bench.blank)
    return {"warnings": frozen.warnings, "read_before": frozen.before}


def paper_lineage(state: State, runtime: Runtime[Context]) -> State:
    """The cited papers that this one builds on, each ⟨summary, code⟩ (the paper's Algorithm 1):
    k of them with --effort paper, else those that would settle what the paper leaves open.
    """
    c, bench = runtime.context, state["bench"]
    c.trial.phase("paper_lineage")
    by_effort = c.settings.method.effort == "paper"
    entries = build_lineage(
        bench.task,
        state["paper"],
        bench.summaries.overall if by_effort else "",
        c.research,
        c.code,
        c.trial,
        c.settings,
        blank=bench.blank,
        titles=None if by_effort else cited_by_choices(bench.choices),
    )
    bench.lineage = render(blanked(entry, bench.blank) for entry in entries)
    return {"lineage": entries}


def coding(state: State, runtime: Runtime[Context]) -> State:
    """A coder writes the program from TASK.md; it's audited, and changed once."""
    bench, make = state["bench"], runtime.context.coder
    assert make is not None
    coder = bench.coder = make(bench.blank.paper(state["paper"]))
    result = write_program(bench, coder)
    note_result(bench, CODING, result)
    return {"ended": {CODING: result}}


def refactoring(state: State) -> State:
    """The clean program, its settings unchanged."""
    return _ended("refactoring", refactor, state)


def full_run(state: State) -> State:
    """The clean program run in full."""
    return _ended("full_run", run_in_full, state)


def _ended(name: str, phase: Callable[[Workbench], PhaseResult], state: State) -> State:
    """Run a phase that is one node; its result beside those of the phases before."""
    bench = state["bench"]
    bench.trial.phase(name)
    result = phase(bench)
    note_result(bench, name, result)
    return {"ended": {**state["ended"], name: result}}


READING = (paper, literature_review, claims, choices)


def phases_of(settings: MethodSettings) -> list[str]:
    """The nodes of the graph, in their order."""
    reading = [node.__name__ for node in READING]
    lineage = [paper_lineage.__name__] if settings.lineage else []
    loop = [*(phase.name for phase in WRITING), "refactoring"]
    return [*reading, *lineage, *([CODING] if _by_coder(settings) else loop), "full_run"]


def _by_coder(settings: MethodSettings) -> bool:
    """Whether a coder writes the program, and not the paper's own loop."""
    return settings.coder not in (None, EDIT)


def build_graph(settings: MethodSettings) -> CompiledStateGraph[State, Context, State, State]:
    """The graph of the method; what `settings` leaves out (lineage, debugging, review) is not in
    it.
    """
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(State, context_schema=Context)
    for node in READING:
        graph.add_node(node.__name__, node)
    if settings.lineage:
        graph.add_node(paper_lineage.__name__, paper_lineage)
    if _by_coder(settings):
        graph.add_node(CODING, coding)
    else:
        _add_writing(graph, settings)
    graph.add_node("full_run", full_run)
    names = phases_of(settings)
    for name, following in pairwise([START, *names]):
        _add_edge(graph, name, following)
    graph.add_edge("full_run", END)
    compiled = graph.compile(name="autoreproduce")
    return compiled.with_config(recursion_limit=recursion_limit(settings))


def _add_writing(graph: StateGraph[State, Context], settings: MethodSettings) -> None:
    """The nodes of the paper's own loop, in their order, but for their edges."""
    for phase in WRITING:
        # with --effort evidence one review sees the whole program, where it can still change all
        reviewed = phase.reviewed and (settings.effort == "paper" or phase is EXPERIMENT_EXECUTION)
        graph.add_node(phase.name, develop(replace(phase, reviewed=reviewed), settings))
    graph.add_node("refactoring", refactoring)


def _add_edge(graph: StateGraph[State, Context], name: str, following: str) -> None:
    """An edge to the next phase; from one that writes a file to the end too, since nothing later
    can succeed without it.
    """
    from langgraph.graph import END

    def result(state: State) -> Literal["runs", "failed"]:
        return "failed" if state["ended"][name].status == "failed" else "runs"

    if name in {CODING, *(phase.name for phase in WRITING)}:
        graph.add_conditional_edges(name, result, {"runs": following, "failed": END})
    else:
        graph.add_edge(name, following)


def draw(settings: MethodSettings) -> str:
    """The graph as Mermaid, with the loops inside the phases."""
    return build_graph(settings).get_graph(xray=True).draw_mermaid()

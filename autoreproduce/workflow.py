"""The method as a graph: the phases of the paper are its nodes, and a phase that fails ends the trial.

A node reads and adds to the state; it never calls the next. What a phase does inside (each model call, each
execution) is a step of the trial's journal, so the graph itself keeps no checkpoint: a trial that is started
again walks the graph from the start, answered by the journal up to where it was.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypedDict

from autoreproduce import code_development
from autoreproduce.code_development.bench import Bench
from autoreproduce.code_development.full_run import Measured, measure, run_in_full
from autoreproduce.code_development.loop import Ended
from autoreproduce.code_development.phases import acquire_data, prepare_experiment, replicate_method
from autoreproduce.code_development.refactoring import refactor
from autoreproduce.literature_review import Summaries, review_literature
from autoreproduce.paper_lineage import LineageEntry, build_lineage, render
from autoreproduce.papers import Paper, read_paper

if TYPE_CHECKING:
    from langgraph.graph.state import CompiledStateGraph
    from langgraph.runtime import Runtime

    from autoreproduce import Sandbox
    from autoreproduce.agents import Agent
    from autoreproduce.config import Settings
    from autoreproduce.task import Task
    from autoreproduce.trial import Trial
    from autoreproduce.workspace import Workspace

__all__ = ["PHASES", "Context", "State", "build_graph", "code_development"]


class State(TypedDict, total=False):
    """What the phases hand on."""

    paper: Paper
    summaries: Summaries
    lineage: list[LineageEntry]
    bench: Bench
    ended: dict[str, Ended]
    measured: Measured | None


@dataclass
class Context:
    """What every phase may use; passed to each node, nothing is global."""

    task: Task
    settings: Settings
    research: Agent
    code: Agent
    sandbox: Sandbox
    trial: Trial
    workspace: Workspace
    paper_file: Any = None


def paper(state: State, runtime: Runtime[Context]) -> State:
    """Read the paper: LaTeX, PDF, the user's file, or the task's digest of it."""
    c = runtime.context
    c.trial.phase("paper")
    read = read_paper(
        c.settings,
        c.trial.folder,
        arxiv_id=c.task.arxiv_id,
        file=c.paper_file,
        digest=c.task.digest,
        note=c.trial.note,
    )
    return {"paper": read}


def literature_review(state: State, runtime: Runtime[Context]) -> State:
    """Three summaries: overall, method, experiment."""
    c = runtime.context
    c.trial.phase("literature_review")
    return {"summaries": review_literature(c.task, state["paper"], c.research, c.trial, c.settings)}


def paper_lineage(state: State, runtime: Runtime[Context]) -> State:
    """The cited papers that this one builds on, each a ⟨summary, code⟩ tuple (the paper's Algorithm 1)."""
    c = runtime.context
    c.trial.phase("paper_lineage")
    return {
        "lineage": build_lineage(
            c.task, state["paper"], state["summaries"].overall, c.research, c.code, c.trial, c.settings
        )
    }


def data_acquisition(state: State, runtime: Runtime[Context]) -> State:
    """data.py, and the facts it finds in the data."""
    c = runtime.context
    bench = Bench(
        c.task,
        c.settings,
        c.research,
        c.code,
        c.sandbox,
        c.trial,
        c.workspace,
        state["summaries"],
        render(state.get("lineage", [])),
    )
    return {"bench": bench, **_phase("data_acquisition", acquire_data, {**state, "bench": bench}, c)}


def method_replication(state: State, runtime: Runtime[Context]) -> State:
    """method.py, run on a mini-batch and checked against the paper."""
    return _phase("method_replication", replicate_method, state, runtime.context)


def experiment_execution(state: State, runtime: Runtime[Context]) -> State:
    """main.py, the whole pipeline, dry-run with early exits and checked against the paper."""
    return _phase("experiment_execution", prepare_experiment, state, runtime.context)


def refactoring(state: State, runtime: Runtime[Context]) -> State:
    """The clean program, its settings unchanged."""
    return _phase("refactoring", refactor, state, runtime.context)


def full_run(state: State, runtime: Runtime[Context]) -> State:
    """The clean program run in full, and the metric measured."""
    new = _phase("full_run", run_in_full, state, runtime.context)
    ended = new["ended"]["full_run"]
    if ended.status != "failed" and ended.run is not None:
        new["measured"] = measure(state["bench"], ended.run)
    return new


def _phase(name: str, do: Callable[[Bench], Ended], state: State, context: Context) -> State:
    context.trial.phase(name)
    ended = do(state["bench"])
    if ended.status != "matched":
        context.trial.note(f"{name}: {ended.status}: {ended.reason}")
    return {"ended": {**state.get("ended", {}), name: ended}}


PHASES = (
    paper,
    literature_review,
    paper_lineage,
    data_acquisition,
    method_replication,
    experiment_execution,
    refactoring,
    full_run,
)


def build_graph(lineage: bool = True) -> CompiledStateGraph[State, Context, State, State]:
    """The graph of the method. `lineage=False` leaves that phase out."""
    from langgraph.graph import END, START, StateGraph

    graph = StateGraph(State, context_schema=Context)
    nodes = [phase for phase in PHASES if lineage or phase is not paper_lineage]
    for node in nodes:
        graph.add_node(node.__name__, node)
    graph.add_edge(START, nodes[0].__name__)
    for node, after in zip(nodes, [*nodes[1:], None], strict=True):
        following = after.__name__ if after else END
        if node in PHASES[3:6] and after:  # these can fail, and then nothing later can succeed
            graph.add_conditional_edges(node.__name__, _going_on(node.__name__), {"on": following, "failed": END})
        else:
            graph.add_edge(node.__name__, following)
    return graph.compile(name="autoreproduce")


def _going_on(name: str) -> Callable[[State], Literal["on", "failed"]]:
    def going_on(state: State) -> Literal["on", "failed"]:
        return "failed" if state["ended"][name].status == "failed" else "on"

    return going_on

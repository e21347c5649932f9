"""Agentic: a model with tools (shell, view, edit, run, submit) in the sandbox, on LangChain's agent.

Source: AutoExperiment (arXiv 2506.19724), its ReAct agent and the one that plans. The loop, the tools' schemas, the
plan and the shortening of history are LangChain's; ours is that each model call and each tool call is a step of the
trial, so that a killed attempt goes on, and that every limit leaves one last step to submit.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autoreproduce import turns
from autoreproduce.agents import Agent
from autoreproduce.autoexperiment.retrieval import paper_for
from autoreproduce.errors import BudgetError
from autoreproduce.solvers.masked import MaskedSolver, answer_in, functions_of
from autoreproduce.solvers.recorded import plain, recorded
from autoreproduce.solvers.tools import Bench, tools_of

if TYPE_CHECKING:
    from autoreproduce import Sandbox
    from autoreproduce.autoexperiment.selection import MaskedTask
    from autoreproduce.trial import Trial

LAST = "{}: this is your last step. Call `submit` now with what you have."
WINDOW = 10  # messages kept of the agent's own, under the policy `window`
SUMMARISE = 30  # messages after which the policy `summary` puts the older ones into words


class Agentic(MaskedSolver):
    """ReAct: a thought, then a tool."""

    plans = False

    @turns.left()
    def attempt(self, masked: MaskedTask, model: Any, sandbox: Sandbox, trial: Trial) -> Any:
        """Let the agent work until it submits or a limit is reached; its answer as JSON, None for none.

        Its tools run in threads of LangChain's, so this one only waits.
        """
        bench = Bench(trial, sandbox, self.meter)
        first = self.prompts.render("start", role="code", **self._start(masked))
        agent = self._agent(bench, model, trial, first)
        try:
            agent.invoke(
                {"messages": [{"role": "user", "content": first}]},
                {"recursion_limit": 8 * self.settings.max_steps + 20},
            )
        except BudgetError:
            if not bench.submitted:
                raise
        return answer_in(bench.answer) if bench.submitted else None

    def _agent(self, bench: Bench, model: Any, trial: Trial, first: str) -> Any:
        from langchain.agents import create_agent

        keeper = recorded(trial, model.code_name, self.budget, self.settings, bench, LAST)
        middleware = [*self._policy(model, trial, first), *self._plan(), keeper]
        return create_agent(
            model.code, tools_of(bench), system_prompt=self.prompts.render("system", tools=True), middleware=middleware
        )

    def _policy(self, model: Any, trial: Trial, first: str) -> Sequence[Any]:
        """What the agent keeps of its own steps. A summary is a step of the trial, and the task stays before it."""
        from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware, SummarizationMiddleware

        if self.settings.history == "window":
            return [ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=WINDOW // 2)])]
        if self.settings.history == "summary":
            writer = Agent("code", model.code, model.code_name, self.prompts, trial, self.budget, self.settings)

            def so_far(messages: Sequence[Any]) -> str:
                shown = [(each.type, plain(each)) for each in messages if plain(each) != first]
                return f"{first}\n\n# So far\n{writer.ask('summary', messages=shown)}"

            return [SummarizationMiddleware(
                model.code, trigger=("messages", SUMMARISE), keep=("messages", WINDOW), summarizer=so_far,
                trim_tokens_to_summarize=None,
            )]  # fmt: skip
        return []

    def _plan(self) -> Sequence[Any]:
        if not self.plans:
            return []
        from langchain.agents.middleware import TodoListMiddleware

        return [TodoListMiddleware()]

    def _start(self, masked: MaskedTask) -> dict[str, Any]:
        """What the first message is made of; the whole paper lies in the workspace, but for `none`."""
        how = self.settings.retrieval
        about = [f"{row.name} {row.description}" for row in masked.functions]
        return {
            "experiments": masked.experiments, "functions": functions_of(masked), "plan": self.plans,
            "paper": paper_for(masked.paper.text, about, how, [row.passage for row in masked.functions]),
            "passages": how in ("passages", "oracle"), "paper_file": how != "none" and bool(masked.paper.text),
            "steps": self.settings.max_steps, "seconds": round(self.settings.command_seconds),
        }  # fmt: skip


class Planning(Agentic):
    """The same with a plan that it makes first and keeps up to date."""

    plans = True

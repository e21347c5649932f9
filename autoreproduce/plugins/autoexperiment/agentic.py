"""Agentic: a model with tools (shell, view, edit, run, submit) in the sandbox, on LangChain's
agent.

Source: AutoExperiment (arXiv 2506.19724), its ReAct agent and the one that plans. The loop, the
tools' schemas, the plan and the shortening of history are LangChain's; ours is that each model call
and each tool call is a step of the trial, so that a killed attempt resumes, and that every limit
leaves one last step to submit.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from autoreproduce.agents.agent import Agent
from autoreproduce.agents.listing import Edit, apply_edit
from autoreproduce.errors import BudgetError
from autoreproduce.papers.sections import section_or_headings
from autoreproduce.plugins.autoexperiment.answering import MaskedSolver, answer_in, functions_of
from autoreproduce.plugins.autoexperiment.retrieval import paper_for
from autoreproduce.solvers.recorded import invoke_config, plain, recorded
from autoreproduce.solvers.tools import ToolBench, answer_or_error, shortened

if TYPE_CHECKING:
    from autoreproduce.contracts import Sandbox
    from autoreproduce.models import Models
    from autoreproduce.plugins.autoexperiment.selection import MaskedTask
    from autoreproduce.trials.trial import Trial

LAST = "{}: this is your last step. Call `submit` now with what you have."
WINDOW = 10  # messages left of the agent's own, under the policy `window`
SUMMARISE = 30  # messages after which the policy `summary` puts the older ones into words


class Agentic(MaskedSolver):
    """ReAct: a thought, then a tool."""

    plans = False

    def attempt(self, masked: MaskedTask, models: Models, sandbox: Sandbox, trial: Trial) -> Any:
        """Let the agent work until it submits or reaches a limit; its answer as JSON, or None."""
        bench = MaskedTools(
            trial,
            sandbox,
            self.meter,
            paper=masked.paper.text if self.settings.masked.retrieval != "none" else "",
            refsol=self.settings.masked.refsol,
        )
        first = self.prompts.render("start", role="code", **self._start(masked))
        agent = self._agent(bench, models, trial, first)
        try:
            agent.invoke(
                {"messages": [{"role": "user", "content": first}]},
                invoke_config(trial, self.settings),
            )
        except BudgetError:
            if not bench.submitted:
                raise
        return answer_in(bench.answer) if bench.submitted else None

    def _agent(self, bench: MaskedTools, models: Models, trial: Trial, first: str) -> Any:
        from langchain.agents import create_agent

        keeper = recorded(trial, models.code_name, self.budget, self.settings, bench, LAST)
        middleware = [*self._policy(models, trial, first), *self._plan(), keeper]
        return create_agent(
            models.chat("code"),
            tools_of(bench),
            system_prompt=self.prompts.render("system", tools=True),
            middleware=middleware,
        )

    def _policy(self, models: Models, trial: Trial, first: str) -> Sequence[Any]:
        """What the agent keeps of its own steps. A summary is a step of the trial, and the task
        stays before it.
        """
        from langchain.agents.middleware import (
            ClearToolUsesEdit,
            ContextEditingMiddleware,
            SummarizationMiddleware,
        )

        if self.settings.masked.history == "window":
            return [
                ContextEditingMiddleware(edits=[ClearToolUsesEdit(trigger=1, keep=WINDOW // 2)])
            ]
        if self.settings.masked.history == "summary":
            writer = Agent.of(models, "code", self.prompts, trial, self.budget, self.settings)

            def so_far(messages: Sequence[Any]) -> str:
                shown = [(each.type, plain(each)) for each in messages if plain(each) != first]
                return f"{first}\n\n# So far\n{writer.ask('summary', messages=shown)}"

            return [
                SummarizationMiddleware(
                    models.chat("code"),
                    trigger=("messages", SUMMARISE),
                    keep=("messages", WINDOW),
                    summarizer=so_far,
                    trim_tokens_to_summarize=None,
                )
            ]
        return []

    def _plan(self) -> Sequence[Any]:
        if not self.plans:
            return []
        from langchain.agents.middleware import TodoListMiddleware

        return [TodoListMiddleware()]

    def _start(self, masked: MaskedTask) -> dict[str, Any]:
        """What the first message is made of; the whole paper lies in the workspace, but for
        `none`.
        """
        how = self.settings.masked.retrieval
        about = [f"{row.name} {row.description}" for row in masked.functions]
        return {
            "experiments": masked.asked,
            "functions": functions_of(masked),
            "plan": self.plans,
            "paper": paper_for(
                masked.paper.text, about, how, [row.passage for row in masked.functions]
            ),
            "passages": how in ("passages", "oracle"),
            "paper_file": how != "none" and bool(masked.paper.text),
            "refsol": self.settings.masked.refsol,
            "steps": self.settings.budget.max_steps,
            "seconds": round(self.settings.masked.command_seconds),
        }


class Planning(Agentic):
    """The same with a plan that it makes first and keeps up to date."""

    plans = True


RUN = "bash refsol.sh"


@dataclass
class MaskedTools(ToolBench):
    """A bench with the paper's text, "" if it's withheld, and a script that runs the experiment."""

    paper: str = ""
    refsol: bool = True

    def edit(self, path: str, first: int, last: int, text: str) -> str:
        """Replace lines of a file and show what is there now."""
        old = self.text(path)
        new = apply_edit(
            old, Edit(first, last, text if not text or text.endswith("\n") else f"{text}\n")
        )
        self.sandbox.write(path, new.encode())
        return self.view(path, first - 3, first + text.count("\n") + 4)


def tools_of(bench: MaskedTools) -> list[Any]:
    """The tools as LangChain takes them; their docstrings are what the model reads."""
    from langchain_core.tools import tool

    @tool
    def shell(command: str) -> str:
        """Run a bash command in the repository. There is no network."""
        return bench.execute(command)

    @tool
    def view(path: str, first: int = 1, last: int = 200) -> str:
        """Show lines `first` to `last` of a file, numbered from 1."""
        return answer_or_error(lambda: bench.view(path, first, last))

    @tool
    def edit(path: str, first: int, last: int, text: str) -> str:
        """Replace lines `first` to `last` (from 1, both included) of a file by `text`; last = first
        - 1 inserts.
        """
        return answer_or_error(lambda: bench.edit(path, first, last, text))

    @tool
    def run() -> str:
        """Run the experiment (`bash refsol.sh`) and show what it printed."""
        return bench.execute(RUN)

    @tool(return_direct=True)
    def submit(answer: str) -> str:
        """Hand in: the functions as they stand, and the numbers as JSON, {"Experiment 1": ...}.
        Ends the attempt.
        """
        bench.submitted, bench.answer = True, answer
        return "submitted"

    @tool
    def section(name: str) -> str:
        """Show a section of the paper by its name or number; any other name lists all."""
        return shortened(section_or_headings(bench.paper, name))

    more = [*([run] if bench.refsol else []), *([section] if bench.paper.strip() else [])]
    return [shell, view, edit, *more, submit]

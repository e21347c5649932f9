"""PaperBench's two agents, written anew from their published description (arXiv 2504.01848,
section 4.1), on LangChain's agent.

`basic` is a loop over tools: bash, Python, a reader of files in pages, and a tool to submit.
`iterative` cannot submit, is asked for one step at a time, and works until its limit. The published
ones have a web browser too; no sandbox here has a network, so there is none. Old answers of tools
are cleared from a history that grows long, where the published ones drop the oldest messages.
"""

import shlex
from typing import Any

from autoreproduce.errors import SandboxError
from autoreproduce.models import Models
from autoreproduce.plugins.baselines.baseline import (
    BaselineBench,
    BaselineSolver,
    LimitReachedError,
)
from autoreproduce.solvers.recorded import NO_TOOL, invoke_config, recorded
from autoreproduce.solvers.tools import ToolBench

PAGE = 11_000  # characters of a file that the reader shows at once
LONG_HISTORY = 60_000  # tokens after which old answers of tools are cleared
LEFT = 12  # answers that are not
LAST = "{}: this is your last step. Call `submit` now."
NEXT_STEP = (
    "There is time left. Take the next step by a tool: one small step towards a program that is "
    "nearer to the paper."
)


class Basic(BaselineSolver):
    """A loop over tools, until the agent submits."""

    needs = frozenset({"model", "tools"})
    name = "basic"
    whole_papers = True
    submits = True

    def attempt(self, bench: BaselineBench, models: Models) -> None:
        """Let the agent work until it submits or reaches a limit."""
        from langchain.agents import create_agent
        from langchain.agents.middleware import ClearToolUsesEdit, ContextEditingMiddleware

        tools = ToolBench(bench.trial, bench.sandbox, self.meter)
        clearing = ClearToolUsesEdit(trigger=LONG_HISTORY, keep=LEFT)
        recording = recorded(
            bench.trial,
            models.code_name,
            self.budget,
            self.settings,
            tools,
            LAST if self.submits else "",
            NO_TOOL if self.submits else NEXT_STEP,
        )
        agent = create_agent(
            models.chat("code"),
            reproduction_tools(tools, self.submits),
            system_prompt=self.prompts.render("system", tools=True),
            middleware=[ContextEditingMiddleware(edits=[clearing]), recording],
        )
        seconds = round(bench.run_seconds)
        start = "repository/start" if bench.task.wants_repository else "start"
        first = self.prompts.render(start, brief=bench.brief, seconds=seconds)
        agent.invoke(
            {"messages": [{"role": "user", "content": first}]},
            invoke_config(bench.trial, self.settings),
        )
        if self.submits and not tools.submitted:
            raise LimitReachedError(self.meter.reached or "it did not submit")


class Iterative(Basic):
    """The same without a way to submit, one step at a time, until its limit."""

    name = "iterative"
    submits = False


def reproduction_tools(bench: ToolBench, submits: bool) -> list[Any]:
    """The tools as LangChain takes them; their docstrings are what the model reads."""
    from langchain_core.tools import tool

    @tool
    def bash(command: str) -> str:
        """Run a bash command in your folder; exit code and output. There is no network, and nothing
        that you start outlives the command.
        """
        return bench.execute(command)

    @tool
    def python(code: str) -> str:
        """Run Python code in a new process in your folder; print what you want to see."""
        return bench.execute(f"python -c {shlex.quote(code)}")

    @tool
    def read_file(path: str, page: int = 1) -> str:
        """Show a page (from 1) of a text file, for files that are too long to print."""
        try:
            return page_of(bench, path, page)
        except FileNotFoundError:
            return f"Error: there is no file {path}"
        except (SandboxError, UnicodeEncodeError) as error:
            return f"Error: {error}"

    @tool(return_direct=True)
    def submit() -> str:
        """Hand in the program as it lies in your folder. Ends the attempt."""
        bench.submitted = True
        return "submitted"

    return [bash, python, read_file, *([submit] if submits else [])]


def page_of(bench: ToolBench, path: str, page: int) -> str:
    """A page of a file, with how many there are. Raises FileNotFoundError and SandboxError."""
    text = bench.sandbox.read(path).decode("utf-8", "replace")
    pages = max(1, -(-len(text) // PAGE))
    page = min(max(page, 1), pages)
    return f"({path}, page {page} of {pages})\n{text[(page - 1) * PAGE : page * PAGE]}"

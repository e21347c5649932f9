"""Makes each call of a LangChain agent a step of the trial, within the budget and the number of
steps.

What the journal holds is answered from it, the agent's loop walks on as it did, and the first call
that it does not hold is made. A tool call that ended changed the workspace, which lies on disk as
it was left.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from autoreproduce.agents.messages import settled
from autoreproduce.models import open as models
from autoreproduce.models import prices
from autoreproduce.models.budget import Cost
from autoreproduce.models.tape import CallSite
from autoreproduce.models.tokens import count_tokens
from autoreproduce.trials.steps import ExecutionResult, ModelResult

if TYPE_CHECKING:
    from autoreproduce.config import Settings
    from autoreproduce.models.budget import Budget
    from autoreproduce.solvers.tools import ToolBench
    from autoreproduce.trials.trial import Trial


NO_TOOL = "No tool was used. Use one to continue; `submit` ends the attempt."
ONE_LEFT = "The last step but one is done"
ROLE, NAME = "code", "act"  # of each call, beside the trial's phase


def invoke_config(trial: Trial, settings: Settings) -> Any:
    """What an agent is invoked with: room for its steps, and the calls' place, by which a tape
    finds its replies. The tools that one message calls run one after another, in its order: the
    journal is a chain of steps, and a resumed attempt meets them in the same order.
    """
    place = CallSite(ROLE, trial.phase_name, NAME)
    steps = 8 * settings.budget.max_steps + 20
    return {"recursion_limit": steps, "metadata": place._asdict(), "max_concurrency": 1}


class _Calls:
    """The model's calls of one attempt, made within its budget."""

    def __init__(self, trial: Trial, model_name: str, budget: Budget, settings: Settings) -> None:
        self.trial, self.model_name = trial, model_name
        self.budget, self.settings = budget, settings
        self._tool_tokens: dict[int, int] = {}  # of the tools' descriptions, sent with each call

    def live(self, request: Any, handler: Any, shown: Any) -> ModelResult:
        """Make one call with the messages `shown`, and account for it."""
        asked = [(message.type, plain(message)) for message in shown]
        text = "\n\n".join(f"# {kind}\n\n{content}" for kind, content in asked)
        self.trial.keep_prompt(NAME, text)
        tokens = count_tokens(text) + self._tokens_of(request.tools)
        most = prices.most_it_costs(tokens, self.model_name, self.settings)
        with self.budget.reserve(most) as held:
            texts = [words for _, words in asked]
            message = models.explained(
                lambda: handler(request).result[-1], request.model, lambda: texts
            )
            reply = models.reply_of(message)
            calls = models.storable(message.tool_calls)
            return settled(reply, shown, self.model_name, self.settings, held, tool_calls=calls)

    def passed(self, request: Any, result: ModelResult) -> None:
        """Account for a call that the journal holds; a tape moves past it."""
        self.budget.spend(Cost(result.usage.total, result.price))
        if hasattr(request.model, "skip"):
            request.model.skip(ROLE, self.trial.phase_name, NAME)

    def _tokens_of(self, tools: Any) -> int:
        from langchain_core.utils.function_calling import convert_to_openai_tool

        if len(tools) not in self._tool_tokens:
            described = json.dumps([convert_to_openai_tool(each) for each in tools])
            self._tool_tokens[len(tools)] = count_tokens(described)
        return self._tool_tokens[len(tools)]


def _tool_result(call: Any, message: Any) -> ExecutionResult:
    text = message.content if isinstance(message.content, str) else str(message.content)
    return ExecutionResult(command=f"{call['name']} {call['args']}", exit_code=0, stdout=text)


def recorded(
    trial: Trial,
    model_name: str,
    budget: Budget,
    settings: Settings,
    bench: ToolBench,
    last: str,
    unused: str = NO_TOOL,
) -> Any:
    """The middleware. `last` is shown before the last step; after it, or once submitted, the agent
    ends. With an empty one it ends at its limit without a word. `unused` answers a message that
    calls no tool.
    """
    from langchain.agents.middleware import AgentMiddleware, hook_config
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage

    calls, steps = _Calls(trial, model_name, budget, settings), settings.budget.max_steps

    class Recorded(AgentMiddleware):
        """One instance an attempt: it counts the calls."""

        made = 0
        warned = False  # of its last step

        @hook_config(can_jump_to=["end"])
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            if bench.submitted or self.warned or self.made >= steps or attempt_has_ended(trial):
                return {"jump_to": "end"}
            why = bench.meter.reached or ("" if self.made < steps - 1 else ONE_LEFT)
            if not why or not self.made:
                return None
            if not last:
                return {"jump_to": "end"} if bench.meter.reached else None
            self.warned = True
            return {"messages": [HumanMessage(last.format(why))]}

        @hook_config(can_jump_to=["model"])
        def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            reply = state["messages"][-1]
            if (
                isinstance(reply, AIMessage)
                and not reply.tool_calls
                and not self.warned
                and self.made < steps
            ):
                return {"messages": [HumanMessage(unused)], "jump_to": "model"}
            return None

        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            self.made += 1
            shown = (
                [request.system_message, *request.messages]
                if request.system_message
                else request.messages
            )
            asked = [[message.type, plain(message)] for message in shown]
            replayed = trial.replaying
            result = trial.step(
                ModelResult, ROLE, NAME, asked, lambda: calls.live(request, handler, shown)
            )
            if replayed:
                calls.passed(request, result)
            return AIMessage(result.reply, tool_calls=result.tool_calls)

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            call = request.tool_call
            asked = [call["name"], call["args"]]
            name = call["name"]
            result = trial.step(
                ExecutionResult,
                "sandbox",
                name,
                asked,
                lambda: _tool_result(call, handler(request)),
            )
            if call["name"] == "submit":  # of a replayed call the tool itself was not run
                bench.submitted, bench.answer = True, str(call["args"].get("answer", ""))
            return ToolMessage(result.stdout, tool_call_id=call["id"], name=call["name"])

    return Recorded()


def attempt_has_ended(trial: Trial) -> bool:
    """True if the journal has a later phase: what ended the attempt is no step of it."""
    following = trial.next_step
    return following is not None and following.phase != trial.phase_name


def plain(message: Any) -> str:
    """A message's text with the tools that it calls: what a digest and an auditor see."""
    text = message.content if isinstance(message.content, str) else str(message.content)
    calls = getattr(message, "tool_calls", None)
    return f"{text}\n{[(call['name'], call['args']) for call in calls]}" if calls else text

"""Makes each call of a LangChain agent a step of the trial, within the budget and the number of steps.

What the journal holds is answered from it, the agent's loop walks on as it did, and the first call that it does
not hold is made. A tool call that ended changed the workspace, which lies on disk as it was left.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from autoreproduce import models, prices
from autoreproduce.budget import Cost
from autoreproduce.tape import prompt_digests
from autoreproduce.tokens import count_tokens

if TYPE_CHECKING:
    from autoreproduce.budget import Budget
    from autoreproduce.config import Settings
    from autoreproduce.solvers.tools import Bench
    from autoreproduce.trial import Trial


def recorded(trial: Trial, model_name: str, budget: Budget, settings: Settings, bench: Bench, last: str) -> Any:
    """The middleware. `last` is said before the last step; after it, or once submitted, the agent ends."""
    from langchain.agents.middleware import AgentMiddleware, hook_config
    from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
    from langchain_core.utils.function_calling import convert_to_openai_tool

    class Recorded(AgentMiddleware):
        """One instance an attempt: it counts the calls."""

        calls = 0
        warned = False  # of its last step

        @hook_config(can_jump_to=["end"])
        def before_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            if bench.submitted or self.warned or self.calls >= settings.max_steps:
                return {"jump_to": "end"}
            spent = "The last step but one is done" if self.calls == settings.max_steps - 1 else ""
            why = bench.meter.reached or spent
            if not why or not self.calls:
                return None
            self.warned = True
            return {"messages": [HumanMessage(last.format(why))]}

        @hook_config(can_jump_to=["model"])
        def after_model(self, state: Any, runtime: Any) -> dict[str, Any] | None:
            reply = state["messages"][-1]
            if (
                isinstance(reply, AIMessage)
                and not reply.tool_calls
                and not self.warned
                and self.calls < settings.max_steps
            ):
                said = "No tool was used. Go on with a tool; `submit` ends the attempt."
                return {"messages": [HumanMessage(said)], "jump_to": "model"}
            return None

        def wrap_model_call(self, request: Any, handler: Any) -> Any:
            self.calls += 1
            said = [request.system_message, *request.messages] if request.system_message else request.messages
            asked = [[message.type, plain(message)] for message in said]
            replayed = trial.replaying
            result = trial.step("model", "code", "act", asked, lambda: _live(request, handler, asked)).result
            if replayed:
                budget.spend(Cost(result["usage"]["input"] + result["usage"]["output"], result["price"]))
            return AIMessage(result["reply"], tool_calls=result["tool_calls"])

        def wrap_tool_call(self, request: Any, handler: Any) -> Any:
            call = request.tool_call
            asked = [call["name"], call["args"]]
            step = trial.step("execute", "sandbox", call["name"], asked, lambda: _tool(call, handler(request)))
            if call["name"] == "submit":  # of a replayed call the tool itself was not run
                bench.submitted, bench.answer = True, str(call["args"].get("answer", ""))
            return ToolMessage(step.result["stdout"], tool_call_id=call["id"], name=call["name"])

    described: dict[int, int] = {}  # tokens of the tools' descriptions, which each call sends, too

    def _described(tools: Any) -> int:
        if len(tools) not in described:
            described[len(tools)] = count_tokens(json.dumps([convert_to_openai_tool(each) for each in tools]))
        return described[len(tools)]

    def _live(request: Any, handler: Any, asked: Any) -> dict[str, Any]:
        text = "\n\n".join(f"# {kind}\n\n{content}" for kind, content in asked)
        trial.keep_prompt("act", text)
        tokens = count_tokens(text) + _described(request.tools)
        with budget.reserve(prices.most_it_costs(tokens, model_name, settings)) as held:
            texts = [said for _, said in asked]
            message = models.explained(lambda: handler(request).result[-1], request.model, lambda: texts)
            reply = models.reply_of(message)
            cost = prices.cost_of(reply.usage, model_name, settings)
            held.settle(cost)
        prompt, shape = prompt_digests([(kind, str(content)) for kind, content in asked])
        return {
            "reply": reply.text, "tool_calls": models.storable(message.tool_calls),
            "usage": reply.usage.as_dict(), "price": cost.dollars, "model": reply.model or model_name,
            "finish": reply.finish, "prompt": prompt, "shape": shape,
        }  # fmt: skip

    def _tool(call: Any, message: Any) -> dict[str, Any]:
        text = message.content if isinstance(message.content, str) else str(message.content)
        return {
            "command": f"{call['name']} {call['args']}", "exit_code": 0, "stdout": text, "stderr": "", "seconds": 0.0,
            "stopped": "",
        }  # fmt: skip

    return Recorded()


def plain(message: Any) -> str:
    """A message's text with the tools that it calls: what a digest and an auditor see."""
    text = message.content if isinstance(message.content, str) else str(message.content)
    calls = getattr(message, "tool_calls", None)
    return f"{text}\n{[(call['name'], call['args']) for call in calls]}" if calls else text

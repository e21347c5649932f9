"""A conversation of an agent with tools: it calls one, reads what that gave, and goes on until it
submits or a limit is reached.

Each reply and each tool's answer is a step of the journal. A resumed attempt walks the same way,
answered by the journal, and goes on from the files as they were left. A model that calls no tools,
or whose server refuses them, uses the same ones by fenced blocks. When the context gets short, what
older tools gave is cut first, then older turns go.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from autoreproduce.agents.agent import MAX_SHORTER, OPENING
from autoreproduce.agents.fences import Blocks
from autoreproduce.agents.messages import called, human, message_text, system
from autoreproduce.errors import CommandError, ContextError, ModelError
from autoreproduce.models.fenced import fence_of
from autoreproduce.models.replies import without_thinking
from autoreproduce.models.tokens import prompt_tokens, rough_tokens
from autoreproduce.trials.steps import ExecutionResult

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage
    from langchain_core.tools import BaseTool

    from autoreproduce.agents.agent import Agent
    from autoreproduce.trials.steps import ModelResult


NAME = "act"  # of each call, beside the trial's phase
SUBMIT = "submit"
LONGEST = 100_000  # tokens of a conversation before it is shortened, whatever the context
LEAVE = (
    0.6  # of its limit that a shortened conversation takes, so that it isn't shortened each turn
)
SHOWN = 300  # characters that stay of what an older tool gave, and of what it was called with
KEPT = 6  # messages at the end that are shortened last
MOST_IDLE = 3  # replies in a row that call no tool
NO_TOOL = "No tool was used. Use one to go on; `submit` hands in what lies in the folder."
LAST = "{}: this is your last step. Call `submit` now: what lies in the folder counts."
UNREADABLE = "its arguments aren't JSON. Were they cut off? Write a long file in parts"
TOGETHER = "`submit` is called by itself, once you have seen what the other tools gave"


@dataclass
class ToolLoop:
    """The conversation of `agent`. `reached` names the limit that was reached, "" while none is.

    After `steps` calls of the model, or once a limit is reached, one more is left to submit.
    """

    agent: Agent
    tools: Sequence[BaseTool]
    steps: int
    reached: Callable[[], str] = lambda: ""
    plain: bool = False
    messages: list[BaseMessage] = field(default_factory=list)
    submitted: bool = False

    def go_on(self, prompt: str) -> str:
        """Say `prompt`, and let the agent work; how it ended, in words."""
        if self.messages:
            self._say(prompt)
        else:
            self.messages = [system(self.agent.prompts.render("coder/system")), human(prompt)]
        self.submitted, idle = False, 0
        for left in reversed(range(self.steps)):
            limit = self.reached()
            last = bool(limit) or not left
            if last:
                self._say(LAST.format(limit or f"{self.steps} steps are done"))
            result = self._reply()
            problem, calls = self._calls_in(result)
            self._take(result)
            self._carry_out(calls, problem)
            idle = 0 if calls else idle + 1
            if self.submitted:
                return "it submitted"
            if last:
                return limit or f"it did not submit within {self.steps} steps"
            if idle == MOST_IDLE:
                return f"{idle} replies in a row used no tool"
        raise AssertionError

    def _calls_in(self, result: ModelResult) -> tuple[str, list[dict[str, Any]]]:
        """What is wrong with a reply that calls nothing, and the calls in one that does."""
        if result.tool_calls:
            return "", [dict(call) for call in result.tool_calls]
        try:
            calls = plain_calls(without_thinking(result.reply))
        except CommandError as error:
            return str(error), []
        cut = result.finish == "length"
        why = "Your reply was cut at the limit on its length: write long files in parts. "
        return ("" if calls else f"{why if cut else ''}{NO_TOOL}"), calls

    def _take(self, result: ModelResult) -> None:
        """The reply as a message, with what its provider wants back."""
        from langchain_core.messages import AIMessage

        carried = result.carried
        content: Any = carried.get("blocks") or without_thinking(result.reply) or ""
        beside: Any = carried.get("beside", {})
        if not content and not result.tool_calls:
            content = "(an empty reply)"  # some refuse a message without content
        calls: Any = result.tool_calls
        self.messages.append(AIMessage(content, tool_calls=calls, additional_kwargs=beside))

    def _carry_out(self, calls: Sequence[Mapping[str, Any]], problem: str) -> None:
        from langchain_core.messages import ToolMessage

        if problem:
            self._say(problem)
        answers = []
        for call in calls:
            answer = self._use(call, alone=len(calls) == 1)
            answers.append((call, answer))
        if getattr(self.messages[-1], "tool_calls", None):
            self.messages += [
                ToolMessage(answer, tool_call_id=str(call["id"]), name=str(call["name"]))
                for call, answer in answers
            ]
        elif answers:
            self._say("\n\n".join(f"{call['name']} gave:\n{answer}" for call, answer in answers))

    def _use(self, call: Mapping[str, Any], *, alone: bool) -> str:
        """What one tool answers, as a step; whatever the model got wrong is an answer too."""
        name, args = str(call["name"]), call["args"]
        if name == SUBMIT and alone:
            self.submitted = True
        result = self.agent.journal.step(
            ExecutionResult, "sandbox", name, [name, args], lambda: self._used(name, args, alone)
        )
        return result.stdout

    def _used(self, name: str, args: Any, alone: bool) -> ExecutionResult:
        said = " ".join(str(value) for value in args.values()) if isinstance(args, dict) else ""
        ran = ExecutionResult(command=f"{name} {said}".strip()[:2_000], exit_code=0)
        try:
            done = self._tool(name, args, alone).invoke(args)
        except ValidationError as error:
            first = error.errors()[0]
            where = ".".join(map(str, first["loc"]))
            text = f"Error: {name} isn't called like that ({where}: {first['msg']})"
        except (CommandError, UnicodeEncodeError) as error:
            text = f"Error: {error}"
        else:
            if isinstance(done, ExecutionResult):
                return done
            return ran.model_copy(update={"stdout": str(done)})
        return ran.model_copy(update={"stdout": text, "exit_code": 1})

    def _tool(self, name: str, args: Any, alone: bool) -> BaseTool:
        """The tool of that name. Raises CommandError if it can't be called like this."""
        tool = next((each for each in self.tools if each.name == name), None)
        if tool is None:
            known = ", ".join(each.name for each in self.tools)
            raise CommandError(f"there is no tool {name!r}, only {known}")
        if not isinstance(args, dict) or "unreadable" in args:
            raise CommandError(UNREADABLE)
        if name == SUBMIT and not alone:
            raise CommandError(TOGETHER)
        return tool

    def _say(self, text: str) -> None:
        """A message of the user; behind another one it's part of it, for some refuse two in a
        row.
        """
        if self.messages[-1].type == "human":
            text = f"{self.messages.pop().text}\n\n{text}"
        self.messages.append(human(text))

    def _reply(self) -> ModelResult:
        """The model's next reply to the conversation, which is shortened if it must be."""
        agent, at = self.agent, self.agent.journal.position
        for left in reversed(range(MAX_SHORTER + 1)):
            most = prompt_tokens(agent.limited())
            shown = shortened(self.messages, LONGEST if most is None else min(most, LONGEST))
            try:
                result = agent.turn(NAME, shown, lambda shown=shown: self._live(shown))  # type: ignore[misc]
            except ContextError as error:
                size = sum(map(_tokens, shown))
                if agent.journal.position != at or not left:
                    raise
                if not agent.context.learn(size, error.context_tokens, agent.limited()):
                    raise
                known = agent.limited().context_tokens
                agent.journal.note(
                    f"too long for the model; its context counts as {known:,} tokens"
                )
                continue
            self.messages = shown
            return result
        raise AssertionError

    def _live(self, shown: Sequence[BaseMessage]) -> ModelResult:
        agent = self.agent
        if not self.plain:
            try:
                return agent.live(NAME, shown, self.tools)
            except ModelError as error:
                if not error.refuses_tools:
                    raise
                self.plain = True
                agent.journal.note("the model takes no tools: it uses them by plain text")
        return agent.live(NAME, in_plain_text(shown))


def shortened(messages: Sequence[BaseMessage], most: int) -> list[BaseMessage]:
    """The messages in at most about `most` tokens: what tools gave and were called with is cut,
    the oldest first, then the oldest turns are left out. The opening stays.

    Raises ContextError if the opening alone is longer.
    """
    kept = list(messages)
    if sum(map(_tokens, kept)) <= most:
        return kept
    room = round(LEAVE * most)
    for end in (len(kept) - KEPT, len(kept)):
        for place in range(OPENING, end):
            if sum(map(_tokens, kept)) <= room:
                return kept
            kept[place] = _cut(kept[place])
    opening, turns = kept[:OPENING], kept[OPENING:]
    while turns and sum(map(_tokens, [*opening, *turns])) > room:
        del turns[0]
        while turns and turns[0].type != "ai":  # what tools gave goes with the call
            del turns[0]
    if sum(map(_tokens, opening)) > most:
        raise ContextError(
            f"the task alone takes {sum(map(_tokens, opening)):,} tokens, of {most:,}",
            fix="use a model with a larger context",
        )
    left_out = "\n\n[Your earlier steps are left out here. The files are as you left them: look.]"
    last = opening[-1]
    if not last.text.endswith(left_out):
        opening[-1] = human(last.text + left_out)
    return [*opening, *turns]


def _cut(message: BaseMessage) -> BaseMessage:
    """A message with the beginnings alone of what a tool gave, or was called with."""
    from langchain_core.messages import AIMessage, ToolMessage

    if isinstance(message, AIMessage):
        calls = [
            {**call, "args": {key: _beginning(value) for key, value in call["args"].items()}}
            for call in message.tool_calls
        ]
        return AIMessage(_beginning(message.text), tool_calls=calls)
    if isinstance(message, ToolMessage):
        return message.model_copy(update={"content": _beginning(message.text)})
    return human(_beginning(message.text))


def _beginning(value: Any) -> Any:
    if not isinstance(value, str) or len(value) <= SHOWN + 60:
        return value
    return f"{value[:SHOWN]}\n[{len(value) - SHOWN} characters left out]"


def _tokens(message: BaseMessage) -> int:
    return rough_tokens(message_text(message) + called(message))


# Tools by plain text, for models that call none: a fenced block whose first line names the tool.
#
# What a tool answered comes back as the user's next message. A model that can call tools may
# write such a block too, as many do behind a server without a tool parser; it counts.

FORM = """\
You have no tool calls here: reply with a sentence, then one fenced block whose first line names \
the tool. What it gave comes back, and you go on. The blocks are:

~~~~shell
a bash command
~~~~

~~~~view PATH FIRST LAST
~~~~

~~~~write PATH
the whole file
~~~~

~~~~edit PATH
<<<<<<< OLD
lines that are in the file exactly once
=======
the lines in their place
>>>>>>> NEW
~~~~

~~~~run ARGUMENTS
~~~~

~~~~submit
~~~~
"""
_EDIT = re.compile(r"<{5,}[^\n]*\n(.*?)^={5,}[ \t]*\n(.*?)^>{5,}", re.DOTALL | re.MULTILINE)


def _view(words: Sequence[str], body: str) -> dict[str, Any]:
    path, *lines = words
    return {"path": path, **dict(zip(("first", "last"), lines, strict=False))}


def _write(words: Sequence[str], body: str) -> dict[str, Any]:
    (path,) = words
    return {"path": path, "text": body}


def _edit(words: Sequence[str], body: str) -> dict[str, Any]:
    (path,) = words
    parts = _EDIT.search(body)
    if parts is None:
        raise CommandError("an edit has <<<<<<< OLD, =======, and >>>>>>> NEW, each on its line")
    return {"path": path, "old": parts[1], "new": parts[2]}


def _shell(words: Sequence[str], body: str) -> dict[str, Any]:
    return {"command": body}


_FORMS: dict[str, tuple[str, Callable[[Sequence[str], str], dict[str, Any]]]] = {
    "shell": ("shell", _shell),
    "bash": ("shell", _shell),
    "sh": ("shell", _shell),
    "view": ("view", _view),
    "write": ("write", _write),
    "edit": ("edit", _edit),
    "run": ("run", lambda words, body: {"arguments": shlex.join(words) or body.strip()}),
    "submit": ("submit", lambda words, body: {}),
}


def plain_calls(reply: str) -> list[dict[str, Any]]:
    """The tools that a reply calls by fenced blocks, in their order, as a model's own calls are.

    Raises CommandError for a block that isn't closed, or isn't in its tool's form.
    """
    lines = reply.split("\n")
    blocks, at, found = Blocks(lines), 0, list[dict[str, Any]]()
    while at < len(lines):
        fence = fence_of(lines[at])
        if fence is None:
            at += 1
            continue
        end = blocks.closing_of_code(at, lambda line: _ends(lines, line))
        words = _words(fence.info)
        named = _FORMS.get(words[0].casefold()) if words else None
        if named is not None:
            name, read = named
            if end is None:
                raise CommandError(f"the block `{fence.info}` isn't closed: was the reply cut off?")
            body = "".join(f"{line}\n" for line in blocks.content(at, end))
            try:
                found.append({"name": name, "args": read(words[1:], body), "id": f"plain_{at}"})
            except ValueError:
                raise CommandError(f"`{fence.info}`: name one path after `{name}`") from None
        at = len(lines) if end is None else end + 1
    return found


def _words(info: str) -> list[str]:
    try:
        return shlex.split(info)
    except ValueError:
        return info.split()


def _ends(lines: Sequence[str], at: int) -> bool:
    """True if nothing but the opening of another tool's block follows the line."""
    following = next((line for line in lines[at + 1 :] if line.strip()), None)
    fence = None if following is None else fence_of(following)
    return following is None or (fence is not None and fence.info.split(" ")[0] in _FORMS)


def in_plain_text(messages: Sequence[BaseMessage]) -> list[BaseMessage]:
    """A conversation for a model that takes no tools: calls are the blocks they would have been,
    and what the tools gave is the user's.
    """
    from langchain_core.messages import AIMessage, ToolMessage

    said: list[BaseMessage] = []
    for message in messages:
        if isinstance(message, AIMessage):
            calls = "".join(f"\n[called {c['name']} {c['args']}]" for c in message.tool_calls)
            said.append(AIMessage(f"{message.text}{calls}".strip() or "(nothing)"))
            continue
        text = str(message.text)
        if isinstance(message, ToolMessage):
            text = f"{message.name} gave:\n{text}"
        if message.type == "system":
            said.append(message.model_copy(update={"content": f"{text}\n\n{FORM}"}))
        elif said[-1].type == "human":  # some refuse two messages of a user in a row
            said.append(human(f"{said.pop().text}\n\n{text}"))
        else:
            said.append(human(text))
    return said

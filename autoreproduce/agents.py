"""The research agent and the code agent: a model, the prompts, and the trial that keeps what was said.

An agent has no memory of its own. Each prompt holds what that one step needs, so its size is known and a
trial can be gone on with from its journal alone.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from autoreproduce import prices
from autoreproduce.budget import Cost
from autoreproduce.commands import Parsed, parse
from autoreproduce.errors import CommandError, ReplyError
from autoreproduce.structured import read_structured
from autoreproduce.tape import Place, prompt_digests
from autoreproduce.tokens import count_tokens

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage
    from pydantic import BaseModel

    from autoreproduce.budget import Budget
    from autoreproduce.config import Settings
    from autoreproduce.prompting import Prompts
    from autoreproduce.trial import Trial

Content = TypeVar("Content", bound="BaseModel")
Value = TypeVar("Value")
TRIES = 3  # how often one call may be repeated for an empty, cut or ungrammatical reply


class Agent:
    """One role (`research` or `code`) played by one model."""

    def __init__(
        self,
        role: str,
        model: BaseChatModel,
        model_name: str,
        prompts: Prompts,
        trial: Trial,
        budget: Budget,
        settings: Settings,
    ) -> None:
        self.role = role
        self.model = model
        self.model_name = model_name
        self.prompts = prompts
        self.trial = trial
        self.budget = budget
        self.settings = settings

    def ask(self, name: str, *, pictures: Sequence[str] = (), **variables: Any) -> str:
        """The reply to the prompt `name`. Raises ReplyError where it stays empty or cut off."""
        return self._converse(name, self._opening(name, pictures, variables))

    def command(self, name: str, allowed: Collection[str], **variables: Any) -> Parsed:
        """The command in the reply. A reply that breaks the grammar goes back with the error, twice at most."""
        messages = self._opening(name, (), variables)
        for _ in range(TRIES):
            reply = self._converse(name, messages)
            try:
                return parse(reply, allowed)
            except CommandError as error:
                problem = str(error)
                messages = [
                    *messages,
                    _ai(reply),
                    _human(f"That reply could not be carried out: {problem}\nAnswer again."),
                ]
        raise ReplyError(f"{self.trial.phase_name}/{name}: {TRIES} replies without a usable command ({problem})")

    def structured(self, name: str, schema: type[Content], **variables: Any) -> Content:
        """The reply to the prompt `name` as data. A reply that does not fit goes back once with the error.

        Raises ReplyError where the second one does not fit either.
        """
        return self.checked(name, lambda reply: read_structured(reply, schema), **variables)

    def checked(self, name: str, read: Callable[[str], Value], **variables: Any) -> Value:
        """What `read` makes of the reply; where it raises CommandError, the reply goes back once with the error.

        Raises ReplyError where the second one cannot be used either.
        """
        messages = self._opening(name, (), variables)
        for _ in range(2):
            reply = self._converse(name, messages)
            try:
                return read(reply)
            except CommandError as error:
                problem = str(error)
                messages = [*messages, _ai(reply), _human(f"That reply cannot be used: {problem}\nAnswer again.")]
        raise ReplyError(f"{self.trial.phase_name}/{name}: two replies that cannot be used ({problem})")

    def _opening(self, name: str, pictures: Sequence[str], variables: dict[str, Any]) -> list[BaseMessage]:
        text = self.prompts.render(name, role=self.role, **variables)
        return [_system(self.prompts.render("system", tools=False)), _human(text, pictures)]

    def _converse(self, name: str, messages: list[BaseMessage]) -> str:
        """The text of a reply that is neither empty nor cut off; a cut one is asked to go on once."""
        kept = ""
        for _ in range(TRIES):
            result = self._call(name, messages)
            kept += result["reply"]
            if result["finish"] == "length" and result["reply"]:
                messages = [
                    *messages,
                    _ai(result["reply"]),
                    _human("Go on exactly where the reply was cut off. Repeat nothing."),
                ]
            elif kept.strip():
                return str(kept)
        what = "cut off" if kept.strip() else "empty"
        mend = "raise --max-output-tokens, or name another --model"
        raise ReplyError(f"{self.trial.phase_name}/{name}: {TRIES} replies were {what}: {mend}")

    def _call(self, name: str, messages: list[BaseMessage]) -> dict[str, Any]:
        """One model call as a step of the trial. A step that the journal holds is not called, only counted."""
        asked = [[m.type, m.content] for m in messages]
        place = Place(self.role, self.trial.phase_name, name)
        replayed = self.trial.replaying
        result = self.trial.step("model", self.role, name, asked, lambda: self._live(place, messages)).result
        if replayed:
            self.budget.spend(Cost(result["usage"]["input"] + result["usage"]["output"], result["price"]))
            if hasattr(self.model, "skip"):  # a tape goes past what the journal has
                self.model.skip(*place)
        return result

    def _live(self, place: Place, messages: list[BaseMessage]) -> dict[str, Any]:
        """Call the model within the budget; the prompt is kept as a file for whoever audits the trial."""
        from autoreproduce import models

        text = "\n\n".join(f"# {m.type}\n\n{_text(m)}" for m in messages)
        self.trial.keep_prompt(place.name, text)
        with self.budget.reserve(prices.most_it_costs(count_tokens(text), self.model_name, self.settings)) as held:
            reply = models.reply_of(models.call(self.model, messages, place))
            cost = prices.cost_of(reply.usage, self.model_name, self.settings)
            held.settle(cost)
        prompt, shape = prompt_digests([(m.type, m.content) for m in messages])
        return {
            "reply": reply.text,
            "usage": reply.usage.as_dict(),
            "price": cost.dollars,
            "model": reply.model or self.model_name,
            "finish": reply.finish,
            "prompt": prompt,
            "shape": shape,
        }


def _text(message: BaseMessage) -> str:
    """A message's text; pictures are named, not shown."""
    if isinstance(message.content, str):
        return message.content
    blocks = [b if isinstance(b, dict) else {"text": b} for b in message.content]
    return "\n".join(str(block.get("text", "(a picture)")) for block in blocks)


def _system(text: str) -> BaseMessage:
    from langchain_core.messages import SystemMessage

    return SystemMessage(text)


def _human(text: str, pictures: Sequence[str] = ()) -> BaseMessage:
    """A user message; `pictures` are data: URLs."""
    from langchain_core.messages import HumanMessage

    if not pictures:
        return HumanMessage(text)
    shown: list[str | dict[Any, Any]] = [{"type": "image_url", "image_url": {"url": url}} for url in pictures]
    return HumanMessage([{"type": "text", "text": text}, *shown])


def _ai(text: str) -> BaseMessage:
    from langchain_core.messages import AIMessage

    return AIMessage(text)

"""The research agent and the code agent: a model, the prompts, and the journal that records each
exchange.

An agent has no memory of its own. Each prompt holds what that one step needs, so its size is known
and a trial can be resumed from its journal alone.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from autoreproduce.agents.messages import (
    CONTINUE,
    ai,
    asked_again,
    called,
    continued,
    emptiness,
    human,
    message_text,
    settled,
    system,
)
from autoreproduce.agents.parsing import parse
from autoreproduce.agents.prompts import fitting_prompt
from autoreproduce.agents.structured import read_structured
from autoreproduce.config import digest
from autoreproduce.errors import (
    CommandError,
    ContextError,
    ReplyError,
    UnusableModelError,
    UsageError,
)
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.shared import read_plain
from autoreproduce.models import prices
from autoreproduce.models.budget import Cost
from autoreproduce.models.replies import calls_of, carried_by, without_thinking
from autoreproduce.models.tape import CallSite
from autoreproduce.models.tokens import (
    count_tokens,
    picture_tokens,
    prompt_tokens,
    reply_tokens,
    rough_tokens,
)
from autoreproduce.trials.steps import ModelResult

if TYPE_CHECKING:
    from langchain_core.language_models import BaseChatModel
    from langchain_core.messages import BaseMessage
    from langchain_core.tools import BaseTool
    from pydantic import BaseModel

    from autoreproduce.agents.commands import Parsed
    from autoreproduce.agents.prompts import Prompts, Withholds
    from autoreproduce.agents.shared_replies import SharedReplies
    from autoreproduce.config import ModelSettings, Settings
    from autoreproduce.models import Models, Role
    from autoreproduce.models.budget import Budget
    from autoreproduce.trials.journal import Journal


Live = Callable[[], ModelResult]
Content = TypeVar("Content", bound="BaseModel")
Value = TypeVar("Value")
MAX_CALLS = 3  # for one reply: it may be empty or ungrammatical
MAX_REFUSED = 3  # replies in a row, over all prompts
OPENING = 2  # messages that open a conversation: the system's, and the prompt
MAX_SHORTER = 4  # times that a prompt is made shorter for a provider that refuses its length
MAX_PARTS = 8  # of one reply that the limit on its length cuts
CONTEXT_FILE = "context.json"
SMALLEST_CONTEXT = 4_000  # tokens, as --context-tokens has it
SMALLER_CONTEXT = 0.75  # of what was refused, where the provider names no number, or a wrong one


@dataclass(frozen=True)
class ToShow:
    """What a reply asked to see first: the conversation goes on with it. Whoever shows something
    sees to it that this ends.
    """

    text: str


class Agent:
    """One role (`research` or `code`) played by one model."""

    refused = 0  # replies in a row that hold nothing usable

    def __init__(
        self,
        role: str,
        model: BaseChatModel,
        model_name: str,
        prompts: Prompts,
        journal: Journal,
        budget: Budget,
        settings: Settings,
        shared: SharedReplies | None = None,
    ) -> None:
        self.role = role
        self.model = model
        self.model_name = model_name
        self.prompts = prompts
        self.journal = journal
        self.budget = budget
        self.settings = settings
        self.shared = shared
        self.context = LearntContext(journal, model_name)
        self.withhold: Withholds | None = None  # the gate to the code agent and to reviews
        self.shortened: dict[str, float] = {}  # by prompt, the share of the paper that fitted

    @classmethod
    def of(
        cls,
        models: Models,
        role: Role,
        prompts: Prompts,
        journal: Journal,
        budget: Budget,
        settings: Settings,
        shared: SharedReplies | None = None,
    ) -> Agent:
        """The agent of a role, played by its model. Raises UsageError without one."""
        model, name = models.chat(role), models.name(role)
        return cls(role, model, name, prompts, journal, budget, settings, shared)

    def ask(self, name: str, *, pictures: Sequence[str] = (), **variables: Any) -> str:
        """The reply to the prompt `name`. Raises ReplyError if it stays empty or cut off."""
        opening = self._opening(name, pictures, variables)
        return self._fitting(name, opening, pictures, variables)[0]

    def command(self, name: str, allowed: Collection[str], **variables: Any) -> Parsed:
        """The command in the reply. A reply that breaks the grammar is sent back with the error,
        twice at most.
        """
        return self.ask_and_apply(name, allowed, lambda parsed: parsed, **variables)

    def ask_and_apply(
        self,
        name: str,
        allowed: Collection[str],
        carry_out: Callable[[Parsed], Value | ToShow],
        **variables: Any,
    ) -> Value:
        """What `carry_out` makes of the reply's command; ToShow carries the conversation on. A
        reply that breaks the grammar, or whose command `carry_out` refuses by CommandError, is
        sent back with the error, twice at most.

        Raises ReplyError if the third one cannot be carried out either.
        """

        def read(reply: str) -> Value | ToShow:
            parsed = parse(reply, allowed)
            self.refused = 0  # it tries: what it asks for may still not be possible
            made = carry_out(parsed)
            for remark in parsed.notes:
                self.journal.note(f"{name}: {remark}")
            return made

        return self._usable(name, read, MAX_CALLS, variables)

    def structured(self, name: str, schema: type[Content], **variables: Any) -> Content:
        """The reply to the prompt `name` as data. A reply that does not fit is sent back once with
        the error.

        Raises ReplyError if the second one does not fit either.
        """
        return self.checked(name, lambda reply: read_structured(reply, schema), **variables)

    def checked(self, name: str, read: Callable[[str], Value | ToShow], **variables: Any) -> Value:
        """What `read` makes of the reply; if it raises CommandError, the reply is sent back once
        with the error.

        Raises ReplyError if the second one cannot be used either.
        """
        return self._usable(name, read, 2, variables)

    def _usable(
        self,
        name: str,
        read: Callable[[str], Value | ToShow],
        calls: int,
        variables: dict[str, Any],
    ) -> Value:
        """What `read` makes of the first reply that it accepts, out of `calls`; whoever watches
        sees why one was refused.
        """
        messages, left = self._opening(name, (), variables), calls
        while left:
            reply, messages = self._fitting(name, messages, (), variables)
            try:
                found = read(reply)
            except CommandError as error:
                problem, left = str(error), left - 1
                self.journal.note(f"{name}: refused: {problem.splitlines()[0]}")
                self._count_refused(name, problem, reply)
                messages = [
                    *messages,
                    ai(reply),
                    human(f"That reply cannot be used: {problem}\nAnswer again."),
                ]
            else:
                self.refused = 0
                if not isinstance(found, ToShow):
                    return found
                messages = [*messages, ai(reply), human(found.text)]
        last = " ".join(reply.split())[:300]
        raise ReplyError(
            f"{self.journal.phase_name}/{name}: {calls} replies that cannot be used ({problem}). "
            f'The last one said: "{last}"'
        )

    def _count_refused(self, name: str, problem: str, reply: str) -> None:
        """Raises UnusableModelError with what the model said at the third reply in a row."""
        self.refused += 1
        if self.refused == MAX_REFUSED:
            said = " ".join(reply.split())[:300]
            raise UnusableModelError(
                f"{self.journal.phase_name}/{name}: {MAX_REFUSED} replies in a row that cannot be "
                f'used ({problem.splitlines()[0]}). The last one said: "{said}"',
                fix="name another --model",
            )

    def _fitting(
        self,
        name: str,
        messages: list[BaseMessage],
        pictures: Sequence[str],
        variables: dict[str, Any],
    ) -> tuple[str, list[BaseMessage]]:
        """The reply to `messages`, and these. Where the provider refuses them for their length, its
        context is known from then on, and their opening is made anew to fit.
        """
        at = self.journal.position

        def shorter() -> list[BaseMessage]:
            said = messages[OPENING:]
            return [*self._opening(name, pictures, variables, said), *said]

        if self.context.found_at(at):  # before the trial was interrupted
            messages = shorter()
        for left in reversed(range(MAX_SHORTER + 1)):
            try:
                return self._converse(name, messages), messages
            except ContextError as error:
                size = sum(rough_tokens(message_text(each)) for each in messages)
                if self.journal.position != at or not left:
                    raise
                if not self.context.learn(size, error.context_tokens, self.limited()):
                    raise
            self.journal.note(
                f"{name}: too long for the model; its context counts as "
                f"{self.limited().context_tokens:,} tokens from here on"
            )
            messages = shorter()
        raise AssertionError

    def limited(self) -> ModelSettings:
        """The settings of the model, with the context that the provider was found to have."""
        learnt = self.context.tokens()
        given = self.settings.model
        return given if learnt is None else given.model_copy(update={"context_tokens": learnt})

    def turn(self, name: str, messages: Sequence[BaseMessage], live: Live) -> ModelResult:
        """One turn of a conversation as a step of the journal, made by `live`: what was asked is
        the messages and the tools that they call.
        """
        asked = [[m.type, m.content, getattr(m, "tool_calls", None) or []] for m in messages]
        return self._recorded(name, asked, live)

    def _opening(
        self,
        name: str,
        pictures: Sequence[str],
        variables: dict[str, Any],
        said: Sequence[BaseMessage] = (),
    ) -> list[BaseMessage]:
        shared = self.prompts.render("system", tools=False)
        beside = shared + "".join(message_text(each) for each in said)
        return [system(shared), human(self._prompt(name, variables, beside), pictures)]

    def _prompt(self, name: str, variables: dict[str, Any], beside: str) -> str:
        """The prompt `name`, to be sent with the text `beside`; a paper in it that does not fit
        into the context is shortened.
        """
        # who shows the program also writes to the code agent
        blind = self.role == "code" or "bench" in variables
        variables = {**variables, "withhold": self.withhold if blind else None}

        def with_paper(text: str) -> str:
            return self.prompts.render(name, role=self.role, **{**variables, "paper": text})

        paper, most = variables.get("paper"), prompt_tokens(self.limited())
        if most is None or not isinstance(paper, str):
            return self.prompts.render(name, role=self.role, **variables)
        text, share = fitting_prompt(with_paper, paper, most - rough_tokens(beside))
        if share < 1:
            self.shortened[name] = share
            self.journal.note(f"{name}: {share:.0%} of the paper fits, what is nearest is shown")
        return text

    def _converse(self, name: str, messages: list[BaseMessage]) -> str:
        """The text of a reply that is neither empty nor cut off, without its thinking. One that is
        cut at the limit, as a long file may be, is continued in the same conversation.
        """
        opening, text, parts, useless = messages, "", 0, 0
        why, fix = "were empty", "raise --max-output-tokens, or name another --model"
        while parts < MAX_PARTS and useless < MAX_CALLS:
            result = self._call(name, messages)
            before, text = text, continued(text, result.reply)
            answer, cut = without_thinking(text), result.finish == "length"
            if answer.strip() and not cut:
                return answer
            if answer.strip() and len(text) > len(before):
                parts += 1
                messages = [*messages, ai(result.reply), human(CONTINUE)]
                continue
            useless += 1
            if answer.strip():
                why = "started over instead of continuing a reply that was cut"
            else:
                tools = [str(each["name"]) for each in result.tool_calls]
                messages = asked_again(opening, text, cut, tools)
                why, fix = emptiness(text, result.finish, tools)
                text = ""
        often = f"the reply was cut off {parts} times"
        problem = f"{useless} replies {why}" if useless == MAX_CALLS else often
        raise ReplyError(f"{self.journal.phase_name}/{name}: {problem}", fix=fix)

    def _call(self, name: str, messages: list[BaseMessage]) -> ModelResult:
        """One model call as a step of the journal: one that the journal holds is not made, only
        counted.
        """
        asked = [[m.type, m.content] for m in messages]
        return self._recorded(name, asked, lambda: self._shared_or_live(name, messages, asked))

    def _recorded(self, name: str, asked: object, live: Live) -> ModelResult:
        replayed = self.journal.replaying
        result = self.journal.step(ModelResult, self.role, name, asked, live)
        if replayed:
            self.budget.spend(Cost(result.usage.total, result.price))
            if hasattr(self.model, "skip"):  # the tape moves past what the journal holds
                self.model.skip(*self._site(name))
        return result

    def _site(self, name: str) -> CallSite:
        return CallSite(self.role, self.journal.phase_name, name)

    def _shared_or_live(self, name: str, messages: list[BaseMessage], asked: object) -> ModelResult:
        """The reply that another trial of the paper was given to the same prompt, else a new one,
        which is left for the others.
        """
        if self.shared is None:
            return self.live(name, messages)
        key = digest([self.model_name, self.settings.model.temperature, asked])
        found = self.shared.find(name, key)
        if found is not None:
            self.journal.note(f"{name}: asked by another trial of this paper, not paid again")
            return found
        result = self.live(name, messages)
        self.shared.store(name, key, result)
        return result

    def live(
        self, name: str, messages: Sequence[BaseMessage], tools: Sequence[BaseTool] = ()
    ) -> ModelResult:
        """Call the model within the budget; the prompt is saved as a file for audits."""
        from autoreproduce.models import open as models

        text = "\n\n".join(f"# {m.type}\n\n{message_text(m)}{called(m)}" for m in messages)
        self.journal.keep_prompt(name, text)
        tokens = count_tokens(text) + sum(picture_tokens(m.content) for m in messages)
        tokens += sum(count_tokens(f"{each.description} {each.args}") for each in tools)
        limited = self.limited()
        most = None if limited is self.settings.model else reply_tokens(limited)
        with self.budget.reserve(
            prices.most_it_costs(tokens, self.model_name, self.settings)
        ) as held:
            message = models.call(self.model, messages, self._site(name), most, tools)
            reply = models.reply_of(message)
            return settled(
                reply,
                messages,
                self.model_name,
                self.settings,
                held,
                text=reply.raw,
                tool_calls=calls_of(message) if tools else reply.called,
                carried=carried_by(message) if tools else {},
            )


class LearntContext:
    """What is known of one model in one trial."""

    def __init__(self, journal: Journal, model_name: str) -> None:
        self._journal, self._name = journal, model_name

    @property
    def _found(self) -> list[dict[str, Any]]:
        """What any agent found of this model: one finds it for all."""
        found = _findings(self._journal.folder / CONTEXT_FILE)
        return [each for each in found if each["model"] == self._name]

    def tokens(self) -> int | None:
        """The context for the step that comes next; None if nothing is known."""
        here = self._journal.position
        known = [each["tokens"] for each in self._found if each["from_step"] <= here]
        return known[-1] if known else None

    def found_at(self, step: int) -> bool:
        """True if something was found when this step was made."""
        return any(each["from_step"] == step for each in self._found)

    def learn(self, refused: int, named: int | None, model: ModelSettings) -> bool:
        """Take in that a prompt of about so many tokens was `refused`; `named` is the context that
        the provider names. False if the context would be too small to go on with.
        """
        before = model.context_tokens
        tokens = named if named is not None else round(refused * SMALLER_CONTEXT)
        if before is not None and tokens >= before:
            tokens = round(before * SMALLER_CONTEXT)
        fitted = model.model_copy(update={"context_tokens": tokens})
        if refused <= (prompt_tokens(fitted) or 0) and reply_tokens(fitted) >= reply_tokens(model):
            tokens = round(refused * SMALLER_CONTEXT)  # else the same would be asked again
        if tokens < SMALLEST_CONTEXT:
            return False
        finding = {"model": self._name, "from_step": self._journal.position, "tokens": tokens}
        known = _findings(self._journal.folder / CONTEXT_FILE)
        self._journal.write(CONTEXT_FILE, json.dumps([*known, finding], indent=1))
        return True


def _findings(file: Path) -> list[dict[str, Any]]:
    try:
        found = parse_json(read_plain(file))
    except (OSError, ValueError, UsageError):
        return []
    kinds = {"model": str, "from_step": int, "tokens": int}
    return [
        each
        for each in (found if isinstance(found, list) else ())
        if isinstance(each, dict)
        and all(type(each.get(key)) is kind for key, kind in kinds.items())
    ]

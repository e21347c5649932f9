"""An agent's calls of its trial's model: within every budget, each one a step of the journal.

The trial decides which model answers and how it samples, whatever the agent asks for. Calls run
beside each other; the journal is written under one lock, before an answer is given.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from autoreproduce.agents.messages import settled
from autoreproduce.errors import BudgetError, ContextError, ModelError
from autoreproduce.models import prices
from autoreproduce.models.budget import Budget, Reservation
from autoreproduce.models.errors import explain, status_of
from autoreproduce.models.replies import carried_by
from autoreproduce.models.tape import CallSite
from autoreproduce.plugins.external_agents.gateway.exchange import (
    Body,
    ModelAnswer,
    ModelRequest,
    RefusedError,
    conversation,
)
from autoreproduce.plugins.external_agents.gateway.passing import (
    AnotherProtocolError,
    PassedAnswer,
    message_of,
    opened,
    output_limit,
    own_client,
    passed_body,
)
from autoreproduce.plugins.external_agents.gateway.thoughts import MARK, thoughts_of, with_thoughts

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage, BaseMessage

    from autoreproduce.config import Settings
    from autoreproduce.trials.trial import Trial

NOT_SPOKEN = {404, 405, 501}
REQUESTS_FAULT = {400, 413, 422}  # a provider's answer to a request that it does not take
SHOWN = 200_000  # characters of a prompt that are stored: the end, which is what is new
ROLE = "code"


class AgentCalls:
    """The calls of one attempt. `budget` is the attempt's own; the trial's is around it.

    `refused` says which of the attempt's own limits was reached, "" while none is; from then on
    every call is refused. `failure` is what ends the trial: its budget, or a model that is gone.
    """

    def __init__(
        self, trial: Trial, model: Any, name: str, budget: Budget, settings: Settings
    ) -> None:
        self.trial, self.model, self.name = trial, model, name
        self.budget, self.settings = budget, settings
        self.most = 10_000
        self.made = 0
        self.asked_for: Counter[str] = Counter()
        self.refused = ""
        self.failure: BaseException | None = None
        self.lock = threading.RLock()  # of the journal and of whoever watches it
        self._clients: dict[str, Any] = {}  # of the model, by the protocols that agents speak
        self._translated: set[str] = set()  # protocols that the server turned out not to speak
        self._idle = threading.Condition(self.lock)
        self._under_way = 0
        self._closed = False

    def answer(self, protocol: str, request: ModelRequest) -> ModelAnswer:
        """The model's answer, which is in the journal. Raises RefusedError."""
        with self._counted(request):
            return self._answered(protocol, request)

    def passes(self, protocol: str) -> bool:
        """True if requests of this protocol are passed on as they are."""
        return self._client(protocol) is not None and protocol not in self._translated

    def _client(self, protocol: str) -> Any:
        with self.lock:
            if protocol not in self._clients:
                self._clients[protocol] = own_client(self.model, protocol)
            return self._clients[protocol]

    def pass_on(
        self,
        protocol: str,
        request: ModelRequest,
        given: Body,
        headers: Mapping[str, str],
        query: str,
        send: Callable[[PassedAnswer, Iterator[bytes]], None],
    ) -> bool:
        """Pass a request on, and its answer to `send` as it comes; it is in the journal then. False
        if the server turns out not to speak the protocol. Raises RefusedError.
        """
        body = passed_body(protocol, given, self.model)
        with self._counted(request):
            try:
                self._passed(protocol, request, body, headers, query, send)
            except AnotherProtocolError:
                self._translated.add(protocol)
                with self.lock:
                    self.made -= 1
                return False
        return True

    def _passed(
        self,
        protocol: str,
        request: ModelRequest,
        body: Body,
        headers: Mapping[str, str],
        query: str,
        send: Callable[[PassedAnswer, Iterator[bytes]], None],
    ) -> None:
        from autoreproduce.models.open import explained, reply_of

        began, text = time.monotonic(), request.text
        with self.lock:
            self.trial.keep_prompt(protocol, text[-SHOWN:])
        hidden = protocol == "chat" and request.stream and not request.usage_in_stream
        options = body.get("stream_options")
        options = {**(options if isinstance(options, dict) else {}), "include_usage": True}
        with self._reserved(request.most_tokens, output_limit(body)) as held:
            try:  # or nobody would know what it cost
                asked = {**body, "stream_options": options} if hidden else body
                opened = self._opened(protocol, request, asked, headers, query)
            except RefusedError as error:
                if not hidden or error.fault != "request":
                    raise
                opened = self._opened(protocol, request, body, headers, query)
            passed = PassedAnswer(protocol, opened, hidden)

            def record() -> None:
                message = explained(
                    lambda: message_of(protocol, passed.body), self.model, lambda: [text]
                )
                result = settled(
                    reply_of(message),
                    _readable(request),
                    self.name,
                    self.settings,
                    held,
                    tool_calls=_tool_calls(message),
                )
                with self.lock:
                    self.trial.append(ROLE, protocol, [protocol, text], result, began)

            send(passed, passed.recorded(record))

    def _opened(
        self,
        protocol: str,
        request: ModelRequest,
        body: Body,
        headers: Mapping[str, str],
        query: str,
    ) -> Any:
        """The provider's answer. Raises as `_called`."""
        client = self._client(protocol)
        through = getattr(self.model, "through_gate", None) or (lambda do: do())
        try:
            return through(lambda: opened(client, protocol, body, headers, query, request.stream))
        except Exception as error:
            if protocol == "responses" and status_of(error) in NOT_SPOKEN:
                raise AnotherProtocolError from error
            known = explain(error, self.model)
            if known is None:
                raise
            if isinstance(known, ContextError):
                raise RefusedError("context", known.what) from error
            if status_of(error) in REQUESTS_FAULT:
                raise RefusedError("request", known.what) from error
            raise known from error

    def close(self) -> None:
        """Refuse further calls, and wait for those under way: they are paid for."""
        with self.lock:
            self._closed = True
            while self._under_way:
                self._idle.wait(0.5)

    @contextmanager
    def _counted(self, request: ModelRequest) -> Iterator[None]:
        """One more call of the attempt, under way. Raises RefusedError where it gets no more."""
        with self.lock:
            if self._closed or self.failure:
                raise RefusedError("budget", "this attempt has ended")
            if self.made >= self.most and not self.refused:
                self.refused = f"its {self.most:,} calls are made"
            if self.refused:
                raise RefusedError("budget", f"this attempt gets no more answers: {self.refused}")
            self.made += 1
            self.asked_for[request.model[:80]] += 1
            self._under_way += 1
        try:
            yield
        except RefusedError:
            raise
        except BaseException as error:  # in a thread of the server: the trial must learn of it
            self.failure = self.failure or error
            raise RefusedError("model", "the trial ends") from error
        finally:
            with self.lock:
                self._under_way -= 1
                self._idle.notify_all()

    def _answered(self, protocol: str, request: ModelRequest) -> ModelAnswer:
        from autoreproduce.models.open import reply_of, storable

        began, text = time.monotonic(), request.text
        messages = _converted(request, self.model)
        with self.lock:
            self.trial.keep_prompt(protocol, text[-SHOWN:])
        with self._reserved(request.most_tokens) as held:
            message = self._called(protocol, request, messages)
            result = settled(
                reply_of(message),
                messages,
                self.name,
                self.settings,
                held,
                tool_calls=_tool_calls(message),
                carried=carried_by(message),
            )
        with self.lock:
            self.trial.append(ROLE, protocol, [protocol, text], result, began)
        thoughts = thoughts_of(message) if request.takes_thoughts else []
        return ModelAnswer(result, uuid.uuid4().hex, request, storable(thoughts))

    def _reserved(self, tokens: int, most_output: int = 0) -> Reservation:
        """What the call may cost, set aside in all budgets; `most_output` is what the request lets
        its reply have, where it says so. Raises RefusedError.
        """
        settings = self.settings
        if most_output:
            settings = settings.having(max_output_tokens=most_output)
        try:
            return self.budget.reserve(prices.most_it_costs(tokens, self.name, settings))
        except BudgetError as error:
            if self.budget.exhausted:
                self.failure = self.failure or error
                raise RefusedError("budget", error.what) from None
            self.refused = self.refused or f"its budget is spent ({error.what})"
            raise RefusedError("budget", self.refused) from None

    def _called(
        self, protocol: str, request: ModelRequest, messages: list[BaseMessage]
    ) -> AIMessage:
        """Raises RefusedError where the request is at fault, ModelError where the provider is."""
        from autoreproduce.models.open import explained

        place = CallSite(ROLE, self.trial.phase_name, protocol)
        try:
            return explained(
                lambda: self._invoked(request, messages, place), self.model, lambda: [request.text]
            )
        except ContextError as error:
            raise RefusedError("context", error.what) from error
        except ModelError as error:
            if status_of(error) in REQUESTS_FAULT:
                raise RefusedError("request", error.what) from error
            raise

    def _invoked(
        self, request: ModelRequest, messages: list[BaseMessage], place: CallSite
    ) -> AIMessage:
        model, more = self.model, dict[str, Any]()
        if request.tools:
            chosen = {"tool_choice": request.tool_choice} if request.tool_choice else {}
            model = model.bind_tools(request.tools, **chosen)
        if type(self.model).__name__ == "ChatAnthropic":  # other providers cache by themselves
            more["cache_control"] = {"type": "ephemeral"}
        answer: AIMessage = model.invoke(
            messages, config={"metadata": place._asdict()}, stop=request.stop, **more
        )
        return answer

    def check(self) -> None:
        """Raise what ends the trial, if anything does."""
        if self.failure is not None:
            raise self.failure

    @property
    def other_models(self) -> list[str]:
        """The models that the agent asked for and did not get, by name."""
        shown = {self.name, self.name.partition(":")[2], "trial", ""}
        return sorted(set(self.asked_for) - shown)


def _converted(request: ModelRequest, model: Any = None) -> list[BaseMessage]:
    """LangChain's messages, as `model` takes them. Raises RefusedError."""
    from langchain_core.messages import AIMessage, convert_to_messages

    given = conversation(request.messages)
    plain = [{key: value for key, value in each.items() if key != MARK} for each in given]
    try:
        return [
            with_thoughts(message, each[MARK], model)
            if isinstance(message, AIMessage) and each.get(MARK)
            else message
            for message, each in zip(convert_to_messages(plain), given, strict=True)
        ]
    except (ValueError, KeyError, TypeError) as error:
        words = f"the messages cannot be read ({error!s:.300})"
        raise RefusedError("request", words) from error


def _readable(request: ModelRequest) -> list[BaseMessage]:
    """LangChain's messages, as a translated call has them; what can't be read as such is one."""
    try:
        return _converted(request)
    except RefusedError:
        return _converted(ModelRequest([{"role": "user", "content": request.text}]))


def _tool_calls(message: AIMessage) -> list[dict[str, Any]]:
    """Each call with an id of ours: some servers give the same one twice, or none.

    Arguments that are no JSON stand as they are under `arguments`.
    """
    from autoreproduce.models.open import storable

    calls = [(call["name"], call["args"]) for call in message.tool_calls]
    for broken in message.invalid_tool_calls:
        calls.append((broken["name"] or "", {"arguments": broken["args"]}))
    found = [
        {"name": name, "args": args, "id": f"call_{uuid.uuid4().hex[:24]}"} for name, args in calls
    ]
    stored: list[dict[str, Any]] = storable(found)
    return stored

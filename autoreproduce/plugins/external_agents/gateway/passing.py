"""Requests that are passed on as they are: an agent that speaks the protocol of its trial's model.

Body and stream stay unchanged, reasoning, signatures and cache marks included, but for the model's
name, the key, and what would reach past the sandbox (`allowed`). What is paid is read in passing.
"""

from __future__ import annotations

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import httpx2

from autoreproduce.errors import CommandError
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.http_limits import limited_client
from autoreproduce.models.errors import may_pass, wait_in
from autoreproduce.models.events import Assembly, EventReader
from autoreproduce.models.open import LARGEST_ANSWER
from autoreproduce.models.tokens import count_tokens
from autoreproduce.models.wire import LONGEST_WAIT, CorrectingTransport
from autoreproduce.plugins.external_agents.gateway.allowed import allowed
from autoreproduce.plugins.external_agents.gateway.exchange import Body, ModelRequest, RefusedError

if TYPE_CHECKING:
    from langchain_core.messages import AIMessage

PATHS = {"chat": "/chat/completions", "responses": "/responses", "messages": "/v1/messages"}
GOOGLE = "https://generativelanguage.googleapis.com"
OUTPUT_LIMITS = (
    "max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens",
)  # fmt: skip
REPLIES = ("n", "candidateCount", "candidate_count")  # of one call, each as long as the limit
_KEPT_HEADERS = ("anthropic-beta", "anthropic-version", "openai-beta")
RAW = "X-Stainless-Raw-Response"  # the header by which both clients give an answer as it comes


class AnotherProtocolError(Exception):
    """The server doesn't speak this protocol, though its others are of the same kind."""


class GoogleRefusalError(httpx2.HTTPStatusError):
    """An answer of Google's server that is no success, with its body."""

    def __init__(self, answer: httpx2.Response) -> None:
        data = answer.read()
        super().__init__(answer.reason_phrase, request=answer.request, response=answer)
        try:
            found = parse_json(data)
        except ValueError:
            found = data.decode("utf-8", "replace")[:2_000]
        self.body: Any = found[0] if isinstance(found, list) and found else found  # of a stream


class GoogleServer:
    """The server of a Google model, with the model's address and key: LangChain's client for it
    gives no answer as it comes.
    """

    def __init__(self, model: Any) -> None:
        given = model.base_url
        given = given.get("api_endpoint") if isinstance(given, dict) else given
        self._address = str(given or GOOGLE).rstrip("/")
        self._key = model.google_api_key.get_secret_value()
        self._name = str(model.model).removeprefix("models/")
        self._attempts = max(1, model.max_retries)  # which counts the first
        self._client = limited_client(
            model.timeout or 600.0, LARGEST_ANSWER, around=CorrectingTransport
        )

    def post(self, body: Body, streamed: bool, as_events: bool) -> httpx2.Response:
        """The answer, whose content is still to come. Raises httpx2.HTTPError."""
        verb = "streamGenerateContent" if streamed else "generateContent"
        path = f"/v1beta/models/{self._name}:{verb}{'?alt=sse' if as_events else ''}"
        for attempt in range(self._attempts):
            request = self._client.build_request(
                "POST", self._address + path, json=body, headers={"x-goog-api-key": self._key}
            )
            wait = min(0.5 * 2**attempt, 8.0)
            try:
                answer = self._client.send(request, stream=True)
                if answer.status_code < 300:
                    return answer
                try:
                    raise GoogleRefusalError(answer)
                finally:
                    answer.close()
            except httpx2.HTTPError as error:
                if isinstance(error, GoogleRefusalError):
                    wait = wait_in(error.response.headers) or wait
                if attempt + 1 == self._attempts or not may_pass(error) or wait > LONGEST_WAIT:
                    raise
            time.sleep(wait)
        raise AssertionError  # the last attempt returned or raised


def own_client(model: Any, protocol: str) -> Any:
    """The client of `model` that speaks an agent's protocol, None if it speaks another."""
    kind = type(model).__name__
    if protocol == "messages":
        return model._client if kind == "ChatAnthropic" else None
    if protocol == "google":
        ours = kind == "ChatGoogleGenerativeAI" and not getattr(model, "_use_vertexai", False)
        return GoogleServer(model) if ours and model.google_api_key else None
    return getattr(model, "root_client", None) if protocol in PATHS else None


def passed_body(protocol: str, given: Body, model: Any) -> Body:
    """What is sent to the provider. Raises RefusedError."""
    body = allowed(protocol, given)
    if protocol != "google":  # whose path names the model
        body["model"] = str(getattr(model, "model_name", None) or model.model)
    return body


def read_tolerantly(read: Callable[[], ModelRequest], body: Body) -> ModelRequest:
    """The request in the common form, for counting and for whoever audits; what can't be read as
    such stands as JSON.
    """
    try:
        return read()
    except RefusedError as error:
        if type(error.__cause__) is CommandError:  # what no protocol has
            raise
        keys = ("system", "instructions", "systemInstruction", "messages", "input", "contents")
        asked = {key: body[key] for key in keys if key in body}
        if not any(asked.get(key) for key in ("messages", "input", "contents")):
            raise
        said = [{"role": "user", "content": json.dumps(asked, ensure_ascii=False)}]
        tools, options = body.get("tools"), body.get("stream_options")
        return ModelRequest(
            said,
            tools=[each for each in tools if isinstance(each, dict)]
            if isinstance(tools, list)
            else [],
            stream=bool(body.get("stream")),
            model=str(body.get("model", "")),
            usage_in_stream=isinstance(options, dict) and bool(options.get("include_usage")),
        )


def output_limit(body: Body) -> int:
    """The most tokens that a request lets its reply have, 0 if it doesn't say."""
    inner = [body.get(key) for key in ("generationConfig", "generation_config")]
    settings = {
        **body,
        **{k: v for each in inner if isinstance(each, dict) for k, v in each.items()},
    }

    def most(keys: tuple[str, ...]) -> int:
        counts = [settings.get(key) for key in keys]
        return max((n for n in counts if type(n) is int and n > 0), default=0)

    return most(OUTPUT_LIMITS) * max(1, most(REPLIES))


def opened(
    client: Any, protocol: str, body: Body, headers: Mapping[str, str], query: str, streamed: bool
) -> httpx2.Response:
    """The provider's answer, whose content is still to come. Raises the client's errors."""
    if isinstance(client, GoogleServer):
        return client.post(body, streamed, "alt=sse" in query)
    kept = {name: value for name in _KEPT_HEADERS if (value := headers.get(name))}
    beta = "?beta=true" if protocol == "messages" and "beta=true" in query else ""
    answer = client.post(
        PATHS[protocol] + beta,
        body=body,
        cast_to=httpx2.Response,
        options={"headers": {**kept, RAW: "stream"}},
    )
    found: httpx2.Response = getattr(answer, "http_response", answer)
    return found


class PassedAnswer:
    """One answer on its way: its pieces, and what they amount to."""

    def __init__(self, protocol: str, answer: httpx2.Response, without_usage: bool) -> None:
        self.protocol, self.without_usage = protocol, without_usage
        self.status = answer.status_code
        self.kind = answer.headers.get("content-type", "application/json")
        self.streamed = self.kind.startswith("text/event-stream")
        self.body: Body = {}
        self._answer = answer

    def pieces(self) -> Iterator[bytes]:
        """The content as it comes. Raises AnotherProtocolError before the first piece."""
        try:
            if self.streamed:
                yield from self._events()
                return
            data = self._answer.read()
            try:
                found = parse_json(data)
            except ValueError:
                found = None
            events = found if self.protocol == "google" and isinstance(found, list) else None
            self._check(found if events is None else next(iter(events), None))
            self.body = found
            if events is not None:  # Google's stream where none of server-sent events is asked for
                reply = Assembly()
                for event in events:
                    reply.add(event if isinstance(event, dict) else {})
                self.body = reply.body
            yield data
        finally:
            self._answer.close()

    def _events(self) -> Iterator[bytes]:
        reader, reply, held, begun = EventReader(), Assembly(), b"", False
        for piece in self._answer.iter_raw():
            held += piece
            *whole, held = re.split(rb"(?<=\n\n)|(?<=\r\n\r\n)", held)
            for event in whole:
                hidden = False
                for body in reader.feed(event):
                    if not begun:
                        self._check(body)
                        begun = True
                    reply.add(body)
                    self.body = reply.body  # a stream that breaks has said so much
                    hidden = self.without_usage and body.get("choices") == []
                if not hidden:
                    yield event
        for body in (*reader.feed(held), *reader.rest()):
            reply.add(body)
        self.body = reply.body
        if held:
            yield held

    def recorded(self, record: Callable[[], None]) -> Iterator[bytes]:
        """The pieces, with `record` called before the last one: an agent that has an answer finds
        it paid and in the journal. A stream that breaks ends here as it does there.
        """
        last = b""
        try:
            for piece in self.pieces():
                if last:
                    yield last
                last = piece
        except httpx2.HTTPError as error:
            if not last:
                raise RefusedError("model", f"the provider's answer broke off ({error})") from error
        record()
        if last:
            yield last

    def _check(self, body: Any) -> None:
        if not isinstance(body, dict):
            raise AnotherProtocolError
        kind = str(body.get("type") or body.get("object") or "")
        known = kind.startswith("response") or "error" in body or kind in ("error", "keepalive")
        if self.protocol == "responses" and not known:
            raise AnotherProtocolError
        if self.protocol == "google" and not _OF_GOOGLE & set(body):
            raise AnotherProtocolError


_OF_GOOGLE = {"candidates", "promptFeedback", "usageMetadata", "responseId", "error"}


def message_of(protocol: str, body: Body) -> AIMessage:
    """What an answer said, for the journal: text, tool calls, usage and ending."""
    from langchain_core.messages import AIMessage, ToolCall
    from langchain_core.messages.ai import InputTokenDetails, OutputTokenDetails, UsageMetadata

    text, calls, finish = _READERS[protocol](body)
    used = _google_usage(body) if protocol == "google" else body.get("usage")
    used = used if isinstance(used, dict) else {}
    read = used.get("prompt_tokens_details") or used.get("input_tokens_details") or {}
    written = used.get("completion_tokens_details") or used.get("output_tokens_details") or {}
    cached = read.get("cached_tokens") or used.get("cache_read_input_tokens") or 0
    creation = used.get("cache_creation_input_tokens") or read.get("cache_write_tokens") or 0
    asked = used.get("prompt_tokens", used.get("input_tokens")) or 0
    answered = used.get("completion_tokens", used.get("output_tokens")) or 0
    if protocol == "messages":
        asked += cached + creation
    if used and not finish:  # it broke off: what it counted was before its text
        answered = max(answered, count_tokens(text))
    usage = UsageMetadata(
        input_tokens=asked,
        output_tokens=answered,
        total_tokens=asked + answered,
        input_token_details=InputTokenDetails(cache_read=cached, cache_creation=creation),
        output_token_details=OutputTokenDetails(reasoning=written.get("reasoning_tokens") or 0),
    )
    return AIMessage(
        text,
        tool_calls=[ToolCall(name=str(n), args=_arguments(a), id=str(i)) for n, a, i in calls],
        usage_metadata=usage if used else None,
        response_metadata={
            "finish_reason": finish,
            "model_name": str(body.get("model") or body.get("modelVersion") or ""),
        },
    )


def _arguments(given: Any) -> Body:
    try:
        found = parse_json(given) if isinstance(given, str) else given
    except ValueError:
        found = given
    return found if isinstance(found, dict) else {"arguments": found}


Said = tuple[str, list[tuple[Any, Any, Any]], str]


def _of_chat(body: Body) -> Said:
    choice: Body = next(iter(body.get("choices") or ()), {})
    message = choice.get("message") or {}
    calls = [
        (each.get("function") or {}, each.get("id")) for each in message.get("tool_calls") or ()
    ]
    found = [(call.get("name"), call.get("arguments"), one) for call, one in calls]
    content = message.get("content")
    return (
        content if isinstance(content, str) else "",
        found,
        str(choice.get("finish_reason") or ""),
    )


def _of_messages(body: Body) -> Said:
    blocks = [each for each in body.get("content") or () if isinstance(each, dict)]
    text = "".join(str(each.get("text", "")) for each in blocks if each.get("type") == "text")
    used = [each for each in blocks if each.get("type") == "tool_use"]
    calls = [(each.get("name"), each.get("input"), each.get("id")) for each in used]
    return text, calls, str(body.get("stop_reason") or "")


def _of_responses(body: Body) -> Said:
    items = [each for each in body.get("output") or () if isinstance(each, dict)]
    parts = [
        part
        for each in items
        if each.get("type") == "message"
        for part in each.get("content") or ()
    ]
    text = "".join(str(part.get("text", "")) for part in parts if isinstance(part, dict))
    used = [each for each in items if str(each.get("type")).endswith("_call")]
    calls = [(e.get("name"), e.get("arguments", e.get("input")), e.get("call_id")) for e in used]
    return text, calls, str(body.get("status") or "")


def _of_google(body: Body) -> Said:
    candidate: Body = next((c for c in body.get("candidates") or () if isinstance(c, dict)), {})
    parts = (candidate.get("content") or {}).get("parts") or ()
    parts = [part for part in parts if isinstance(part, dict)]
    text = "".join(str(part.get("text", "")) for part in parts if not part.get("thought"))
    used = [part["functionCall"] for part in parts if isinstance(part.get("functionCall"), dict)]
    calls = [(each.get("name"), each.get("args") or {}, each.get("id")) for each in used]
    blocked = (body.get("promptFeedback") or {}).get("blockReason")
    return text, calls, str(candidate.get("finishReason") or ("safety" if blocked else ""))


def _google_usage(body: Body) -> Body | None:
    """Google's counts in the words of OpenAI: it counts thoughts beside the answer."""
    found = body.get("usageMetadata")
    if not isinstance(found, dict):
        return None
    asked, by_tools, cached, answered, thought = (
        found.get(name) or 0
        for name in (
            "promptTokenCount", "toolUsePromptTokenCount", "cachedContentTokenCount",
            "candidatesTokenCount", "thoughtsTokenCount",
        )
    )  # fmt: skip
    return {
        "input_tokens": asked + by_tools,
        "input_tokens_details": {"cached_tokens": cached},
        "output_tokens": answered + thought,
        "output_tokens_details": {"reasoning_tokens": thought},
    }


_READERS: Mapping[str, Callable[[Body], Said]] = {
    "chat": _of_chat,
    "messages": _of_messages,
    "responses": _of_responses,
    "google": _of_google,
}

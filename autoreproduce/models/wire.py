"""Puts other people's servers right, between a provider's client and the network.

Many servers answer in ways that the protocol doesn't have: status 200 with an error inside, a
stream where none was asked for, no choice at all, a failure of the server for a prompt that is too
long. Here each becomes what the protocol says, so that the provider's own client retries what may
pass, with `Retry-After` and all, and nothing above knows of such servers.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from http.client import responses
from typing import Any

import httpx2

from autoreproduce.files.bounded import parse_json
from autoreproduce.models.errors import (
    LONG_WAIT,
    MADE_UP,
    WRONG_KEY,
    duration,
    is_context_error,
    is_without_credit,
    wait_in,
)
from autoreproduce.models.events import Body, assembled

# An error's code, type or status, in whichever words, to the HTTP status that it stands for.
_STATUS_OF_WORDS: tuple[tuple[str, int], ...] = (
    (r"context.*(exceed|length|size)|tokens_limit", 400),
    (r"rate.?limit|too.?many.?requests|resource.?exhausted|throttl|quota", 429),
    (r"overload", 529),
    (r"time.?out|deadline", 504),
    (r"unavailable|capacity|busy", 503),
    (r"server.?error|internal|api_error|upstream|bad.?gateway", 502),
    (r"unauthenticated|authentication|invalid.?api.?key|unauthorized", 401),
    (r"permission|forbidden", 403),
    (r"billing|payment|insufficient.?(credit|balance)", 402),
    (r"not.?found", 404),
    (r"too.?large", 413),
    (r"invalid|bad.?request", 400),
)
# Where an error has no code, words of its message that speak of something that passes.
_PASSES = re.compile(
    r"rate.?limit|too many requests|overload|time[d -]*out|unavailable|try again|retry"
    r"|internal (?:server )?error|upstream|provider returned error|at capacity|\bbusy\b"
    r"|(?:is|still) loading|warming up|starting up|not ready|slow down|out of memory",
    re.IGNORECASE,
)
_STATUS_OF_MESSAGE = (
    (WRONG_KEY, 401),
    (_PASSES, 503),
    (re.compile(r"(?:unexpected|unknown|invalid|no such) (?:endpoint|path|route|url)", re.I), 404),
)
LONGEST_WAIT = 120.0  # seconds that a client waits; Anthropic's own would wait for hours


class CorrectingTransport(httpx2.BaseTransport):
    """The transport `inner`, whose answers have the protocol's form. `note` is told of each wait
    that is long for whoever watches.
    """

    def __init__(
        self, inner: httpx2.BaseTransport, note: Callable[[str], None] = lambda text: None
    ) -> None:
        self._inner, self._note = inner, note
        self._streaming: set[str] = set()  # paths whose server answers in streams alone

    def handle_request(self, request: httpx2.Request) -> httpx2.Response:
        """The answer. One that the client asked to stream is left as it is if it's no error."""
        answer = self._answered(request)
        asked, stays = wait_in(answer.headers) or 0, answer.headers.get("x-should-retry") == "false"
        if answer.status_code >= 400 and asked > LONG_WAIT and not stays:
            self._note(f"{request.url.host} asks to wait {duration(asked)}")
        return answer

    def _answered(self, request: httpx2.Request) -> httpx2.Response:
        asked = _json_of(request.read()) if request.method == "POST" else None
        if not isinstance(asked, dict):
            return self._inner.handle_request(request)
        if asked.get("stream") or request.url.path.endswith(":streamGenerateContent"):
            answer = self._inner.handle_request(request)
            return _corrected(answer) if answer.status_code >= 400 else answer
        path = request.url.path
        if path in self._streaming:
            return self._streamed(request, asked) or _corrected(self._inner.handle_request(request))
        answer = _corrected(self._inner.handle_request(request))
        if _wants_stream(answer) and (streamed := self._streamed(request, asked)):
            self._streaming.add(path)
            return streamed
        return answer

    def _streamed(self, request: httpx2.Request, asked: Body) -> httpx2.Response | None:
        """The answer to the same request with a stream, put together; None if that is refused."""
        forms: list[Body] = [{"stream": True}]
        if request.url.path.endswith("/chat/completions"):
            forms.insert(0, {"stream": True, "stream_options": {"include_usage": True}})
        for form in forms:
            answer = _corrected(self._inner.handle_request(_with_body(request, {**asked, **form})))
            if answer.status_code not in (400, 422):
                return answer
        return None

    def close(self) -> None:
        """Close the connections."""
        self._inner.close()


def _with_body(request: httpx2.Request, body: Body) -> httpx2.Request:
    kept = [(k, v) for k, v in request.headers.raw if k.lower() not in (b"content-length",)]
    return httpx2.Request(
        request.method,
        request.url,
        headers=kept,
        content=json.dumps(body).encode(),
        extensions=request.extensions,
    )


def _wants_stream(answer: httpx2.Response) -> bool:
    """True for a refusal that speaks of streams, of a request that asked for none."""
    if answer.status_code not in (400, 405, 406, 415, 422):
        return False
    return re.search(r"(?<![a-z])(?:non-?)?stream(?:ing|ed)?\b", answer.text, re.I) is not None


def _corrected(answer: httpx2.Response) -> httpx2.Response:
    """The answer, read whole, as the protocol has it. An encoded one is left to be refused."""
    if answer.headers.get("content-encoding", "identity").strip().lower() != "identity":
        return answer
    try:
        data = b"".join(_pieces(answer))
    finally:
        answer.close()
    status, body, kept = answer.status_code, None, _kept_extensions(answer)
    if answer.status_code < 300:
        if data.lstrip()[:6].startswith((b"data:", b"event:", b":")):
            body = assembled([data])
            data = data if body is None else json.dumps(body).encode()
        body = _json_of(data) if body is None else body
        if body is None and (complaint := _complaint_in(data)):
            body = {"error": {"message": complaint, "type": "unavailable"}}
        if isinstance(body, dict) and (found := error_inside(body)):
            status, error = found
            data = json.dumps({**body, "error": error}).encode()
            kept |= {} if str(status) in map(str, error.values()) else {MADE_UP: True}
        elif isinstance(body, dict) and _with_texts_of_arguments(body):
            data = json.dumps(body).encode()
    said = _json_of(data) or data.decode("utf-8", "replace")
    if answer.status_code >= 500 and is_context_error(status, said):
        status = 400  # what no retry helps
    headers = _headers_without(answer, b"content-length", b"transfer-encoding", b"content-type")
    kind = answer.headers.get("content-type", "application/json")
    kind = "application/json" if status != answer.status_code or body is not None else kind
    headers.append((b"content-type", kind.encode()))
    if is_without_credit(status, said) or (wait_in(answer.headers) or 0) > LONGEST_WAIT:
        headers.append((b"x-should-retry", b"false"))
    if status != answer.status_code:
        kept["reason_phrase"] = responses.get(status, "").encode()
    return httpx2.Response(status, headers=headers, content=data, extensions=kept)


def _with_texts_of_arguments(body: Body) -> bool:
    """Make a text of each tool's arguments, and of its call's id, in a chat's answer; true if any
    was none: older TGI gives an object, others null or a number.
    """
    changed = False
    choices = body.get("choices")
    for choice in choices if isinstance(choices, list) else ():
        message = choice.get("message") if isinstance(choice, dict) else None
        calls = message.get("tool_calls") if isinstance(message, dict) else None
        for call in calls if isinstance(calls, list) else ():
            function = call.get("function") if isinstance(call, dict) else None
            if isinstance(function, dict) and not isinstance(function.get("arguments"), str):
                function["arguments"] = json.dumps(function.get("arguments") or {})
                changed = True
            if isinstance(function, dict) and type(call.get("id")) is int:
                call["id"], changed = str(call["id"]), True
    return changed


def _complaint_in(data: bytes) -> str:
    """What's wrong with an answer that isn't JSON, if it passes: nothing in it, JSON that breaks
    off, or a short text that complains; "" for any other.
    """
    text = data.decode("utf-8", "replace").strip()
    if not text:
        return "the server sent nothing"
    if text.startswith(("{", "[")):
        return "the server sent broken JSON"
    return text if len(text) < 500 and "<" not in text and _PASSES.search(text) else ""


def _pieces(answer: httpx2.Response) -> Iterator[bytes]:
    stream: Any = answer.stream
    yield from stream


def _headers_without(answer: httpx2.Response, *names: bytes) -> list[tuple[bytes, bytes]]:
    return [(key, value) for key, value in answer.headers.raw if key.lower() not in names]


def _kept_extensions(answer: httpx2.Response) -> Body:
    return {k: v for k, v in answer.extensions.items() if k != "network_stream"}


def error_inside(body: Body) -> tuple[int, Body] | None:
    """The status and the error of an answer that holds one, or no choice; None for a good one.

    An error without a code, in words that say nothing of it, is one of the request; beside an
    answer it's none.
    """
    error = _error_of(body)
    if error is None:
        if "choices" in body and not body["choices"] and body["choices"] in ([], None):
            return 502, {"message": "the server sent an answer without a choice"}
        return None
    status = _status_of(error)
    if status is None and not any(map(body.get, _ANSWERS)):
        status = 400
    return None if status is None else (status, error)


_ANSWERS = ("choices", "content", "output", "candidates")


def _error_of(body: Body) -> Body | None:
    """The error in an answer, at its top or in its first choice, with `message` and codes."""
    choices = body.get("choices")
    first = choices[0] if isinstance(choices, list) and choices else None
    found = body.get("error") or (first.get("error") if isinstance(first, dict) else None)
    of_minimax = body.get("base_resp")
    if not choices and isinstance(of_minimax, dict) and of_minimax.get("status_code"):
        found = found or {"message": str(of_minimax.get("status_msg") or "")}
    if not found and not {"choices", "content", "output"} & set(body):
        # the error's fields stand in the body itself
        said = body.get("message") or body.get("msg") or body.get("detail")
        named = body.get("object") == "error" or body.get("type") == "error"
        passes = isinstance(said, str) and _PASSES.search(said)
        if said and (named or passes or body.get("code") or body.get("status")):
            found = {**body, "message": str(said)}
    if isinstance(found, str):
        named = {key: body[key] for key in ("code", "type", "status") if key in body}
        return {"message": found, **named}
    return found if isinstance(found, dict) else None


def _status_of(error: Body) -> int | None:
    named: list[Any] = [
        error.get(key) for key in ("code", "status", "type", "http_status", "status_code")
    ]
    for value in named:
        number = (
            int(value) if isinstance(value, str) and value.isascii() and value.isdigit() else value
        )
        if type(number) is int and 400 <= number <= 599:
            return number
    text = str(error.get("message") or "")
    if is_context_error(400, text):
        return 400
    for value in named:
        if isinstance(value, str):
            for words, status in _STATUS_OF_WORDS:
                if re.search(words, value, re.IGNORECASE):
                    return status
    if is_without_credit(403, text):
        return 402
    return next((known for told, known in _STATUS_OF_MESSAGE if told.search(text)), None)


def _json_of(data: bytes) -> Any:
    try:
        return parse_json(data)
    except ValueError:
        return None

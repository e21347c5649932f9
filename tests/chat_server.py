"""A chat server on loopback that answers as it is told: OpenAI's and Anthropic's protocol, spoken
for real.

    with chat_server(["hello", Answer(status=429, retry_after=0), "again"]) as server:
        model = open_model(Settings(base_url=server.base_url), "any")

The script is a list (each request takes the next; the last is repeated for none: an exhausted list
answers 410) or a function of the request (410 where it raises AssertionError). `server.requests`
holds what was asked, in order.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from protocol_server import messages_events


@dataclass(frozen=True)
class Answer:
    """One scripted answer. An `error` is OpenAI's error object; `raw` replaces the whole body."""

    text: str = ""
    status: int = 200
    finish: str = "stop"
    prompt_tokens: int | None = 100  # None: the answer has no usage at all
    cached_tokens: int = 0
    completion_tokens: int = 20
    reasoning_tokens: int = 0
    reasoning: str = ""  # as some servers send it, beside the content
    error: dict[str, Any] = field(default_factory=dict)
    retry_after: float | None = None
    raw: str | None = None
    hang: float = 0.0  # seconds before anything is said
    cut: bool = False  # close the connection in the middle of the body
    tools: tuple[
        tuple[str, dict[str, Any]], ...
    ] = ()  # (name, arguments) of each tool that is called


@dataclass(frozen=True)
class Request:
    """What a client asked."""

    path: str
    body: dict[str, Any]
    headers: dict[str, str]

    @property
    def messages(self) -> list[dict[str, Any]]:
        return list(self.body.get("messages", []))

    @property
    def prompt(self) -> str:
        """All the text of the messages."""
        texts = []
        for message in self.messages:
            content = message["content"]
            texts += (
                [content]
                if isinstance(content, str)
                else [block.get("text", "") for block in content or []]
            )
        return "\n".join(texts)


Script = Callable[[Request], "Answer | str"] | Sequence["Answer | str"]


@dataclass
class Server:
    base_url: str  # ends in /v1, as OpenAI's clients want it
    requests: list[Request] = field(default_factory=list)

    @property
    def root_url(self) -> str:
        """The address without /v1, as Anthropic's client wants it."""
        return self.base_url.removesuffix("/v1")


@contextmanager
def chat_server(script: Script) -> Iterator[Server]:
    """A server that runs while the block does."""
    stop = threading.Event()
    server = Server("")
    lock = threading.Lock()

    def answer(request: Request) -> Answer:
        with lock:
            server.requests.append(request)
            number = len(server.requests) - 1
        if callable(script):
            try:
                said = script(request)
            except AssertionError as error:  # a closed connection would be tried again, with waits
                said = Answer(status=410, error={"message": str(error)})
        else:
            said = (
                script[number]
                if number < len(script)
                else Answer(status=410, error={"message": "script exhausted"})
            )
        return Answer(said) if isinstance(said, str) else said

    class Handler(_Handler):
        pass

    Handler.answer, Handler.stop = staticmethod(answer), stop
    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    server.base_url = f"http://127.0.0.1:{http.server_port}/v1"
    thread = threading.Thread(
        target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True
    )
    thread.start()
    try:
        yield server
    finally:
        stop.set()
        http.shutdown()
        http.server_close()
        thread.join(5)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = (
        True  # else each answer waits 40 ms for the client's acknowledgement of its head
    )
    answer: Callable[[Request], Answer]
    stop: threading.Event

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if self.path.partition("?")[0].endswith("/responses"):  # which many servers haven't
            self._send(404, b'{"error": {"message": "no such path"}}')
            return
        request = Request(
            self.path, body, {key.lower(): value for key, value in self.headers.items()}
        )
        said = self.answer(request)
        if said.hang and self.stop.wait(said.hang):
            return
        with suppress(BrokenPipeError, ConnectionResetError):  # the client gave up
            if said.status == 200 and said.raw is None and body.get("stream"):
                self._stream(said, body)
            else:
                self._whole(said, request)

    def _whole(self, said: Answer, request: Request) -> None:
        if said.raw is not None:
            data, kind = said.raw.encode(), "text/html"
        else:
            shape = _anthropic if request.path.endswith("/messages") else _openai
            body = (
                shape(said, request.body)
                if said.status == 200
                else {"error": said.error or {"message": "scripted"}}
            )
            data, kind = json.dumps(body).encode(), "application/json"
        self.send_response(said.status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        if said.retry_after is not None:
            self.send_header("Retry-After", str(said.retry_after))
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if said.cut else data)
        self.close_connection = self.close_connection or said.cut

    def _send(self, status: int, data: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def _stream(self, said: Answer, body: dict[str, Any]) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        if self.path.partition("?")[0].endswith("/messages"):
            chunks = messages_events(_anthropic(said, body))
        else:
            chunks = _chunks(said, body)
        for chunk in chunks:
            name = f"event: {chunk['type']}\n" if "type" in chunk else ""
            self.wfile.write(f"{name}data: {json.dumps(chunk)}\n\n".encode())
            self.wfile.flush()
            if said.cut:
                break
        else:
            self.wfile.write(b"data: [DONE]\n\n")
        self.close_connection = True


def _usage(said: Answer) -> dict[str, Any] | None:
    if said.prompt_tokens is None:
        return None
    return {
        "prompt_tokens": said.prompt_tokens,
        "completion_tokens": said.completion_tokens,
        "total_tokens": said.prompt_tokens + said.completion_tokens,
        "prompt_tokens_details": {"cached_tokens": said.cached_tokens},
        "completion_tokens_details": {"reasoning_tokens": said.reasoning_tokens},
    }


def _openai(said: Answer, body: dict[str, Any]) -> dict[str, Any]:
    message: dict[str, Any] = {"role": "assistant", "content": said.text}
    if said.reasoning:
        message |= {"content": said.text or None, "reasoning_content": said.reasoning}
    if said.tools:
        calls = [
            {"name": name, "arguments": json.dumps(arguments)} for name, arguments in said.tools
        ]
        message["tool_calls"] = [
            {"id": f"t{n}", "type": "function", "function": call} for n, call in enumerate(calls)
        ]
    finish = "tool_calls" if said.tools else said.finish
    choice = {"index": 0, "message": message, "finish_reason": finish}
    whole = {
        "id": "c1",
        "object": "chat.completion",
        "created": 0,
        "model": body["model"],
        "choices": [choice],
    }
    usage = _usage(said)
    return whole if usage is None else {**whole, "usage": usage}


def _chunks(said: Answer, body: dict[str, Any]) -> Iterator[dict[str, Any]]:
    head = {"id": "c1", "object": "chat.completion.chunk", "created": 0, "model": body["model"]}
    for start in range(0, len(said.text), 20):
        delta = {"role": "assistant", "content": said.text[start : start + 20]}
        yield {**head, "choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
    yield {**head, "choices": [{"index": 0, "delta": {}, "finish_reason": said.finish}]}
    if (body.get("stream_options") or {}).get("include_usage") and said.prompt_tokens is not None:
        yield {**head, "choices": [], "usage": _usage(said)}


def _anthropic(said: Answer, body: dict[str, Any]) -> dict[str, Any]:
    """`prompt_tokens` is the whole prompt, as OpenAI counts it; Anthropic counts the cached ones
    apart.
    """
    ending = {"stop": "end_turn", "length": "max_tokens"}.get(said.finish, said.finish)
    usage = {
        "input_tokens": (said.prompt_tokens or 0) - said.cached_tokens,
        "cache_read_input_tokens": said.cached_tokens,
        "cache_creation_input_tokens": 0,
        "output_tokens": said.completion_tokens,
    }
    content: list[dict[str, Any]] = [{"type": "text", "text": said.text}] if said.text else []
    for n, (name, arguments) in enumerate(said.tools):
        content.append({"type": "tool_use", "id": f"t{n}", "name": name, "input": arguments})
    ending = "tool_use" if said.tools else ending
    whole = {
        "id": "m1",
        "type": "message",
        "role": "assistant",
        "model": body["model"],
        "content": content,
    }
    return {**whole, "stop_reason": ending, "stop_sequence": None, "usage": usage}

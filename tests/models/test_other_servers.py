"""What other people's servers answer where the protocol says otherwise: each by the real client,
against a local server.
"""

from __future__ import annotations

import email.utils
import importlib.util
import json
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import httpx2
import openai
import pytest
from chat_server import Answer, chat_server
from langchain_core.messages import HumanMessage
from raw_server import HEAD, raw_server, whole

from autoreproduce.config import Settings
from autoreproduce.errors import ContextError, ModelError, UsageError
from autoreproduce.files.http_limits import check_proxy
from autoreproduce.models.errors import explain, is_context_error
from autoreproduce.models.open import call, open_model, tell_of_waits
from autoreproduce.models.replies import reply_of
from autoreproduce.models.tape import CallSite
from autoreproduce.models.wire import error_inside

PLACE = CallSite("code", "replication", "edit")
USAGE = {"prompt_tokens": 9, "completion_tokens": 6, "total_tokens": 15}


pytestmark = pytest.mark.usefixtures("no_proxies")


def completion(message: dict[str, Any], finish: str = "stop") -> dict[str, Any]:
    said = {"role": "assistant", **message}
    choice = {"index": 0, "message": said, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion", "choices": [choice], "usage": USAGE}


GOOD = completion({"content": "fine"})
ANTHROPICS = {
    "id": "m",
    "type": "message",
    "role": "assistant",
    "model": "a",
    "content": [{"type": "text", "text": "fine"}],
    "stop_reason": "end_turn",
    "usage": {"input_tokens": 9, "output_tokens": 6},
}


def asked(url: str, name: str = "any", **named: Any) -> Any:
    url = url if name.startswith("anthropic") or url.endswith("/v1") else f"{url}/v1"
    settings = Settings(base_url=url, api_key="k", **{"max_retries": 2, **named})
    return call(open_model(settings, name), [HumanMessage("hello")], PLACE)


def in_turn(*bodies: Any) -> Callable[[bytes], Iterator[bytes]]:
    """Answers with these bodies, one a request; the last is repeated. Bytes stand as they are."""
    left = list(bodies)

    def answer(_: bytes) -> Iterator[bytes]:
        body = left.pop(0) if len(left) > 1 else left[0]
        yield body if isinstance(body, bytes) else whole(json.dumps(body).encode(), *QUICK)

    return answer


QUICK = (b"retry-after-ms: 1", b"Connection: close")
ERRORS: list[tuple[dict[str, Any], int]] = [
    ({"error": {"message": "Provider returned error", "code": 429}}, 429),
    ({"error": {"message": "Rate limit exceeded", "code": "rate_limit_exceeded"}}, 429),
    ({"error": {"message": "Upstream is down", "code": 502}, "user_id": "u"}, 502),
    ({"error": {"message": "overloaded", "code": "503"}}, 503),
    ({"error": {"message": "x", "status": "RESOURCE_EXHAUSTED"}}, 429),
    ({"error": {"message": "x", "status": "UNAVAILABLE", "code": 0}}, 503),
    ({"error": "The model is overloaded, try again later"}, 503),
    ({"error": "model is loading"}, 503),
    ({"detail": "Too many requests, slow down"}, 503),
    ({"object": "error", "message": "CUDA died", "type": "InternalServerError"}, 502),
    ({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}, 529),
    ({"code": 429, "msg": "slow down", "data": None}, 429),
    ({**completion({"content": ""}, "error"), "error": {"code": 503, "message": "busy"}}, 503),
    ({"id": "r", "object": "response", "status": "failed", "output": [],
      "error": {"code": "server_error", "message": "x"}}, 502),
    ({"choices": [{"index": 0, "error": {"code": 502, "message": "cut"}, "message": {}}]}, 502),
    ({"choices": []}, 502),
    ({"choices": None, "id": "c"}, 502),
]  # fmt: skip


@pytest.mark.parametrize(("body", "status"), ERRORS)
def test_an_error_inside_a_200_is_asked_again(body: dict[str, Any], status: int) -> None:
    found = error_inside(body)
    assert found is not None and found[0] == status
    with raw_server(in_turn(body, body, GOOD)) as server:
        assert reply_of(asked(server.url)).text == "fine"
    assert len(server.requests) == 3


@pytest.mark.parametrize(
    ("error", "words"),
    [
        ({"message": "bad key", "code": 401}, "refused the key"),
        ({"message": "No such model", "code": "model_not_found"}, "check --model"),
        ({"message": "You ran out", "code": "insufficient_quota"}, "add credit"),
        (
            {"message": "temperature is wrong", "type": "invalid_request_error"},
            "refused the request",
        ),
    ],
)
def test_an_error_inside_a_200_that_stays_is_asked_once(error: Any, words: str) -> None:
    with (
        raw_server(in_turn({"error": error})) as server,
        pytest.raises(ModelError, match=words) as caught,
    ):
        asked(server.url)
    assert len(server.requests) == 1 and error["message"] in str(caught.value)


BROKEN = json.dumps(GOOD)[:-40].encode()
PASSES: list[tuple[Any, str]] = [
    (b"Rate limit reached", "(Rate limit reached)"),
    (b"Service unavailable", "(Service unavailable)"),
    (b" ", "(the server sent nothing)"),
    (BROKEN, "(the server sent broken JSON)"),
    (b"CUDA out of memory. Tried to allocate 2 GiB", "(CUDA out of memory. Tried"),
    ({"error": {"message": "CUDA error: out of memory"}}, "(CUDA error: out of memory)"),
    ({"error": "model is loading"}, "(model is loading)"),
    (
        {"base_resp": {"status_code": 1002, "status_msg": "rate limit"}, "choices": None},
        "(rate lim",
    ),
]


@pytest.mark.parametrize(("said", "shown"), PASSES)
def test_what_passes_in_a_200_is_asked_again_and_shown_without_a_code(
    said: Any, shown: str
) -> None:
    said = whole(said, *QUICK) if isinstance(said, bytes) else said
    with raw_server(in_turn(said, GOOD)) as server:
        assert reply_of(asked(server.url)).text == "fine"
    assert len(server.requests) == 2
    with raw_server(in_turn(said)) as server, pytest.raises(ModelError) as caught:
        asked(server.url, max_retries=1)
    assert len(server.requests) == 2 and f"fails, retries included {shown}" in str(caught.value)
    assert "--base-url" not in str(caught.value) and caught.value.retryable


STAYS: list[tuple[Any, str]] = [
    ({"error": "something odd"}, "refused the request (something odd): check the model's settings"),
    ({"error": "Unexpected endpoint or method. (POST /x)"}, "model or address (Unexpected endpoint"),
    ({"error": {"message": "Invalid API key"}}, "refused the key (Invalid API key)"),
    ({"base_resp": {"status_code": 1008, "status_msg": "insufficient balance"}, "choices": None},
     "no credit left for this key (insufficient balance)"),
    ({"detail": "Not Found", "status": 404}, "model or address (404: Not Found)"),
]  # fmt: skip


@pytest.mark.parametrize(("said", "shown"), STAYS)
def test_a_complaint_in_a_200_that_stays_is_asked_once(said: Any, shown: str) -> None:
    with raw_server(in_turn(said)) as server, pytest.raises(ModelError) as caught:
        asked(server.url)
    assert len(server.requests) == 1 and shown in str(caught.value)


def test_a_state_beside_an_answer_is_no_complaint() -> None:
    state = {"base_resp": {"status_code": 0, "status_msg": "success"}}
    with raw_server(in_turn({**GOOD, **state})) as server:
        assert reply_of(asked(server.url)).text == "fine"


def test_a_page_or_a_sentence_in_place_of_json_is_asked_once() -> None:
    for said in (b"<html>upstream</html>", b"It works!"):
        with raw_server(in_turn(whole(said, *QUICK))) as server, pytest.raises(ModelError):
            asked(server.url)
        assert len(server.requests) == 1


def test_a_prompt_that_is_too_long_inside_a_200() -> None:
    error = {"message": "maximum context length is 8192 tokens", "code": 400}
    with raw_server(in_turn({"error": error})) as server, pytest.raises(ContextError) as caught:
        asked(server.url)
    assert caught.value.context_tokens == 8192 and len(server.requests) == 1


def test_no_choice_is_said_in_one_line() -> None:
    with (
        raw_server(in_turn({"choices": []})) as server,
        pytest.raises(
            ModelError, match=r"included \(.*sent an answer without a choice\): wait"
        ) as caught,
    ):
        asked(server.url, max_retries=1)
    assert len(server.requests) == 2 and "\n" not in str(caught.value)
    assert "502" not in str(caught.value)  # it answered 200


def test_anthropics_client_asks_again_too() -> None:
    good = ANTHROPICS
    error = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    with raw_server(in_turn(error, good)) as server:
        assert reply_of(asked(server.url, "anthropic:any")).text == "fine"
    assert len(server.requests) == 2


def events(*bodies: Any, done: bool = True, named: bool = False) -> bytes:
    head = HEAD.replace(b"application/json", b"text/event-stream") + b"Connection: close\r\n\r\n"
    lines = [b": PROCESSING\n\n"]
    for body in bodies:
        name = f"event: {body['type']}\n" if named else ""
        lines.append(f"{name}data: {json.dumps(body)}\n\n".encode())
    return head + b"".join(lines) + (b"data: [DONE]\n\n" if done else b"")


def chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "c", "object": "chat.completion.chunk", "choices": [choice], **more}


STREAM = events(
    chunk({"role": "assistant", "content": ""}),
    chunk({"content": "The answer "}),
    chunk({"content": "is 42."}),
    chunk({}, "stop"),
    {"id": "c", "object": "chat.completion.chunk", "choices": [], "usage": USAGE},
)


def test_a_server_that_only_streams() -> None:
    with raw_server(in_turn(STREAM)) as server:
        reply = reply_of(asked(server.url))
    assert (reply.text, reply.finish) == ("The answer is 42.", "stop")
    assert (reply.usage.input, reply.usage.output, reply.usage.estimated) == (9, 6, False)


def test_streamed_tool_calls_and_reasoning() -> None:
    def part(index: int, **call: Any) -> dict[str, Any]:
        return {"tool_calls": [{"index": index, **call}]}

    stream = events(
        chunk({"reasoning_content": "I "}),
        chunk({"reasoning_content": "look."}),
        chunk(part(0, id="a", function={"name": "read", "arguments": '{"pa'})),
        chunk(part(0, function={"arguments": 'th": 1}'})),
        chunk(part(1, id="b", function={"name": "list", "arguments": "{}"})),
        chunk({}, "tool_calls"),
    )
    with raw_server(in_turn(stream)) as server:
        message = asked(server.url)
    assert [(c["name"], c["args"]) for c in message.tool_calls] == [
        ("read", {"path": 1}),
        ("list", {}),
    ]
    assert message.additional_kwargs["reasoning_content"] == "I look."


def test_anthropics_protocol_streamed_without_being_asked() -> None:
    usage = {"input_tokens": 9, "output_tokens": 1}
    head = {"id": "m", "type": "message", "role": "assistant", "model": "a", "content": []}
    stream = events(
        {"type": "message_start", "message": {**head, "usage": usage}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "4"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "2"}},
        {"type": "content_block_stop", "index": 0},
        {
            "type": "message_delta",
            "delta": {"stop_reason": "end_turn"},
            "usage": {"output_tokens": 6},
        },
        {"type": "message_stop"},
        done=False,
        named=True,
    )
    with raw_server(in_turn(stream)) as server:
        reply = reply_of(asked(server.url, "anthropic:any"))
    assert (reply.text, reply.usage.input, reply.usage.output) == ("42", 9, 6)


@pytest.mark.parametrize(
    "stream",
    [
        events(chunk({"content": "The ans"}), done=False),
        events(chunk({"content": "The"}), {"error": {"code": 502, "message": "lost"}}, done=False),
        events(chunk({"content": "The"}), chunk({}, "error", error={"code": 429, "message": "x"})),
    ],
    ids=["ended early", "an error as an event", "an error beside a chunk"],
)
def test_a_stream_that_breaks_is_asked_again(stream: bytes) -> None:
    with raw_server(in_turn(stream, GOOD)) as server:
        assert reply_of(asked(server.url)).text == "fine"
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("status", "body"),
    [
        (
            400,
            {
                "error": {
                    "message": "This endpoint only supports stream=true",
                    "code": "stream_required",
                }
            },
        ),
        (400, {"detail": "Stream must be set to true"}),
        (
            400,
            {
                "error": {
                    "message": "parameter.enable_thinking must be false for non-streaming calls"
                }
            },
        ),
        (
            422,
            {"message": "This model only support stream mode, please enable the stream parameter"},
        ),
    ],
)
def test_a_server_that_wants_a_stream_is_asked_for_one_from_then_on(status: int, body: Any) -> None:
    refused = json.dumps(body).encode()
    seen = []

    def answer(request: bytes) -> Iterator[bytes]:
        seen.append(json.loads(request.partition(b"\r\n\r\n")[2]))
        if seen[-1].get("stream"):
            yield STREAM
        else:
            head = b"HTTP/1.1 %d No\r\nContent-Type: application/json\r\n" % status
            yield head + b"Content-Length: %d\r\n\r\n" % len(refused) + refused

    with raw_server(answer) as server:
        model = open_model(Settings(base_url=f"{server.url}/v1", max_retries=0), "any")
        for _ in range(2):
            assert reply_of(call(model, [HumanMessage("x")], PLACE)).text == "The answer is 42."
    assert [bool(each.get("stream")) for each in seen] == [False, True, True]
    assert seen[1]["stream_options"] == {"include_usage": True}


def test_a_refusal_that_only_looks_like_one_of_streams_stays() -> None:
    error = Answer(status=400, error={"message": "the upstream refused your temperature"})
    with chat_server(lambda _: error) as server, pytest.raises(ModelError, match="temperature"):
        asked(server.base_url)
    assert len(server.requests) == 1


TOOL = {
    "id": "t",
    "type": "function",
    "function": {"name": "run", "arguments": '{"command": "ls"}'},
}


@pytest.mark.parametrize("content", [None, "", "absent"])
def test_a_reply_that_only_calls_tools(content: str | None) -> None:
    said: dict[str, Any] = {"content": content, "tool_calls": [TOOL]}
    if content == "absent":
        del said["content"]
    with raw_server(in_turn(completion(said, "tool_calls"))) as server:
        reply = reply_of(asked(server.url))
    assert (reply.text, reply.finish) == ("", "tool_calls")
    assert reply.called == ({"name": "run", "args": {"command": "ls"}, "id": "t"},)


@pytest.mark.parametrize("field", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("content", [None, "", " \n"])
def test_a_reply_whose_text_is_all_in_the_reasoning(field: str, content: str | None) -> None:
    with raw_server(in_turn(completion({"content": content, field: "It is 42."}))) as server:
        reply = reply_of(asked(server.url))
    assert (reply.text, reply.finish) == ("", "reasoning") and "It is 42." in reply.raw


def test_reasoning_beside_a_text_is_no_part_of_it() -> None:
    said = completion({"content": "fine", "reasoning_content": "hm"})
    with raw_server(in_turn(said)) as server:
        reply = reply_of(asked(server.url))
    assert (reply.text, reply.raw, reply.finish) == ("fine", "fine", "stop")


def test_a_refusal_is_the_text() -> None:
    said = completion({"content": None, "refusal": "I cannot help with that."})
    with raw_server(in_turn(said)) as server:
        reply = reply_of(asked(server.url))
    assert (reply.text, reply.finish) == ("I cannot help with that.", "filter")


@pytest.mark.parametrize(
    "message",
    [
        "Input Tokens Exceeded: Number of input tokens exceeds maximum length.",  # Bedrock
        "Trying to keep the first 9000 tokens when context the overflows.",  # LM Studio
        "Input length (5000 tokens) exceeds the maximum allowed length (4090 tokens).",  # SGLang
        "Requested token count exceeds the model's maximum context length of 4096 tokens.",
        "Invalid request: Your request exceeded model token limit: 8192",  # Moonshot
        "Unable to submit request because the input token count is 40000 but model only supports up "
        "to 32768.",  # Vertex
        "<400> InternalError.Algo.InvalidParameter: Range of input length should be [1, 129024]",
        "The sum of prompt length (9000.0) and query length (4000) should not exceed max_num_tokens",
        "Please reduce the length of the messages or completion. Current length is 9000 while limit "
        "is 8192",  # Cerebras
        "the number of input tokens 5000 cannot exceed the total tokens limit 4096 for this model",
        "This model's maximum context length is 8192 tokens, however you requested 9000 tokens "
        "(8000 in your prompt; 1000 for the completion).",  # Azure
        "Input validation error: `inputs` must have less than 1024 tokens. Given: 1500",  # TGI
    ],
)
def test_more_words_for_a_prompt_that_is_too_long(message: str) -> None:
    assert is_context_error(400, {"error": {"message": message, "type": "invalid_request_error"}})
    assert is_context_error(422, message)


@pytest.mark.parametrize(
    "message",
    [
        "max_tokens is too large: 100000. This model supports at most 16384 completion tokens.",
        "max_tokens: 40000 > 32000, which is the maximum allowed number of output tokens",
        "The maximum tokens you requested exceeds the model limit of 10000.",
        "Range of max_tokens should be [1, 8192]",
        "Input validation error: `max_new_tokens` must be <= 512. Given: 1000",
        "Input validation error: `temperature` must be <= 2.0",
        "your request exceeded the rate limit of 1000 tokens per minute",
        "messages.3: `tool_use` ids were found without `tool_result` blocks",
    ],
)
def test_words_that_are_of_something_else(message: str) -> None:
    assert not is_context_error(
        400, {"error": {"message": message, "type": "invalid_request_error"}}
    )


@pytest.mark.parametrize(
    ("message", "context"),
    [
        ("prompt is too long: 203456 tokens > 200000 maximum", 200_000),
        ("input length and `max_tokens` exceed context limit: 190000 + 20000 > 200000", 200_000),
        ("maximum context length is 8192 tokens. However, you requested 9000 tokens", 8192),
        (
            "Prompt contains 40000 tokens, too large for model with 32768 maximum context length",
            32_768,
        ),
        ("Range of input length should be [1, 30720]", 30_720),
        ("Input is too long for requested model.", None),
    ],
)
def test_the_context_that_a_refusal_names(message: str, context: int | None) -> None:
    request = httpx2.Request("POST", "http://127.0.0.1/v1")
    answer = httpx2.Response(400, json={"error": {"message": message}}, request=request)
    known = explain(
        openai.APIStatusError("x", response=answer, body={"message": message}), object()
    )
    assert isinstance(known, ContextError) and known.context_tokens == context


def wrapped(message: str, **more: Any) -> dict[str, Any]:
    return {"error": {"message": message, **more}}


def anthropics(message: str, kind: str = "invalid_request_error") -> dict[str, Any]:
    return {"type": "error", "error": {"type": kind, "message": message}, "request_id": "req_1"}


def objects(message: str, kind: str = "BadRequestError") -> dict[str, Any]:
    return {"object": "error", "message": message, "type": kind, "param": None, "code": 400}


# What each server answers to a prompt that is too long: its name, status, body and context.
TOO_LONG: list[tuple[str, int, Any, int | None]] = [
    ("anthropic", 400, anthropics("prompt is too long: 203456 tokens > 200000 maximum"), 200_000),
    ("anthropic", 400, anthropics("input length and `max_tokens` exceed context limit: 197202 + "
     "21333 > 200000, decrease input length or `max_tokens` and try again"), 200_000),
    ("anthropic", 413, anthropics("Request exceeds the maximum size", "request_too_large"), None),
    ("xai", 400, {"code": "Client specified an invalid argument", "error": "This model's maximum "
     "prompt length is 131072 but the request contains 537812 tokens."}, 131_072),
    ("vllm", 400, objects("This model's maximum context length is 4096 tokens. However, you "
     "requested 5000 tokens in the messages, Please reduce the length of the messages."), 4096),
    ("vllm", 400, wrapped("You passed 4097 input tokens and requested 100 output tokens. However, "
     "the model's context length is only 4096 tokens, resulting in a maximum input length of 3996 "
     "tokens. Please reduce the length of the input prompt.", type="BadRequestError"), 3996),
    ("vllm", 400, objects("The decoder prompt (length 5000) is longer than the maximum model length "
     "of 4096. Make sure that `max_model_len` is no smaller than the number of text tokens."), 4096),
    ("sglang", 400, objects("The input (5000 tokens) is longer than the model's context length (4096 "
     "tokens)."), 4096),
    ("sglang", 400, objects("Requested token count exceeds the model's maximum context length of "
     "4096 tokens. You requested a total of 5000 tokens: 4000 tokens from the input messages and "
     "1000 tokens for the completion."), 4096),
    ("tgi", 422, {"error": "Input validation error: `inputs` tokens + `max_new_tokens` must be <= "
     "4096. Given: 5000 `inputs` tokens and 100 `max_new_tokens`", "error_type": "validation"},
     4096),
    ("tgi", 422, wrapped("Input validation error: `inputs` must have less than 1024 tokens. Given: "
     "1500", http_status_code=422), 1024),
    ("llama.cpp", 400, wrapped("the request exceeds the available context size, try increasing it",
     code=400, type="exceed_context_size_error", n_prompt_tokens=5000, n_ctx=4096), 4096),
    ("llama.cpp", 400, wrapped("request (5000 tokens) exceeds the available context size (4096 "
     "tokens), try increasing it", code=400, type="exceed_context_size_error"), 4096),
    ("llama.cpp", 500, wrapped("the request exceeds the available context size. try increasing the "
     "context size or enable context shift", code=500, type="server_error"), None),
    ("ollama", 400, wrapped("the input length exceeds the context length", type="api_error"), None),
    ("ollama", 500, wrapped("prompt too long; exceeded max context length by 123 tokens",
     type="api_error"), None),
    ("ollama", 400, wrapped("input length exceeds maximum context length", type="api_error"), None),
    ("lmstudio", 400, {"error": "Trying to keep the first 9000 tokens when context the overflows. "
     "However, the model is loaded with context length of only 4096 tokens, which is not enough. Try "
     "to load the model with a larger context length, or provide a shorter input"}, 4096),
    ("lmstudio", 400, {"error": "The number of tokens to keep from the initial prompt is greater "
     "than the context length. Try to load the model with a larger context length, or provide a "
     "shorter input"}, None),
    ("lmstudio", 400, {"error": "Cannot truncate prompt with n_keep (15028) >= n_ctx (7424)"}, 7424),
    ("lmstudio", 400, {"error": "The number of tokens to keep from the initial prompt is greater "
     "than the context length (n_keep: 9120>= n_ctx: 4096). Try to load the model with a larger "
     "context length, or provide a shorter input."}, 4096),
    ("tabby", 422, wrapped("Prompt length 40000 is greater than max_seq_len 32768", trace="x"),
     32_768),
    ("siliconflow", 400, {"code": 20015, "message": "length of prompt_tokens (163280) must be less "
     "than max_seq_len (32768).", "data": None}, 32_768),
    ("vllm", 400, wrapped("max_tokens must be at least 1, got -1023.", code=400), None),
    ("llama.cpp", 500, wrapped("input (5000 tokens) is too large to process. increase the physical "
     "batch size (current batch size: 512)", code=500, type="server_error"), None),
    ("minimax", 400, wrapped("invalid params, context window exceeds limit (2013)"), None),
    ("mistral", 422, objects("Input is too long: 140000 tokens, max 131072"), 131_072),
    ("mlx-serve", 400, wrapped("Prompt exceeds maximum context length"), None),
    ("lmstudio", 200, {"error": "Reached context length of 4096 tokens with model (arch: qwen2) that "
     "does not currently support mid-generation context overflow."}, 4096),
    ("bedrock", 400, wrapped("Input is too long for requested model."), None),
    ("bedrock", 400, {"message": "The model returned the following errors: Input is too long for "
     "requested model."}, None),
    ("bedrock", 400, {"message": "Too many input tokens. Max input tokens: 8192, request input token "
     "count: 9143"}, 8192),
    ("bedrock", 400, {"message": "Malformed input request: expected maxLength: 20000, actual: 50000, "
     "please reformat your input and try again."}, None),
    ("azure", 400, wrapped("This model's maximum context length is 8192 tokens. However, your "
     "messages resulted in 9000 tokens. Please reduce the length of the messages.",
     type="invalid_request_error", param="messages", code="context_length_exceeded"), 8192),
    ("azure", 400, wrapped("Input tokens exceed the configured limit of 272000 tokens. Your messages "
     "resulted in 300000 tokens. Please reduce the length of the messages.",
     code="context_length_exceeded"), 272_000),
    ("azure", 413, wrapped("Request body too large for gpt-4o model. Max size: 8000 tokens.",
     code="tokens_limit_reached"), 8000),
]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "status", "body", "context"), TOO_LONG, ids=[f"{e[0]}-{e[1]}" for e in TOO_LONG]
)
def test_each_servers_word_for_a_prompt_that_is_too_long(
    name: str, status: int, body: Any, context: int | None
) -> None:
    data = json.dumps(body).encode()
    head = f"HTTP/1.1 {status} No\r\nContent-Type: application/json\r\nConnection: close\r\n"
    answer = f"{head}Content-Length: {len(data)}\r\n\r\n".encode() + data
    model = "anthropic:any" if name == "anthropic" else "any"
    with raw_server(in_turn(answer)) as server, pytest.raises(ContextError) as caught:
        asked(server.url, model)
    assert len(server.requests) == 1, "it's asked in vain again"
    assert caught.value.context_tokens == context


def refusal(status: int, body: Any, kind: str = "application/json") -> bytes:
    data = body.encode() if kind != "application/json" else json.dumps(body).encode()
    head = f"HTTP/1.1 {status} No\r\nContent-Type: {kind}\r\nConnection: close\r\n"
    return f"{head}retry-after-ms: 1\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


def provider(raw: Any, code: int = 400) -> dict[str, Any]:
    return wrapped(
        "Provider returned error", code=code, metadata={"raw": raw, "provider_name": "P"}
    )


NGINX = "<html>\r\n<head><title>{0}</title></head>\r\n<body><h1>{0}</h1><hr>nginx</body></html>"
CHALLENGE = "<!DOCTYPE html><html lang='en'><head><title>Just a moment...</title>" + "<p>x" * 900
# A refusal, and what the user reads of it: each server has the reason in another place.
REASONS: list[tuple[str, bytes, str]] = [
    ("lmstudio", refusal(400, {"error": "Model is unloaded."}), "request (400: Model is unloaded.)"),
    ("xai", refusal(400, {"code": "Client specified an invalid argument", "error": "Argument not "
     "supported: stop"}), "request (400: Argument not supported: stop)"),
    ("xai", refusal(400, {"code": "x", "error": "Incorrect API key provided: ab***cd."}),
     "refused the key (400: Incorrect"),
    ("xai", refusal(403, {"code": "x", "error": "Your newly created team doesn't have any credits or "
     "licenses yet."}), "no credit left for this key (403: Your newly"),
    ("anthropic", refusal(400, {"type": "error", "error": {"type": "invalid_request_error",
     "message": "Your credit balance is too low to access the API."}}), "no credit left"),
    ("tgi", refusal(422, {"error": "`temperature` must be positive", "error_type": "validation"}),
     "request (422: `temperature` must be positive)"),
    ("fastapi", refusal(422, {"detail": [{"loc": ["body", "messages"], "msg": "field required"}]}),
     "request (422: body messages field required)"),
    ("fastapi", refusal(401, {"detail": "Not authenticated"}), "key (401: Not authenticated)"),
    ("databricks", refusal(400, {"error_code": "BAD_REQUEST", "message": "Bad endpoint name"}),
     "request (400: Bad endpoint name)"),
    ("bedrock", refusal(403, {"Message": "User x is not authorized to perform: y"}),
     "call (403: User x is not authorized to perform: y)"),
    ("gemini", refusal(400, [{"error": {"code": 400, "message": "API key not valid. Please pass one.",
     "status": "INVALID_ARGUMENT"}}]), "refused the key (400: API key not valid."),
    ("cloudflare", refusal(404, {"success": False, "errors": [{"code": 7003, "message": "Could not "
     "route to /x"}], "result": None}), "(404: Could not route to /x)"),
    ("spring", refusal(404, {"status": 404, "error": "Not Found", "path": "/v1/chat"}),
     "(404: Not Found)"),
    ("baidu", refusal(400, {"error_code": 17, "error_msg": "Daily limit reached"}),
     "request (400: Daily limit reached)"),
    ("openrouter", refusal(400, provider('{"error": {"message": "No top_k", "code": null}}')),
     "request (400: No top_k)"),
    ("openrouter", refusal(400, provider({"detail": "One picture at most"})),
     "request (400: One picture at most)"),
    ("openrouter", refusal(200, provider("m is rate-limited upstream", 429)),
     "limits the rate, retries included (429: m is rate-limited upstream)"),
    ("openrouter", refusal(403, {"error": {"code": 403, "message": "Input was flagged",
     "metadata": {"provider_name": "P", "reasons": ["x"]}}}), "call (403: Input was flagged)"),
    ("text", refusal(400, "max_tokens must be under 4096", "text/plain"),
     "request (400: max_tokens must be under 4096)"),
    ("nginx", refusal(502, NGINX.format("502 Bad Gateway"), "text/html"),
     "fails, retries included (502: a web page, '502 Bad Gateway')"),
    ("nginx", refusal(404, NGINX.format("404 Not Found"), "text/html"),
     "did not answer as a chat model does (404: a web page, '404 Not Found'): check --base-url"),
    ("challenge", refusal(403, CHALLENGE, "text/html"),
     "does (403: a web page, 'Just a moment...'): check --base-url (many end in /v1), and what"),
    ("empty", refusal(403, "", "text/plain"), "does not permit this call (403): check"),
]  # fmt: skip


@pytest.mark.parametrize("client", ["openai:any", "anthropic:any"])
@pytest.mark.parametrize(
    ("name", "answer", "said"), REASONS, ids=[f"{n}-{each[0]}" for n, each in enumerate(REASONS)]
)
def test_a_refusal_gives_the_servers_own_reason(
    name: str, answer: bytes, said: str, client: str
) -> None:
    with raw_server(in_turn(answer)) as server, pytest.raises(ModelError) as caught:
        asked(server.url, client, max_retries=1)
    assert said in str(caught.value) and "Error code" not in str(caught.value)


def test_a_server_that_fails_over_a_long_prompt_is_asked_once() -> None:
    error = {"code": 500, "message": "the input length exceeds the context length"}
    with (
        chat_server(lambda _: Answer(status=500, error=error)) as server,
        pytest.raises(ContextError),
    ):
        asked(server.base_url)
    assert len(server.requests) == 1


@pytest.mark.parametrize("form", ["seconds", "date"])
@pytest.mark.parametrize("name", ["any", "anthropic:any"])
def test_a_long_wait_is_shown_and_not_waited_for(form: str, name: str) -> None:
    after = "8000" if form == "seconds" else email.utils.formatdate(time.time() + 8000, usegmt=True)
    error = b'{"error": {"message": "slow down"}}'
    head = b"HTTP/1.1 429 Slow\r\nContent-Type: application/json\r\nRetry-After: %s\r\n"
    head %= after.encode()
    answer = head + b"Content-Length: %d\r\n\r\n" % len(error) + error
    with raw_server(in_turn(answer)) as server, pytest.raises(ModelError) as caught:
        asked(server.url, name)
    assert "it asks to wait 2 h 1" in str(caught.value) and ", until " in str(caught.value)
    assert len(server.requests) == 1 and caught.value.retryable


@pytest.mark.slow
@pytest.mark.parametrize("name", ["any", "anthropic:any"])
def test_a_wait_of_over_half_a_minute_is_told_before_it_is_waited(name: str) -> None:
    error = b'{"error": {"message": "slow down", "type": "rate_limit_error"}}'
    head = b"HTTP/1.1 429 Slow\r\nContent-Type: application/json\r\nretry-after: 31\r\n"
    refused = head + b"Content-Length: %d\r\n\r\n" % len(error) + error
    told: list[tuple[float, str]] = []
    began = time.monotonic()
    with raw_server(in_turn(refused, GOOD if name == "any" else ANTHROPICS)) as server:
        url = server.url if name != "any" else f"{server.url}/v1"
        model = open_model(Settings(base_url=url, api_key="k", max_retries=1), name)
        tell_of_waits(model, lambda text: told.append((time.monotonic() - began, text)))
        assert reply_of(call(model, [HumanMessage("x")], PLACE)).text == "fine"
    [(after, text)] = told
    assert after < 10 < 31 <= time.monotonic() - began
    assert text.startswith("127.0.0.1 asks to wait 31 s, until ")


def test_retries_are_said_where_there_were_some() -> None:
    slow = Answer(status=429, error={"message": "slow"}, retry_after=0)
    for retries, said in (
        (0, "limits the rate (429"),
        (1, "limits the rate, retries included (429"),
    ):
        with (
            chat_server(lambda _: slow) as server,
            pytest.raises(ModelError, match=re.escape(said)),
        ):
            asked(server.base_url, max_retries=retries)
        assert len(server.requests) == retries + 1


ARGUMENTS: list[tuple[Any, dict[str, Any]]] = [
    ({"command": "ls"}, {"command": "ls"}),  # TGI
    (None, {}),
    ("absent", {}),
    ('{"command": "ls"}', {"command": "ls"}),
]


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(("arguments", "read"), ARGUMENTS)
def test_a_tools_arguments_that_are_no_text(arguments: Any, read: Any, streamed: bool) -> None:
    function = {"name": "run", "arguments": arguments}
    if arguments == "absent":
        del function["arguments"]
    tool = {"id": 0, "type": "function", "function": function}
    said = completion({"content": None, "tool_calls": [tool]}, "tool_calls")
    stream = events(chunk({"tool_calls": [{**tool, "index": 0}]}), chunk({}, "tool_calls"))
    with raw_server(in_turn(stream if streamed else said)) as server:
        [called] = asked(server.url).tool_calls
    assert (called["name"], called["args"], called["id"]) == ("run", read, "0")


@pytest.mark.slow
@pytest.mark.parametrize("form", ["seconds", "date"])
@pytest.mark.parametrize("inside", [False, True])
@pytest.mark.parametrize("name", ["any", "anthropic:any"])
def test_a_short_wait_is_waited_for(form: str, inside: bool, name: str) -> None:
    """In both forms, with the status itself and with the code inside a reply of status 200."""
    told = "2" if form == "seconds" else email.utils.formatdate(time.time() + 3, usegmt=True)
    error = b'{"error": {"message": "slow down", "code": 429, "type": "rate_limit_error"}}'
    status = b"200 OK" if inside else b"429 Slow"
    head = b"HTTP/1.1 %s\r\nContent-Type: application/json\r\nRetry-After: %s\r\n"
    refused = head % (status, told.encode()) + b"Content-Length: %d\r\n\r\n" % len(error) + error
    with raw_server(in_turn(refused, GOOD if name == "any" else ANTHROPICS)) as server:
        began = time.monotonic()
        assert reply_of(asked(server.url, name)).text == "fine"
        assert time.monotonic() - began >= 1.5
    assert len(server.requests) == 2


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("openai/gpt-5", ["openrouter:openai/gpt-5", "openai:gpt-5"]),
        (
            "anthropic/claude-sonnet-4.5",
            ["openrouter:anthropic/claude-sonnet-4.5", "anthropic:claude"],
        ),
        ("openai/gpt-oss-120b:free", ["openrouter:openai/gpt-oss-120b:free"]),
        ("gemini/gemini-2.5-pro", ["google_genai:gemini-2.5-pro"]),
        ("openrouter/openai/gpt-5", ["write openrouter:openai/gpt-5,"]),
        ("qwen/qwen3-coder", ["openrouter:qwen/qwen3-coder"]),
    ],
)
def test_a_name_with_a_slash_is_told_how_to_be_written(name: str, said: list[str]) -> None:
    with pytest.raises(UsageError) as caught:
        open_model(Settings(api_key="k"), name)
    assert all(each in str(caught.value) for each in said)


def test_this_machine_is_reached_without_a_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "all_proxy", "OPENAI_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    with chat_server(["hi"] * 2) as server:
        assert reply_of(asked(server.base_url)).text == "hi"
        local = server.base_url.replace("127.0.0.1", "localhost")
        assert reply_of(asked(local)).text == "hi"


@pytest.mark.parametrize("address", ["http://models.example/v1", "https://models.example/v1"])
def test_a_proxy_that_cannot_be_reached_is_named(
    address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("http_proxy", "https_proxy"):
        monkeypatch.setenv(name, "http://me:secret@127.0.0.1:9")
    with pytest.raises(ModelError) as caught:
        asked(address, max_retries=0)
    said = "cannot be reached through the proxy http://127.0.0.1:9 ([Errno 111] Connection refused)"
    assert said in str(caught.value) and "NO_PROXY" in str(caught.value)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize(
    ("scheme", "said"),
    [("http", "is behind a proxy that wants a login (407: a web page, 'Login')"),
     ("https", "cannot be reached through the proxy http://127.0.0.1:")],
)  # fmt: skip
def test_a_proxy_that_wants_a_login_is_named(
    scheme: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    page = refusal(407, "<html><title>Login</title>", "text/html")
    with raw_server(in_turn(page)) as server:
        monkeypatch.setenv(f"{scheme}_proxy", server.url)
        with pytest.raises(ModelError) as caught:
            asked(f"{scheme}://models.example/v1", max_retries=0)
    assert said in str(caught.value) and "407" in str(caught.value)


@pytest.mark.parametrize("listed", ["10.0.0.0/8", "10.1.2.3", "*", "x.example,10.1.0.0/16"])
def test_no_proxy_lists_hosts_and_networks(listed: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "ftp://nonsense")
    with pytest.raises(UsageError, match="write it as http://"):
        check_proxy("http://10.1.2.3:8000/v1")
    monkeypatch.setenv("no_proxy", listed)
    check_proxy("http://10.1.2.3:8000/v1")


@pytest.mark.parametrize(
    ("listed", "passes"),
    [
        ("models.example", True),
        (".example", True),
        ("example", True),
        ("models.example:8000", True),
        ("a.test, models.example", True),
        ("models.example:9000", False),
        ("dels.example", False),
    ],
)
def test_no_proxy_lists_names_and_ports(
    listed: str, passes: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("http_proxy", "ftp://nonsense")
    monkeypatch.setenv("no_proxy", listed)
    if passes:
        check_proxy("http://models.example:8000/v1")
    else:
        with pytest.raises(UsageError, match="cannot be used"):
            check_proxy("http://models.example:8000/v1")


@pytest.mark.parametrize("name", ["openai:gpt-5", "anthropic:claude-any"])
@pytest.mark.parametrize(
    "proxy", ["socks4://127.0.0.1:1", "http://[::1", "ftp://me:secret@127.0.0.1:1"]
)
def test_a_proxy_that_cannot_be_used_is_said_at_once(
    name: str, proxy: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("https_proxy", proxy)
    with pytest.raises(UsageError, match="cannot be used") as caught:
        open_model(Settings(api_key="k"), name)
    assert "secret" not in str(caught.value)


@pytest.mark.parametrize("scheme", ["socks5", "socks5h", "socks"])
def test_a_socks_proxy_is_used_or_names_its_package(
    scheme: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        monkeypatch.setenv("all_proxy", f"{scheme}://127.0.0.1:{listener.getsockname()[1]}")
        if importlib.util.find_spec("socksio") is None:
            with pytest.raises(UsageError, match=r"needs the package socksio.*install"):
                asked("http://models.example")
            return
        named: list[bytes] = []

        def serve() -> None:
            connection, _ = listener.accept()
            with connection:
                connection.recv(99)
                connection.sendall(b"\x05\x00")
                named.append(connection.recv(99))
                connection.sendall(b"\x05\x00\x00\x01\x7f\x00\x00\x01\x00\x50")
                connection.recv(65536)
                connection.sendall(whole(json.dumps(GOOD).encode(), b"Connection: close"))

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        assert reply_of(asked("http://models.example", request_timeout=10)).text == "fine"
        thread.join(5)
    assert b"models.example" in named[0]

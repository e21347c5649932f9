"""A model's server that wants to hold us up, fill our memory, steal a prompt or falsify a price."""

import gzip
import itertools
import json
import subprocess
import sys
import time
import zlib
from collections.abc import Callable, Iterator
from functools import cache
from typing import Any

import pytest
from chat_server import Answer, chat_server
from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage
from raw_server import HEAD, RawServer, raw_server, whole

from autoreproduce.config import Settings
from autoreproduce.errors import ModelError, UsageError
from autoreproduce.models.budget import Budget
from autoreproduce.models.errors import may_pass
from autoreproduce.models.open import LARGEST_ANSWER, call, open_model, reply_of
from autoreproduce.models.prices import cost_of, most_it_costs, price_of
from autoreproduce.models.tape import CallSite
from autoreproduce.trials.steps import ModelResult

PLACE = CallSite("code", "replication", "edit")
MB = 2**20
FINE = {"role": "assistant", "content": "hi"}
NAMES = ("openai:any", "anthropic:any")
both = pytest.mark.parametrize("name", NAMES)


@pytest.fixture(autouse=True)
def nothing_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for prefix in ("HTTP", "http", "ALL", "all", "OPENAI", "ANTHROPIC"):
        for ending in ("_PROXY", "_proxy"):
            monkeypatch.delenv(prefix + ending, raising=False)


@pytest.fixture(autouse=True, scope="module")
def imported() -> None:
    """What the first call of each client imports, so that no test's clock runs meanwhile."""
    for name in NAMES:
        with raw_server(lambda _: iter([])) as server, pytest.raises(ModelError):
            ask(server, name, request_timeout=60)


def opened(url: str, name: str = "openai:any", **named: Any) -> BaseChatModel:
    settings = {"api_key": "k", "max_retries": 0, "request_timeout": 1, **named}
    return open_model(Settings(base_url=url, **settings), name)


def ask(server: RawServer, name: str = "openai:any", **named: Any) -> AIMessage:
    return call(opened(server.url, name, **named), [HumanMessage("the prompt")], PLACE)


def slowly(data: bytes) -> Iterator[bytes]:
    """A byte at a time, each well within any read time-out."""
    for byte in data:
        time.sleep(0.1)
        yield bytes([byte])


def slow_body() -> Iterator[bytes]:
    yield HEAD + b"Content-Length: 1000000\r\n\r\n"
    yield from slowly(b" " * 1000)


def slow_chunks() -> Iterator[bytes]:
    yield HEAD + b"Transfer-Encoding: chunked\r\n\r\n"
    yield from itertools.chain.from_iterable(slowly(b"1\r\n \r\n") for _ in range(1000))


def slow_head() -> Iterator[bytes]:
    yield from slowly(HEAD + b"X: " + b"y" * 1000)


def slow_trailers() -> Iterator[bytes]:
    yield HEAD + b"Transfer-Encoding: chunked\r\n\r\n1\r\n \r\n0\r\n"
    yield from slowly(b"X: " + b"y" * 1000)


def endless_continue() -> Iterator[bytes]:
    while True:
        time.sleep(0.1)
        yield b"HTTP/1.1 100 Continue\r\n\r\n"


@pytest.mark.slow
@both
@pytest.mark.parametrize(
    "answer", [slow_body, slow_chunks, slow_head, slow_trailers, endless_continue]
)
def test_an_answer_that_trickles_ends_with_the_request_timeout(
    answer: Callable[[], Iterator[bytes]], name: str
) -> None:
    with raw_server(lambda _: answer()) as server:
        began = time.monotonic()
        with pytest.raises(ModelError, match="raise --request-timeout"):
            ask(server, name)
        assert 0.9 < time.monotonic() - began < 3


@pytest.mark.slow
def test_a_stream_that_trickles_ends_with_the_request_timeout() -> None:
    def answer(_: bytes) -> Iterator[bytes]:
        yield b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\n\r\n"
        yield from itertools.chain.from_iterable(slowly(b": still here\n\n") for _ in range(1000))

    with raw_server(answer) as server:
        model = opened(server.url)
        began = time.monotonic()
        with pytest.raises(Exception) as caught:
            list(model.stream("hello"))
        assert may_pass(caught.value)
        assert time.monotonic() - began < 3


@pytest.mark.slow
def test_a_server_that_does_not_read_the_prompt_is_given_up() -> None:
    import socket

    with socket.create_server(("127.0.0.1", 0)) as deaf:
        model = opened(f"http://127.0.0.1:{deaf.getsockname()[1]}")
        began = time.monotonic()
        with pytest.raises(ModelError, match="raise --request-timeout"):
            call(model, [HumanMessage("x" * 20 * MB)], PLACE)
        assert time.monotonic() - began < 6


def flood(head: bytes, piece: bytes) -> Callable[[bytes], Iterator[bytes]]:
    """Up to 100 MB."""

    def answer(_: bytes) -> Iterator[bytes]:
        yield head
        for _ in range(100 * MB // len(piece)):
            yield piece

    return answer


CHUNK = b"10000\r\n" + b" " * 65536 + b"\r\n"
FLOODS = {
    "body": flood(HEAD + b"Content-Length: 104857600\r\n\r\n", b" " * 65536),
    "chunks": flood(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", CHUNK),
    "error": flood(b"HTTP/1.1 500 No\r\nContent-Length: 104857600\r\n\r\n", b" " * 65536),
    "no length": flood(HEAD + b"Connection: close\r\n\r\n", b" " * 65536),
}


@both
@pytest.mark.parametrize("kind", FLOODS)
def test_an_answer_without_an_end_is_cut_and_not_asked_for_again(kind: str, name: str) -> None:
    with raw_server(FLOODS[kind]) as server:
        with pytest.raises(ModelError, match="the answer has more than 4 MB") as caught:
            ask(server, name, request_timeout=60)
        assert server.sent < 3 * LARGEST_ANSWER  # the limit, and what the buffers between us hold
    assert not may_pass(caught.value.__cause__)  # type: ignore[arg-type]


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["small chunks", "continue"])
def test_an_answer_of_countless_pieces_costs_no_more_than_its_time(kind: str) -> None:
    pieces = {
        "small chunks": flood(HEAD + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n" * 10_000),
        "continue": flood(b"", b"HTTP/1.1 100 Continue\r\n\r\n" * 1000),
    }
    with raw_server(pieces[kind]) as server:
        began = time.monotonic()
        with pytest.raises(ModelError, match=r"more than 4 MB|raise --request-timeout"):
            ask(server)
        assert time.monotonic() - began < 5


@cache
def bomb() -> bytes:
    """A few hundred kilobytes that become 200 MB."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 31)
    return b"".join([*(packer.compress(b" " * MB) for _ in range(200)), packer.flush()])


@both
@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, gzip", "GZIP"])
def test_an_encoded_answer_is_not_decoded(encoding: str, name: str) -> None:
    data = gzip.compress(b"{}") if "g" not in encoding.lower() else bomb()
    answer = whole(data, b"Content-Encoding: " + encoding.encode())
    refused = pytest.raises(ModelError, match="the answer is encoded")
    with raw_server(lambda _: iter([answer])) as server, refused:
        ask(server, name, request_timeout=10)
    assert b"accept-encoding: identity" in server.requests[0].lower()


HUNGRY = """
import resource, sys
from langchain_core.messages import HumanMessage
from autoreproduce.config import Settings
from autoreproduce.errors import ModelError
from autoreproduce.models.open import call, open_model
from autoreproduce.models.tape import CallSite
from autoreproduce.trials.steps import ModelResult
model = open_model(Settings(base_url=sys.argv[1], api_key="k", max_retries=0), "any")
try:
    call(model, [HumanMessage("hello")], CallSite("a", "b", "c"))
except ModelError as error:
    print(error)
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
try:
    call(model, [HumanMessage("hello")], CallSite("a", "b", "c"))
except ModelError as error:
    print(error)
print("grew", (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) // 1024)
"""


def greedy(kind: str) -> bytes:
    """The largest answer that is read, made so that its objects take the most room."""
    if kind == "choices":
        each = json.dumps({"message": FINE})
        count = 4_000_000 // (len(each) + 2)
        return b'{"choices": [' + ", ".join([each] * count).encode() + b"]}"
    return b'{"choices": [' + b"[]," * 1_300_000 + b"[]]}"


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["choices", "lists"])
def test_the_largest_answer_takes_bounded_memory(kind: str) -> None:
    fine = json.dumps({"choices": [{"message": FINE}]}).encode()
    answers = iter([whole(fine), whole(greedy(kind))])
    with raw_server(lambda _: iter([next(answers)])) as server:
        command = [sys.executable, "-c", HUNGRY, server.url]
        done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout.split()[-1]) < 600, done.stdout


@both
@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_no_prompt_and_no_key_goes_where_a_server_sends_it(status: int, name: str) -> None:
    with raw_server(lambda _: iter([whole(b"{}")])) as thief:
        head = f"HTTP/1.1 {status} Moved\r\nLocation: {thief.url}/v1\r\n"
        moved = f"{head}Content-Length: 0\r\n\r\n".encode()
        with raw_server(lambda _: iter([moved])) as server:
            with pytest.raises(ModelError, match=rf"to another address \({status}\)"):
                ask(server, name, max_retries=2)
            assert len(server.requests) == 1
    assert not thief.requests


def openai_usage(usage: str) -> bytes:
    return f'{{"choices": [{{"message": {json.dumps(FINE)}}}], "usage": {usage}}}'.encode()


def counted(prompt: object, completion: object, **details: object) -> str:
    return json.dumps({"prompt_tokens": prompt, "completion_tokens": completion, **details})


COUNTS = [
    counted(-5, 7),
    counted(5, -7),
    counted(10**18, 7),
    counted(1e18, 7),
    counted(5, 10**23),
    counted(float("nan"), 7),
    counted(float("inf"), 7),
    counted("lots", 7, total_tokens=2),
    counted([1], {}, total_tokens=2),
    counted(0.5, 7),
    counted(0, 7),
    counted(5, 0),
    counted(5, 7, prompt_tokens_details={"cached_tokens": 900_000}),
    counted(5, 7, prompt_tokens_details={"cached_tokens": -900_000}),
    counted(5, 7, completion_tokens_details={"reasoning_tokens": 9}),
]


@pytest.mark.parametrize("usage", COUNTS)
def test_a_count_that_cannot_be_is_unknown_and_has_no_price(usage: str) -> None:
    settings = Settings(price="1,0.1,4")
    with raw_server(lambda _: iter([whole(openai_usage(usage))])) as server:
        reply = reply_of(ask(server))
    assert reply.text == "hi" and reply.usage.estimated
    assert reply.usage.input > 0 and reply.usage.output > 0 and reply.usage.cached == 0
    assert price_of(reply.usage, "any", settings) is None


def test_a_call_of_unknown_price_takes_what_was_reserved_from_the_budget() -> None:
    settings, budget = Settings(price="1,0.1,4", max_output_tokens=1000), Budget(limit_dollars=1.0)
    most = most_it_costs(1000, "any", settings)
    answer = whole(openai_usage(COUNTS[0]))
    with raw_server(lambda _: iter([answer])) as server, budget.reserve(most) as held:
        held.settle(cost_of(reply_of(ask(server)).usage, "any", settings))
    assert budget.spent_dollars == most.dollars and most.dollars


@pytest.mark.parametrize(
    "usage",
    [
        {"input_tokens": -5, "output_tokens": 7},
        {"input_tokens": 1e18, "output_tokens": 7},
        {"input_tokens": float("nan"), "output_tokens": 7},
        {"input_tokens": 5, "output_tokens": 7, "cache_read_input_tokens": -4},
        {"input_tokens": 0, "output_tokens": 7},
    ],
)
@pytest.mark.filterwarnings("ignore:Pydantic serializer")
def test_anthropics_counts_are_checked_too(usage: dict[str, float]) -> None:
    content = [{"type": "text", "text": "hi"}]
    body = {"type": "message", "role": "assistant", "model": "any", "content": content}
    answer = whole(json.dumps({**body, "usage": usage}).encode())
    with raw_server(lambda _: iter([answer])) as server:
        reply = reply_of(ask(server, "anthropic:any"))
    assert reply.text == "hi" and reply.usage.estimated and reply.usage.input > 0


def choice(content: object, **more: object) -> bytes:
    message = {"role": "assistant", "content": content}
    return json.dumps({"choices": [{"message": message, **more}], "model": ["m"]}).encode()


ODD = [
    choice([{"type": "text", "text": 5}, {"type": "text", "text": None}]),
    choice([{"type": "text"}, "a", {"text": "b"}]),
    choice("x", finish_reason={"a": [1]}),
    choice("\ud800", tool_calls=[{"function": {"name": 5}}]),
    b'{"choices": {"a": 1}}',
    b'{"choices": "abc"}',
    b'{"choices": [5]}',
    b'{"choices": [{"message": null}]}',
    b'{"choices": 1e999}',
    b'{"error": "no"}',
    openai_usage('"lots"'),
    openai_usage("[1]"),
    b"5",
    b'"text"',
    b"\xff\xfe",
    b"",
]


@pytest.mark.parametrize("answer", ODD)
def test_any_other_answer_is_a_reply_or_one_clear_error(answer: bytes) -> None:
    with raw_server(lambda _: iter([whole(answer)])) as server:
        try:
            reply = reply_of(ask(server))
        except ModelError as error:
            known = {b"": "the server sent nothing", b'{"error": "no"}': "refused the request (no)"}
            said = known.get(answer, "did not answer as a chat model does")
            assert "\n" not in str(error) and said in str(error)
        else:
            json.dumps([reply.text, reply.finish, reply.model]).encode()
            assert isinstance(reply.text, str)


def test_words_alone_do_not_make_a_failure_pass_for_another() -> None:
    for words in ("TimeoutError", "insufficient_quota billing", "401 refused the key"):
        with chat_server([Answer(status=429, retry_after=0, error={"message": words})]) as server:
            model = open_model(Settings(base_url=server.base_url, max_retries=0), "any")
            with pytest.raises(ModelError, match="limits the rate") as caught:
                call(model, [HumanMessage("hello")], PLACE)
            assert may_pass(caught.value.__cause__)  # type: ignore[arg-type]


def test_a_class_that_is_only_named_like_a_time_out_is_none() -> None:
    class ReadTimeout(Exception):
        pass

    assert not may_pass(ReadTimeout()) and may_pass(TimeoutError())


def test_a_provider_that_asks_to_wait_for_years_is_not_waited_for() -> None:
    with chat_server([Answer(status=429, retry_after=1e9)] * 9) as server:
        model = open_model(Settings(base_url=server.base_url, max_retries=6), "any")
        began = time.monotonic()
        with pytest.raises(ModelError, match="limits the rate"):
            call(model, [HumanMessage("hello")], PLACE)
        assert time.monotonic() - began < 5 and len(server.requests) == 1


@pytest.mark.slow
def test_a_provider_that_asks_for_no_wait_is_not_hammered() -> None:
    with chat_server([Answer(status=429, retry_after=0)] * 9) as server:
        model = open_model(Settings(base_url=server.base_url, max_retries=2), "any")
        began = time.monotonic()
        with pytest.raises(ModelError, match="limits the rate"):
            call(model, [HumanMessage("hello")], PLACE)
        assert time.monotonic() - began > 1 and len(server.requests) == 3


CALLS = """
import sys
from concurrent.futures import ThreadPoolExecutor
from langchain_core.messages import HumanMessage
from autoreproduce.config import Settings
from autoreproduce.models.open import call, open_model
from autoreproduce.models.tape import CallSite
from autoreproduce.trials.steps import ModelResult
def work(n):
    for name, url in (("any", sys.argv[1]), ("anthropic:any", sys.argv[1].removesuffix("/v1"))):
        model = open_model(Settings(base_url=url, api_key="k"), name)
        for _ in range(3):
            call(model, [HumanMessage("hello")], CallSite("a", "b", "c"))
with ThreadPoolExecutor(4) as pool:
    list(pool.map(work, range(4)))
"""


@pytest.mark.slow
def test_no_connection_is_left_to_the_garbage_collector() -> None:
    with chat_server(lambda _: "hi") as server:
        done = subprocess.run(
            [sys.executable, "-W", "always::ResourceWarning", "-c", CALLS, server.base_url],
            capture_output=True,
            text=True,
            timeout=100,
        )
        assert len(server.requests) == 24
    assert done.returncode == 0 and "ResourceWarning" not in done.stderr, done.stderr


def test_a_proxy_is_used_and_its_answers_are_limited_too(monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("http_proxy", "OPENAI_PROXY"):
        with raw_server(FLOODS["body"]) as proxy, monkeypatch.context() as patch:
            patch.setenv(variable, proxy.url)
            model = opened("http://models.example/v1", request_timeout=60)
            with pytest.raises(ModelError, match="more than 4 MB"):
                call(model, [HumanMessage("hello")], PLACE)
        assert proxy.requests[0].startswith(b"POST http://models.example/v1/chat/completions ")


def test_a_host_that_no_proxy_serves_is_called_directly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    with raw_server(lambda _: iter([whole(openai_usage("null"))])) as server:
        assert ask(server).text == "hi"


def test_user_and_password_of_an_address_are_sent() -> None:
    with raw_server(lambda _: iter([whole(openai_usage("null"))])) as server:
        server.url = server.url.replace("//", "//me:pw@")
        ask(server)
    assert b"authorization: basic bwu6chc=" in server.requests[0].lower()


@pytest.mark.parametrize("name", ["google_genai:gemini", "mistralai:any"])
def test_a_prompt_does_not_go_past_the_base_url(name: str) -> None:
    with pytest.raises(UsageError, match="--base-url cannot be used"):
        open_model(Settings(base_url="http://127.0.0.1:1", api_key="k"), name)


HALF = "\ud800"


@pytest.mark.parametrize("field", ["model", "finish_reason", "content"])
def test_half_a_character_in_any_field_is_storable(field: str) -> None:
    fields = {"model": "m", "finish_reason": "stop", "content": "hi", field: f"a{HALF}"}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": fields["content"]},
        "finish_reason": fields["finish_reason"],
    }
    body = json.dumps({"model": fields["model"], "choices": [choice]})
    with chat_server([Answer(raw=body)]) as server:
        model = opened(server.base_url)
        reply = reply_of(call(model, [HumanMessage("hello")], PLACE))
    assert "a?" in (reply.model, reply.finish, reply.text)
    result = ModelResult(reply=reply.text, model=reply.model, finish=reply.finish)
    assert result.model_dump_json()


@pytest.mark.parametrize("status", [400, 401, 500])
def test_half_a_character_in_an_error_is_storable(status: int) -> None:
    answer = Answer(status=status, error={"message": f"a{HALF} b", "code": f"{HALF}"})
    with chat_server([answer]) as server, pytest.raises(ModelError) as raised:
        call(opened(server.base_url), [HumanMessage("hello")], PLACE)
    assert str(raised.value).encode()

"""The short way to an OpenAI-compatible server: what it sends, when it waits, and when LangChain's own way is taken."""

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from email.utils import formatdate
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from chat_server import Answer, chat_server
from langchain_core.caches import InMemoryCache
from langchain_core.callbacks import BaseCallbackHandler
from langchain_core.messages import AIMessage, HumanMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableLambda
from langchain_core.tools import tool
from langchain_openai import ChatOpenAI
from openai import BadRequestError

from autoreproduce import turns
from autoreproduce.chat_completions import LONGEST, ChatCompletions, Retries
from autoreproduce.config import Settings
from autoreproduce.models import call, open_model
from autoreproduce.tape import Place

PLACE = Place("code", "replication", "edit")


@pytest.fixture(autouse=True)
def no_settings_of_the_machine(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_ORG_ID",
        "HTTP_PROXY",
        "http_proxy",
        "OPENAI_PROXY",
        "ALL_PROXY",
        "all_proxy",
    ):
        monkeypatch.delenv(name, raising=False)


@tool
def look(path: str) -> str:
    """Look at a file."""
    return path


CONVERSATION = [
    SystemMessage("be brief"),
    HumanMessage([{"type": "text", "text": "what is it?"}, {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}}]),
    AIMessage("", tool_calls=[{"name": "look", "args": {"path": "a"}, "id": "1"}]),
    ToolMessage("äöü 😀 ∑", tool_call_id="1"),
]  # fmt: skip


PLAIN = [SystemMessage("be brief"), HumanMessage("what is it? äöü 😀 ∑")]


def both(named: dict, answer: Answer, messages: list) -> tuple[list, list[AIMessage]]:
    """What langchain-openai and the short way ask of a server, and what they make of its answer."""
    with chat_server([answer, answer]) as server:
        replies = []
        for kind in (ChatOpenAI, ChatCompletions):
            model = kind(model="m", base_url=server.base_url, api_key="k", max_retries=0, **named)
            replies.append(model.bind_tools([look]).invoke(messages))
    return server.requests, replies


@pytest.mark.parametrize("named", [{}, {"temperature": 0.3, "max_tokens": 7}, {"seed": 3, "top_p": 0.5}])
@pytest.mark.parametrize("answer", [
    Answer("hi", prompt_tokens=100, cached_tokens=60, reasoning_tokens=5), Answer("", finish="length"),
    Answer(tools=(("look", {"path": "b"}),)), Answer("none", prompt_tokens=None),
], ids=["text", "cut", "tools", "no usage"])  # fmt: skip
@pytest.mark.parametrize("messages", [CONVERSATION, PLAIN], ids=["conversation", "plain"])
def test_it_asks_and_understands_what_langchain_does(named: dict, answer: Answer, messages: list) -> None:
    (theirs, ours), (long, short) = both(named, answer, messages)
    assert ours.body == theirs.body
    assert ours.headers["authorization"] == theirs.headers["authorization"] == "Bearer k"
    for name in ("content", "tool_calls", "usage_metadata", "invalid_tool_calls"):
        assert getattr(short, name) == getattr(long, name)
    for name in ("finish_reason", "model_name", "model_provider", "id"):
        assert short.response_metadata[name] == long.response_metadata[name]


def test_the_organisation_is_told_and_the_client_named() -> None:
    with chat_server(["hi"]) as server:
        model = ChatCompletions(model="m", base_url=server.base_url, api_key="k", organization="org-1")
        model.invoke("hello")
    headers = server.requests[0].headers
    assert headers["openai-organization"] == "org-1" and headers["user-agent"].startswith("autoreproduce/")
    assert not [name for name in headers if name.startswith("x-stainless")]


def test_connections_are_kept_between_calls() -> None:
    with counting_server() as (url, connections):
        for _ in range(3):
            call(open_model(Settings(base_url=url), "m"), [HumanMessage("hello")], PLACE)
    assert len(connections) == 1


def test_a_server_that_sends_elsewhere_is_followed() -> None:
    with chat_server(["moved"]) as server, counting_server(to=server.base_url) as (url, _):
        assert call(open_model(Settings(base_url=url), "m"), [HumanMessage("hello")], PLACE).text == "moved"


def test_a_proxy_is_used(monkeypatch: pytest.MonkeyPatch) -> None:
    with counting_server() as (proxy, _):
        monkeypatch.setenv("http_proxy", proxy.removesuffix("/v1"))
        monkeypatch.setenv("no_proxy", "other.example")
        settings = Settings(base_url="http://models.example/v1", api_key="k", max_retries=0)
        assert (
            call(open_model(settings, "m"), [HumanMessage("hello")], PLACE).text
            == "http://models.example/v1/chat/completions"
        )


def test_a_proxy_of_langchains_own_variable_is_not_passed_by(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_PROXY", "http://proxy.example:3128")
    model = open_model(Settings(base_url="http://own.example/v1", api_key="k"), "m")
    assert isinstance(model, ChatCompletions) and model.route is None


def test_user_and_password_of_an_address_are_sent() -> None:
    with chat_server(["hi"]) as server:
        call(
            open_model(Settings(base_url=server.base_url.replace("//", "//me:pw@")), "m"),
            [HumanMessage("hello")],
            PLACE,
        )
    assert server.requests[0].headers["authorization"] == "Basic bWU6cHc="


def test_who_calls_through_a_proxy_leaves_its_turn_too(monkeypatch: pytest.MonkeyPatch) -> None:
    ours = turns.Turns(patience=30)
    monkeypatch.setattr(turns, "left", ours.left)
    with chat_server([Answer("late", hang=0.5)] * 7) as server:
        monkeypatch.setenv("http_proxy", server.root_url)
        settings = Settings(base_url="http://slow.example/v1", api_key="k", max_retries=0)

        def work(_: int) -> None:
            with ours.taken():
                call(open_model(settings, "m"), [HumanMessage("hello")], PLACE)

        work(0)  # what is imported at the first call
        began = time.monotonic()
        with ThreadPoolExecutor(6) as pool:
            list(pool.map(work, range(6)))
    assert time.monotonic() - began < 2  # one after the other they take 3


def test_structured_answers_go_the_long_way() -> None:
    with chat_server(['{"path": "x"}']) as server:
        model = ChatCompletions(model="m", base_url=server.base_url, api_key="k", max_retries=0)
        found = model.with_structured_output(
            {"title": "t", "type": "object", "properties": {"path": {"type": "string"}}}, method="json_schema"
        ).invoke("hello")
        assert found == {"path": "x"}
    assert server.requests[0].headers["user-agent"].startswith("OpenAI/")


def test_the_responses_api_goes_the_long_way() -> None:
    with chat_server([Answer(status=400, error={"message": "spoken here is chat alone"})]) as server:
        model = ChatCompletions(model="m", base_url=server.base_url, api_key="k", max_retries=0, use_responses_api=True)
        with pytest.raises(BadRequestError):
            model.invoke("hello")
    assert server.requests[0].path == "/v1/responses"


def test_any_answer_of_success_is_one() -> None:
    with counting_server(status=201) as (url, _):
        assert call(open_model(Settings(base_url=url), "m"), [HumanMessage("hello")], PLACE).text


class Heard(BaseCallbackHandler):
    def __init__(self) -> None:
        self.ends: list[str] = []

    def on_llm_end(self, response, **_) -> None:
        self.ends.append(response.generations[0][0].text)


def test_who_watches_hears_of_each_call() -> None:
    heard = Heard()
    with chat_server(["one", "two"]) as server:
        model = ChatCompletions(model="m", base_url=server.base_url, api_key="k")
        model.invoke("hello", config={"callbacks": [heard]})
        RunnableLambda(lambda text: model.invoke(text).text).invoke("hello", config={"callbacks": [heard]})
    assert heard.ends == ["one", "two"]


def test_a_cache_is_asked() -> None:
    with chat_server(["once"]) as server:
        model = ChatCompletions(model="m", base_url=server.base_url, api_key="k", cache=InMemoryCache())
        assert [model.invoke("hello").text for _ in range(3)] == ["once"] * 3
    assert len(server.requests) == 1


def test_a_stream_is_a_stream() -> None:
    with chat_server(["a longer answer"]) as server:
        model = ChatCompletions(model="m", base_url=server.base_url, api_key="k", streaming=True)
        assert model.invoke("hello").text == "a longer answer"
    assert server.requests[0].body["stream"] is True


@pytest.mark.parametrize(
    ("said", "seconds"), [("3", 3), ("0.25", 0.25), ("9999", LONGEST), ("-4", 0), ("soon", 0), ("nan", 0)]
)
def test_a_provider_is_waited_for_as_it_asks(said: str, seconds: float) -> None:
    assert Retries().parse_retry_after(said) == seconds


def test_a_provider_may_name_a_date() -> None:
    assert 25 < Retries().parse_retry_after(formatdate(time.time() + 30, usegmt=True)) <= 30


def test_without_its_word_the_waits_grow_and_end() -> None:
    waits, told = Retries(total=None, status=9, status_forcelist=[503], allowed_methods=None), []
    for _ in range(7):
        waits = waits.increment("POST", "/", error=None, response=None)
        told.append(waits.get_backoff_time())
    for number, seconds in enumerate(told):
        assert 0.75 * min(8, 0.5 * 2**number) <= seconds <= min(8, 0.5 * 2**number)


@contextmanager
def counting_server(to: str = "", status: int = 200) -> Iterator[tuple[str, set]]:
    """A server that answers with the address it was asked for, or sends `to` another; its address, and who connected."""
    connections = set()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_: object) -> None:
            pass

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            connections.add(self.client_address)
            body = f'{{"choices": [{{"index": 0, "message": {{"role": "assistant", "content": "{self.path}"}}}}], "model": "m"}}'
            self.send_response(307 if to else status)
            if to:
                self.send_header("Location", f"{to}/chat/completions")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body.encode())

    http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    http.daemon_threads = True
    thread = threading.Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{http.server_port}/v1", connections
    finally:
        http.shutdown()
        http.server_close()
        thread.join(5)

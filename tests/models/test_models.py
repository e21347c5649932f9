"""Models through LangChain's real clients, against a server that speaks the providers'
protocols.
"""

from __future__ import annotations

import json

import pytest
from chat_server import Answer, Server, chat_server
from pydantic import ValidationError

from autoreproduce.config import Settings
from autoreproduce.errors import AutoReproduceError, ModelError, UsageError
from autoreproduce.models.open import (
    ContextError,
    Usage,
    call,
    open_model,
    price_of,
    reply_of,
    sees_pictures,
)
from autoreproduce.models.prices import Rates, cost_of, endpoint, most_it_costs, why_free
from autoreproduce.models.tape import CallSite
from autoreproduce.models.tokens import count_tokens, rough_tokens

PLACE = CallSite("code", "replication", "edit")


@pytest.fixture(autouse=True)
def no_keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (
        "OPENAI_API_KEY",
        "ANTHROPIC_API_KEY",
        "OPENAI_BASE_URL",
        "OPENAI_API_BASE",
        "ANTHROPIC_BASE_URL",
    ):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("LANGSMITH_TRACING", "false")


def ask(server: Server, text: str = "hello", name: str = "some-model", **named):
    from langchain_core.messages import HumanMessage, SystemMessage

    settings = Settings(
        base_url=server.base_url, **{"max_retries": 3, "request_timeout": 20, **named}
    )
    return call(open_model(settings, name), [SystemMessage("be brief"), HumanMessage(text)], PLACE)


def test_a_reply_with_its_usage_and_ending():
    said = Answer(
        "hi", prompt_tokens=100, cached_tokens=60, completion_tokens=20, reasoning_tokens=5
    )
    with chat_server([said]) as server:
        reply = reply_of(ask(server, temperature=0.5, max_output_tokens=77))
    assert reply.text == "hi" and reply.finish == "stop" and reply.model == "some-model"
    assert reply.usage == Usage(input=100, cached=60, output=20, reasoning=5)
    asked = server.requests[0]
    assert asked.path == "/v1/chat/completions" and asked.prompt == "be brief\nhello"
    assert asked.body["temperature"] == 0.5 and 77 in (
        asked.body.get("max_tokens"),
        asked.body.get("max_completion_tokens"),
    )


def test_a_cut_and_an_empty_reply_are_told_by_their_ending():
    with chat_server(
        [Answer("EDIT 1 2\n```", finish="length"), Answer("", finish="stop")]
    ) as server:
        assert reply_of(ask(server)).finish == "length"
        empty = reply_of(ask(server))
    assert empty.text == "" and empty.finish == "stop"


@pytest.mark.parametrize("tokens", [None, 0])
def test_usage_is_estimated_where_the_server_counts_none(tokens):
    with chat_server(
        [Answer("four little words here", prompt_tokens=tokens, completion_tokens=0)]
    ) as server:
        message = ask(server, "x" * 400)
    reply = reply_of(message)
    assert message.response_metadata["usage_estimated"] is True
    assert reply.usage.input >= 50 and reply.usage.output >= 4


@pytest.mark.parametrize("count", ['"7"', "7.0", "7"])
def test_usage_is_whole_numbers_however_the_server_writes_them(count):
    usage = f'{{"prompt_tokens": {count}, "completion_tokens": {count}, "total_tokens": 14}}'
    raw = f'{{"choices": [{{"message": {{"role": "assistant", "content": "hi"}}}}], "usage": {usage}}}'
    with chat_server([Answer(raw=raw)]) as server:
        reply = reply_of(ask(server))
    assert cost_of(reply.usage, "m", Settings()).tokens == 14
    assert (
        json.dumps(reply.usage.as_dict())
        == '{"input": 7, "cached": 0, "output": 7, "reasoning": 0}'
    )


@pytest.mark.parametrize(
    "failure",
    [
        Answer(status=429, retry_after=0),
        Answer(status=500, retry_after=0),
        Answer(status=503, retry_after=0),
        Answer("lost", cut=True),
    ],
    ids=["429", "500", "503", "cut"],
)
def test_failures_that_pass_are_retried(failure):
    with chat_server([failure, "after all"]) as server:
        assert reply_of(ask(server)).text == "after all"
    assert len(server.requests) == 2


@pytest.mark.slow
def test_a_time_out_is_retried():
    with chat_server([Answer("late", hang=5), "in time"]) as server:
        assert reply_of(ask(server, request_timeout=0.5)).text == "in time"
    assert len(server.requests) == 2


@pytest.mark.slow
def test_retry_after_is_waited_for():
    import time

    with chat_server([Answer(status=429, retry_after=1), "ok"]) as server:
        began = time.monotonic()
        ask(server)
    assert time.monotonic() - began >= 1


OVER = {
    "message": "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens.",
    "type": "invalid_request_error",
    "param": "messages",
    "code": "context_length_exceeded",
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("answer", "kind", "words"),
    [
        (
            Answer(status=401, error={"message": "Incorrect API key provided"}),
            ModelError,
            "refused the key",
        ),
        (Answer(status=403, error={"message": "no"}), ModelError, "does not permit"),
        (
            Answer(status=404, error={"message": "no model some-model"}),
            ModelError,
            "check --model and --base-url",
        ),
        (Answer(status=400, error=OVER), ContextError, "larger context"),
        (
            Answer(status=400, error={"message": "bad temperature"}),
            ModelError,
            "refused the request (400: bad temp",
        ),
        (Answer(status=402, error={"message": "pay"}), ModelError, "add credit"),
        (
            Answer(status=429, retry_after=0, error={"message": "slow down"}),
            ModelError,
            "limits the rate",
        ),
        (
            Answer(status=429, retry_after=0, error={"message": "x", "code": "insufficient_quota"}),
            ModelError,
            "add credit",
        ),
        (
            Answer(status=529, retry_after=0, error={"message": "overloaded"}),
            ModelError,
            "fails, retries included (529",
        ),
        (Answer(raw="<html>welcome</html>"), ModelError, "many end in /v1"),
        (Answer(raw="{}"), ModelError, "many end in /v1"),
        (Answer(raw="null"), ModelError, "many end in /v1"),
        (Answer(raw="[" * 100_000), ModelError, "the server sent broken JSON"),
        (Answer(raw='{"choices": []}'), ModelError, "sent an answer without a choice"),
        (
            Answer(raw='{"choices": [{"message": {"content": "no role"}}]}'),
            ModelError,
            "many end in /v1",
        ),
        (
            Answer(raw='{"choices": [{"message": {"role": "assistant", "content": 5}}]}'),
            ModelError,
            "many end in /v1",
        ),
        (
            Answer(raw='{"choices": [{"message": {"role": "bot", "content": "x"}}]}'),
            ModelError,
            "of the role",
        ),
        (Answer("late", hang=5), ModelError, "raise --request-timeout"),
        (Answer("lost", cut=True), ModelError, "cannot be reached"),
    ],
)
def test_what_stays_wrong_names_its_fix(answer, kind, words):
    with chat_server(lambda _: answer) as server, pytest.raises(kind) as caught:
        ask(server, max_retries=1, request_timeout=0.5)
    assert kind is ContextError or server.base_url in str(caught.value)
    assert words in str(caught.value) and "\n" not in str(caught.value)


def test_no_server_at_all():
    with chat_server([]) as server:
        pass
    with pytest.raises(ModelError, match=r"cannot be reached.*refused"):
        ask(server, max_retries=0)


def test_an_address_of_the_clients_own_variable_is_named(monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    model = open_model(Settings(api_key="k", max_retries=0), "openai:gpt-5-mini")
    with pytest.raises(ModelError, match=r"^http://127\.0\.0\.1:9/v1 cannot be reached"):
        call(model, [], PLACE)


def test_the_key_is_sent_and_never_shown():
    key = "sk-very-secret-123"
    refuse = Answer(status=401, error={"message": f"Incorrect API key provided: {key}"})
    with chat_server([refuse]) as server, pytest.raises(ModelError) as caught:
        ask(server, api_key=key)
    assert server.requests[0].headers["authorization"] == f"Bearer {key}"
    assert key not in str(caught.value)


def test_ctrl_c_and_bugs_pass_as_they_are():
    from langchain_core.language_models.fake_chat_models import FakeListChatModel

    class Interrupted(FakeListChatModel):
        error: type[BaseException] = KeyboardInterrupt

        def _call(self, *_, **__):
            raise self.error("here")

    for error in (KeyboardInterrupt, ZeroDivisionError):
        with pytest.raises(error):
            call(Interrupted(responses=[], error=error), [], PLACE)


def test_anthropic_through_its_own_client(monkeypatch):
    from langchain_core.messages import HumanMessage, SystemMessage

    with chat_server(
        [Answer("hi", prompt_tokens=100, cached_tokens=60, finish="length")]
    ) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.root_url)
        model = open_model(Settings(api_key="k", max_output_tokens=50), "anthropic:claude-any")
        reply = reply_of(call(model, [SystemMessage("stable"), HumanMessage("new")], PLACE))
    assert reply.text == "hi" and reply.finish == "length" and reply.model == "claude-any"
    assert reply.usage == Usage(input=100, cached=60, output=20)
    body = server.requests[0].body
    assert body["max_tokens"] == 50
    assert body["system"] == [
        {"type": "text", "text": "stable", "cache_control": {"type": "ephemeral"}}
    ]


def test_anthropic_errors_are_explained_too(monkeypatch):
    from langchain_core.messages import HumanMessage

    over = {
        "type": "invalid_request_error",
        "message": "prompt is too long: 210000 tokens > 200000 maximum",
    }
    answers = [
        Answer(status=400, error=over),
        Answer(status=401, error={"message": "invalid x-api-key"}),
    ]
    with chat_server(answers) as server:
        monkeypatch.setenv("ANTHROPIC_BASE_URL", server.root_url)
        model = open_model(Settings(api_key="k", max_retries=0), "anthropic:claude-any")
        with pytest.raises(ContextError, match="210000"):
            call(model, [HumanMessage("new")], PLACE)
        with pytest.raises(ModelError, match="refused the key"):
            call(model, [HumanMessage("new")], PLACE)


@pytest.mark.parametrize(
    ("name", "settings", "words"),
    [
        (None, {}, "no model is configured"),
        ("tape", {}, "--model tape:FILE"),
        ("gpt-5-mini", {}, "openai:gpt-5-mini"),
        ("nobody:model", {}, "'nobody' is unknown"),
        ("openai:", {}, "write openai:NAME"),
        ("openai:gpt-5-mini", {}, "set OPENAI_API_KEY"),
        ("anthropic:claude", {}, "set ANTHROPIC_API_KEY"),
        ("any", {"base_url": "https://gateway.example/v1"}, "set OPENAI_API_KEY"),
        ("cohere:command", {"api_key": "k"}, "langchain-cohere"),
        ("tape:/no/such/file", {}, "cannot be read"),
        ("any", {"base_url": "localhost:11434/v1"}, "write it as http://"),
        ("any", {"base_url": "http://"}, "write it as http://"),
        ("any", {"base_url": "http://[::1/v1"}, "write it as http://"),
        ("any", {"base_url": "http://127.0.0.1:99999/v1"}, "write it as http://"),
        ("any", {"base_url": "http://gateway.example/v1?version=1"}, "write it as http://"),
        ("openai:gpt-5-mini", {"api_key": ""}, "set OPENAI_API_KEY"),
    ],
)
def test_what_cannot_be_opened_names_its_fix(name, settings, words):
    with pytest.raises(UsageError, match=words.replace("(", r"\(")):
        open_model(Settings(**settings), name)


@pytest.mark.parametrize(
    "key", ["sk-secret-123\r", "sk-secret\n-123", " sk-secret-123", "“sk-secret-123”"]
)
def test_a_key_that_cannot_be_sent_is_refused_and_not_shown(key, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    for settings in (Settings(), Settings(api_key=key)):
        with pytest.raises(UsageError, match="API_KEY has") as caught:
            open_model(settings, "openai:gpt-5-mini")
        assert "secret" not in str(caught.value)


def test_the_password_of_an_address_is_not_shown():
    with chat_server([]) as server:
        pass
    with pytest.raises(ModelError, match="cannot be reached") as caught:
        server.base_url = server.base_url.replace("//", "//me:secret@")
        ask(server, max_retries=0)
    assert "secret" not in str(caught.value) and "127.0.0.1" in str(caught.value)


@pytest.mark.parametrize("seconds", [0, -1, float("inf"), float("nan"), 1e10])
def test_a_time_out_that_no_client_can_keep_is_refused(seconds):
    with pytest.raises(ValidationError, match="request_timeout"):
        Settings(request_timeout=seconds)


def test_a_setting_that_the_client_refuses_does_not_show_the_key():
    with pytest.raises(UsageError) as caught:
        open_model(Settings(api_key="sk-very-secret-123"), "azure_openai:gpt")
    assert "needs OPENAI_API_VERSION: set OPENAI_API_VERSION=" in str(caught.value)
    assert "secret" not in str(caught.value) and "Value error" not in str(caught.value)


def test_a_base_url_leads_anthropics_client_too(monkeypatch):
    from langchain_core.messages import HumanMessage

    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    with chat_server([Answer("hi", prompt_tokens=10)]) as server:
        model = open_model(Settings(base_url=server.root_url), "anthropic:claude-any")
        assert reply_of(call(model, [HumanMessage("hello")], PLACE)).text == "hi"
    assert server.requests[0].path.startswith("/v1/messages")
    elsewhere = Settings(base_url="https://gateway.example")
    assert price_of(Usage(input=9, output=9), "anthropic:claude-sonnet-4-5", elsewhere) is None


@pytest.mark.parametrize("name", ["deepseek:a", "azure_openai:a", "google_genai:a"])
def test_a_base_url_that_a_provider_does_not_take_is_refused(name):
    with pytest.raises(UsageError, match="--base-url cannot be used for"):
        open_model(Settings(base_url="http://127.0.0.1:1/v1", api_key="k"), name)


def test_names_behind_a_base_url(monkeypatch):
    settings = Settings(base_url="http://127.0.0.1:9/v1")
    for name, served in (
        ("qwen2.5-coder:7b", "qwen2.5-coder:7b"),
        ("openai:mine", "mine"),
        ("a/b", "a/b"),
    ):
        assert vars(open_model(settings, name))["model_name"] == served
    monkeypatch.setenv("ANTHROPIC_API_KEY", "k")
    assert type(open_model(settings, "anthropic:claude-any")).__name__ == "ChatAnthropic"


def test_the_price_is_that_of_the_address_which_is_called(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    monkeypatch.setenv("OPENAI_BASE_URL", "http://one.example/v1")
    monkeypatch.setenv("OPENAI_API_BASE", "http://two.example/v1")
    model = open_model(Settings(), "openai:gpt-5")
    assert str(vars(model)["root_client"].base_url) == f"{endpoint(Settings())}/"


def test_pictures():
    settings = Settings(api_key="k")
    assert sees_pictures(open_model(settings, "openai:gpt-5-mini")) is True
    assert sees_pictures(open_model(Settings(base_url="http://localhost:9/v1"), "mine")) is None


def test_blocks_and_thinking_in_a_reply():
    from langchain_core.messages import AIMessage

    blocks = [
        {"type": "thinking", "thinking": "EDIT 9 9"},
        {"type": "text", "text": "a"},
        {"type": "text", "text": "b"},
    ]
    message = AIMessage(content=blocks, response_metadata={"stop_reason": "end_turn"})  # type: ignore[arg-type]
    assert reply_of(message).text == "ab" and reply_of(message).finish == "stop"
    assert reply_of(AIMessage("<think>\nSUBMIT\n</think>\n\nEDIT 1 1")).text == "EDIT 1 1"
    assert reply_of(AIMessage("x = '<think>a</think>'")).text == "x = '<think>a</think>'"
    assert reply_of(AIMessage("so I\nSUBMIT\n</think>\n\nEDIT 1 1")).text == "EDIT 1 1"
    assert reply_of(AIMessage("[THINK]hm[/THINK]\n  EDIT 1 1")).text == "  EDIT 1 1"
    assert reply_of(AIMessage("<think>a</think>\n<think>b</think>\nEDIT 1 1")).text == "EDIT 1 1"
    assert reply_of(AIMessage("<think>\nSUBMIT")).text == ""
    assert reply_of(AIMessage("<think>\nSUBMIT")).raw == "<think>\nSUBMIT"
    assert (
        reply_of(AIMessage("x", response_metadata={"finish_reason": "MAX_TOKENS"})).finish
        == "length"
    )


def test_known_prices_are_those_of_the_list():
    import genai_prices

    usage = Usage(input=100_000, cached=40_000, output=1_000)
    listed = genai_prices.Usage(input_tokens=100_000, cache_read_tokens=40_000, output_tokens=1_000)
    expected = float(
        genai_prices.calc_price(listed, "gpt-5-mini", provider_id="openai").total_price
    )
    assert (
        price_of(usage, "openai:gpt-5-mini", Settings()) == pytest.approx(expected) and expected > 0
    )
    assert price_of(usage, "gpt-5-mini", Settings()) == pytest.approx(expected)
    assert price_of(Usage(input=100_000, output=1_000), "openai:gpt-5-mini", Settings()) > expected


@pytest.mark.parametrize(
    ("name", "base_url"),
    [
        ("openai:no-such-model", None),
        ("ollama:llama3.1", "https://ollama.com/v1"),
        ("vllm:gpt-5-mini", "http://8.8.8.8:8000/v1"),
        ("gpt-5-mini", "http://gateway:8000/v1"),
        ("openai:gpt-5-mini", "https://gateway.example/v1"),
        ("mine", None),
    ],
)
def test_unknown_is_none_and_never_nothing(name, base_url):
    assert price_of(Usage(input=1000, output=1000), name, Settings(base_url=base_url)) is None


@pytest.mark.parametrize(
    ("name", "base_url"),
    [
        ("ollama:qwen3:8b", None),
        ("vllm:a", "http://gpu-box:8000/v1"),  # a name of the local network, as in a compose file
        ("lmstudio:a", None),
        ("gpt-5-mini", "http://localhost:8000/v1"),
        ("openai:gpt-5-mini", "http://192.168.1.7/v1"),
        ("anthropic:a", "http://[::1]:9"),
    ],
)
def test_a_local_server_costs_nothing_and_says_so(name, base_url):
    usage = Usage(input=1000, output=1000)
    free = Settings(base_url=base_url)
    assert price_of(usage, name, free) == 0 and "it costs $0" in why_free(name, free)
    billed = Settings(base_url=base_url, price="1,1,1")
    assert price_of(usage, name, billed) == pytest.approx(0.002) and not why_free(name, billed)


def test_servers_have_short_names(monkeypatch):
    """Each by the client for OpenAI's protocol, at its own address, with no key of another's."""
    from langchain_core.messages import HumanMessage

    monkeypatch.setenv("OPENAI_API_KEY", "of-openai")
    monkeypatch.setenv("OPENROUTER_API_KEY", "of-openrouter")
    with chat_server(lambda request: "hi") as server:
        for provider in ("ollama", "vllm", "lmstudio", "openrouter"):
            model = open_model(Settings(base_url=server.base_url), f"{provider}:maker/some:7b")
            assert reply_of(call(model, [HumanMessage("hello")], PLACE)).text == "hi"
    keys = [request.headers["authorization"] for request in server.requests]
    assert keys == ["Bearer none"] * 3 + ["Bearer of-openrouter"]
    assert {request.body["model"] for request in server.requests} == {"maker/some:7b"}
    default = vars(open_model(Settings(), "openrouter:a/b"))["root_client"].base_url
    assert str(default) == "https://openrouter.ai/api/v1/"
    own = vars(open_model(Settings(), "ollama:a"))["root_client"].base_url
    assert str(own) == "http://127.0.0.1:11434/v1/"


def test_azure_is_asked_by_its_own_client(monkeypatch):
    from langchain_core.messages import HumanMessage

    with chat_server(["hi"]) as server:
        monkeypatch.setenv("AZURE_OPENAI_ENDPOINT", server.root_url)
        monkeypatch.setenv("AZURE_OPENAI_API_KEY", "k")
        monkeypatch.setenv("OPENAI_API_VERSION", "2024-10-21")
        model = open_model(Settings(), "azure_openai:gpt-5-mini")
        assert reply_of(call(model, [HumanMessage("hello")], PLACE)).text == "hi"
    asked = server.requests[0]
    assert asked.path.startswith("/openai/deployments/gpt-5-mini/chat/completions?api-version=")
    assert asked.headers["api-key"] == "k"
    assert price_of(Usage(input=9, output=9), "azure_openai:gpt-5-mini", Settings())


def test_what_a_cache_takes_in_is_reserved_at_its_price():
    name, settings = "anthropic:claude-sonnet-4-5", Settings(max_output_tokens=100)
    written = price_of(Usage(input=10_000, cache_write=10_000, output=100), name, settings)
    assert (
        most_it_costs(10_000, name, settings).dollars
        == written
        > price_of(Usage(10_000, 0, 100), name, settings)
    )


def test_a_price_of_ones_own():
    settings = Settings(
        price="1, 0.1, 4", base_url="http://localhost:8000/v1", max_output_tokens=1_000_000
    )
    assert price_of(
        Usage(input=2_000_000, cached=1_000_000, output=500_000), "mine", settings
    ) == pytest.approx(3.1)
    assert cost_of(Usage(input=3, output=4), "mine", settings).tokens == 7
    assert most_it_costs(1_000_000, "mine", settings).dollars == pytest.approx(5.0)
    for wrong in ("1,2", "a,b,c", "1,2,3,4", "-1,0,0", "nan,0,0", "inf,0,0", ""):
        with pytest.raises(UsageError, match="INPUT,CACHED,OUTPUT"):
            Rates.parse(wrong)


def test_counting_waits_for_no_network(tmp_path, monkeypatch):
    text = "the quick brown fox " * 50
    for content in (None, b"", b"broken"):
        folder = tmp_path / str(content)
        folder.mkdir()
        monkeypatch.setenv("TIKTOKEN_CACHE_DIR", str(folder))
        from autoreproduce.models import tokens

        if content is not None:
            (folder / tokens._cached_file().name).write_bytes(content)
        assert count_tokens(text) == rough_tokens(text) == 334
    assert count_tokens("") == 0


def test_two_models_in_threads_do_not_mix():
    from concurrent.futures import ThreadPoolExecutor

    with (
        chat_server(lambda request: f"re: {request.messages[-1]['content']}") as server,
        ThreadPoolExecutor(4) as pool,
    ):
        replies = list(pool.map(lambda n: reply_of(ask(server, f"n{n}")).text, range(12)))
    assert replies == [f"re: n{n}" for n in range(12)]


def test_the_server_streams_too():
    from langchain_core.messages import HumanMessage

    with chat_server(["a longer answer that comes in several parts"]) as server:
        model = open_model(Settings(base_url=server.base_url), "mine")
        chunks = list(model.stream([HumanMessage("go")], stream_usage=True))
    assert "".join(chunk.text for chunk in chunks) == "a longer answer that comes in several parts"
    assert (
        sum(chunk.usage_metadata["input_tokens"] for chunk in chunks if chunk.usage_metadata) == 100
    )


def test_every_error_is_of_the_house():
    assert issubclass(ContextError, ModelError) and issubclass(ModelError, AutoReproduceError)
    assert json.loads(json.dumps(Usage(1, 2, 3, 4).as_dict())) == {
        "input": 1,
        "cached": 2,
        "output": 3,
        "reasoning": 4,
    }

"""An agent that speaks Google's protocol before a Google model: body and stream unchanged. With
LangChain's client where its package is installed, and with what the gateway reads of it elsewhere.
"""

from __future__ import annotations

import importlib.util
import json
from dataclasses import dataclass
from typing import Any

import pytest
from gateway_world import Gate, gate
from protocol_server import Said, protocol_server
from pydantic import SecretStr


@dataclass
class Fields:
    """What the gateway reads of LangChain's client."""

    base_url: Any
    google_api_key: SecretStr
    model: str = "models/the-model"
    timeout: float = 20.0
    max_retries: int = 1


ChatGoogleGenerativeAI = type("ChatGoogleGenerativeAI", (Fields,), {})


@pytest.fixture(params=["fields", "client"])
def opened(request: pytest.FixtureRequest) -> Any:
    """Makes a Google model of an address."""

    def with_fields(url: str, **named: Any) -> Any:
        return ChatGoogleGenerativeAI(url, SecretStr("the-key"), **named)

    def with_client(url: str, **named: Any) -> Any:
        from langchain_google_genai import ChatGoogleGenerativeAI as Client

        more = {"timeout": 20.0, "max_retries": 1, **named}
        return Client(model="the-model", api_key="the-key", base_url=url, **more)

    if request.param == "fields":
        return with_fields
    if importlib.util.find_spec("langchain_google_genai") is None:
        pytest.skip("the package langchain-google-genai is not installed")
    return with_client


BODY: dict[str, Any] = {
    "systemInstruction": {"parts": [{"text": "Kind."}], "x_unknown": 1},
    "contents": [
        {"role": "user", "parts": [{"text": "look", "videoMetadata": {"fps": 1}}]},
        {
            "role": "model",
            "parts": [
                {"text": "hm", "thought": True},
                {
                    "functionCall": {"name": "read", "args": {"url": "http://a", "file_data": {}}},
                    "thoughtSignature": "c2lnLTE=",
                },
            ],
        },
        {
            "role": "user",
            "parts": [
                {"functionResponse": {"name": "read", "response": {"fileData": {"a": "b"}}}},
                {"aNewPart": {"some": ["thing", None, 2.5]}},
            ],
        },
    ],
    "tools": [{"functionDeclarations": [{"name": "read", "parametersJsonSchema": {}}]}],
    "toolConfig": {"functionCallingConfig": {"mode": "AUTO", "x": []}},
    "safetySettings": [{"category": "HARM", "threshold": "OFF"}],
    "generationConfig": {
        "maxOutputTokens": 70,
        "thinkingConfig": {"includeThoughts": True, "thinkingLevel": "high"},
    },
    "x_unknown": {"deep": [1, None]},
}
SAID = Said("The answer.", thinking="So.", tool=("read", {"path": "a"}))


def asked(made: Gate, verb: str, body: Any, query: str = "") -> Any:
    head = {"x-goog-api-key": "none", "authorization": "Bearer none"}
    path = f"/v1beta/models/gemini-9:{verb}{query}"
    return made.client.post(path, json=body, headers=head)


@pytest.mark.parametrize(
    ("verb", "query"),
    [("generateContent", ""), ("streamGenerateContent", "?alt=sse"), ("streamGenerateContent", "")],
)
def test_body_and_answer_are_unchanged(opened: Any, verb: str, query: str) -> None:
    with protocol_server([SAID]) as server, gate(server.url, "openai", opened(server.url)) as made:
        answer = asked(made, verb, BODY, query)
        [result] = made.results
    [request] = server.requests
    assert request.path == f"/v1beta/models/the-model:{verb}{query}" and request.body == BODY
    assert request.headers["x-goog-api-key"] == "the-key"
    assert "authorization" not in request.headers
    assert answer.status_code == 200 and answer.content == server.sent[0]
    assert answer.headers["content-type"] == (
        "text/event-stream" if "sse" in query else "application/json"
    )
    counts = (result.usage.input, result.usage.cached, result.usage.output, result.usage.reasoning)
    assert counts == (100, 40, 20, 5) and result.reply == "The answer."
    assert (result.finish, result.model) == ("stop", "the-model")
    [call] = result.tool_calls
    assert (call["name"], call["args"]) == ("read", {"path": "a"})
    assert result.price == pytest.approx(104e-6)


@pytest.mark.parametrize(
    "tools",
    [
        [{"googleSearch": {}}],
        [{"google_search": {}}, {"codeExecution": {}}],
        [{"urlContext": {}, "functionDeclarations": [{"name": "read"}]}],
        [{"function_declarations": [{"name": "read"}]}, {"fileSearch": {}}, {"aNewTool": {}}],
    ],
)
def test_tools_that_google_runs_are_left_out(opened: Any, tools: Any) -> None:
    with protocol_server([SAID]) as server, gate(server.url, "openai", opened(server.url)) as made:
        assert asked(made, "generateContent", {**BODY, "tools": tools}).status_code == 200
    [request] = server.requests
    kept = [each for each in tools if {"functionDeclarations", "function_declarations"} & set(each)]
    if not kept:
        assert "tools" not in request.body and "toolConfig" not in request.body
    else:
        [tool] = request.body["tools"]
        assert [*tool.values()] == [[{"name": "read"}]]


@pytest.mark.parametrize(
    "more",
    [
        {"cachedContent": "cachedContents/x"},
        {"cached_content": "cachedContents/x"},
        {"contents": [{"parts": [{"fileData": {"fileUri": "https://evil.invalid/a.pdf"}}]}]},
        {"contents": [{"parts": [{"file_data": {"file_uri": "gs://bucket/a"}}]}]},
        {"systemInstruction": {"parts": [{"fileData": {"fileUri": "https://evil.invalid"}}]}},
    ],
)
def test_what_reaches_past_the_sandbox_is_refused(opened: Any, more: Any) -> None:
    with protocol_server([SAID]) as server, gate(server.url, "openai", opened(server.url)) as made:
        refused = asked(made, "generateContent", {**BODY, **more})
        assert refused.status_code == 400 and "isn't taken" in refused.text.replace(
            "is not", "isn't"
        )
        assert refused.json()["error"]["status"] == "INVALID_ARGUMENT"
        assert not server.requests and made.calls.failure is None


def google_error(code: int, status: str, message: str, **headers: str) -> Said:
    raw = json.dumps({"error": {"code": code, "message": message, "status": status}})
    return Said(status=code, raw=raw, headers=tuple(headers.items()))


def test_a_refusal_reaches_the_agent_and_a_long_prompt_as_such(opened: Any) -> None:
    long = google_error(400, "INVALID_ARGUMENT", "The input token count (9) exceeds the maximum")
    wrong = google_error(400, "INVALID_ARGUMENT", "Unknown name safety")
    with (
        protocol_server([long, wrong, SAID]) as server,
        gate(server.url, "openai", opened(server.url)) as made,
    ):
        first = asked(made, "streamGenerateContent", BODY, "?alt=sse")
        assert first.status_code == 400 and "input token count exceeds" in first.text
        second = asked(made, "generateContent", BODY)
        assert second.status_code == 400 and "Unknown name safety" in second.text
        assert asked(made, "generateContent", BODY).status_code == 200
        assert made.calls.failure is None


def test_what_passes_is_asked_again(opened: Any) -> None:
    busy = google_error(503, "UNAVAILABLE", "overloaded", **{"retry-after-ms": "1"})
    with (
        protocol_server([busy, busy, SAID]) as server,
        gate(server.url, "openai", opened(server.url, max_retries=3)) as made,
    ):
        assert asked(made, "generateContent", BODY).status_code == 200
        assert len(server.requests) == 3 and len(made.results) == 1


def test_a_model_that_is_gone_ends_the_trial(opened: Any) -> None:
    slow = google_error(429, "RESOURCE_EXHAUSTED", "per day", **{"retry-after": "7000"})
    with (
        protocol_server([slow]) as server,
        gate(server.url, "openai", opened(server.url, max_retries=3)) as made,
    ):
        assert asked(made, "generateContent", BODY).status_code == 503
        assert len(server.requests) == 1
        assert "asks to wait 1 h 57 min" in str(made.calls.failure)


def test_the_budget_is_reserved_before_and_settled_after(opened: Any) -> None:
    body = {**BODY, "generationConfig": {"maxOutputTokens": 3_000, "candidateCount": 3}}
    with (
        protocol_server([Said("hi")]) as server,
        gate(server.url, "openai", opened(server.url), budget="9500 tokens") as made,
    ):
        assert asked(made, "generateContent", body).status_code == 200
        assert made.calls.budget.parent is not None
        assert made.calls.budget.parent.spent_tokens == 120
        snake = {"contents": BODY["contents"], "generation_config": {"max_output_tokens": 9_400}}
        assert asked(made, "generateContent", snake).status_code == 402
        assert len(server.requests) == 1


def test_counting_tokens_asks_nobody(opened: Any) -> None:
    with protocol_server([SAID]) as server, gate(server.url, "openai", opened(server.url)) as made:
        assert asked(made, "countTokens", BODY).json()["totalTokens"] > 10
        assert not server.requests

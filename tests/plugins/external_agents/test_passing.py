"""An agent that speaks its model's protocol gets body and stream unchanged: raw requests over the
gateway's socket, and Codex and Claude Code where AUTOREPRODUCE_TEST_AGENTS names their folder.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from chat_server import chat_server
from gateway_world import Gate, gate
from protocol_server import (
    Asked,
    ProtocolServer,
    Said,
    chat_body,
    chat_events,
    messages_body,
    messages_events,
    protocol_server,
    responses_events,
)
from raw_server import raw_server, whole

from autoreproduce.plugins.external_agents.gateway import relay

PROVIDERS = {"messages": "anthropic", "responses": "openai", "chat": "openai"}
PATHS = {"messages": "/v1/messages", "responses": "/v1/responses", "chat": "/v1/chat/completions"}


MARK = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
BODIES: dict[str, dict[str, Any]] = {
    "messages": {
        "max_tokens": 300,
        "thinking": {"type": "enabled", "budget_tokens": 200},
        "system": [{"type": "text", "text": "Kind.", **MARK}],
        "x_unknown": {"deep": [1, 2.5, None]},
        "messages": [
            {"role": "user", "content": [{"type": "text", "text": "look", **MARK}], "x": [1, None]},
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "hm", "signature": "sig-1"},
                    {"type": "redacted_thinking", "data": "xx"},
                    {"type": "tool_use", "id": "c1", "name": "read", "input": {"url": "http://a"}},
                ],
            },
            {
                "role": "user",
                "content": [
                    {"type": "tool_result", "tool_use_id": "c1", "content": "no", "is_error": True},
                    {"type": "a_new_block", "some": "thing"},
                ],
            },
        ],
        "tools": [{"name": "read", "input_schema": {"type": "object"}, **MARK}],
    },
    "responses": {
        "instructions": "Kind.",
        "store": False,
        "include": ["reasoning.encrypted_content"],
        "reasoning": {"effort": "high", "summary": "auto"},
        "x_unknown": 1,
        "input": [
            {"role": "user", "content": [{"type": "input_text", "text": "look"}]},
            {"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": "enc-1"},
            {"type": "function_call", "call_id": "c", "name": "read", "arguments": "{}"},
            {"type": "function_call_output", "call_id": "c", "output": "it"},
            {"type": "a_new_item", "some": "thing"},
        ],
        "tools": [{"type": "function", "name": "read", "parameters": {"type": "object"}}],
    },
    "chat": {
        "temperature": 0.3,
        "max_tokens": 70,
        "reasoning_effort": "low",
        "x_unknown": [1],
        "messages": [
            {"role": "user", "content": "look"},
            {"role": "assistant", "content": "I do", "reasoning_content": "hm", "x_unknown": [1]},
            {"role": "user", "content": "and?"},
        ],
        "stream_options": {"include_usage": True},
    },
}
SAID = Said("The answer.", thinking="So.", tool=("read", {"path": "a"}))


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("protocol", list(PROVIDERS))
def test_body_and_answer_are_unchanged(protocol: str, streamed: bool) -> None:
    body = {**BODIES[protocol], "model": "whatever", "stream": streamed}
    head = {"x-api-key": "none", "authorization": "Bearer none", "anthropic-beta": "some-beta"}
    with protocol_server([SAID]) as server, gate(server.url, PROVIDERS[protocol]) as made:
        answer = made.client.post(f"{PATHS[protocol]}?beta=true", json=body, headers=head)
        [result] = made.results
    asked: Asked = server.requests[0]
    assert asked.body == {**body, "model": "the-model"}
    assert answer.status_code == 200 and answer.content == server.sent[0]
    keys = (asked.headers.get("x-api-key"), asked.headers.get("authorization"))
    assert "the-key" in str(keys) and "none" not in str(keys)
    assert asked.headers.get("anthropic-beta") == ("some-beta" if "messages" else None)
    counts = (result.usage.input, result.usage.cached, result.usage.output)
    assert counts == (100, 40, 20) and result.reply == "The answer."
    assert result.tool_calls[0]["name"] == "read" and result.price == pytest.approx(104e-6)


def test_usage_of_a_chat_stream_is_read_though_the_agent_asked_for_none() -> None:
    body = {"model": "m", "stream": True, "messages": [{"role": "user", "content": "x"}]}
    with protocol_server([Said("hi")]) as server, gate(server.url, "openai") as made:
        answer = made.client.post(PATHS["chat"], json=body)
        assert made.results[0].usage.input == 100
    assert b"hi" in answer.content and b'"choices": []' not in answer.content
    assert answer.content.endswith(b"data: [DONE]\n\n")


USER: dict[str, Any] = {"role": "user", "content": "look at http://a.invalid"}
SHELL = {"type": "shell", "environment": {"type": "local"}}
# What a provider would do for the agent in its network: each in the words of one of them.
REACHING: dict[str, list[dict[str, Any]]] = {
    "chat": [
        {"search_parameters": {"mode": "on"}},  # xAI
        {"enable_search": True, "search_options": {"forced_search": True}},  # DashScope
        {"web_search_options": {}},
        {"plugins": [{"id": "web"}], "models": ["m:online"], "preset": "web"},  # OpenRouter
        {"compound_custom": {"tools": {"enabled_tools": ["web_search"]}}},  # Groq
        {"extra_body": {"enable_search": True}, "mcp_servers": [{"url": "x"}]},
        {"service_tier": "priority", "a_new_field": {"with": "webSearch"}},
    ],
    "responses": [{"service_tier": "priority"}, {"a_new_field": {"browsing": True}}],
    "messages": [{"mcp_servers": [{"url": "x"}]}, {"speed": "fast"}, {"a_connector": 1}],
}
OWN: dict[str, list[dict[str, Any]]] = {
    "chat": [
        {"type": "function", "function": {"name": "web_search", "parameters": {"url": "http://a"}}},
        {"type": "custom", "custom": {"name": "patch"}},
    ],
    "responses": [
        {"type": "function", "name": "read", "parameters": {"type": "object"}},
        {"type": "custom", "name": "patch"},
        {"type": "local_shell"},
        SHELL,
        {"type": "apply_patch"},
    ],
    "messages": [
        {"name": "read", "input_schema": {"type": "object"}},
        {"type": "custom", "name": "write", "input_schema": {}},
        {"type": "bash_20250124", "name": "bash"},
        {"type": "text_editor_20250728", "name": "edit"},
        {"type": "tool_search_tool_regex_20251119", "name": "tool_search_tool_regex"},
    ],
}
PROVIDERS_TOOLS: dict[str, list[dict[str, Any]]] = {
    "chat": [
        {"type": "builtin_function", "function": {"name": "$web_search"}},  # Moonshot
        {"type": "web_search", "web_search": {"enable": True}},  # Zhipu
        {"type": "openrouter:web_search"},
        {"type": "browser_search"},  # Groq
        {"googleSearch": {}},
    ],
    "responses": [
        {"type": "web_search"},
        {"type": "shell", "environment": {"type": "container_auto"}},
        {"type": "shell", "environment": {"type": "container_reference", "container_id": "c"}},
        {"type": "code_interpreter", "container": {"type": "auto"}},
        {"type": "mcp", "server_url": "https://evil.invalid"},
        {"type": "x_search"},
        {"type": "a_new_tool"},
    ],
    "messages": [
        {"type": "web_search_20250305", "name": "web_search"},
        {"type": "web_fetch_20260209", "name": "web_fetch"},
        {"type": "code_execution_20250825", "name": "code_execution"},
        {"type": "advisor_20260301", "name": "advisor"},
        {"type": "mcp_toolset", "mcp_server_name": "x"},
    ],
}


def talk(protocol: str, said: Any = USER) -> dict[str, Any]:
    return {"input" if protocol == "responses" else "messages": [said], "model": "m"}


@pytest.mark.parametrize("protocol", list(PROVIDERS))
def test_what_the_provider_would_do_in_its_network_is_left_out(protocol: str) -> None:
    body = talk(protocol)
    with protocol_server([Said("hi")]) as server, gate(server.url, PROVIDERS[protocol]) as made:
        for more in REACHING[protocol]:
            assert made.client.post(PATHS[protocol], json={**body, **more}).status_code == 200
            assert server.requests[-1].body == {**body, "model": "the-model"}
        tools = [*OWN[protocol], *PROVIDERS_TOOLS[protocol]]
        made.client.post(PATHS[protocol], json={**body, "tools": tools})
        assert server.requests[-1].body["tools"] == OWN[protocol]
        alone = {"tools": PROVIDERS_TOOLS[protocol], "tool_choice": "required"}
        made.client.post(PATHS[protocol], json={**body, **alone})
        assert server.requests[-1].body == {**body, "model": "the-model"}


def test_tools_of_a_namespace_and_of_a_search_among_tools_are_looked_at_too() -> None:
    own, other = OWN["responses"][0], {"type": "web_search"}
    space = {"type": "namespace", "name": "n", "tools": [own, other]}
    found = {"type": "tool_search_output", "call_id": "c", "tools": [other, own]}
    body = {**talk("responses"), "tools": [space]}
    body["input"] = [*body["input"], found]
    with protocol_server([Said("hi")]) as server, gate(server.url, "openai") as made:
        assert made.client.post(PATHS["responses"], json=body).status_code == 200
    sent = server.requests[0].body
    assert sent["tools"][0]["tools"] == [own] == sent["input"][1]["tools"]


PATCH = {"id": "a", "type": "custom", "custom": {"name": "patch", "input": "***"}}
ODD: list[tuple[str, dict[str, Any]]] = [
    ("chat", {"messages": [USER, {"role": "assistant", "content": None, "tool_calls": [PATCH]},
     {"role": "tool", "tool_call_id": "a", "content": "done"}]}),
    ("chat", {"messages": [USER, {"role": "assistant", "content": [{"type": "refusal",
     "refusal": "no"}]}, USER]}),
    ("chat", {"stream_options": "none", "stream": True}),
    ("chat", {"tool_choice": {"type": "allowed_tools", "allowed_tools": {"mode": "auto"}}}),
    ("messages", {"messages": [USER, {"role": "assistant", "content": [{"type": "tool_use"}]}]}),
    ("responses", {"input": [USER, {"type": "function_call", "name": "read"}]}),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "more"), ODD)
def test_what_the_common_form_cannot_read_passes(protocol: str, more: dict[str, Any]) -> None:
    body = {**talk(protocol), **more}
    with protocol_server([Said("hi")]) as server, gate(server.url, PROVIDERS[protocol]) as made:
        assert made.client.post(PATHS[protocol], json=body).status_code == 200
        assert made.results[0].reply == "hi" and made.calls.failure is None
    sent = {**server.requests[0].body, "stream_options": None}
    assert sent == {**body, "model": "the-model", "stream_options": None}


@pytest.mark.parametrize("options", [None, {"include_obfuscation": False}])
def test_a_stream_from_a_server_that_refuses_to_count_in_it(options: Any) -> None:
    refusal = Said(
        status=400, raw='{"error": {"message": "Unrecognized argument: stream_options"}}'
    )
    body = {**talk("chat"), "stream": True, **({"stream_options": options} if options else {})}
    with protocol_server([refusal, Said("hi")]) as server, gate(server.url, "openai") as made:
        answer = made.client.post(PATHS["chat"], json=body)
        assert answer.status_code == 200 and b"hi" in answer.content
        [result] = made.results
        assert result.usage.output == 1 and result.reply == "hi"  # estimated
    first, second = (request.body for request in server.requests)
    assert first["stream_options"] == {**(options or {}), "include_usage": True}
    assert second == {**body, "model": "the-model"}


EVIL = "https://evil.invalid/a"
FETCHED: list[tuple[str, Any]] = [
    ("messages", {"type": "image", "source": {"type": "url", "url": EVIL}}),
    ("messages", {"type": "document", "source": {"type": "url", "url": EVIL}}),
    ("messages", {"type": "document", "source": {"type": "file", "file_id": "f"}}),
    ("messages", {"type": "container_upload", "file_id": "f"}),
    ("responses", {"type": "input_image", "image_url": EVIL}),
    ("responses", {"type": "input_file", "file_url": EVIL}),
    ("responses", {"type": "input_file", "file_id": "f"}),
    ("chat", {"type": "image_url", "image_url": {"url": EVIL}}),
    ("chat", {"type": "document_url", "document_url": EVIL}),  # Mistral
    ("chat", {"type": "file", "file": {"file_id": EVIL}}),  # LiteLLM
    ("chat", {"type": "file", "file": {"file_data": EVIL}}),  # OpenRouter
    ("chat", {"type": "input_audio", "input_audio": {"data": EVIL}}),  # DashScope
    ("chat", {"type": "video", "video": [EVIL]}),
    ("chat", {"type": "a_new_part", "from": "s3://bucket/a"}),
]


@pytest.mark.parametrize(("protocol", "part"), FETCHED)
def test_what_the_provider_would_fetch_is_refused(protocol: str, part: Any) -> None:
    with protocol_server([Said("hi")]) as server, gate(server.url, PROVIDERS[protocol]) as made:
        body = talk(protocol, {"role": "user", "content": [part]})
        assert made.client.post(PATHS[protocol], json=body).status_code == 400
        assert not server.requests and made.calls.failure is None


@pytest.mark.parametrize(
    "more", [{"previous_response_id": "r"}, {"background": True}, {"prompt": {"id": "pmpt_1"}}]
)
def test_what_the_provider_stores_is_refused(more: Any) -> None:
    with protocol_server([Said("hi")]) as server, gate(server.url, "openai") as made:
        body = {**talk("responses"), **more}
        assert made.client.post(PATHS["responses"], json=body).status_code == 400
        assert not server.requests


CITED = {"type": "url_citation", "url": EVIL, "title": "t"}
HARMLESS: list[tuple[str, list[Any]]] = [
    ("responses", [
        {"type": "local_shell_call", "call_id": "c", "action": {"env": {"PIP_INDEX_URL": EVIL}}},
        {"type": "shell_call_output", "call_id": "c", "output": [{"stdout": EVIL, "stderr": EVIL}]},
        {"type": "function_call_output", "call_id": "c", "output": EVIL},
        {"type": "web_search_call", "id": "w", "action": {"type": "open_page", "url": EVIL}},
        {"role": "assistant", "content": [
            {"type": "output_text", "text": EVIL, "annotations": [CITED]}]},
    ]),
    ("messages", [
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "c", "name": "get", "input": {"url": EVIL, "file_id": "f"}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "c", "content": EVIL},
            {"type": "search_result", "source": EVIL, "title": EVIL, "content": []}]},
    ]),
    ("chat", [
        {"role": "assistant", "content": EVIL, "annotations": [
            {"type": "url_citation", "url_citation": {"url": EVIL}}]},
        {"role": "user", "content": [
            {"type": "file", "file": {"filename": "a", "file_data": "data:application/pdf;base64,AA"}},
            {"type": "text", "text": EVIL}]},
    ]),
]  # fmt: skip


@pytest.mark.parametrize(("protocol", "said"), HARMLESS, ids=[each[0] for each in HARMLESS])
def test_addresses_that_are_words_pass(protocol: str, said: list[Any]) -> None:
    body = talk(protocol)
    key = "input" if protocol == "responses" else "messages"
    body[key] = [USER, *said]
    with protocol_server([Said("hi")]) as server, gate(server.url, PROVIDERS[protocol]) as made:
        assert made.client.post(PATHS[protocol], json=body).status_code == 200
    assert server.requests[0].body == {**body, "model": "the-model"}


LONG = " ".join(["word"] * 40)
ERROR: dict[str, dict[str, Any]] = {
    "messages": {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}},
    "responses": {"type": "error", "code": "server_error", "message": "lost"},
    "chat": {"error": {"message": "lost"}, "choices": [
        {"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]},
}  # fmt: skip


@pytest.mark.parametrize("ending", ["reset", "an error"])
@pytest.mark.parametrize("protocol", list(PROVIDERS))
def test_what_was_said_before_a_stream_broke_is_in_the_journal(protocol: str, ending: str) -> None:
    said = Said(LONG, input=1_000, cached=300, output=1)
    if protocol == "messages":
        bodies = [*messages_events(messages_body(said, "m"))][:-3]
    elif protocol == "responses":
        bodies = [each for each in responses_events(said, "m") if "done" not in each["type"]][:-1]
        bodies[1]["item"]["content"] = []
    else:
        bodies = [*chat_events(said, "m", False)][:-1]
    bodies += [ERROR[protocol]] if ending == "an error" else []
    data = b"".join(f"data: {json.dumps(each)}\n\n".encode() for each in bodies)
    head = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n"
    head += b"Content-Length: %d\r\n\r\n" % (len(data) + (99 if ending == "reset" else 0))
    with (
        raw_server(lambda _: iter([head, data])) as server,
        gate(server.url, PROVIDERS[protocol]) as made,
    ):
        body = {**talk(protocol), "stream": True}
        assert made.client.post(PATHS[protocol], json=body).content == data
        [result] = made.results
        assert made.calls.failure is None
    assert result.reply == LONG and 40 <= result.usage.output <= 80
    if protocol == "messages":  # which counts the prompt as it begins
        assert (result.usage.input, result.usage.cached) == (1_000, 300)


def test_what_a_chat_writes_into_its_cache_is_counted() -> None:
    body = chat_body(Said("hi"), "m")
    body["usage"]["prompt_tokens_details"] |= {"cache_write_tokens": 7}
    answer = whole(json.dumps(body).encode(), b"Connection: close")
    with raw_server(lambda _: iter([answer])) as server, gate(server.url, "openai") as made:
        assert made.client.post(PATHS["chat"], json=talk("chat")).status_code == 200
    usage = made.results[0].usage
    assert (usage.input, usage.cached, usage.cache_write) == (100, 40, 7)


def test_the_budget_is_reserved_before_and_settled_after() -> None:
    body = {"model": "m", "max_tokens": 9_000, "messages": [{"role": "user", "content": "x"}]}
    with (
        protocol_server([Said("hi")]) as server,
        gate(server.url, "anthropic", budget="9100 tokens") as made,
    ):
        assert made.client.post(PATHS["messages"], json=body).status_code == 200
        assert made.calls.budget.parent is not None
        assert made.calls.budget.parent.spent_tokens == 120
        assert made.client.post(PATHS["messages"], json=body).status_code == 402
        assert len(server.requests) == 1
        assert made.calls.failure is not None and made.calls.failure.kind == "budget"


def test_a_server_without_the_protocol_is_asked_in_another_from_then_on() -> None:
    asked = {"model": "m", "input": "hello"}
    with chat_server(["one", "two"]) as server, gate(server.base_url, "openai") as made:
        for said in ("one", "two"):
            answer = made.client.post(PATHS["responses"], json=asked).json()
            assert answer["output"][0]["content"][0]["text"] == said
        assert len(made.results) == 2 and made.calls.made == 2
    assert [request.path for request in server.requests] == ["/v1/chat/completions"] * 2


def test_a_refusal_of_the_provider_reaches_the_agent() -> None:
    long = json.dumps(
        {
            "type": "error",
            "error": {
                "type": "invalid_request_error",
                "message": "prompt is too long: 9 tokens > 8 maximum",
            },
        }
    )
    body = {**BODIES["messages"], "model": "m"}
    with (
        protocol_server([Said(status=400, raw=long), Said("ok")]) as server,
        gate(server.url, "anthropic") as made,
    ):
        refused = made.client.post(PATHS["messages"], json=body)
        assert refused.status_code == 400 and "prompt is too long" in refused.text
        assert made.client.post(PATHS["messages"], json=body).status_code == 200
        assert made.calls.failure is None


AGENTS = os.environ.get("AUTOREPRODUCE_TEST_AGENTS", "")
BIN = Path(AGENTS) / "node_modules" / ".bin"
CONFIG = """
model = "gpt-5"
model_provider = "gateway"
[model_providers.gateway]
name = "gateway"
base_url = "{url}/v1"
env_key = "GATEWAY_KEY"
wire_api = "responses"
"""


def real_agent(name: str, made: Gate, home: Path, words: Sequence[str]) -> str:
    """What a real agent printed that reached the gateway through the relay."""
    if not AGENTS or not (BIN / name).exists():
        pytest.skip(f"AUTOREPRODUCE_TEST_AGENTS names no folder with {name}")
    port = 20_000 + os.getpid() % 20_000
    url = f"http://127.0.0.1:{port}"
    (home / ".codex").mkdir()
    (home / ".codex" / "config.toml").write_text(CONFIG.format(url=url))
    known = {"HOME": str(home), "PATH": os.environ["PATH"], "GATEWAY_KEY": "none"}
    known |= {"ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "none", "IS_SANDBOX": "1"}
    known["ANTHROPIC_MODEL"] = "the-model"  # or it drops the thinking of another model
    known |= {"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1", "DISABLE_AUTOUPDATER": "1"}
    command = [sys.executable, "-I", "-S", relay.__file__, str(made.socket), str(port)]
    done = subprocess.run(
        [*command, str(BIN / name), *words],
        env=known, cwd=home, input="", capture_output=True, text=True, timeout=100, check=False,
    )  # fmt: skip
    assert done.returncode == 0, (done.stdout, done.stderr)
    return done.stdout


def thought_is_kept(server: ProtocolServer, part: str) -> bool:
    return any(part in json.dumps(request.body) for request in server.requests)


@pytest.mark.slow
def test_claude_code_through_the_gateway(tmp_path: Path) -> None:
    first = Said(
        "I look.", thinking="So.", tool=("Bash", {"command": "echo 42", "description": "d"})
    )
    with (
        protocol_server([first, Said("It is 42.")]) as server,
        gate(server.url, "anthropic") as made,
    ):
        words = ["-p", "run it", "--output-format", "json", "--dangerously-skip-permissions"]
        printed = real_agent("claude", made, tmp_path, words)
        assert "It is 42." in printed and len(made.results) >= 2
    assert thought_is_kept(server, "sig-abc") and "cache_control" in json.dumps(
        server.requests[0].body
    )
    assert server.requests[0].headers.get("anthropic-beta")


@pytest.mark.slow
def test_codex_through_the_gateway(tmp_path: Path) -> None:
    first = Said(thinking="So.", tool=("exec_command", {"cmd": "echo 42"}))
    with protocol_server([first, Said("It is 42.")]) as server, gate(server.url, "openai") as made:
        words = [
            "exec",
            "--json",
            "--skip-git-repo-check",
            "--sandbox",
            "danger-full-access",
            "run it",
        ]
        printed = real_agent("codex", made, tmp_path, words)
        assert "It is 42." in printed and len(made.results) >= 2
    assert thought_is_kept(server, "enc") and server.requests[-1].path == "/v1/responses"

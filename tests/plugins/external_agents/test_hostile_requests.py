"""Requests of an agent that mean harm to its trial: each is refused or paid, none ends it."""

import base64
from typing import Any

import pytest
from chat_server import Answer
from gateway_world import world

ASK = [{"role": "user", "content": "go"}]
PICTURE = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()
SEEN = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PICTURE}"}}
CHAT = "http://gateway/v1/chat/completions"


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (r'{"messages": [{"role": "user", "content": "half \ud83d"}]}', 200),
        (r'{"messages": [{"role": "user", "content": "a"}], "stop": ["\udc00"]}', 200),
        ('{"messages": [{"role": "user", "content": "a"}], "stop": 5}', 400),
        ('{"messages": [{"role": "user", "content": "a"}], "stop": [5]}', 400),
        ('{"messages": [{"role": "user", "content": "a"}], "tools": [1e999]}', 400),
        ('{"messages": [{"role": "user", "content": "a"}], "tools": [%s]}' % ("9" * 999), 400),
    ],
)
def test_odd_json_does_not_end_the_trial(body: str, status: int) -> None:
    with world(lambda request: "answer") as w:
        assert w.client.post(CHAT, content=body.encode()).status_code == status
        assert w.calls.failure is None
        assert w.client.post(CHAT, json={"messages": ASK}).status_code == 200


@pytest.mark.parametrize(
    "body",
    [
        {"messages": [{"role": "user", "content": [SEEN] * 100}]},
        {"messages": [*ASK, {"role": "tool", "tool_call_id": "x" * 400_000, "content": "a"}]},
        {"messages": ASK, "stop": ["x" * 400_000]},
        {"messages": ASK, "tool_choice": {"function": {"name": "x" * 400_000}}},
    ],
)
def test_all_that_is_sent_is_asked_of_the_budget(body: dict[str, Any]) -> None:
    with world(lambda request: Answer("ok", prompt_tokens=100_000), budget="90000 tokens") as w:
        assert w.client.post(CHAT, json=body).status_code == 402
        assert not w.server.requests and w.calls.budget.spent_tokens == 0

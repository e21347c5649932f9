"""The gateway as the providers' own clients meet it: three protocols, whole and streamed, over its
real socket, before models of two providers.
"""

import json
from typing import Any

import pytest
from chat_server import Answer
from gateway_world import CALLS, PROVIDERS, SCHEMA, world

from autoreproduce.errors import CommandError
from autoreproduce.plugins.external_agents.gateway.exchange import picture

CHAT_TOOL: Any = {"type": "function", "function": {"name": "read", "parameters": SCHEMA}}
MESSAGES_TOOL: Any = {"name": "read", "description": "reads", "input_schema": SCHEMA}
RESPONSES_TOOL: Any = {"type": "function", "name": "read", "parameters": SCHEMA, "strict": False}


@pytest.mark.parametrize("provider", PROVIDERS)
def test_chat(provider: str) -> None:
    conversation: Any = [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {
                    "id": "c1",
                    "type": "function",
                    "function": {"name": "read", "arguments": '{"path": "b"}'},
                }
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "it says b"},
    ]
    with world([CALLS, "bye"], provider) as made:
        answer = made.openai.chat.completions.create(
            model="m", messages=conversation, tools=[CHAT_TOOL]
        )
        [called] = answer.choices[0].message.tool_calls
        assert (called.function.name, json.loads(called.function.arguments)) == (
            "read",
            {"path": "a.txt"},
        )
        assert answer.choices[0].finish_reason == "tool_calls"
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (100, 20)
        assert answer.usage.prompt_tokens_details.cached_tokens == 40
        assert "it says b" in json.dumps(made.asked) and "Be brief." in json.dumps(made.asked)
        chunks = list(
            made.openai.chat.completions.create(
                model="m",
                messages=conversation,
                stream=True,
                stream_options={"include_usage": True},
            )
        )
        text = "".join(c.choices[0].delta.content or "" for c in chunks if c.choices)
        assert (text, chunks[-1].usage.total_tokens) == ("bye", 120)
        assert [result.price for result in made.results] == pytest.approx(
            [(60 + 4 + 40) / 1e6, 140 / 1e6]
        )


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
def test_responses(provider: str) -> None:
    items: Any = [
        {"role": "developer", "content": [{"type": "input_text", "text": "Be brief."}]},
        {"role": "user", "content": [{"type": "input_text", "text": "look"}]},
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "xx"},
        {"type": "function_call", "call_id": "c1", "name": "read", "arguments": '{"path": "b"}'},
        {"type": "function_call_output", "call_id": "c1", "output": "it says b"},
    ]
    with world([CALLS, CALLS, "bye"], provider) as made:
        asked = {
            "model": "m",
            "input": items,
            "tools": [RESPONSES_TOOL],
            "instructions": "Be kind.",
        }
        answer = made.openai.responses.create(**asked)
        message, called = answer.output
        assert message.content[0].text == answer.output_text == "I read."
        assert (called.name, json.loads(called.arguments)) == ("read", {"path": "a.txt"})
        assert (answer.usage.input_tokens, answer.status) == (100, "completed")
        assert "it says b" in json.dumps(made.asked) and "Be kind." in json.dumps(made.asked)
        with made.openai.responses.stream(**asked) as stream:
            kinds = [event.type for event in stream]
            final = stream.get_final_response()
        assert kinds[0] == "response.created" and kinds[-1] == "response.completed"
        assert final.output[1].arguments == called.arguments
        assert made.openai.responses.create(model="m", input="just text").output_text == "bye"


def test_responses_with_a_tool_of_free_text() -> None:
    tool = {"type": "custom", "name": "patch", "description": "applies", "format": {"type": "text"}}
    replies = [Answer(tools=(("patch", {"input": "*** begin"}),)), "done"]
    with world(replies) as made:
        answer = made.openai.responses.create(
            model="m", input="go", tools=[tool, {"type": "web_search"}]
        )
        [called] = answer.output
        assert (called.type, called.input) == ("custom_tool_call", "*** begin")
        assert [each["function"]["name"] for each in made.asked["tools"]] == ["patch"]
        back: Any = [
            {"role": "user", "content": "go"},
            {"type": "custom_tool_call", "call_id": "c", "name": "patch", "input": "*** begin"},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "applied"},
        ]
        made.openai.responses.create(model="m", input=back, tools=[tool])
        assert made.asked["messages"][-1]["content"] == "applied"


def test_responses_with_tools_in_a_namespace() -> None:
    inner = {"type": "function", "name": "find", "parameters": {"type": "object"}}
    tool: Any = {"type": "namespace", "name": "mcp__lab", "description": "", "tools": [inner]}
    with world([Answer(tools=(("mcp__lab__find", {"q": 1}),)), "done"]) as made:
        answer = made.openai.responses.create(model="m", input="go", tools=[tool])
        assert [each["function"]["name"] for each in made.asked["tools"]] == ["mcp__lab__find"]
        called: Any = answer.output[0].model_dump()
        assert (called["name"], called["namespace"]) == ("find", "mcp__lab")
        assert json.loads(called["arguments"]) == {"q": 1}
        output = {"type": "function_call_output", "call_id": called["call_id"], "output": "two"}
        back: Any = [{"role": "user", "content": "go"}, called, output]
        made.openai.responses.create(model="m", input=back, tools=[tool])
        told = made.asked["messages"][1]["tool_calls"][0]
        assert told["function"]["name"] == "mcp__lab__find"


def test_a_failed_tool_says_so_beside_a_picture_too() -> None:
    data = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    seen = [{"type": "text", "text": "gone"}, {"type": "image", "source": data}]
    failed = {"type": "tool_result", "tool_use_id": "c1", "content": seen, "is_error": True}
    called = {"type": "tool_use", "id": "c1", "name": "read", "input": {}}
    said = [{"role": "assistant", "content": [called]}, {"role": "user", "content": [failed]}]
    with world(["bye"]) as made:
        made.anthropic.messages.create(model="m", max_tokens=9, messages=said)
        told, picture = made.asked["messages"][-1]["content"][:2], made.asked["messages"][-1]
    assert [each["text"] for each in told] == ["Error:", "gone"]
    assert picture["role"] == "tool" and "iVBORw0KGgo=" in json.dumps(picture)


@pytest.mark.slow
@pytest.mark.parametrize("provider", PROVIDERS)
def test_messages(provider: str) -> None:
    conversation: Any = [
        {"role": "user", "content": "look"},
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "hm", "signature": "s"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "id": "c1", "name": "read", "input": {"path": "b"}},
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "text", "text": "and hurry", "cache_control": {"type": "ephemeral"}},
                {"type": "tool_result", "tool_use_id": "c1", "content": "gone", "is_error": True},
            ],
        },
    ]
    with world([CALLS, CALLS, "bye"], provider) as made:
        asked = {"model": "m", "max_tokens": 9, "messages": conversation, "tools": [MESSAGES_TOOL]}
        answer = made.anthropic.messages.create(**asked, system=[{"type": "text", "text": "Kind."}])
        assert [block.type for block in answer.content] == ["text", "tool_use"]
        assert (answer.content[1].name, answer.content[1].input) == ("read", {"path": "a.txt"})
        assert answer.stop_reason == "tool_use"
        assert (answer.usage.input_tokens, answer.usage.cache_read_input_tokens) == (60, 40)
        failed = "Error: gone" if provider == "openai" else '"is_error": true'
        assert failed in json.dumps(made.asked) and "Kind." in json.dumps(made.asked)
        with made.anthropic.messages.stream(**asked) as stream:
            final = stream.get_final_message()
        assert final.content[1].input == {"path": "a.txt"} and final.stop_reason == "tool_use"
        assert made.anthropic.messages.create(**asked).content[0].text == "bye"
        assert made.anthropic.messages.count_tokens(
            model="m", messages=conversation
        ).input_tokens in range(5, 200)


@pytest.mark.parametrize(
    "url",
    [
        "https://evil.invalid/a.png",
        "http://169.254.169.254/latest/meta-data",
        "file:///etc/passwd",
        "data:text/html;base64,AAAA",
        "data:image/png;base64,AAAA\nhttp://evil.invalid",
        "/etc/passwd",
        "",
    ],
)
def test_a_pictures_address_is_not_passed_on(url: str) -> None:
    with pytest.raises(CommandError, match="only its content"):
        picture(url)


def test_pictures_pass_in_each_protocol() -> None:
    dot = "data:image/png;base64,iVBORw0KGgo="
    source = {"type": "base64", "media_type": "image/png", "data": "iVBORw0KGgo="}
    with world(["seen"] * 3) as made:
        part: Any = {"type": "image_url", "image_url": {"url": dot}}
        made.openai.chat.completions.create(
            model="m", messages=[{"role": "user", "content": [part]}]
        )
        shown: Any = {"type": "input_image", "image_url": dot}
        made.openai.responses.create(model="m", input=[{"role": "user", "content": [shown]}])
        block: Any = {"type": "image", "source": source}
        made.anthropic.messages.create(
            model="m", max_tokens=9, messages=[{"role": "user", "content": [block]}]
        )
        for request in made.server.requests:
            assert request.body["messages"][0]["content"][0]["image_url"]["url"] == dot


def test_each_protocols_own_error_says_that_the_budget_is_spent() -> None:
    import anthropic
    import openai

    with world(["never"], budget="40 tokens") as made:
        with pytest.raises(openai.APIStatusError) as one:
            made.openai.chat.completions.create(
                model="m", messages=[{"role": "user", "content": "x"}]
            )
        assert (one.value.status_code, one.value.body["code"]) == (402, "insufficient_quota")
        with pytest.raises(openai.APIStatusError) as two:
            made.openai.responses.create(model="m", input="x")
        assert two.value.status_code == 402
        with pytest.raises(anthropic.APIStatusError) as three:
            made.anthropic.messages.create(
                model="m", max_tokens=5, messages=[{"role": "user", "content": "x"}]
            )
        assert three.value.status_code == 402
        assert three.value.body["error"]["type"] == "billing_error"
        assert not made.server.requests
        assert made.calls.failure is not None and made.calls.failure.kind == "budget"


def test_a_prompt_that_is_too_long_is_an_error_that_agents_know() -> None:
    import anthropic
    import openai

    long = Answer(status=400, error={"message": "x", "code": "context_length_exceeded"})
    with world([long, long]) as made:
        with pytest.raises(openai.BadRequestError) as one:
            made.openai.responses.create(model="m", input="x")
        assert one.value.code == "context_length_exceeded"
        with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
            made.anthropic.messages.create(
                model="m", max_tokens=5, messages=[{"role": "user", "content": "x"}]
            )
        assert made.calls.failure is None


def test_a_tool_that_must_be_called_and_stop_words_pass() -> None:
    with world([CALLS] * 3) as made:
        made.openai.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "x"}],
            tools=[CHAT_TOOL],
            tool_choice="required",
            stop="END",
        )
        assert (made.asked["tool_choice"], made.asked["stop"]) == ("required", "END")
        made.anthropic.messages.create(
            model="m",
            max_tokens=5,
            messages=[{"role": "user", "content": "x"}],
            tools=[MESSAGES_TOOL],
            tool_choice={"type": "tool", "name": "read"},
        )
        assert made.asked["tool_choice"]["function"]["name"] == "read"


def test_arguments_that_are_no_json_reach_the_agent_as_they_are() -> None:
    def broken(request: Any) -> Answer:
        call = {"id": "t", "type": "function", "function": {"name": "read", "arguments": "{oops"}}
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
        choice = {"index": 0, "message": message, "finish_reason": "tool_calls"}
        usage = {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}
        whole = {"id": "c", "object": "chat.completion", "created": 0, "model": "m"}
        return Answer(raw=json.dumps({**whole, "choices": [choice], "usage": usage}))

    with world(broken) as made:
        answer = made.anthropic.messages.create(
            model="m",
            max_tokens=5,
            messages=[{"role": "user", "content": "x"}],
            tools=[MESSAGES_TOOL],
        )
        assert answer.content[0].input == {"arguments": "{oops"}


def test_the_list_of_models_is_the_trials_own_and_other_paths_are_not_there() -> None:
    import openai

    with world([]) as made:
        assert [each.id for each in made.openai.models.list()] == ["openai:m"]
        with pytest.raises(openai.NotFoundError):
            made.openai.embeddings.create(model="m", input="x")

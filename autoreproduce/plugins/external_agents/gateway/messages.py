"""Anthropic's protocol, `/v1/messages`.

Source: Anthropic's API reference, "Messages". An agent's marks for the prompt cache are left out:
the gateway marks the prompt itself.
"""

import json
from collections.abc import Iterator
from typing import Any

from autoreproduce.plugins.external_agents.gateway.chat import as_text
from autoreproduce.plugins.external_agents.gateway.exchange import (
    Body,
    Fault,
    ModelAnswer,
    ModelRequest,
    UnknownPartError,
    arguments_of,
    function_call,
    function_tool,
    joined,
    picture,
    sequence,
    stops,
)
from autoreproduce.plugins.external_agents.gateway.thoughts import MARK, signature_of, thought

ERRORS: dict[Fault, str] = {
    "request": "invalid_request_error",
    "large": "request_too_large",
    "context": "invalid_request_error",
    "budget": "billing_error",
    "missing": "not_found_error",
    "busy": "rate_limit_error",
    "model": "api_error",
}
THINKING = ("thinking", "redacted_thinking")


class Messages:
    """The protocol; nothing is remembered between calls."""

    def read(self, body: Body) -> ModelRequest:
        """See WireProtocol."""
        system = joined(_parts(body["system"])) if body.get("system") else ""
        messages: list[Body] = [{"role": "system", "content": system}] if system else []
        for each in sequence(body, "messages"):
            messages += _assistant(each) if each["role"] == "assistant" else _user(each)
        tools = [each for each in sequence(body, "tools") if "input_schema" in each]
        choice = body.get("tool_choice") or {}
        return ModelRequest(
            messages=messages,
            tools=[
                function_tool(t["name"], t.get("description"), t["input_schema"]) for t in tools
            ],
            tool_choice={"any": "any", "tool": str(choice.get("name", ""))}.get(
                str(choice.get("type")), ""
            ),
            stop=stops(body, "stop_sequences"),
            stream=bool(body.get("stream")),
            model=str(body.get("model", "")),
            takes_thoughts=(body.get("thinking") or {}).get("type") != "disabled",
        )

    def whole(self, answer: ModelAnswer) -> Body:
        """See WireProtocol."""
        return {
            **_message_head(answer),
            "content": _blocks(answer),
            "stop_reason": _stop_reason(answer),
        }

    def stream(self, answer: ModelAnswer) -> Iterator[tuple[str, Body]]:
        """See WireProtocol. Each event has its name in its body too."""
        for body in _events(answer):
            yield body["type"], body

    def error(self, fault: Fault, words: str) -> Body:
        """See WireProtocol. That a prompt is too long is in the words alone."""
        message = f"prompt is too long: {words}" if fault == "context" else words
        return {"type": "error", "error": {"type": ERRORS[fault], "message": message}}


def _parts(given: Any) -> list[Body]:
    """Texts and pictures of a content, which may be a plain text."""
    if isinstance(given, str):
        return [{"type": "text", "text": given}]
    parts = []
    for block in given or ():
        if block["type"] == "text":
            parts.append({"type": "text", "text": str(block["text"])})
        elif block["type"] == "image":
            source = block["source"]
            data = f"data:{source.get('media_type')};base64,{source.get('data')}"
            parts.append(picture(source["url"] if source["type"] == "url" else data))
        elif block["type"] not in THINKING:
            raise UnknownPartError(f"a block of the type {block['type']!r} is not taken")
    return parts


def _blocks_of(message: Body) -> list[Body]:
    content = message["content"]
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


_ERROR = {"type": "text", "text": "Error:"}


def _user(message: Body) -> list[Body]:
    """Results of tools come first, each as a message, as they must follow their calls."""
    results, others = [], []
    for block in _blocks_of(message):
        if block["type"] == "tool_result":
            content = joined(_parts(block.get("content") or ""))
            if block.get("is_error"):
                said = isinstance(content, str)
                content = f"Error: {content}" if said else [_ERROR, *content]
            result: Body = {"role": "tool", "content": content}
            results.append({**result, "tool_call_id": str(block["tool_use_id"])})
        else:
            others.append(block)
    role = "system" if message["role"] == "system" else "user"
    return [*results, *([{"role": role, "content": joined(_parts(others))}] if others else [])]


def _assistant(message: Body) -> list[Body]:
    blocks = _blocks_of(message)
    calls = [
        function_call(each["id"], each["name"], each["input"])
        for each in blocks
        if each["type"] == "tool_use"
    ]
    text = joined(_parts([each for each in blocks if each["type"] != "tool_use"]))
    made: Body = {"role": "assistant", "content": text}
    thoughts = [
        thought(each.get("thinking"), each.get("signature"))
        if each["type"] == THINKING[0]
        else {"type": THINKING[1], "data": str(each["data"])}
        for each in blocks
        if each["type"] in THINKING
    ]
    made |= {MARK: thoughts} if thoughts else {}
    return [{**made, "tool_calls": calls} if calls else made]


def _blocks(answer: ModelAnswer) -> list[Body]:
    """The blocks of an answer. Some clients fail without any."""
    blocks = [
        {**block, "signature": signature_of(block)} if block["type"] == THINKING[0] else block
        for block in answer.thoughts
    ]
    if answer.result.reply or not answer.result.tool_calls:
        blocks.append({"type": "text", "text": answer.result.reply})
    for call in answer.result.tool_calls:
        head = {"type": "tool_use", "id": str(call["id"]), "name": str(call["name"])}
        blocks.append({**head, "input": json.loads(arguments_of(call["args"]))})
    return blocks


def _message_head(answer: ModelAnswer) -> Body:
    counts = answer.result.usage
    usage = {
        "input_tokens": counts.input - counts.cached - counts.cache_write,
        "cache_read_input_tokens": counts.cached,
        "cache_creation_input_tokens": counts.cache_write,
        "output_tokens": counts.output,
    }
    head: Body = {"id": f"msg_{answer.id}", "type": "message", "role": "assistant"}
    head |= {"model": answer.result.model, "stop_sequence": None, "usage": usage}
    return {**head, "content": [], "stop_reason": None}


def _stop_reason(answer: ModelAnswer) -> str:
    if answer.result.tool_calls:
        return "tool_use"
    return {"length": "max_tokens", "filter": "refusal"}.get(answer.result.finish, "end_turn")


def _events(answer: ModelAnswer) -> Iterator[Body]:
    head = _message_head(answer)
    yield {"type": "message_start", "message": head}
    for index, block in enumerate(_blocks(answer)):
        empty, deltas = block, list[Body]()
        if block["type"] == "text":
            empty = {"type": "text", "text": ""}
            deltas = [{"type": "text_delta", "text": block["text"]}]
        elif block["type"] == "tool_use":
            empty = {**block, "input": {}}
            deltas = [{"type": "input_json_delta", "partial_json": as_text(block["input"])}]
        elif block["type"] == THINKING[0]:
            empty = {"type": THINKING[0], "thinking": "", "signature": ""}
            deltas = [{"type": "thinking_delta", "thinking": block["thinking"]}]
            deltas += [{"type": "signature_delta", "signature": block["signature"]}]
        yield {"type": "content_block_start", "index": index, "content_block": empty}
        for delta in deltas:
            yield {"type": "content_block_delta", "index": index, "delta": delta}
        yield {"type": "content_block_stop", "index": index}
    ending = {"stop_reason": _stop_reason(answer), "stop_sequence": None}
    yield {"type": "message_delta", "delta": ending, "usage": head["usage"]}
    yield {"type": "message_stop"}

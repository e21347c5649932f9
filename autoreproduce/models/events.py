"""Streamed replies of the four protocols (chat completions, messages, responses, Google's), read
event by event and put together to the body that a reply without a stream would have had.

Nothing that a server sends raises here: what has another form is passed over.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import Any

from autoreproduce.files.bounded import parse_json
from autoreproduce.models.replies import DETAILS

Body = dict[str, Any]
_OF_ERRORS = ("error", "code", "type", "status", "message")
_PARTS = {"text_delta": "text", "thinking_delta": "thinking", "signature_delta": "signature"}


class EventReader:
    """Bytes of a stream of server-sent events, as they come, to the JSON objects in them."""

    def __init__(self) -> None:
        self._rest = b""
        self._data: list[bytes] = []
        self.ended = False  # the mark [DONE] was read

    def feed(self, data: bytes) -> Iterator[Body]:
        """The objects that end in `data`."""
        *lines, self._rest = (self._rest + data).split(b"\n")
        for line in lines:
            yield from self._line(line.removesuffix(b"\r"))

    def rest(self) -> Iterator[Body]:
        """The object whose blank line never came."""
        yield from self._line(self._rest)
        yield from self._line(b"")

    def _line(self, line: bytes) -> Iterator[Body]:
        if line.startswith(b"data:"):
            self._data.append(line[5:].strip())
        elif not line and self._data:
            text, self._data = b"\n".join(self._data), []
            self.ended = self.ended or text == b"[DONE]"
            try:
                found = parse_json(text)
            except ValueError:
                return
            if isinstance(found, dict):
                yield found


class Assembly:
    """What the events of one reply amount to so far."""

    def __init__(self) -> None:
        self.body: Body = {}
        self.ended = False
        self._arguments: dict[Any, str] = {}

    def add(self, event: Body) -> None:
        """Take one event of whichever protocol."""
        kind = event.get("type")
        if event.get("error") or kind == "error":  # what was said and counted until then stays
            if isinstance(event.get("choices"), list):
                self._add_chat(event)
            self.body = {**event, **self.body, "error": event.get("error") or event}
            self.ended = True
        elif isinstance(kind, str) and kind.startswith("response."):
            self._add_response(kind, event)
            self.ended = kind in ("response.completed", "response.incomplete", "response.failed")
        elif isinstance(kind, str):
            self._add_messages(kind, event)
        elif isinstance(event.get("choices"), list):
            self._add_chat(event)
        elif {"candidates", "usageMetadata", "promptFeedback"} & set(event):
            self._add_google(event)

    def _add_response(self, kind: str, event: Body) -> None:
        """The items as they come; the whole of them stands in the last event, with most servers."""
        items, whole = self.body.get("output"), event.get("response")
        if isinstance(whole, dict):
            self.body = {**whole, "output": whole.get("output") or items or []}
            return
        at, item, delta = event.get("output_index"), event.get("item"), event.get("delta")
        if not isinstance(items, list) or type(at) is not int or not 0 <= at <= len(items):
            return
        if isinstance(item, dict):
            items[at : at + 1] = [item]
            return
        item = items[at] if at < len(items) else None
        if kind == "response.output_text.delta" and isinstance(item, dict):
            parts = item.get("content")
            said = (
                [each for each in parts if isinstance(each, dict)]
                if isinstance(parts, list)
                else []
            )
            text = "".join(str(each.get("text") or "") for each in said)
            item["content"] = [{"type": "output_text", "text": f"{text}{delta or ''}"}]

    def _add_messages(self, kind: str, event: Body) -> None:
        blocks: list[Body] = self.body.setdefault("content", [])
        index, delta = event.get("index"), event.get("delta")
        at = index if isinstance(index, int) and 0 <= index < len(blocks) else -1
        if kind == "message_start" and isinstance(event.get("message"), dict):
            self.body = {**event["message"], "content": []}
        elif kind == "content_block_start" and isinstance(event.get("content_block"), dict):
            blocks.append(dict(event["content_block"]))
        elif kind == "content_block_delta" and isinstance(delta, dict) and blocks:
            if key := _PARTS.get(str(delta.get("type"))):
                blocks[at][key] = str(blocks[at].get(key) or "") + str(delta.get(key) or "")
            elif delta.get("type") == "input_json_delta":
                held = self._arguments.get(at, "")
                self._arguments[at] = held + str(delta.get("partial_json") or "")
        elif kind == "content_block_stop" and at in self._arguments:
            try:
                blocks[at]["input"] = parse_json(self._arguments.pop(at) or "{}")
            except ValueError:
                blocks[at]["input"] = {}
        elif kind == "message_delta" and isinstance(delta, dict):
            self.body |= delta
            if isinstance(event.get("usage"), dict):
                self.body["usage"] = {**(self.body.get("usage") or {}), **event["usage"]}
        elif kind == "message_stop":
            self.ended = True

    def _add_chat(self, event: Body) -> None:
        if not self.body:
            kept = {key: value for key, value in event.items() if key != "choices"}
            self.body = {**kept, "object": "chat.completion", "choices": []}
        for key in ("usage", "model", "id"):
            if event.get(key):
                self.body[key] = event[key]
        for given in event["choices"]:
            if not isinstance(given, dict):
                continue
            choice = self._choice(given.get("index"))
            if given.get("finish_reason"):
                choice["finish_reason"] = given["finish_reason"]
                self.ended = True
            if given.get("error"):
                choice["error"] = given["error"]
            part = given.get("delta") or given.get("message")
            if isinstance(part, dict):
                _merge(choice["message"], part)

    def _add_google(self, event: Body) -> None:
        held: list[Body] = self.body.get("candidates") or []
        counts = {**(self.body.get("usageMetadata") or {}), **(event.get("usageMetadata") or {})}
        self.body = {**self.body, **event, "candidates": held, "usageMetadata": counts}
        for given in event.get("candidates") or ():
            if not isinstance(given, dict):
                continue
            content = given.get("content") if isinstance(given.get("content"), dict) else {}
            parts = list((content or {}).get("parts") or ())
            same = [each for each in held if (each.get("index") or 0) == (given.get("index") or 0)]
            if same:
                same[0] |= {key: value for key, value in given.items() if key != "content"}
                same[0]["content"]["parts"] += parts
            else:
                held.append({**given, "content": {**(content or {}), "parts": parts}})
            self.ended = self.ended or bool(given.get("finishReason"))

    def _choice(self, index: Any) -> Body:
        for choice in self.body["choices"]:
            if choice["index"] == (index or 0):
                found: Body = choice
                return found
        message: Body = {"role": "assistant", "content": None}
        self.body["choices"].append(
            {"index": index or 0, "message": message, "finish_reason": None}
        )
        made: Body = self.body["choices"][-1]
        return made


def _merge(message: Body, part: Body) -> None:
    """Add a chunk's part of a message: texts are continued, a tool's call by its index."""
    for key, value in part.items():
        if key == "tool_calls" and isinstance(value, list):
            calls: list[Body] = message.setdefault("tool_calls", [])
            for call in value:
                if isinstance(call, dict):
                    _merge_call(calls, call)
        elif key == DETAILS and isinstance(value, list):
            _merge_details(message.setdefault(DETAILS, []), value)
        elif key != "role" and isinstance(value, str) and isinstance(message.get(key), str):
            message[key] += value
        elif isinstance(value, list) and isinstance(message.get(key), list):
            message[key] = [*message[key], *value]
        elif value is not None:
            message[key] = value


def _merge_details(details: list[Body], parts: list[Any]) -> None:
    """Continue the parts of a reasoning, each by its index."""
    for part in parts:
        if not isinstance(part, dict):
            continue
        same = [each for each in details if each.get("index") == part.get("index")]
        if not same or part.get("index") is None:
            details.append(dict(part))
            continue
        for key, value in part.items():
            continued = key in ("text", "summary", "data") and isinstance(same[0].get(key), str)
            if value is not None:
                same[0][key] = f"{same[0][key]}{value}" if continued else value


def _merge_call(calls: list[Body], part: Body) -> None:
    index = part.get("index")
    known = [call for call in calls if index is not None and call.get("index") == index]
    if not known and index is None and calls and not part.get("id"):
        known = calls[-1:]
    given = part.get("function")
    function: Body = given if isinstance(given, dict) else {}
    if not known:
        arguments = _text_of(function.get("arguments"))
        function = {**function, "arguments": arguments}
        calls.append({"type": "function", **part, "function": function})
        return
    held = known[0]["function"]
    for key, value in function.items():
        if key == "arguments":
            held[key] = str(held.get(key) or "") + _text_of(value)
        elif value:
            held[key] = value


def _text_of(arguments: Any) -> str:
    """A tool's arguments, or a part of them, as text; some servers send the object itself."""
    if isinstance(arguments, str):
        return arguments
    return "" if arguments is None else json.dumps(arguments)


def assembled(pieces: Iterable[bytes]) -> Body | None:
    """The body that a whole stream amounts to; None where it holds no event of these protocols.

    One that ended before its end holds an error in the protocol's form.
    """
    reader, reply = EventReader(), Assembly()
    for data in pieces:
        for event in reader.feed(data):
            reply.add(event)
    for event in reader.rest():
        reply.add(event)
    if reply.body.get("error"):
        return {key: reply.body[key] for key in _OF_ERRORS if key in reply.body}
    if reply.body and not reply.ended and not reader.ended:
        return {"error": {"message": "the stream ended before the reply did", "code": 502}}
    return reply.body or None

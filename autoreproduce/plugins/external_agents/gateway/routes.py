"""Which protocol is spoken at a path, and what the path itself says of a request."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from autoreproduce.plugins.external_agents.gateway.chat import ChatCompletions
from autoreproduce.plugins.external_agents.gateway.exchange import Body, WireProtocol
from autoreproduce.plugins.external_agents.gateway.google import Google
from autoreproduce.plugins.external_agents.gateway.messages import Messages
from autoreproduce.plugins.external_agents.gateway.responses import Responses


@dataclass(frozen=True)
class Route:
    """`name` is that of the journal's steps. With `counted`, the prompt's tokens are asked for, and
    stand under that name in the answer. `said` goes into the request's body.
    """

    name: str
    protocol: WireProtocol
    counted: str = ""
    said: Body = field(default_factory=dict)


CHAT = Route("chat", ChatCompletions())
_BY_ENDING: Mapping[str, Route] = {
    "/chat/completions": CHAT,
    "/responses": Route("responses", Responses()),
    "/messages": Route("messages", Messages()),
    "/messages/count_tokens": Route("messages", Messages(), "input_tokens"),
}
_GOOGLE = re.compile(r"/models/([^/:]+):(generateContent|streamGenerateContent|countTokens)$")


def route_of(path: str) -> Route | None:
    """The route of a request's path, None if nothing is there."""
    path = path.partition("?")[0]
    if found := _GOOGLE.search(path):
        model, verb = found.groups()
        said: Body = {"model": model, "stream": verb == "streamGenerateContent"}
        return Route("google", Google(), "totalTokens" if verb == "countTokens" else "", said)
    return next((route for end, route in _BY_ENDING.items() if path.endswith(end)), None)

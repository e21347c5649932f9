"""Models that are weak in one way each: the replies of a script, as such a model would give them.

Each takes a script (a function of the request) and gives another; `chat_server` serves it.
"""

import re
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from chat_server import Answer, Request

from autoreproduce.agents.messages import CONTINUE

Replies = Callable[[Any], str]
Weak = Callable[[Request], "Answer | str"]
REASONING = "Okay. I could SUBMIT at once:\n\nSUBMIT\n\nbut wait, let me read that again."
GERMAN = "Natürlich! Ich habe alles geprüft, hier ist die Antwort:"
CHINESE = "好的，我已经仔细检查过了。下面是我的回答："


def first_part(request: Request) -> Request:
    """The request as it was before the reply was continued."""
    messages = request.messages
    asked = [n for n, one in enumerate(messages) if one["content"].startswith(CONTINUE)]
    end = asked[0] - 1 if asked else len(messages)
    return replace(request, body={**request.body, "messages": messages[:end]})


def first_asked(request: Request) -> Request:
    """The request as it was before any reply to it: system and prompt."""
    return replace(request, body={**request.body, "messages": request.messages[:2]})


def cut_at(characters: int, replies: Replies, again: str = "") -> Weak:
    """A provider that cuts each reply; what continues one is preceded by `again`."""

    def reply(request: Request) -> Answer:
        whole, begun = replies(first_part(request)), len(first_part(request).messages)
        parts = [m for m in request.messages[begun:] if m["role"] == "assistant"]
        said = sum(len(m["content"].removeprefix(again)) for m in parts)
        rest = (again if parts else "") + whole[said : said + characters]
        return Answer(rest, finish="length" if len(whole) > said + characters else "stop")

    return reply


def with_context(tokens: int, replies: Weak | Replies) -> Weak:
    """A model whose server refuses what its context has no room for, the reply included."""

    def reply(request: Request) -> Answer | str:
        asked = len(request.prompt) // 4 + (request.body.get("max_tokens") or 0)
        asked += request.body.get("max_completion_tokens") or 0
        if asked <= tokens:
            return replies(request)
        message = f"This model's maximum context length is {tokens} tokens. You requested {asked}."
        error = {"message": message, "code": "context_length_exceeded"}
        return Answer(status=400, error=error)

    return reply


def edits_without_a_language(text: str) -> str:
    """Fences of three backticks that name no language, or the wrong one."""
    return re.sub(r"~~~~python\n(.*?)~~~~", r"```json\n\1```", text, flags=re.DOTALL)


def code_alone(text: str) -> str:
    """A block of code for each EDIT of a whole file, without the command."""
    return re.sub(r"EDIT 1 0\n", "Here is the file you asked for:\n", text)


def command_in_its_fence(text: str) -> str:
    """The command as the first line of the fence, as in a listing."""
    inside = re.sub(r"(EDIT .*)\n(~~~~\w*)\n", r"\2\n\1\n", text)
    return re.sub(r"^(SUBMIT|UPDATE\n(?:.*\n?)*)", r"```\n\1\n```", inside, flags=re.MULTILINE)


def emphasised(text: str) -> str:
    """Commands in bold, apologies before, offers after."""
    bold = re.sub(r"^(EDIT [^\n]*|SUBMIT|UPDATE)$", r"**\1**", text, flags=re.MULTILINE)
    return f"I apologize for the confusion! You are right.\n\n{bold}\n\nI hope this helps!"

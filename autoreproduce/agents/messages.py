"""The messages of a conversation with a model, what is said of a reply without an answer, and the
record of a call.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from autoreproduce.agents.fences import open_fence
from autoreproduce.models import prices
from autoreproduce.models.fenced import Fence, fence_of
from autoreproduce.models.replies import begins_by_thinking, without_thinking
from autoreproduce.models.tape import prompt_digests
from autoreproduce.trials.steps import ModelResult, TokenCounts

if TYPE_CHECKING:
    from langchain_core.messages import BaseMessage

    from autoreproduce.config import Settings
    from autoreproduce.models.budget import Reservation
    from autoreproduce.models.replies import Reply

EMPTY = "Your last reply was empty. Answer now, in the form asked for."
THOUGHT = "Your last reply held thinking alone{}. Think briefly, then answer in the form asked for."
CALLED = (
    "Your last reply only called a tool ({}). There are no tools here: write your answer as text, "
    "in the form asked for."
)
CONTINUE = (
    "The reply was cut at the limit on its length. Continue exactly there, in the middle of a line "
    "if need be: no new fence, no words before, nothing repeated."
)


def asked_again(
    messages: list[BaseMessage], text: str, cut: bool, called: Sequence[str]
) -> list[BaseMessage]:
    """The conversation with a word on the empty reply in its last message: some models refuse two
    messages of a user in a row.
    """
    last = messages[-1].content if messages else None
    if not isinstance(last, str):
        return messages
    said = EMPTY
    if text.strip():
        said = THOUGHT.format(", and was cut at the limit on its length" if cut else "")
    elif called:
        said = CALLED.format(", ".join(called))
    return [*messages[:-1], human(f"{last}\n{said}")]


def emptiness(text: str, finish: str, called: Sequence[str]) -> tuple[str, str]:
    """What is said of replies without an answer, the last of which is `text`, and the fix."""
    fix = "raise --max-output-tokens, or name another --model"
    if finish == "reasoning":
        return "have all their text in the server's reasoning field", (
            "start the server without its reasoning parser (vLLM, SGLang: --reasoning-parser), or "
            "name another --model"
        )
    if text.strip():
        return "held thinking alone", fix
    if called:
        return f"only called tools ({', '.join(called)}), which this prompt doesn't offer", (
            "start the server without its tool parser, or name another --model"
        )
    if finish == "length":
        return "were empty at the limit on their length, as of a model that thinks", fix
    return "were empty", (
        "a server may do so with a prompt beyond its context (LM Studio): load the model with a "
        "longer one, or give --context-tokens; or name another --model"
    )


def message_text(message: BaseMessage) -> str:
    """A message's text; pictures are named, not shown."""
    if isinstance(message.content, str):
        return message.content
    blocks = [b if isinstance(b, dict) else {"text": b} for b in message.content]
    return "\n".join(str(block.get("text", "(a picture)")) for block in blocks)


def called(message: BaseMessage) -> str:
    """The tools that a message calls, as a line for whoever reads it; "" if it calls none."""
    calls = getattr(message, "tool_calls", None) or []
    return "".join(f"\n[{call['name']} {call['args']}]" for call in calls)


def system(text: str) -> BaseMessage:
    """The message that says who is asked."""
    from langchain_core.messages import SystemMessage

    return SystemMessage(text)


def human(text: str, pictures: Sequence[str] = ()) -> BaseMessage:
    """A user message; `pictures` are data: URLs."""
    from langchain_core.messages import HumanMessage

    if not pictures:
        return HumanMessage(text)
    shown: list[str | dict[Any, Any]] = [
        {"type": "image_url", "image_url": {"url": url}} for url in pictures
    ]
    return HumanMessage([{"type": "text", "text": text}, *shown])


def ai(text: str) -> BaseMessage:
    """A reply of the model."""
    from langchain_core.messages import AIMessage

    return AIMessage(text)


def settled(
    reply: Reply,
    shown: Sequence[BaseMessage],
    model_name: str,
    settings: Settings,
    held: Reservation,
    *,
    text: str | None = None,
    tool_calls: Sequence[dict[str, Any]] = (),
    carried: dict[str, Any] | None = None,
) -> ModelResult:
    """The record of a call to which `reply` came, paid from what was `held` for it. `text` stands
    where it isn't the reply's own; `carried` is what else goes back with it.
    """
    cost = prices.cost_of(reply.usage, model_name, settings)
    held.settle(cost)
    prompt, shape = prompt_digests([(each.type, each.content) for each in shown])
    return ModelResult(
        reply=reply.text if text is None else text,
        tool_calls=list(tool_calls),
        carried=carried or {},
        by_plan=settings.model.price is None and prices.by_plan(model_name),
        usage=TokenCounts(**reply.usage.as_dict()),
        price=cost.dollars,
        model=reply.model or model_name,
        finish=reply.finish,
        prompt=prompt,
        shape=shape,
    )


# A reply that was cut at the limit on its length, and what continued it, as one text. Asked to
# continue exactly there, a model may think again, open the code block once more, with a sentence
# before it, repeat the lines before the cut, or begin its whole reply again.

SHORTEST_REPEAT = 8  # characters of a cut line that show that it comes again
LEAST_LINES, LEAST_REPEATED = 2, 40  # whole lines, and characters, that show the same
LONGEST_REPEAT = 4_000  # characters before the cut that may come again
SAME_OPENING = 80  # characters by which a reply that begins again is known
LINES_BEFORE_FENCE = 4  # of a sentence and blanks before a block that is opened once more
_SENTENCE = re.compile(r"[^\W\d_a-z][^=]*[:.!…：。]\s*")


def continued(text: str, following: str) -> str:
    """`text` continued by `following`, without what comes again. Where the reply begins again, the
    longer of both.
    """
    if not text:
        return following
    if begins_by_thinking(following) or without_thinking(text) != text:
        following = without_thinking(following)  # the first part's own has ended
    if _begins_again(text, following):
        return max(text, following, key=len)
    outer = open_fence(text)
    if outer is not None:
        following = _without_reopening(following, outer)
    return text + following[_repeated(text, following) :]


def _begins_again(text: str, following: str) -> bool:
    opening = text.lstrip()[:SAME_OPENING]
    return len(opening) == SAME_OPENING and following.lstrip().startswith(opening)


def _without_reopening(following: str, outer: Fence) -> str:
    """The lines after a fence that opens the block `outer` once more, closed as that is."""
    lines = following.split("\n")
    at = _reopening(lines)
    if at is None:
        return following
    inner, rest = fence_of(lines[at]), lines[at + 1 :]
    assert inner is not None
    closing = [n for n, line in enumerate(rest) if _is_bare(line, inner.mark)]
    if closing and inner.mark != outer.mark:
        rest[closing[-1]] = outer.mark
    return "\n".join(rest)


def _reopening(lines: list[str]) -> int | None:
    """Where a fence opens the block again: at once, or after a sentence that announces it."""
    for at, line in enumerate(lines[:LINES_BEFORE_FENCE]):
        fence = fence_of(line)
        if fence is not None:
            again = any(_is_bare(later, fence.mark) for later in lines[at + 1 :])
            return at if fence.opens or (not fence.info and again) else None
        if line.strip() and not _SENTENCE.fullmatch(line):
            return None
    return None


def _is_bare(line: str, mark: str) -> bool:
    fence = fence_of(line)
    return fence is not None and fence.mark == mark and not fence.info


def _repeated(text: str, following: str) -> int:
    """How many characters `following` begins with that are the end of `text`: the cut line, or
    whole lines.
    """
    tail = text[-LONGEST_REPEAT:]
    starts = [0, *(found.end() for found in re.finditer("\n", tail))]
    for start in starts:
        end = tail[start:]
        if end and following.startswith(end) and _is_repeat(end):
            return len(end)
    return 0


def _is_repeat(end: str) -> bool:
    """True if no program says these lines twice by intent."""
    whole, cut = end.count("\n"), end[end.rfind("\n") + 1 :]
    if whole >= LEAST_LINES and len(end) >= LEAST_REPEATED:
        return True
    indented = cut[:1].isspace() and bool(cut.strip())  # nothing continues by an indentation
    return indented or len(cut.strip()) >= SHORTEST_REPEAT

"""The text of a summary in a model's reply: without what models say around it, and long enough.

Everything that is made later reads the summaries and not the paper. A list of a few points where a
whole summary was asked for would be missed nowhere else.
"""

from __future__ import annotations

import re

from autoreproduce.agents.fences import Blocks, fence_of
from autoreproduce.errors import CommandError

# words of a whole summary at least; far below what the prompts ask for
FEWEST_WORDS = {"overall": 50, "method": 120, "experiment": 80}
FEWEST_BESIDE_CHECKLIST = 40

_GREETING = re.compile(
    r"(?:sure(?: thing)?|certainly|of course|absolutely|okay|ok|great|understood)\b[!.,:]*\s*",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(
    r"(?:here(?:['’]s| is| are)|below is|the following is|this is|i(?:['’]ve| have))\b"
    r"[^\n.!:]{0,150}\b(?:summary|overview)\b[^\n.!:]{0,150}[:.!]\s*(?:\n|$)",
    re.IGNORECASE,
)
_OFFER = re.compile(
    r"(?:(?:please )?let me know|feel free|if you(?:['’]d| would| need| want| have)|would you like|"
    r"i hope|hope this|shall i|do you want|i can also|happy to)\b",
    re.IGNORECASE,
)
_WITHOUT_SPACES = re.compile("[\u3040-\u30ff\u3400-\u9fff\u0e00-\u0e7f]")
_CHECKLIST_ITEM = re.compile(r"\s*(?:\d+[.)]|[-*] \[[ x]\])\s")


def summary_text(reply: str) -> str:
    """The summary alone: a fence around all of it, a preamble and a closing offer are taken off."""
    text = _unfenced(reply.strip())
    text = _without_rule(_unfenced(text[_end_of_preamble(text) :].strip())) or text
    paragraphs = text.split("\n\n")
    if len(paragraphs) > 1 and len(paragraphs[-1]) < 400 and _OFFER.match(paragraphs[-1].strip()):
        text = _without_rule("\n\n".join(paragraphs[:-1]).strip())
    return text


def _end_of_preamble(text: str) -> int:
    """Where a greeting, if it is a line or announces the summary, and the announcement end."""
    greeting = _GREETING.match(text)
    end = greeting.end() if greeting else 0
    if announced := _ANNOUNCED.match(text, end):
        return announced.end()
    return end if "\n" in text[:end] else 0


def require_whole(stage: str, text: str) -> None:
    """Raises CommandError if `text` cannot be the whole summary `stage`."""
    beside = sum(_words(line) for line in text.split("\n") if not _CHECKLIST_ITEM.match(line))
    words = _words(text)
    if words < FEWEST_WORDS[stage]:
        problem = f"it has {words} words"
    elif stage != "overall" and beside < FEWEST_BESIDE_CHECKLIST:
        problem = "it is a checklist alone"
    else:
        return
    raise CommandError(
        f"the {stage} summary is not whole: {problem}. Whoever works from it has nothing else of "
        "the paper: write all that was asked for, the checklist only at its end."
    )


def _words(text: str) -> int:
    """Words by spaces; of scripts without them two characters are one."""
    return len(text.split()) + len(_WITHOUT_SPACES.findall(text)) // 2


def _unfenced(text: str) -> str:
    """The content of a fence around all of `text`, else `text`."""
    lines = text.split("\n")
    if len(lines) < 3 or fence_of(lines[0]) is None:
        return text
    blocks = Blocks(lines)
    return "\n".join(lines[1:-1]).strip() if blocks.closing(0) == len(lines) - 1 else text


def _without_rule(text: str) -> str:
    """`text` without a horizontal rule that parted it from what was taken off."""
    return re.sub(r"\A(?:-{3,}|\*{3,})\s*\n|\n\s*(?:-{3,}|\*{3,})\Z", "", text).strip()

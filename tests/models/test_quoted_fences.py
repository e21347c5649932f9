"""Three backticks in a sentence that a reply quotes end nothing, and cut nothing without a word."""

import json

import pytest
from pydantic import BaseModel

from autoreproduce.agents.structured import read_structured
from autoreproduce.errors import CommandError
from autoreproduce.models.fenced import data_in_reply, fenced_blocks

TICKS = "`" * 3


class Answer(BaseModel):
    quote: str
    score: int


def test_a_fence_in_a_block_of_yaml_text_is_part_of_it() -> None:
    """Deeper indented than the block: read before as its end, and the second item was lost."""
    lines = [
        f"{TICKS}yaml",
        "- quote: |",
        "    they write",
        f"    {TICKS}",
        "    x = 1",
        f"    {TICKS}",
    ]
    reply = "\n".join([*lines, "- quote: the second", TICKS])
    found = data_in_reply(reply, "items")
    assert [item["quote"].split()[0] for item in found] == ["they", "the"]
    assert "x = 1" in found[0]["quote"]


@pytest.mark.parametrize("mark", [TICKS, "~" * 3])
@pytest.mark.parametrize(
    "inner", ["{mark}", "{mark}\nx = 1\n{mark}", "{mark}python\nx = 1\n{mark}"]
)
def test_a_fence_in_a_quoted_text_is_part_of_it(mark: str, inner: str) -> None:
    said = inner.format(mark=mark)
    reply = f'{mark}json\n{{"quote": "they write\n{said}\nand so on", "score": 3}}\n{mark}'
    found = read_structured(reply, Answer)
    assert found.score == 3 and found.quote == f"they write\n{said}\nand so on"
    listed = data_in_reply(reply.replace("json", "yaml"), "items")
    assert listed["score"] == "3" and mark in listed["quote"]


def test_a_fence_within_a_line_ends_nothing() -> None:
    quote = f"put it between {TICKS} and {TICKS}"
    reply = f"{TICKS}json\n{json.dumps({'quote': quote, 'score': 1})}\n{TICKS}"
    assert read_structured(reply, Answer).quote == quote
    assert data_in_reply(reply, "items")["quote"] == quote


def test_two_whole_blocks_are_still_two() -> None:
    one = f'{TICKS}json\n{{"quote": "a", "score": 1}}\n{TICKS}\n'
    with pytest.raises(CommandError, match="2 fenced blocks of data"):
        read_structured(one + one, Answer)
    with pytest.raises(CommandError, match="2 fenced blocks"):
        data_in_reply(one + one, "items")
    assert len(fenced_blocks(one + one)) == 2


def test_what_is_cut_off_is_said_and_not_read_in_part() -> None:
    reply = f'{TICKS}json\n{{"quote": "they write\n{TICKS}\nand so on", "score": 3'
    for read in (lambda: read_structured(reply, Answer), lambda: data_in_reply(reply, "items")):
        with pytest.raises(CommandError):
            read()


CUT = f"""claims:
- {{row: [a], metric: error, value: 1}}
- row: [b]
  metric: error
  value: 2
  sentence: they write
{TICKS}
  and so on
- {{row: [c], metric: error, value: 3}}
notes:
- {{kind: misprint, what: x}}
"""


@pytest.mark.parametrize(
    "reply", [f"{TICKS}yaml\n{CUT}{TICKS}", CUT, CUT.replace(TICKS, f"{TICKS}\nx\n{TICKS}")]
)
def test_what_a_fence_cuts_off_is_asked_for_again(reply: str) -> None:
    """Read before as one claim and a half: the third one and all notes were gone."""
    with pytest.raises(CommandError):
        data_in_reply(reply, "items")


@pytest.mark.parametrize("inner", [TICKS, f"{TICKS}\nx = 1\n{TICKS}"])
def test_data_without_a_fence_may_quote_one(inner: str) -> None:
    quoted = CUT.replace("they write", '"they write').replace("so on", 'so on"')
    found = data_in_reply(quoted.replace(TICKS, inner), "items")
    assert len(found["claims"]) == 3 and len(found["notes"]) == 1


@pytest.mark.parametrize("end", [f"\n{TICKS}", f"\n\n{TICKS}\n", "\nThat is all."])
def test_a_stray_fence_at_the_end_cuts_nothing(end: str) -> None:
    assert data_in_reply(f"{TICKS}yaml\n- {{row: [a]}}\n{TICKS}{end}", "items") == [{"row": ["a"]}]

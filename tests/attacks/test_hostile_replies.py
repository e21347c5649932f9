"""Replies that a model's server made to take all time or memory: parsed in time, or refused."""

import json
import time
from collections.abc import Iterator

import pytest
from pydantic import BaseModel

from autoreproduce.agents.structured import read_structured
from autoreproduce.claims.claim import id_of
from autoreproduce.claims.replies import read_choices, read_claims
from autoreproduce.errors import CommandError
from autoreproduce.files.bounded import LARGEST_REPLY
from autoreproduce.models.fenced import data_in_reply, fenced_blocks
from autoreproduce.papers.plain import plain


class Answer(BaseModel):
    """What a judge is asked for."""

    score: int


@pytest.fixture(autouse=True)
def in_time() -> Iterator[None]:
    """Each reply is read within seconds, however slow the machine; a quadratic reader needs more."""
    began = time.monotonic()
    yield
    assert time.monotonic() - began < 15


def repeated(text: str, size: int = 200_000) -> str:
    return text * (size // len(text))


@pytest.mark.parametrize("line", ["```yaml\n", "```\n", "~~~\n```\n", "x```\n", "````\n```\n"])
def test_fences_without_end_are_refused_in_time(line: str) -> None:
    with pytest.raises(CommandError):
        read_claims(repeated(line))
    with pytest.raises(CommandError):
        read_structured(repeated(line), Answer)


def test_fences_of_every_length_are_scanned_in_time() -> None:
    assert fenced_blocks("\n".join("`" * length for length in range(3, 1_500))) == []


def aliases(levels: int) -> str:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    for level in range(1, levels):
        below = ", ".join([f"*a{level - 1}"] * 10)
        lines.append(f"a{level}: &a{level} [{below}]")
    return "\n".join([*lines, "claims:", f"- {{what: *a{levels - 1}}}"])


def test_yaml_aliases_are_refused() -> None:
    for read in (read_claims, read_choices):
        with pytest.raises(CommandError, match="alias"):
            read(f"```yaml\n{aliases(9)}\n```")


@pytest.mark.parametrize("key", ['"k{}": 1, ', '"k{}": 1, "k{}": 1, '])
def test_many_keys_are_read_or_refused_in_time(key: str) -> None:
    keys = "".join(key.format(number, number) for number in range(30_000))
    for read in (read_claims, lambda reply: read_structured(reply, Answer)):
        with pytest.raises(CommandError):
            read("{" + keys + '"z": 1, "z": 1}')


def test_what_is_parsed_is_bounded() -> None:
    text = '{"score": 1, "more": "' + "x" * LARGEST_REPLY + '"}'
    with pytest.raises(CommandError, match="holds over"):
        read_structured(text, Answer)
    with pytest.raises(CommandError, match="holds over"):
        read_claims(text)
    with pytest.raises(CommandError, match="holds over"):
        read_claims("- " + "x" * LARGEST_REPLY)


@pytest.mark.parametrize(
    "text", ["<sup>", "<sub>\n", r"\label{", r"\cite[", r"\num[", r"\color[", "^{ "]
)
def test_markup_that_never_closes_is_taken_off_in_time(text: str) -> None:
    plain(repeated(text, 100_000))


@pytest.mark.parametrize("text", ["<sup>", "^{", r"\cite", r"\color", ""])
def test_blanks_after_markup_are_taken_off_in_time(text: str) -> None:
    plain(text + " " * 50_000 + r"\x")


@pytest.mark.slow
@pytest.mark.parametrize("sign", ["<sup>", "%", "\\\\", r"\frac{", "9 ", "9×"])
def test_a_value_that_is_no_number_is_refused_in_time(sign: str) -> None:
    value = repeated(sign, 100_000)
    with pytest.raises(CommandError, match=r"value: .* is not one number") as error:
        read_claims(f"- row: Ours\n  metric: accuracy\n  value: '{value}'")
    assert len(str(error.value)) < 2_000
    assert read_choices(f"- what: x\n  value: '{value}'\n  kind: open\n  why: y")


def test_the_markup_of_powers_and_indices() -> None:
    assert plain("10<sup> -3\n</SUP>, x<sub>i</sub>, <sup>a<sup>b</sup>") == "10^-3, x_i, ^ab"
    assert plain(r"10^{ -3 }, x_ {i}, a~ \cite[p. 3] [x]{y}b") == "10^-3, x_i, a b"


def test_claims_of_one_name_have_an_id_each() -> None:
    taken: set[str] = set()
    for _ in range(1_100):
        taken.add(id_of(["Ours"], "accuracy", taken))
    assert len(taken) == 1_100


@pytest.mark.parametrize("reply", ['[{"what": "\\ud800"}]', '- what: "\\ud800"\n'])
def test_half_a_character_can_be_stored(reply: str) -> None:
    assert json.dumps(data_in_reply(reply, "items"), ensure_ascii=False).encode()

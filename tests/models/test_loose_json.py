"""JSON as models write it."""

import pytest

from autoreproduce.models.fenced import json_in_reply


@pytest.mark.parametrize(
    "text",
    [
        '{"a": [1, 2], "b": "x, }// y"}',
        '{"a": [1, 2,], "b": "x, }// y",}',
        '{\n"a": [1, 2], // two\n"b": "x, }// y" /* the last */\n}',
        '{"a": [1, 2, // last\n], "b": "x, }// y", /* and */ }',
    ],
)
def test_comments_and_last_commas(text: str) -> None:
    assert json_in_reply(text) == {"a": [1, 2], "b": "x, }// y"}


@pytest.mark.parametrize("text", ["{'a': 1}", '{"a": 1, "a": 2,}', '{"a" 1}', '{"a": NaN,}', ""])
def test_what_would_be_guessed_is_refused(text: str) -> None:
    with pytest.raises(ValueError):
        json_in_reply(text)


def test_time_is_linear() -> None:
    with pytest.raises(ValueError):
        json_in_reply("[" + "/*/" * 100_000 + '"' * 99_999)

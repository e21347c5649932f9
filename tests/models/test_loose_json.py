"""JSON and YAML as models write them."""

import pytest
import yaml

from autoreproduce.models.fenced import json_in_reply, yaml_in_reply


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


def test_a_text_with_a_bare_colon_needs_no_quotes() -> None:
    text = """
- what: learning rate: all layers
  place: from "Linear layers: normal, \\sigma = 0.02 🎲", which holds for all
  value: 0.10
"""
    (found,) = yaml_in_reply(text)
    assert found["what"] == "learning rate: all layers"
    assert found["place"] == 'from "Linear layers: normal, \\sigma = 0.02 🎲", which holds for all'
    assert found["value"] == "0.10"


@pytest.mark.parametrize("text", ["a: [1\nb: c: d", "a: x: y\na: z", "- a: 1\n b: 2: 3"])
def test_yaml_that_is_wrong_otherwise_is_refused(text: str) -> None:
    with pytest.raises((ValueError, yaml.YAMLError)):
        yaml_in_reply(text)

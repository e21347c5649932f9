"""JSON and YAML as models write them."""

import pytest
import yaml

from autoreproduce.errors import CommandError
from autoreproduce.models.fenced import Shape, data_in_reply, json_in_reply, yaml_in_reply


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


@pytest.mark.parametrize(
    "around",
    [
        "{}",
        "```json\n{}\n```",
        "```jsonc\n{}\n```",
        "```json\n{}",
        "Here it is:\n{}",
        "Here it is: \n\n```\n{}\n```\nThat is all.",
        "{}\nThat is all.",
    ],
)
@pytest.mark.parametrize(
    ("shape", "data", "value"),
    [
        ("object", '{"a": [1, 2,], // two\n"b": "x"}', {"a": [1, 2], "b": "x"}),
        ("list", '[{"a": 1}, // one\n{"a": 2},]', [{"a": 1}, {"a": 2}]),
        ("items", '{"claims": [{"value": 1.10}, // one\n]}', {"claims": [{"value": "1.10"}]}),
        ("items", '["a", // first\n "b"]', ["a", "b"]),
        (
            "items",
            '[{"row": "$\\\\sigma$", "at": "http://x", }]',
            [{"row": r"$\sigma$", "at": "http://x"}],
        ),
        ("items", '[{"row": "$\\sigma$"}, // the row\n]', [{"row": r"$\sigma$"}]),
    ],
)
def test_data_are_read_wherever_they_stand_in_a_reply(
    around: str, shape: Shape, data: str, value: object
) -> None:
    assert data_in_reply(around.replace("{}", data), shape) == value


@pytest.mark.parametrize(
    "reply", ["Here they are\n\n- row: a\n  value: 1.0\n", "```yaml\n- row: a\n  value: 1.0"]
)
def test_items_in_yaml_need_no_closed_fence_either(reply: str) -> None:
    assert data_in_reply(reply, "items") == [{"row": "a", "value": "1.0"}]


@pytest.mark.parametrize("around", ["{}", "```json\n{}\n```", "So: {}"])
def test_a_list_is_no_object(around: str) -> None:
    for wrong in ('[{"a":1},]', '[{"a": 1}]', '[{"a":1}, {"a":2}]'):
        with pytest.raises(CommandError, match=r"answer with the object alone|cannot be read"):
            data_in_reply(around.replace("{}", wrong), "object")


@pytest.mark.parametrize("reply", ["", "Sorry, there is none.", "} and {", "```yaml\n- a: 1\n```"])
def test_a_reply_without_an_object_says_so(reply: str) -> None:
    with pytest.raises(CommandError, match="the reply holds no JSON object: answer with"):
        data_in_reply(reply, "object")

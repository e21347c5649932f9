"""Readings that contradict the text, that move nothing, and that move numbers to the middle."""

import math
from typing import Any

import pytest
from claim_maker import claim
from pydantic import ValidationError
from two_experiments import OF, opened

from autoreproduce.claims.choices import Alternative, Choice
from autoreproduce.claims.claim import Rules
from autoreproduce.claims.readings import (
    OpenChoice,
    freeze_readings,
    open_choices,
    parse_readings,
    single_readings,
)
from autoreproduce.claims.replies import read_choices
from autoreproduce.claims.verdicts.comparable import MeasuredAs
from autoreproduce.claims.verdicts.one_claim import Verdict, judge
from autoreproduce.claims.verdicts.readings import ReadingClaim, ReadingResult, ReadingsVerdict

FORMULA = OpenChoice(
    name="variance",
    what="variance",
    default="plug-in",
    alternatives=(Alternative(value="sandwich", why="textbook form", against_text=True),),
)


def result(reading: dict[str, Any], **claims: tuple[Any, ...]) -> ReadingResult:
    """Of each claim its word, then percentile and distance where these are known."""
    found = {
        name: ReadingClaim(
            word=given[0],
            mean=1.0,
            difference=0.0,
            experiment=OF[name],
            **dict(zip(("percentile", "distance"), given[1:], strict=False)),
        )
        for name, given in claims.items()
    }
    return ReadingResult(reading=reading, claims=found)


def readings(*results: ReadingResult, opened_: tuple[OpenChoice, ...] = (FORMULA,)):
    return ReadingsVerdict(opened=opened_, results=results, planned=len(results) - 1)


def test_a_hit_under_what_the_text_contradicts_is_said_so() -> None:
    found = readings(
        result({}, a=("off", None, 5.0)),
        result({"variance": "sandwich"}, a=("reproduced", None, 0.3)),
    )
    said = found.of_claim("a")
    assert said.startswith("reproduced only by a formula the text doesn't print: variance is sandw")
    assert said.endswith("(χ² per number 0.09, and 25 under the default)")
    assert found.text == said and found.deciding() == ["Table 1"]


def test_what_the_paper_leaves_open_goes_before_what_it_contradicts() -> None:
    both = FORMULA, opened("penalty", "ridge")
    found = readings(
        result({}, a=("off",)),
        result({"variance": "sandwich"}, a=("reproduced",)),
        result({"penalty": "ridge"}, a=("reproduced",)),
        opened_=both,
    )
    assert found.text.startswith("reproduced only under penalty=ridge")


def test_of_two_that_reach_it_the_one_in_the_middle_is_named() -> None:
    found = readings(
        result({}, a=("off", 0.0, 9.0)),
        result({"penalty": "ridge"}, a=("reproduced", 4.0, 1.7)),
        result({"penalty": "lasso"}, a=("reproduced", 48.0, 0.1)),
        opened_=(opened("penalty", "ridge", "lasso"),),
    )
    assert found.of_claim("a").startswith("reproduced only under penalty=lasso")
    assert found.of_claim("a").endswith("at percentile 0 of the default's seeds, and at 48 of its)")


def test_one_that_moves_numbers_to_the_middle_is_named_though_others_stay_off() -> None:
    found = readings(
        result({}, a=("close", None, 4.0), b=("off", None, 5.0)),
        result({"variance": "sandwich"}, a=("reproduced", None, 0.5), b=("off", None, 1.0)),
    )
    assert found.of_experiment("Table 1") == (
        "none of 2 readings reaches all 2 numbers; variance=sandwich is nearest (χ² per number "
        "0.625, and 20.5 under the default)"
    )
    near = readings(result({}, a=("off", None, 1.0)), result({"variance": "x"}, a=("off", None, 0)))
    assert "nearest" not in near.of_claim("a")


@pytest.mark.parametrize(
    ("default", "seeds", "decides"),
    [
        ({"a": ("reproduced", None, 0.8), "b": ("close",)}, 1, False),  # a count of one random run
        ({"a": ("reproduced", None, 0.8), "b": ("close",)}, 3, True),
        ({"a": ("reproduced",), "b": ("close",)}, 1, True),  # nothing is drawn: each digit tells
        ({"a": ("reproduced", None, 0.8), "b": ("close", None, 1.2)}, 3, False),  # chance parts it
        ({"a": ("reproduced", None, 0.8), "b": ("off", None, 4.0)}, 1, True),
        ({"a": ("close", None, 1.2), "b": ("off", None, 4.0)}, 1, True),  # one of two is enough
    ],
)
def test_a_reading_decides_nothing_that_one_draw_may_have_given(
    default: dict[str, tuple[Any, ...]], seeds: int, decides: bool
) -> None:
    reached = dict.fromkeys(default, ("reproduced", None, 0.3))
    each = [result({}, **default), result({"penalty": "ridge"}, **reached)]
    found = readings(
        *(one.model_copy(update={"seeds": seeds}) for one in each),
        opened_=(opened("penalty", "ridge"),),
    )
    assert ("only under penalty=ridge" in found.text) == decides
    assert bool(found.deciding()) == decides


@pytest.mark.parametrize("word", ["not comparable", "not measured"])
def test_one_word_a_claim(word: str) -> None:
    """A baseline that no reading was judged by was "reproduced" and "not reached under any"."""
    found = readings(result({}, a=(word,)), result({"variance": "sandwich"}, a=(word,)))
    assert found.of_claim("a") == ""
    assert found.of_claim("baseline") == ""
    untold = readings(result({}, a=(word,)), result({"variance": "sandwich"}, a=("reproduced",)))
    assert untold.of_claim("a").startswith("reproduced only by a formula")


def verdict(one: float, values: tuple[float, ...], tested: int) -> Verdict:
    measured = MeasuredAs(values=values, seeds=tuple(range(len(values))))
    return judge(claim(one, scale="raw", printed=""), measured, rules=Rules(tested=tested))


def test_measured_scatter_is_not_divided_by_how_many_were_tried() -> None:
    values = tuple(10.0 + n / 10 for n in range(-15, 16))
    assert verdict(11.0, values, 7).word == verdict(11.0, values, 1).word == "reproduced"
    bias = claim(-0.008, metric="bias", scale="raw", replicates=1000, printed="-0.008")
    few = tuple(0.3 * (-1) ** n for n in range(1000))
    for tested in (1, 7):
        measured = MeasuredAs(values=(0.0,), replicates=(few,))
        assert judge(bias, measured, rules=Rules(tested=tested)).word == "reproduced"


STATED = """```yaml
- what: variance of the estimate
  value: plug-in
  kind: stated
  place: "the plug-in variance"
  alternatives:
  - {value: sandwich, why: textbook form, against_text: true}
```"""


def test_what_the_paper_states_may_have_an_alternative_that_contradicts_it() -> None:
    (choice,) = read_choices(STATED)
    (found,) = open_choices([choice])
    assert found.alternatives[0].against_text
    assert single_readings([found]) == [{found.name: "sandwich"}]
    frozen = freeze_readings([found])
    assert parse_readings(frozen, "readings.json") == [found]
    with pytest.raises(ValidationError, match="against_text: true"):
        Choice(
            what="variance",
            value="plug-in",
            kind="stated",
            place="p",
            alternatives=(Alternative(value="sandwich", why="customary"),),
        )
    plain = OpenChoice(name="a", what="a", default=1, alternatives=(Alternative(value=2, why="w"),))
    assert "against_text" not in freeze_readings([plain])  # old digests stay


@pytest.mark.parametrize(
    ("paper", "n", "seeds", "word"),
    [
        (0.62, None, False, "untestable"),  # a single one of forty may be it, their mean isn't
        (0.50, None, False, "reproduced"),  # about the mean of forty
        (0.62, None, True, "reproduced"),  # each value is a whole experiment with another seed
        (0.62, 40, False, "close"),  # said to be of forty: no single one counts
    ],
)
def test_a_list_of_one_run_is_its_mean_where_the_paper_does_not_say_of_how_many(
    paper: float, n: int | None, seeds: bool, word: str
) -> None:
    values = tuple(0.5 + 0.2 * math.sin(k) for k in range(1, 41))
    measured = MeasuredAs(values=values, seeds=tuple(range(40)) if seeds else ())
    one = claim(paper, scale="raw", printed=f"{paper:g}", n=n, direction="match")
    assert judge(one, measured, rules=Rules()).word == word

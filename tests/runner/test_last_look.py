"""What the diagnosing step may try: never a number of the paper's results."""

from typing import Any

import pytest
from claim_maker import claim
from two_experiments import opened, verdict

from autoreproduce.claims.verdicts.comparable import MeasuredAs
from autoreproduce.claims.verdicts.one_claim import judge
from autoreproduce.claims.verdicts.trial_verdict import JudgedClaim, SeedRun
from autoreproduce.errors import CommandError
from autoreproduce.runner.last_look import Look, Try, check_try, explained, explains, missed
from autoreproduce.runner.readings import fits, unasked

MAIN = (
    "def variance(x):\n    return x / 10\n\nSCALE = 0.501\nprint(variance(3))\nprint(variance(4))\n"
)


def tried(old: str, new: str, name: str = "main.py", **more: Any) -> Try:
    edit = {"file": name, "old": old, "new": new}
    return Try.model_validate({"what": "another form", "edit": edit, **more})


def check(one: Try) -> None:
    found = verdict()
    claims = [
        claim(94.3, id="a"),
        claim(0.387, id="b", scale="raw"),
        claim(-0.021, id="bias", scale="raw"),
        claim(4, id="steps", scale="raw"),
    ]
    judged = tuple(JudgedClaim(claim=one, verdict=found.claims[0].verdict) for one in claims)
    found = found.model_copy(update={"claims": judged})
    check_try(one, [opened("penalty", "ridge")], {"penalty=ridge"}, {"main.py": MAIN}, found)


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (tried("return x / 10", "return 0.387"), "writes 0.387, a number of the paper's results"),
        (tried("return x / 10", "return -0.3870 * x"), "a number of the paper's results"),
        (tried("return x / 10", "return 94.3"), "a number of the paper's results"),
        (tried("return x / 10", "return 0.943"), "a number of the paper's results"),
        (tried("return x / 10", "return 94.3 / 100"), "a number of the paper's results"),
        (tried("return x / 10", "return 0.021"), "a number of the paper's results"),
        (tried("print(variance(3))", "out['steps'] = 4"), "a number of the paper's results"),
        (tried("variance(x)", "variance(x, y)", "other.py"), "0 times"),
        (tried("print(variance(", "print(("), "2 times"),
        (tried("return x / 10", "return ("), "no Python with that edit"),
        (Try(what="lasso", reading={"lasso": 1}), "takes no reading 'lasso'"),
        (Try(what="ridge", reading={"penalty": "ridge"}), "penalty=ridge ran already"),
        (Try(what="nothing"), "give a reading or an edit"),
    ],
)
def test_what_cannot_be_tried_is_said_why(one: Try, why: str) -> None:
    with pytest.raises(CommandError, match=why.replace("(", r"\(")):
        check(one)


@pytest.mark.parametrize(
    "one",
    [
        tried("return x / 10", "return x / (10 - 1)", against_text=True),
        tried("SCALE = 0.501", "SCALE = 2 * 0.501"),  # it was there
        tried("x / 10", "x / 9.5"),  # nobody claims it
        tried("x / 10", "x / 4"),  # a digit alone is no result
        Try(what="both", reading={"penalty": "both"}),
    ],
)
def test_what_can_be_tried(one: Try) -> None:
    check(one)


def test_a_pair_is_of_alternatives_that_helped_by_themselves_and_nothing_is_tried_twice() -> None:
    choices = [opened("penalty", "ridge"), opened("start", "zero")]
    pair = Try(what="both", reading={"penalty": "ridge", "start": "zero"})
    rest = (choices, {"penalty=ridge", "start=zero"}, {"main.py": MAIN}, verdict())
    with pytest.raises(CommandError, match="start=zero by itself hasn't brought what is missed"):
        check_try(pair, *rest, helped={"penalty=ridge"})
    check_try(pair, *rest, helped={"penalty=ridge", "start=zero"})
    edit = tried("return x / 10", "return x / (10 - 1)")
    with pytest.raises(CommandError, match="'the same again' was tried"):
        check_try(edit.model_copy(update={"what": "the same again"}), *rest, done=[edit])
    check_try(tried("return x / 10", "return x / (10 + 1)"), *rest, done=[edit])


def test_a_reading_alone_is_a_try_and_four_are_the_most() -> None:
    look = Look.model_validate({"note": "", "reading": {"penalty": "ridge"}})
    assert [one.what for one in look.tried] == ["penalty=ridge"]
    with pytest.raises(ValueError, match="at most 4"):
        Look.model_validate({"tries": [{"what": "a", "reading": {"a": 1}}] * 5})


def test_it_looks_only_where_no_registered_reading_says_why() -> None:
    assert not missed(verdict())  # Table 1 is decided by ridge
    assert missed(verdict().model_copy(update={"readings": None}))


def judged(*values: float, errors: float | None = None) -> list[JudgedClaim]:
    """Claims of 94.3 each, by one run that gave `values`; `errors` that each lies away."""
    claims = [claim(94.3, id=str(place), printed="94.3") for place in range(len(values))]
    verdicts = [
        judge(one, MeasuredAs(values=(value,))).model_copy(
            update={} if errors is None else {"distance": errors}
        )
        for one, value in zip(claims, values, strict=True)
    ]
    return [JudgedClaim(claim=c, verdict=v) for c, v in zip(claims, verdicts, strict=True)]


@pytest.mark.parametrize(
    ("before", "after", "true"),
    [
        (judged(80.0, 70.0), judged(94.3, 94.3), True),
        (judged(80.0, 70.0), judged(94.3, 70.04), True),  # no printed digit says more
        (judged(80.0, 70.0), judged(80.0, 90.0), False),  # nearer, and reached none
        (judged(80.0, 70.0), judged(94.3, 69.0), False),  # one is reached, one is further away
        (judged(80.0, 94.3), judged(94.3, 60.0), False),
        (judged(80.0, 70.0, errors=9.0), judged(94.3, 70.0, errors=0.1), True),
        (judged(94.0, 70.0, errors=1.0), judged(94.3, 70.0, errors=0.1), False),  # by chance
    ],
)
def test_what_explains_a_miss_reaches_more_and_takes_none_further_away(
    before: list[JudgedClaim], after: list[JudgedClaim], true: bool
) -> None:
    assert explains(before, after) is true


@pytest.mark.parametrize(
    ("before", "after", "said"),
    [
        (
            (80.0, 94.3, 94.3),
            (94.3, 94.3, 94.3),
            "Explained after the fact: S (one run reached 3 of 3 numbers, and one of the default's "
            "2, which no verdict counts).",
        ),
        (
            (80.0, 80.0),
            (94.3, 80.0),
            "Explained in part after the fact: S (one run reached 1 of 2 numbers, and one of the "
            "default's 0, which no verdict counts).",
        ),
        (
            (80.0,),
            (94.3,),
            "Explained after the fact: S (one run reached the number, which no verdict counts).",
        ),
    ],
)
def test_what_a_run_explains_is_beside_what_one_run_of_the_default_reached(
    before: tuple[float, ...], after: tuple[float, ...], said: str
) -> None:
    assert explained("S", judged(*before), judged(*after)) == said


@pytest.mark.parametrize("seconds", [3.0, 290.0, 3600.0])
def test_unasked_a_run_as_long_as_the_defaults_fits(seconds: float) -> None:
    default = SeedRun(seed=0, value=None, seconds=seconds)
    assert fits(default, unasked(default)) and unasked(default) >= 300

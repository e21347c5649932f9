"""Readings of a program that serves several experiments: each has its own verdict and curve."""

import pytest
from claim_maker import claim
from trial_results import trial_result
from two_experiments import BAD, GOOD, READINGS, opened, result, verdict

from autoreproduce.claims.choices import Alternative, Choice
from autoreproduce.claims.readings import OpenChoice, open_choices, paired_readings, single_readings
from autoreproduce.claims.verdicts.comparable import MeasuredAs
from autoreproduce.claims.verdicts.one_claim import judge
from autoreproduce.claims.verdicts.overall import overall
from autoreproduce.claims.verdicts.readings import ReadingClaim, ReadingResult, ReadingsVerdict
from autoreproduce.claims.verdicts.trial_verdict import JudgedClaim
from autoreproduce.evaluation.report.specification import specification_curves
from autoreproduce.evaluation.report.verdict_words import trial_sentence
from autoreproduce.runner.readings import seconds_unasked


def test_an_experiment_may_need_another_reading_than_its_neighbour():
    assert READINGS.experiments == ("Table 1", "Table 2")
    assert READINGS.deciding() == ["Table 1"]
    assert READINGS.of_experiment("Table 1").startswith("reproduced only under penalty=ridge")
    assert READINGS.of_experiment("Table 2") == (
        "reproduced under the default reading; 1 of 2 alternatives agrees"
    )
    assert READINGS.text.count("Table 1: ") == READINGS.text.count("; Table 2: ") == 1


def test_claims_of_one_experiment_need_one_reading():
    two = ReadingsVerdict(
        opened=READINGS.opened,
        results=(result({}, a=GOOD, b=BAD), result({"penalty": "ridge"}, a=BAD, b=GOOD)),
        planned=1,
    )
    assert not two.deciding() and two.text == "none of 2 readings reaches all 2 numbers"


def test_a_claim_that_a_reading_reaches_is_named_where_none_reaches_all():
    results = result({}, a=BAD, b=BAD), result({"penalty": "ridge"}, a=("close", -0.01), b=BAD)
    found = ReadingsVerdict(opened=READINGS.opened, results=results, planned=1)
    curve = specification_curves(verdict().model_copy(update={"readings": found}))[0]
    assert curve.text == "none of 2 readings reaches all 2 numbers"
    [(title, said)] = curve.reached
    assert title == verdict().claims[0].claim.title
    assert said.startswith("close only under penalty=ridge, ")
    assert [line.title for line in curve.lines] == [one.claim.title for one in verdict().claims[:2]]


def test_a_claim_by_itself_is_not_named_twice():
    [curve] = specification_curves(alone(BAD, GOOD))
    assert curve.text.startswith("reproduced only under penalty=p1") and curve.reached == []


def test_long_names_of_choices_leave_room_for_their_values():
    choice = opened("penalty_that_the_lowest_error_of_the_ridge_is_taken_over", "ridge")
    found = READINGS.model_copy(update={"opened": (choice,)})
    curve = specification_curves(verdict().model_copy(update={"readings": found}))[0]
    labels = [one.label for one in curve.options]
    assert [one.rpartition("…")[2] for one in labels] == ["=none (default)", "=ridge"]
    assert all(len(one) == 38 for one in labels)


def test_a_reading_s_name_is_cut_between_words_and_stays_the_only_one():
    what = "whether the zeros are padded after or before the lifting layer"
    open_ = {"kind": "open", "why": "unsaid", "alternatives": (Alternative(value=1, why="may be"),)}
    long, longer = (Choice(what=f"{what}{more}", value=0, **open_) for more in ("", " of all"))
    cut = "whether_the_zeros_are_padded_after_or_before_the_lifting"
    assert [one.name for one in open_choices([long, longer])] == [cut, f"{cut}_2"]
    word = Choice(what="x" * 70, value=0, **open_)
    assert [one.name for one in open_choices([word])] == ["x" * 56]


def test_numbers_at_the_ends_of_lines_do_not_cover_one_another():
    results = result({}, a=BAD, b=BAD), result({"penalty": "ridge"}, a=GOOD, b=GOOD)
    found = ReadingsVerdict(opened=READINGS.opened, results=results, planned=1)
    curve = specification_curves(verdict().model_copy(update={"readings": found}))[0]
    assert curve.lines[1].at - curve.lines[0].at >= 10


def test_the_sentence_counts_and_names_the_experiment_that_a_reading_decides():
    said = trial_sentence(trial_result(status="measured", reason=""), None, verdict())
    assert said.startswith("Table 1: reproduced only under")
    assert said.endswith("b / CIFAR / Acc is 21 % below the paper; the other 2 hold.")
    assert "Table 2" not in said


def of(*gaps, errors=(None, None, None), words=("off", "off", "reproduced")):
    """A result whose claims lie so far from the paper's, by shares of it or in errors."""
    claims = {
        name: ReadingClaim(word=word, difference=gap, distance=error)
        for name, gap, error, word in zip("abc", gaps, errors, words, strict=True)
    }
    return ReadingResult(reading={}, claims=claims)


@pytest.mark.parametrize(
    ("default", "other", "helps"),
    [
        (of(-0.1, 0.2, 0.0), of(-0.1, 0.1, 0.0), True),
        (of(-0.1, 0.2, 0.0), of(-0.1, 0.2, 0.0), False),  # it moves nothing
        (of(-0.1, 0.2, 0.0), of(0.0, 0.3, 0.0), False),  # one nearer, all together not
        (of(-0.1, 0.2, 0.0), of(-0.1, 0.1, 0.9), True),  # what was reached isn't missed
        (of(-0.1, 0.2, 0.0), of(-0.1, None, 0.0), False),  # no number is no help
        (of(-0.1, 0.2, 0.0, errors=(9, 1, 0)), of(-0.2, 0.9, 0.0, errors=(3, 2, 0)), True),
        (of(0.1, 0.1, 0.0, words=("reproduced",) * 3), of(0.0, 0.0, 0.0), False),
    ],
)
def test_an_alternative_helps_that_brings_what_is_missed_nearer(default, other, helps):
    assert other.nearer(default) is helps
    assert not other.nearer(default, ["c"])


def test_what_a_reading_explains_comes_first_where_none_reaches_all():
    results = (
        result({}, a=BAD, b=BAD, c=GOOD),
        result({"penalty": "ridge"}, a=GOOD, b=BAD, c=BAD),
        result({"penalty": "lasso"}, a=BAD, b=("close", -0.01), c=GOOD),
    )
    claims = [claim(94.3, id=name, row=(name,)) for name in "abc"]
    values = {"a": 74.3, "b": 74.3, "c": 94.3}
    judged = [judge(one, MeasuredAs(values=(values[one.id],) * 3)) for one in claims]
    pairs = zip(claims, judged, strict=True)
    one_experiment = [
        each.model_copy(
            update={
                "claims": {
                    name: claimed.model_copy(update={"experiment": ""})
                    for name, claimed in each.claims.items()
                }
            }
        )
        for each in results
    ]
    found = verdict().model_copy(
        update={
            "claims": tuple(JudgedClaim(claim=c, verdict=v) for c, v in pairs),
            "overall": overall(claims, judged),
            "readings": READINGS.model_copy(update={"results": tuple(one_experiment)}),
        }
    )
    said = trial_sentence(trial_result(status="measured", reason=""), None, found)
    assert said == (
        "a / CIFAR / Acc (94.3 %): reproduced only under penalty=ridge, that is, if penalty is "
        "ridge, which the paper doesn't say; partly reproduced: of the paper's 3 numbers, 2 were "
        "missed, 1 was reached; none of 2 other readings reaches them all."
    )


def alone(first, *others):
    """A verdict on one experiment's claim a, whose default reading and others gave these."""
    of_claim = [
        result({"penalty": f"p{n}"} if n else {}, a=r) for n, r in enumerate((first, *others))
    ]
    judged = judge(claim(94.3, id="a"), MeasuredAs(values=(94.3 if first is GOOD else 74.3,) * 3))
    one = JudgedClaim(claim=claim(94.3, id="a"), verdict=judged)
    return verdict().model_copy(
        update={
            "claims": (one,),
            "overall": overall([claim(94.3, id="a")], [judged]),
            "readings": ReadingsVerdict(opened=(), results=tuple(of_claim), planned=len(others)),
        }
    )


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ((GOOD, GOOD, BAD), "; 1 of 2 other readings reaches it too."),
        ((GOOD, GOOD, GOOD, BAD), "; 2 of 3 other readings reach it too."),
        ((GOOD, BAD, BAD), "; none of 2 other readings reaches it, the default does."),
        ((GOOD, GOOD), "; the one other reading reaches it too."),
        ((BAD, BAD, BAD), "; none of 2 other readings reaches it."),
        ((BAD, BAD), "; the one other reading doesn't reach it."),
        ((GOOD, BAD), "; the one other reading doesn't reach it, the default does."),
        ((BAD, GOOD), "Reproduced only under penalty=p1, "),
        ((BAD,), "the program measured 74.3"),
    ],
)
def test_the_sentence_says_what_the_other_readings_make_of_it(results, said):
    assert said in trial_sentence(trial_result(status="measured", reason=""), None, alone(*results))


@pytest.mark.parametrize(
    ("results", "said"),
    [
        ((GOOD, GOOD), "reproduced whatever is left open (the one alternative agrees)"),
        ((GOOD, GOOD, GOOD), "reproduced whatever is left open (all 2 alternatives agree)"),
        ((GOOD, GOOD, BAD), "reproduced under the default reading; 1 of 2 alternatives agrees"),
        (
            (GOOD, GOOD, GOOD, BAD),
            "reproduced under the default reading; 2 of 3 alternatives agree",
        ),
    ],
)
def test_alternatives_agree_and_one_agrees(results, said):
    assert alone(*results).readings.of_claim("a") == said


def test_the_one_of_several_planned_agrees():
    readings = alone(GOOD, GOOD).readings.model_copy(update={"planned": 2})
    assert (
        readings.of_claim("a") == "reproduced under the default reading; the one alternative agrees"
    )


@pytest.mark.parametrize(
    ("first", "others", "moving", "said"),
    [
        (BAD, 3, 1, "; the one other reading doesn't reach it."),
        (GOOD, 3, 2, "; none of 2 other readings reaches it, the default does."),
        (BAD, 2, 0, "; no other reading changes a number."),
        (GOOD, 1, 0, "; the one other reading changes no number."),
    ],
)
def test_readings_that_change_nothing_are_not_counted(first, others, moving, said):
    one = alone(first, *[BAD] * moving, *[first] * (others - moving))
    default, *ran = one.readings.results
    unmoved = [each.model_copy(update={"same": True}) for each in ran[moving:]]
    readings = one.readings.model_copy(update={"results": (default, *ran[:moving], *unmoved)})
    one = one.model_copy(update={"readings": readings})
    sentence = trial_sentence(trial_result(status="measured", reason=""), None, one)
    assert sentence.endswith(said)


def test_where_the_text_contradicts_all_others_the_default_is_the_one_in_the_text():
    one = alone(GOOD, BAD, BAD)
    against = [Alternative(value=f"p{n}", why="may be", against_text=True) for n in (1, 2)]
    opened_ = (OpenChoice(name="penalty", what="penalty", default="none", alternatives=against),)
    readings = one.readings.model_copy(update={"opened": opened_})
    assert readings.text == "reproduced under the one in the text alone; none of 2 others is"
    one = one.model_copy(update={"readings": readings})
    said = trial_sentence(trial_result(status="measured", reason=""), None, one)
    assert said.endswith("; none of 2 other readings reaches it, the one in the text does.")
    assert alone(GOOD, BAD).readings.text == (
        "reproduced under the default alone; the one alternative isn't"
    )


def test_each_experiment_has_its_own_curve_in_its_own_order():
    first, second = specification_curves(verdict())
    assert (first.experiment, second.experiment) == ("Table 1", "Table 2")
    assert [row[0] for row in first.rows][-1] == "penalty=ridge"
    assert second.rows[0][0] == "penalty=ridge"
    assert len(first.lines) == 2 and len(second.lines) == 1


def test_the_first_alternative_of_each_choice_comes_before_any_second():
    choices = [opened("penalty", "ridge", "lasso"), opened("start", "zero")]
    assert [next(iter(one.items())) for one in single_readings(choices)] == [
        ("penalty", "ridge"),
        ("start", "zero"),
        ("penalty", "lasso"),
    ]
    moved = [({"penalty": "ridge"}, {"Table 1"}), ({"start": "zero"}, {"Table 2"})]
    assert paired_readings(moved) == []
    assert len(paired_readings([(one, {"Table 1"}) for one, _ in moved])) == 1


@pytest.mark.parametrize(
    ("seconds", "expected"), [(20, 480), (60, 1440), (300, 1800), (3600, 3600), (1, 300)]
)
def test_unasked_each_of_sixteen_alternatives_runs_within_half_an_hour(seconds, expected):
    choices = [opened(f"choice_{number}", "ridge", "lasso") for number in range(8)]
    assert seconds_unasked(choices, [seconds]) == expected

""" "A beats B", "A is as good as B", "A is first": never the number of the metric itself."""

import random

import pytest
from claim_maker import claim, file_of
from trial_results import trial_result

from autoreproduce.agents.prompts import Prompts
from autoreproduce.claims.claim import Claim
from autoreproduce.claims.headline import headline_of
from autoreproduce.claims.user_claims import read_user_claims
from autoreproduce.claims.verdicts.all_claims import judge_all
from autoreproduce.claims.verdicts.comparable import MeasuredAs
from autoreproduce.claims.verdicts.one_claim import Verdict
from autoreproduce.claims.verdicts.trial_verdict import SeedRun, TrialVerdict
from autoreproduce.evaluation.report.claims_table import paper_tables
from autoreproduce.evaluation.verdict import judge_trial
from autoreproduce.method.claims import ClaimsReader
from autoreproduce.papers import Paper
from autoreproduce.task import Metric, Task

ACCURACY = Metric(name="accuracy", direction="higher")
TASK = Task(id="t", metric=ACCURACY, instruction="")
BETTER = claim(0, id="better", kind="order", than=("SVM",), column=(), sentence="Ours beats SVM")
AS_GOOD = BETTER.model_copy(update={"kind": "equal"})
FIRST = claim(1, id="first", kind="rank", row=(), column=(), sentence="Ours is first")
AT_LEAST = claim(90, id="bound", kind="at_least")


def trial(said: list[str], ours: list[float], svm: list[float], **more: float) -> TrialVerdict:
    """The verdict on what a user claims of a program that writes both rows' accuracies."""
    runs = [
        SeedRun(
            seed=seed,
            value=one,
            metrics={"accuracy": one, "ours_accuracy": one, "svm_accuracy": other, **more},
        )
        for seed, (one, other) in enumerate(zip(ours, svm, strict=True))
    ]
    outcome = trial_result(status="measured", reason="", metric=ours[0])
    return judge_trial(TASK, outcome, runs, file_of(*read_user_claims(said)))


def around(mean: float, spread: float, count: int, seed: int = 0) -> list[float]:
    draw = random.Random(seed)
    return [draw.gauss(mean, spread) for _ in range(count)]


@pytest.mark.parametrize("stated", [BETTER, AS_GOOD, FIRST])
def test_the_metrics_number_is_no_difference_and_no_rank(stated: Claim) -> None:
    assert headline_of([stated], ACCURACY) is None
    assert headline_of([stated.model_copy(update={"id": "accuracy"})], ACCURACY) is None
    number = claim(92.1, id="number")
    found = headline_of([stated, number], ACCURACY)
    assert found is not None and (found.claim, found.sure) == (number, True)


def test_a_bound_is_one_on_the_metrics_number() -> None:
    found = headline_of([BETTER, AT_LEAST], ACCURACY)
    assert found is not None and found.claim is AT_LEAST


@pytest.mark.parametrize("stated", [BETTER, AS_GOOD, FIRST])
def test_what_the_program_is_asked_for_under_the_metrics_name_is_the_metric(stated: Claim) -> None:
    reader = ClaimsReader(TASK, Paper(text="", body="", source="text", title="P"))
    (kept,) = reader.with_metric_keys(file_of(stated)).claims
    assert kept.id == stated.id
    (other,) = reader.with_metric_keys(file_of(stated.model_copy(update={"id": "accuracy"}))).claims
    assert other.id == f"accuracy_{stated.kind}"
    both = reader.with_metric_keys(file_of(stated, AT_LEAST)).claims
    assert [one.id for one in both] == [stated.id, "accuracy"]
    said = Prompts().render("context/results", results=both, task=TASK)
    assert said.count("minus that of SVM") == bool(stated.than)
    assert "`accuracy`: Ours" in said


def test_an_accuracy_is_no_gain_over_another_row() -> None:
    found = trial(["Ours: accuracy > SVM"], around(85, 1.5, 25), around(89, 1.5, 25, seed=1))
    assert found.sentence.startswith(
        "Not reproduced: the paper says better than SVM, the program measured a difference of -4."
    )
    found = trial(["Ours: accuracy > SVM"], around(90, 1.5, 25), around(89.3, 1.5, 25, seed=1))
    assert "of 25 runs" in found.claims[0].verdict.why
    assert found.claims[0].verdict.word == "close" and found.overall.word == "partly"


def test_without_both_rows_a_gain_is_not_measured() -> None:
    run = SeedRun(seed=0, value=85.0, metrics={"accuracy": 85.0, "ours_accuracy": 85.0})
    outcome = trial_result(status="measured", reason="", metric=85.0)
    found = judge_trial(TASK, outcome, [run], file_of(BETTER))
    assert found.sentence.startswith("Couldn't tell: ")
    assert found.claims[0].verdict.why == "no number was given, neither as better nor for both rows"


def test_the_difference_that_the_program_wrote_goes_before_its_rows() -> None:
    found = trial(["Ours: accuracy > SVM"], [85.0], [89.0], ours_and_svm_accuracy=2.0)
    assert found.claims[0].verdict.values == (2.0,)


ROWS = ["Ours: accuracy = 92.1%", "SVM: accuracy = 89.4%"]


@pytest.mark.parametrize("said", ["Ours: accuracy > SVM", "Ours: accuracy ~ SVM"])
def test_two_rows_in_percent_are_compared(said: str) -> None:
    runs = around(92, 0.4, 40), around(89.6, 0.4, 40, seed=1)
    found = trial([*ROWS, said], *runs).claims[-1].verdict
    assert found.word == ("reproduced" if ">" in said else "off")
    assert found.mean == pytest.approx(2.4, abs=0.3) and len(found.values) == 40
    table = paper_tables(trial([*ROWS, said], *runs))[0]
    assert sum(cell is not None for _, cells in table.rows for cell in cells) == 3


def rows_of(ours: float, theirs: float, **fields: object) -> Verdict:
    """Of two rows in percent that are as good as each other, by an equality without a scale."""
    numbers = (claim(92.1, id="a", printed="92.1"), claim(91.9, id="b", row=("SVM",)))
    numbers = (numbers[0], numbers[1].model_copy(update={"printed": "91.9"}))
    equal = claim(0, id="c", kind="equal", than=("SVM",), scale="raw", direction="match")
    measured = {
        name: MeasuredAs.model_validate({"values": [value], "seeds": [0], **fields})
        for name, value in (("a", ours), ("b", theirs))
    }
    return judge_all(file_of(*numbers, equal), measured)[-1]


def test_fractions_of_rows_in_percent_differ_in_points() -> None:
    near = rows_of(0.921, 0.919)
    assert near.why.startswith("times 100: 0.2 apart, where 2 counts as equal")
    far = rows_of(0.921, 0.8)
    assert (far.word, far.why.startswith("times 100: 12.1 apart")) == ("off", True)
    assert rows_of(0.921, 0.881).why.startswith("times 100: 4 apart")
    assert rows_of(0.921, 0.881, scale="fraction").why.startswith("times 100: 4 apart")


def test_of_several_scales_the_claims_own_is_taken() -> None:
    percent = [claim(92.1, id="a"), claim(89.4, id="b", row=("SVM",))]
    raw = [
        one.model_copy(update={"id": one.id * 2, "value": one.value / 100, "scale": "raw"})
        for one in percent
    ]
    order = BETTER.model_copy(update={"scale": "raw"})
    measured = {
        name: MeasuredAs(values=(value,), seeds=(0,))
        for name, value in {"a": 92.0, "b": 89.0, "aa": 0.8, "bb": 0.9}.items()
    }
    assert judge_all(file_of(*percent, *raw, order), measured)[-1].word == "opposite"

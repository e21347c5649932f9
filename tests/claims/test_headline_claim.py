"""Of several claims, which one the attempt's one number stands for, and who is told so."""

import pytest
from claim_maker import claim
from trial_results import trial_result

from autoreproduce.agents.prompts import Prompts
from autoreproduce.claims.claim import ClaimsFile
from autoreproduce.claims.headline import headline_of
from autoreproduce.claims.verdicts.trial_verdict import SeedRun
from autoreproduce.evaluation.verdict import judge_trial
from autoreproduce.task import Metric, Task

BIAS = claim(0.5, id="bias_a", metric="bias", scale="raw")
RMSE = claim(0.7, id="rmse_a", metric="RMSE", scale="raw", row=("A",))
OTHER = claim(0.9, id="rmse_b", metric="rmse", scale="raw", row=("B",))
GUESS = claim(9.0, id="guess", metric="rmse", scale="raw", row=("Guess",), is_baseline=True)


@pytest.mark.parametrize(
    ("claims", "name", "wanted", "why", "sure"),
    [
        ([BIAS, RMSE, OTHER], "rmse_b", "rmse_b", "its key is the metric's name", True),
        ([BIAS, GUESS, RMSE], "rmse", "rmse_a", "no other claim is of this metric", True),
        ([BIAS, RMSE, OTHER], "rmse", "rmse_a", "it's the first of 2 of this metric", False),
        ([GUESS, BIAS, RMSE], "error", "bias_a", "it's the first, and none has", False),
        (
            [RMSE, OTHER.model_copy(update={"main": True})],
            "rmse",
            "rmse_b",
            "it's the main one of this metric",
            True,
        ),
    ],
)
def test_one_claim_is_the_headline_and_it_is_known_why(claims, name, wanted, why, sure):
    found = headline_of(claims, Metric(name=name))
    assert (found.claim.id, found.sure) == (wanted, sure)
    assert found.why.startswith(why)
    assert headline_of([GUESS], Metric(name=name)) is None


def test_who_writes_the_program_is_told_which_it_is():
    task = Task(id="t", metric=Metric(name="rmse"), instruction="")
    said = Prompts().render("context/results", results=[BIAS, RMSE, OTHER], task=task)
    assert said.startswith(
        "The metric `rmse` is the headline, the one number that the attempt is filed under; all "
        "results count alike. It is the number of `rmse_a`: it's the first of 2 of this metric, "
        "and stands under both names.\n"
    )
    assert "headline" not in Prompts().render("context/results", results=[RMSE], task=task)


def test_the_verdict_says_which_it_was():
    task = Task(id="t", metric=Metric(name="rmse"), instruction="")
    file = ClaimsFile(paper="P", experiment="Table 1", claims=(BIAS, RMSE, OTHER))
    run = SeedRun(seed=0, value=0.7, metrics={"rmse_a": 0.7, "rmse_b": 0.9, "bias_a": 0.5})
    found = judge_trial(task, trial_result(status="measured", reason=""), [run], file)
    assert (
        "The headline, rmse, was asked for as the number of A / CIFAR / Acc: RMSE, since "
        "it's the first of 2 of this metric."
    ) in found.remarks

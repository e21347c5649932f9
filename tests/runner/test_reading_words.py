"""Identical numbers get identical words, and what moves nothing is run once."""

from collections.abc import Mapping
from types import SimpleNamespace
from typing import Any

import pytest
from claim_maker import claim, file_of
from trial_results import trial_result

from autoreproduce.claims.choices import Alternative
from autoreproduce.claims.readings import READINGS, OpenChoice, freeze_readings
from autoreproduce.claims.verdicts.readings import ReadingsVerdict
from autoreproduce.claims.verdicts.trial_verdict import SeedRun
from autoreproduce.config import Settings
from autoreproduce.evaluation.verdict import judge_trial, with_tested
from autoreproduce.runner.readings import reading_verdict
from autoreproduce.task import Metric, Task

TASK = Task(id="t", metric=Metric(name="loss", direction="lower"), instruction="", profile="full")
CLAIMS = file_of(
    claim(1.015, id="a", metric="loss", scale="raw", direction="lower", printed="1.015"),
    claim(2.0, id="b", row=("B",), metric="loss", scale="raw", direction="lower", printed="2.000"),
    claim(3.0, id="c", row=("C",), metric="loss", is_baseline=True, scale="raw", printed="3.00"),
)
OPENED = OpenChoice(
    name="penalty",
    what="penalty",
    default="none",
    alternatives=(Alternative(value="ridge", why="w"), Alternative(value="lasso", why="w")),
)


def run_of(seed: int, b: float) -> SeedRun:
    numbers = {"a": 1.0 + seed / 1e5, "b": b + seed / 1e5, "c": 3.0}
    return SeedRun(seed=seed, value=1.0, metrics=numbers, seconds=1.0)


def multiverse(
    tmp_path: Any, under: Mapping[str, float], seeds: int
) -> tuple[ReadingsVerdict, Any]:
    """What the readings give of a program whose claim b is `under` each penalty."""
    ran: list[tuple[str, int]] = []

    def run(place: Any, name: str, seed: int, arguments: str, most: float) -> SeedRun:
        ran.append((arguments.rpartition("=")[2], seed))
        return run_of(seed, under[ran[-1][0]])

    told = {"phase": lambda name: None, "note": lambda text: None}
    trial = SimpleNamespace(folder=tmp_path, replaying=False, steps=[], **told)
    files = {READINGS: freeze_readings([OPENED])}
    repeater: Any = SimpleNamespace(trial=trial, task=TASK, files=files, run=run)
    default = [run_of(seed, under["none"]) for seed in range(seeds)]

    def judge(runs: Any, tested: int) -> Any:
        outcome = trial_result(status="measured", reason="", metric=1.0)
        held = with_tested(CLAIMS, tested)
        return judge_trial(TASK, outcome, runs, held)

    found = reading_verdict(repeater, default, Settings(), judge)
    assert found is not None
    return found, ran


@pytest.mark.parametrize("seeds", [1, 3])
def test_a_number_that_a_reading_leaves_alone_keeps_its_word(tmp_path: Any, seeds: int) -> None:
    """1.0 for 1.015 is close; of two alternatives each was held to half of that margin: off."""
    found, _ = multiverse(tmp_path, {"none": 2.0, "ridge": 2.5, "lasso": 2.0}, seeds)
    default, ridge, lasso = found.results
    assert default.claims["a"].word == "close"
    assert ridge.claims["a"] == default.claims["a"]
    assert ridge.claims["b"].word == "off"
    assert lasso.same and lasso.claims == default.claims


def test_what_moves_nothing_is_not_run_on_further_seeds(tmp_path: Any) -> None:
    found, ran = multiverse(tmp_path, {"none": 2.0, "ridge": 2.5, "lasso": 2.0}, 4)
    assert [one for one, _ in ran].count("lasso") == 1
    assert [seed for one, seed in ran if one == "ridge"] == [0, 1, 2, 3]
    assert [one.seeds for one in found.results] == [4, 4, 1]


def test_a_baseline_is_given_no_word_by_readings_that_did_not_judge_it(tmp_path: Any) -> None:
    found, _ = multiverse(tmp_path, {"none": 2.0, "ridge": 2.5, "lasso": 2.5}, 1)
    assert "c" not in found.results[0].claims and found.of_claim("c") == ""
    assert found.of_claim("a").startswith("close")

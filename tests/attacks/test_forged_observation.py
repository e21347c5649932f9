"""A program writes the probe's record itself and ends without its atexit: the trial ends all the
same, and resumes, also over a journal that holds such a record already.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from test_forged_structure import HONEST

from autoreproduce.claims.observed import Observed, observed_from_probe
from autoreproduce.evaluation.structure.compare import compare, value_of
from autoreproduce.evaluation.structure.save import with_watched_run
from autoreproduce.files.tree import Tree
from autoreproduce.method.choices import observed_in
from autoreproduce.method.full_run import partial_results
from autoreproduce.method.results import Run
from autoreproduce.method.time_prediction import measured_rate, planned_steps
from autoreproduce.trials.journal import open_journal
from autoreproduce.trials.probe import OBSERVED, take_observation
from autoreproduce.trials.probe.observation import parse_structure, structure_of
from autoreproduce.trials.steps import ExecutionResult

SEEN: dict[str, Any] = {"source": "training", "unseen": []}


def optimizer(**defaults: Any) -> dict[str, Any]:
    return {**SEEN, "optimizer": {"class": "A", "defaults": defaults, "groups": []}}


FORGED = [
    {"source": "", "unseen": [], "model": None},
    {**SEEN, "optimizer": None, "scheduler": None},
    {**SEEN, "trained": None, "steps": None, "epochs": None, "batches": None},
    {**SEEN, "steps_timed": None, "seconds_stepping": None, "seconds_before": None},
    {**SEEN, "steps_timed": 3, "seconds_stepping": 1e300, "seconds_before": 1e300},
    {**SEEN, "seeds": None},
    {**SEEN, "epochs": 1e300, "optimizers_made": 0},
    optimizer(momentum="x", betas=5),
    optimizer(lr="x", weight_decay=[0.1], betas=[], momentum=True),
    optimizer(lr=10**300, betas=1e300),
    {**SEEN, "unseen": ["\ud800"]},
    {**SEEN, "losses": ["\udfff"]},
    {**SEEN, "unseen": ["x" * 500] * 300},
    {**SEEN, "model": {"class": "N", "parameters": 1, "inputs": [[]], "outputs": [[], [1]]}},
]


def use(result: ExecutionResult) -> Run:
    """All that a trial makes of the record of a run."""
    run = Run.recorded(result)
    assert isinstance(observed_in(run, to_end=True), Observed)
    assert isinstance(measured_rate(run), str)
    assert planned_steps(run, []) == (0, "")
    assert partial_results(run)["metrics"] == {}
    assert with_watched_run({}, result.observed, lambda _: None) is not None
    return run


def executed(record: Any) -> ExecutionResult:
    return ExecutionResult(command="python main.py", exit_code=0, observed=record)


@pytest.mark.parametrize("number", range(len(FORGED)))
def test_a_forged_record_ends_no_trial_and_no_resume(tmp_path: Path, number: int) -> None:
    tree = Tree(tmp_path / "workspace")
    tree.make_root()
    tree.write(OBSERVED, json.dumps(FORGED[number]))
    found, why = take_observation(tree)
    assert (found is None) == bool(why)
    for _ in range(2):  # done, then resumed
        with open_journal(tmp_path / "journal", {}) as journal:
            record = found.content if found else None
            use(journal.step(ExecutionResult, "sandbox", "run", 1, lambda: executed(record)))  # noqa: B023


@pytest.mark.parametrize("number", range(len(FORGED)))
def test_a_journal_that_holds_such_a_record_is_resumed(number: int) -> None:
    run = use(executed(FORGED[number]))
    assert (run.seen is None) == bool(run.unseen_because)


@pytest.mark.parametrize("record", ["x", 3, [], {"steps": 3}, {"source": "", "unseen": "x"}])
def test_what_is_no_record_is_not_observed_with_the_reason(record: Any) -> None:
    run, notes = use(executed(record)), list[str]()
    assert run.seen is None and run.unseen_because
    assert with_watched_run({"epochs": 3}, record, notes.append) == {"epochs": 3}
    assert "is not known" in notes[0]


def test_settings_of_another_type_are_not_seen_and_a_single_beta_is() -> None:
    odd = observed_from_probe(structure_of(optimizer(momentum="x", betas=5, lr=True)))
    assert (odd.momentum, odd.betas, odd.learning_rate) == (None, (5.0,), None)
    assert odd.optimizer == "A"


@pytest.mark.parametrize("key", ["model", "optimizer", "scheduler", "trained", "batch_size"])
def test_a_structure_with_nulls_is_compared_and_what_it_hides_counts_against_it(key: str) -> None:
    forged = parse_structure(json.dumps({**HONEST, key: None}).encode()).content
    items = compare(HONEST, forged)
    assert (value_of(items) or 0) < 100
    assert key not in forged

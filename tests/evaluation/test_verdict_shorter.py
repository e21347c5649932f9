"""What runs with still fewer draws say of a number."""

import pytest

from autoreproduce.claims.choices import Choice
from autoreproduce.claims.verdicts.trial_verdict import SeedRun
from autoreproduce.evaluation.verdict import ShorterRun, moving

CUT = Choice.model_validate(
    {
        "what": "replicates",
        "key": "seeds",
        "value": 160,
        "kind": "stated",
        "place": "the paper",
        "why": "so that the run ends in its time",
        "paper": 10000,
        "claims": ["size"],
        "cut": {"words": "--reps 160", "replicates": True},
    }
)


@pytest.mark.parametrize(
    ("shorter", "moves"),
    [
        ([0.046875, 0.046875, 0.046875], False),
        ([0.046875, 0.05, 0.046875], True),
        ([0.046875, None, None], True),  # line 14 of an output that grows
        ([], True),
    ],
)
def test_a_number_stays_only_where_each_shorter_run_gives_it(
    shorter: list[float | None], moves: bool
) -> None:
    def run(value: float | None) -> SeedRun:
        metrics = {} if value is None else {"size": value}
        return SeedRun(seed=0, value=None, metrics=metrics)

    fewer = [ShorterRun(2.0**-n, run(value)) for n, value in enumerate(shorter, 1)]
    assert bool(moving([CUT], run(0.046875), fewer)) == moves

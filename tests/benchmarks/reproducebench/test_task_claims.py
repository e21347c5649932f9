"""The claims that the benchmark's tasks bring."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from autoreproduce.benchmarks.reproducebench.task_yaml import TaskFile, read_yaml
from autoreproduce.benchmarks.reproducebench.tasks import load_task, task_folder, task_names
from autoreproduce.claims.claim import ClaimsFile
from autoreproduce.errors import UsageError


def claims(task: str, profile: str) -> ClaimsFile:
    return ClaimsFile.model_validate(load_task(task, profile).claims)


@pytest.mark.parametrize("task", task_names())
def test_a_task_brings_its_claims_or_says_why_not(task: str) -> None:
    """So no trial on the benchmark pays a call for them, and none is compared under stand-ins."""
    small, full = claims(task, "small"), claims(task, "full")
    result = load_task(task, "full").paper_result
    assert [claim.value for claim in full.claims] == ([result.value] if result else [])
    for claim in full.claims:
        assert claim.source == "task" and claim.main and claim.id == load_task(task).metric.name
    assert all(claim.not_comparable for claim in small.claims)
    assert not any(claim.not_comparable for claim in full.claims)


def test_why_a_claim_is_not_comparable_names_the_stand_in_or_the_profile() -> None:
    assert claims("lsm", "small").claims[0].not_comparable.startswith("stand-in data: generated")
    assert 'profile "small"' in claims("tdgnn", "small").claims[0].not_comparable


def test_what_a_claim_leaves_out_is_the_metrics() -> None:
    (claim,) = claims("tdgnn", "full").claims
    assert (claim.metric, claim.direction, claim.scale) == ("accuracy", "higher", "fraction")
    assert claim.spread is not None and claim.spread.kind == "std"


@pytest.mark.parametrize(
    ("wrong", "named"),
    [
        ({"value": "many"}, "claims.0: value"),
        ({"value": 1, "colour": "red"}, "claims.0: colour"),
        ({}, "claims.0: value"),
    ],
)
def test_a_wrong_claim_names_its_field(wrong: dict[str, Any], named: str, tmp_path: Path) -> None:
    content = yaml.safe_load((task_folder("lsm") / "task.yaml").read_text())
    (tmp_path / "task.yaml").write_text(yaml.safe_dump({**content, "claims": [wrong]}))
    with pytest.raises(UsageError, match=named):
        read_yaml(tmp_path / "task.yaml", TaskFile)


def test_two_claims_have_two_keys(tmp_path: Path) -> None:
    content = yaml.safe_load((task_folder("lsm") / "task.yaml").read_text())
    content["claims"] = [{"value": 1}, {"value": 2}]
    (tmp_path / "task.yaml").write_text(yaml.safe_dump(content))
    with pytest.raises(UsageError, match="give each its own"):
        read_yaml(tmp_path / "task.yaml", TaskFile)

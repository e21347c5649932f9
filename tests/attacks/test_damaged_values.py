"""YAML tags that do not fit and a shared `scores.json` of odd shapes end in one line."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from needs import needs_tables

import autoreproduce
from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.errors import TrialError
from autoreproduce.evaluation.judging.submitted_code import Sources
from autoreproduce.evaluation.scoring import FILE, read_scores
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.evaluation.tables.rows import read_rows
from autoreproduce.files.bounded import parse_yaml


@pytest.mark.parametrize(
    "text", ["x: !!bool zz", "x: !!timestamp zz", "x: !!int ''", "x: !!float ''"]
)
def test_yaml_tag_that_does_not_fit_is_bad_yaml(text: str) -> None:
    with pytest.raises(ValueError, match="tag"):
        parse_yaml(text)


@pytest.mark.parametrize(
    "scores",
    [
        "[" * 100_000,
        '{"scores": 5}',
        '[{"scorer": []}]',
        '[{"scorer": "mixed", "value": "9"}]',
        '[{"scorer": "mixed", "value": 1, "judges": 5}]',
        '[{"scorer": "mixed", "value": 1, "judges": [5]}]',
        '[{"scorer": "lineage", "details": []}]',
        '[{"scorer": "lineage", "details": {"recall@5": "x"}}]',
        '[{"scorer": "x", "details": {"a": ' + "[" * 200 + "]" * 200 + "}}]",
    ],
)
def test_scores_of_another_shape_are_damaged(tmp_path: Path, scores: str) -> None:
    text = scores if scores.startswith("{") else f'{{"scores": {scores}}}'
    (tmp_path / FILE).write_text(text, encoding="utf-8")
    with pytest.raises(TrialError, match="delete it and score again"):
        read_scores(tmp_path)


def test_scores_that_are_a_folder_are_damaged(tmp_path: Path) -> None:
    (tmp_path / FILE).mkdir()
    with pytest.raises(TrialError, match="delete it and score again"):
        read_scores(tmp_path)


@needs_tables
@pytest.mark.parametrize(
    "fields",
    [
        {"cost": {"seconds": math.inf}},
        {"cost": {"dollars": math.nan}},
        {"gap": -math.inf},
        {"number": {"metrics": {"mse": math.nan}}},
        {"cost": {"seconds": 1.7e308}},
        {"cost": {"usage": {"input": 10**307}}},
        {"cost": {"edits": {"full_run": {"lines": 10**307}}}},
    ],
)
def test_a_shared_trial_whose_numbers_cannot_be_is_left_out_of_the_table(
    tmp_path: Path, fields: dict[str, Any]
) -> None:
    for name in ("good", "bad", "worse"):
        write_result(tmp_path / name, {} if name == "good" else fields)
    notes: list[str] = []
    rows = read_rows(tmp_path, notes.append)
    assert [row.trial for row in rows] == ["good"] and autoreproduce.tables(rows)
    assert len(notes) == 2 and all("is left out" in note for note in notes)


@needs_tables
def test_a_metric_too_large_to_be_averaged_is_none(tmp_path: Path) -> None:
    for name in ("one", "two"):
        write_result(tmp_path / name, {"number": {"value": 1.7e308}})
    rows = read_rows(tmp_path, print)
    assert [row.metric for row in rows] == [None, None] and autoreproduce.tables(rows)


@needs_tables
@pytest.mark.parametrize(
    "entry",
    [
        '{"scorer": "mixed", "value": NaN}',
        '{"scorer": "mixed", "value": 1e308}',
        '{"scorer": "lineage", "details": {"recall@5": Infinity}}',
        '{"scorer": "mixed", "details": {"cost": {"input": Infinity}}}',
        '{"scorer": "mixed", "details": {"cost": {"input": []}}}',
        '{"scorer": "mixed", "details": {"cost": {"calls": 1, "dollars": "x"}}}',
    ],
)
def test_scores_that_cannot_be_leave_their_trial_out(tmp_path: Path, entry: str) -> None:
    for name in ("good", "bad"):
        write_result(tmp_path / name, {})
    (tmp_path / "bad" / FILE).write_text(f'{{"scores": [{entry}]}}', encoding="utf-8")
    rows = read_rows(tmp_path, print)
    assert [row.trial for row in rows] == ["good"] and autoreproduce.tables(rows)


def write_result(folder: Path, fields: dict[str, Any]) -> None:
    """A finished trial whose outcome has other values in some fields."""
    trial = lay_out(folder, Sources({"main.py": "x = 1\n"}), load_task("lsm"))
    whole = {"status": "measured", "reason": "", "number": {"value": 0.03}} | fields
    trial.write("result.json", json.dumps(whole))
    trial.close()

"""A program that writes its structure itself, in place of the probe, gets none."""

import copy
import json
from pathlib import Path
from typing import Any

import pytest

from autoreproduce.benchmarks.reproducebench.tasks import load_task
from autoreproduce.config import Settings
from autoreproduce.errors import TrialError
from autoreproduce.evaluation.judging.material import material_of
from autoreproduce.evaluation.judging.submitted_code import Program
from autoreproduce.evaluation.scorers import Setup, open_scorers
from autoreproduce.evaluation.scoring import score_trial
from autoreproduce.evaluation.structure.compare import compare, value_of
from autoreproduce.evaluation.structure.measure import measure
from autoreproduce.evaluation.structure.save import measure_both
from autoreproduce.evaluation.submission import lay_out
from autoreproduce.trials.probe.observation import parse_structure

HONEST: dict[str, Any] = {
    "source": "training",
    "unseen": [],
    "model": {
        "class": "Net",
        "parameters": 49,
        "tensors": {"8x4": 1, "8": 1, "1x8": 1, "1": 1},
        "layers": {"Linear": 2},
        "inputs": [[16, 4]],
        "outputs": [[16, 1]],
    },
    "optimizer": {
        "class": "Adam",
        "defaults": {"lr": 0.01, "betas": [0.9, 0.999], "eps": 1e-08, "weight_decay": 0},
        "groups": [{"lr": 0.01, "weight_decay": 0}],
    },
    "scheduler": {"class": "StepLR", "numbers": {"step_size": 5, "base_lrs": [0.01]}},
    "trained": 49,
    "steps": 2,
    "batch_size": 16,
    "losses": ["MSELoss"],
}
FORGED: list[tuple[str, Any]] = [
    ("model.tensors", {"x".join(["9"] * 90_000): 1}),
    ("model.tensors", {"x".join(["9"] * 11): 1}),
    ("model.tensors", {"9" * 4000: 1}),
    ("model.tensors", {"a": 1}),
    ("model.tensors", {"8x4": -5}),
    ("model.parameters", -1e308),
    ("model.parameters", -3),
    ("model.parameters", "abc"),
    ("model.parameters", 10**30),
    ("model.layers", {"a": -1e9}),
    ("model.layers", {"b": 10**300}),
    ("model.inputs", [[1] * 11]),
    ("model.inputs", [["a"]]),
    ("model.inputs", [[[[[]]]]]),
    ("model", "x"),
    ("optimizer.groups", [{"betas": [1]}]),
    ("optimizer.groups", [{"lr": [1]}, {"lr": [2]}]),
    ("optimizer.groups", [{"lr": "a"}, {"lr": 1}]),
    ("optimizer.defaults", {"lr": {"a": 1}}),
    ("optimizer", []),
    ("scheduler", {"class": "StepLR"}),
    ("scheduler.numbers", {"a": [[1]]}),
    ("batch_size", {}),
    ("source", "\x1b]0;owned\x07"),
    ("unseen", "text"),
    ("unseen", ["x" * 300_000]),
    ("\x1b]0;owned\x07", 1),
]


def with_value(place: str, value: Any) -> bytes:
    made = copy.deepcopy(HONEST)
    *above, last = place.split(".")
    inner = made
    for key in above:
        inner = inner[key]
    inner[last] = value
    return json.dumps(made).encode()


def test_what_the_probe_writes_is_read_as_it_is() -> None:
    found = parse_structure(json.dumps(HONEST).encode()).content
    assert found == HONEST and value_of(compare(found, found)) == 100


@pytest.mark.timeout(20)
@pytest.mark.parametrize("number", range(len(FORGED)))
def test_what_cannot_be_compared_is_refused_at_once(number: int) -> None:
    with pytest.raises(ValueError, match=r"\w") as raised:
        parse_structure(with_value(*FORGED[number]))
    assert "\x1b" not in str(raised.value) and len(str(raised.value)) < 300


@pytest.mark.parametrize("text", ["", "[]", "3", "[" * 5000, '{"model": NaN}', '"\\ud800"'])
def test_what_is_no_structure_at_all_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"\w"):
        parse_structure(text.encode())


SAVED = [
    {"reference": HONEST, "generated": {**HONEST, "model": 3}},
    {"reference": HONEST, "generated": {**HONEST, "optimizer": []}},
    {"reference": HONEST, "generated": {**HONEST, "syntax": {"epochs": 3}}},
    {"reference": {**HONEST, "epochs": 10**301}, "generated": HONEST},
    {"reference": HONEST},
    {"reference": 1, "generated": [1]},
]


@pytest.mark.parametrize("number", range(len(SAVED)))
def test_a_shared_trial_with_a_forged_structure_is_not_scored(tmp_path: Path, number: int) -> None:
    program, task = Program({"main.py": "print(1)\n"}), load_task("lsm")
    lay_out(tmp_path / "trial", program, task).close()
    (tmp_path / "trial/structure.json").write_text(json.dumps(SAVED[number]))
    scorer = open_scorers(["structure"], Setup(material=material_of(task)))
    score = score_trial(tmp_path / "trial", task, scorer)[0]
    assert score.value is None and "was not seen" in score.reason


@pytest.mark.parametrize("text", ["{", "[]", "[1]", "3", "[" * 5000, '{"a": 1'])
def test_a_structure_that_cannot_be_read_is_one_line(tmp_path: Path, text: str) -> None:
    program, task, notes = Program({"main.py": "print(1)\n"}), load_task("lsm"), list[str]()
    lay_out(tmp_path / "trial", program, task).close()
    (tmp_path / "trial/structure.json").write_text(text)
    with pytest.raises(TrialError, match=r"structure.json cannot be read .* remove it"):
        measure_both(tmp_path / "trial", task, program, Settings(), notes.append)


@pytest.mark.slow
def test_a_program_that_forges_its_structure_has_none_and_the_reason_is_named() -> None:
    pytest.importorskip("torch")
    forged = with_value("model.parameters", -1e308).decode()
    files = {"main.py": f"import os\nopen('structure.json', 'w').write({forged!r})\nos._exit(0)\n"}
    notes: list[str] = []
    task, settings = load_task("lsm"), Settings(sandbox="process")
    found = measure(files, "python main.py", task, settings, notes.append)
    assert found["source"] == "" and "model" not in found
    assert "no structure" in notes[0] and "model.parameters" in notes[0]

"""Weights that are handed in: predict gets them and the inputs alone, and its number counts."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sandbox_helpers import skip_without_bubblewrap
from trial_results import number_of

from autoreproduce.benchmarks.reproducebench import tasks as reproducebench
from autoreproduce.benchmarks.reproducebench.perturbing import ALL, change
from autoreproduce.benchmarks.reproducebench.scaffold import new_task
from autoreproduce.config import Settings
from autoreproduce.content import CHECKOUT
from autoreproduce.job import EXTERNAL, Job, Judging, Program
from autoreproduce.runner.runtime import Runtime
from autoreproduce.runner.score import score_all
from autoreproduce.task import Bound, Task
from autoreproduce.trials.measurement import Measurement
from autoreproduce.trials.result import read_result

WHAT = {"arxiv": None, "title": "T", "method": "M", "dataset": "D", "metric": "error"}
BAND = """measured: {value: 0.0099, low: 0.008, high: 0.012}
    agreement: {correlation of the errors: {low: 0.5, n: 3, source: least squares draws nothing}}"""
MAIN = """
import json, os, time
import numpy as np
from preprocess import load
data = load(os.environ["DATA_DIR"])
inputs, y, x_test, y_test = data.x_train, data.y_train, data.x_test, data.y_test
x, x_new = inputs, x_test
{train}
np.savez("weights.npz", **weights)
from predict import predict
prediction = predict(weights, {{"x_test": x_test}})
{after}
np.savez("predictions.npz", prediction=prediction)
number = float(((prediction - y_test) ** 2).mean())
json.dump({{"metrics": {{"error": number}}}}, open("metrics.json", "w"))
"""
PREDICT = """
import numpy as np

def predict(weights, inputs):
    x = inputs["x_test"]
    {body}
"""
LEAST_SQUARES = "weights = {'w': np.linalg.lstsq(x, y, rcond=None)[0]}"
LINEAR = 'return x @ weights["w"]'


@pytest.fixture
def tiny(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Task:
    """The task that `bench new` writes, measured."""
    made = new_task("tiny", into=tmp_path / "reproducebench", **WHAT)
    text = (made / "task.yaml").read_text().replace("not_run: not measured yet", BAND, 1)
    (made / "task.yaml").write_text(text)
    monkeypatch.setattr(reproducebench, "folder", lambda name: tmp_path / name)
    return reproducebench.load_task("tiny", "small")


def measured(
    task: Task,
    at: Path,
    train: str,
    body: str,
    after: str = "",
    main: str = MAIN,
    module: str = "predict",
) -> Measurement:
    """What comes of a program that hands in its weights."""
    skip_without_bubblewrap()
    (at / "program").mkdir()
    (at / "program" / "main.py").write_text(main.format(train=train, after=after))
    (at / "program" / f"{module}.py").write_text(PREDICT.format(body=body))
    settings = {"cache_dir": at / "cache", "runs_dir": at / "runs", "sandbox": "bubblewrap"}
    job = Job(
        task=task,
        program=Program(code=str(at / "program"), run="python main.py", draw="5"),
        judging=Judging(levels=("execution", "integrity")),
        settings=Settings.model_validate(settings),
        out=at / "trial",
        solver=EXTERNAL,
    )
    score_all(job, Runtime(note=lambda line: None))
    found = number_of(at / "trial")
    assert found is not None and found.integrity is not None
    return found


@pytest.mark.slow
@pytest.mark.parametrize("module", ["predict", "method"])
def test_the_number_of_the_weights_counts_and_rests_on_them(
    tiny: Task, tmp_path: Path, module: str
) -> None:
    main = MAIN.replace("from predict", f"from {module}")
    found = measured(tiny, tmp_path, LEAST_SQUARES, LINEAR, main=main, module=module)
    assert found.served is not None and found.served.value == found.value
    assert found.served.broken is not None and found.value is not None
    assert found.served.broken > 10 * found.value
    assert found.integrity is not None and found.integrity.word == "clean"
    assert any("permuted" in check for check in found.integrity.checks)


@pytest.mark.slow
@pytest.mark.parametrize(("least", "fit"), [(0.5, True), (1.1, False)])
def test_tensors_are_the_method_s_if_their_predictions_agree_with_the_reference_s(
    tiny: Task, tmp_path: Path, least: float, fit: bool
) -> None:
    bound = Bound(low=least, n=3, source="a number may not tell")
    own = tiny.model_copy(update={"agreement": {"correlation of the errors": bound}})
    found = measured(own, tmp_path, LEAST_SQUARES, LINEAR).served
    assert found is not None and found.by_reference == fit and (found.carrying is None) == fit


@pytest.mark.slow
@pytest.mark.parametrize(
    ("body", "after", "kind"),
    [
        ("return x @ np.array([1.0, -2.0, 0.5])", "", "weights unused"),
        (LINEAR, "prediction = prediction + 0.3", "other weights"),
    ],
)
def test_what_does_not_come_from_the_weights_is_a_finding(
    tiny: Task, tmp_path: Path, body: str, after: str, kind: str
) -> None:
    found = measured(tiny, tmp_path, LEAST_SQUARES, body, after)
    assert found.integrity is not None and found.integrity.word == "doubtful"
    assert kind in {each.kind for each in found.integrity.findings}


@pytest.mark.slow
def test_predict_sees_no_data_and_its_failure_changes_nothing(tiny: Task, tmp_path: Path) -> None:
    body = "import os; assert os.getcwd() and 'DATA_DIR' not in os.environ\n    raise ValueError"
    main = MAIN.replace("from predict import predict", "predict = lambda w, _: x_test @ w['w']")
    found = measured(tiny, tmp_path, LEAST_SQUARES, body, main=main)
    assert found.served is not None and found.served.value is None
    assert found.served.reason == "predict.py could not be used: ValueError"
    ended = read_result(tmp_path / "trial")
    assert ended is not None and found.served.reason in ended.warnings
    assert found.integrity is not None and found.integrity.word == "unchecked"
    assert any(found.served.reason in each for each in found.integrity.missing)


FORMS = (CHECKOUT / "docs" / "handing-in.md").read_text().split("## Forms")[1]
EXAMPLES = [block.split("```")[0] for block in FORMS.split("```python\n")[1:]]


@pytest.mark.slow
@pytest.mark.parametrize("number", range(len(EXAMPLES)))
def test_each_form_of_the_page_predicts_from_its_weights_alone(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    main, predict = EXAMPLES[number].split("# predict.py\n")
    if "sklearn" in main:
        pytest.importorskip("sklearn")
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    x = rng.normal(size=(300, 3))
    y = (x + np.roll(x, 1, 0) * ("spread" in main)) @ [1.0, -2.0, 0.5]
    exec(main, {"x": x[:200], "y": y[:200]})
    calls: dict[str, Any] = {}
    exec(predict, calls)
    inputs = {"x_test": x[200:]}
    errors = []
    for _ in range(2):
        with np.load("weights.npz", allow_pickle=False) as file:
            found = calls["predict"](dict(file), inputs)
        is_sample = found.ndim == 2
        wanted = np.cov(x.T) if is_sample else y[200:]
        given = np.cov(found.T) if is_sample else found
        errors.append(float(np.square(given - wanted).mean() / np.square(wanted).mean()))
        change(tmp_path / "weights.npz", ALL, 1)
    assert errors[0] < 0.3 and errors[1] > 2 * errors[0]

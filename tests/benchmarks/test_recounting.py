"""A user's own numbers, again from what the program saved, and with targets that were withheld."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from autoreproduce.benchmarks.own import OwnTask, OwnTasks
from autoreproduce.benchmarks.recounting import read_targets, recounts, write_shuffled
from autoreproduce.errors import UsageError
from autoreproduce.task import Metric, Task
from autoreproduce.trials.measurement import Measurement, Recomputed, Recount, measured_from

TRUE = np.array([0, 1, 1, 0, 1, 0, 1, 1, 0, 1])
GOOD = np.array([0, 1, 1, 0, 1, 0, 1, 1, 1, 1])


def measure(
    folder: Path, metrics: dict[str, float], runs: object = None, **arrays: Any
) -> Measurement:
    np.savez_compressed(folder / "predictions.npz", **arrays)
    text = json.dumps({"metrics": metrics, "runs": runs or {}})
    (folder / "metrics.json").write_text(text)
    task = Task(id="x", metric=Metric(name="accuracy", direction="higher"), instruction="")
    names = {name: name for name in metrics}
    return measured_from(
        task,
        folder,
        Recomputed(None, possible=False),
        again=lambda written: recounts(folder, names, written),
    )


@pytest.mark.slow
def test_a_number_is_recomputed_as_the_program_meant_it(tmp_path: Path) -> None:
    found = measure(tmp_path, {"accuracy": 90.0}, accuracy=GOOD, **{"accuracy.targets": TRUE})
    assert found.value == pytest.approx(90) and found.recomputed
    assert found.recounted == {"accuracy": "accuracy in percent"}
    assert found.integrity is not None and found.integrity.word == "unchecked"


@pytest.mark.slow
def test_predictions_decide_where_the_program_wrote_another_number(tmp_path: Path) -> None:
    found = measure(
        tmp_path,
        {"accuracy": 0.99, "mse": 0.5},
        accuracy=GOOD,
        mse=GOOD * 1.0,
        **{"accuracy.targets": TRUE, "mse.targets": TRUE},
    )
    assert found.value == pytest.approx(0.9)
    assert found.integrity is not None and found.integrity.word == "doubtful"
    assert found.metrics["mse"] == pytest.approx(0.1)
    assert "mse: the program wrote 0.5, but its predictions give 0.1" in found.warnings


@pytest.mark.slow
def test_of_a_mean_only_the_last_run_is_held_against_its_predictions(tmp_path: Path) -> None:
    arrays = {"accuracy": GOOD, "accuracy.targets": TRUE}
    found = measure(tmp_path, {"accuracy": 0.8}, {"accuracy": [0.7, 0.9]}, **arrays)
    assert found.value == 0.8 and not found.recomputed and not found.recounted
    assert 'under "accuracy.1" to "accuracy.2"' in found.not_recomputed["accuracy"]
    off = measure(tmp_path, {"accuracy": 0.8}, {"accuracy": [0.9, 0.7]}, **arrays)
    assert any("the program wrote 0.7, but" in warning for warning in off.warnings)


@pytest.mark.slow
@pytest.mark.parametrize("last", [0.0, 1.0])
def test_replicates_handed_over_as_runs_are_no_other_number(tmp_path: Path, last: float) -> None:
    covered = np.append(np.repeat([1.0, 0.0], [18, 1]), last)
    arrays = {"accuracy": covered, "accuracy.targets": np.ones(20)}
    share = float(covered.mean())
    found = measure(tmp_path, {"accuracy": share}, {"accuracy": covered.tolist()}, **arrays)
    assert not [warning for warning in found.warnings if "its predictions give" in warning]
    assert found.value == pytest.approx(share) and found.recomputed
    few = {"accuracy": covered[:19].tolist()}  # not one for each of its items
    again = measure(tmp_path, {"accuracy": share}, few, **arrays)
    assert not [warning for warning in again.warnings if "its predictions give" in warning]
    wrong = measure(tmp_path, {"mse": 0.5, "accuracy": 1.0}, {"mse": [0.0] * 20}, **{
        "mse": covered, "mse.targets": np.ones(20)
    })  # fmt: skip
    assert any("mse: the program wrote 0.5, but" in warning for warning in wrong.warnings)


@pytest.mark.slow
def test_without_targets_or_with_others_it_is_the_programs_own_word(tmp_path: Path) -> None:
    found = measure(tmp_path, {"accuracy": 0.9}, accuracy=GOOD)
    assert found.value == 0.9 and not found.recomputed
    arrays = {"accuracy": GOOD, "accuracy.targets": TRUE[:3]}
    found = measure(tmp_path, {"accuracy": 0.9}, **arrays)
    assert not found.recomputed and "accuracy" in found.not_recomputed


WORSE = np.array([1, 0, 0, 0, 1, 0, 1, 1, 0, 1])  # 0.7 of TRUE, and GOOD has 0.9
RUNS = {"accuracy": [0.7, 0.9]}


@pytest.mark.slow
@pytest.mark.parametrize(
    "arrays",
    [
        {"accuracy.1": WORSE, "accuracy.2": GOOD, "accuracy.targets": TRUE},
        {"accuracy.1": WORSE[::-1], "accuracy.1.targets": TRUE[::-1],
         "accuracy.2": GOOD, "accuracy.2.targets": TRUE},
        {"accuracy": np.stack([WORSE, GOOD]), "accuracy.targets": TRUE},
        {"seed0": WORSE, "seed1": GOOD, "y_test": TRUE},
    ],
)  # fmt: skip
def test_each_run_of_a_mean_is_recomputed(arrays: dict[str, Any], tmp_path: Path) -> None:
    found = measure(tmp_path, {"accuracy": 0.8}, RUNS, **arrays)
    assert found.value == pytest.approx(0.8) and found.recomputed and not found.warnings
    assert found.runs["accuracy"] == pytest.approx([0.7, 0.9])
    assert found.runs_recounted == ["accuracy"] and not found.not_recomputed


@pytest.mark.slow
def test_a_run_whose_predictions_give_another_number_is_named(tmp_path: Path) -> None:
    arrays = {"accuracy.1": WORSE, "accuracy.2": GOOD, "accuracy.targets": TRUE}
    found = measure(tmp_path, {"accuracy": 0.85}, {"accuracy": [0.8, 0.9]}, **arrays)
    assert found.value == pytest.approx(0.8) and found.runs["accuracy"] == pytest.approx([0.7, 0.9])
    assert "accuracy, run 1: the program wrote 0.8, but its predictions give 0.7" in found.warnings
    assert found.integrity is not None and found.integrity.word == "doubtful"


@pytest.mark.slow
@pytest.mark.parametrize(("stated", "word"), [(0.9, "unchecked"), (0.98, "doubtful")])
def test_the_median_over_runs_is_a_number_of_theirs_too(
    stated: float, word: str, tmp_path: Path
) -> None:
    arrays = {f"accuracy.{n}": each for n, each in enumerate((WORSE, GOOD, GOOD), 1)}
    runs = {"accuracy": [0.7, 0.9, 0.9]}
    found = measure(tmp_path, {"accuracy": stated}, runs, **arrays, **{"accuracy.targets": TRUE})
    assert found.integrity is not None and found.integrity.word == word
    assert found.value == pytest.approx(0.9) and found.runs["accuracy"] == pytest.approx(
        [0.7, 0.9, 0.9]
    )


@pytest.mark.slow
def test_a_mean_over_more_runs_than_were_saved_is_the_programs_own_word(tmp_path: Path) -> None:
    arrays = {"accuracy.1": WORSE, "accuracy.2": GOOD, "accuracy.targets": TRUE}
    found = measure(tmp_path, {"accuracy": 0.8}, {"accuracy": [0.7, 0.9, 0.8]}, **arrays)
    assert found.value == 0.8 and not found.recomputed
    assert "of 3 runs, 2 have" in found.not_recomputed["accuracy"]


@pytest.mark.slow
def test_arrays_of_other_names_are_found_by_the_number_that_they_give(tmp_path: Path) -> None:
    extra = np.linspace(0, 1, 10)
    arrays = {"ids": np.arange(10), "y_pred": GOOD, "y_true": TRUE, "weights": extra}
    found = measure(tmp_path, {"accuracy": 0.9}, **arrays)
    assert found.recomputed and found.value == pytest.approx(0.9)
    assert found.recounted == {"accuracy": "accuracy of y_pred beside y_true"}
    other = measure(tmp_path, {"accuracy": 0.8}, **arrays)
    assert not other.recomputed and "no pair of its arrays" in other.not_recomputed["accuracy"]
    twice = measure(tmp_path, {"accuracy": 0.9}, again=1 - GOOD, truth=1 - TRUE, **arrays)
    assert not twice.recomputed and "several pairs" in twice.not_recomputed["accuracy"]
    scores = np.where(GOOD == 1, 0.9, 0.2)
    scored = measure(tmp_path, {"accuracy": 90}, logits=np.stack([1 - scores, scores], 1), y=TRUE)
    assert scored.recounted == {"accuracy": "accuracy in percent of logits beside y"}


@pytest.mark.slow
def test_where_targets_are_withheld_the_array_is_the_one_that_fits_what_the_run_saw(
    tmp_path: Path,
) -> None:
    data, shown = tmp_path / "data", tmp_path / "shown"
    rng = np.random.default_rng(0)
    truth, decoys = rng.normal(size=30), rng.normal(size=30)
    for folder, array in ((data, truth), (shown, decoys)):
        folder.mkdir()
        np.save(folder / "y.npy", array)
    guess = truth + 0.1
    np.savez(tmp_path / "predictions.npz", out=guess, other=rng.normal(size=30))
    stated = float(np.mean((guess - decoys) ** 2))
    places = ("y.npy", data, shown)
    found = recounts(tmp_path, {"mse": "mse"}, {"mse": [stated]}, *places)["mse"]
    assert found.truth == {"MSE": pytest.approx(0.01)} and found.arrays == "out"
    few = {"mse": guess[:20], "mse.targets": truth[:20]}
    np.savez(tmp_path / "predictions.npz", **few)
    unfit = recounts(tmp_path, {"mse": "mse"}, {"mse": [0.01]}, *places)["mse"]
    assert not unfit.truth and "20 predictions don't fit the 30 targets" in unfit.reason


@pytest.mark.parametrize(
    ("metrics", "says"),
    [
        ({"zeal": 0.5}, "no metric called zeal is known here. Known are top-k accuracy, accuracy"),
        ({"accuracy": 0.5}, "no predictions.npz was written: save in predictions.npz the predict"),
    ],
)
def test_what_is_unchecked_says_the_step_that_would_check_it(
    metrics: dict[str, float], says: str, tmp_path: Path
) -> None:
    (name,) = metrics
    (tmp_path / "metrics.json").write_text(json.dumps({"metrics": metrics}))
    task = Task(id="x", metric=Metric(name=name, direction="higher"), instruction="")
    found = measured_from(
        task,
        tmp_path,
        Recomputed(None, possible=False),
        again=lambda written: recounts(tmp_path, {name: name}, written),
    )
    assert found.not_recomputed[name].startswith(says)
    assert found.integrity is not None and found.integrity.missing == [
        f"the number is the program's own word: {found.not_recomputed[name]}"
    ]


@pytest.mark.slow
def test_a_file_that_is_none_is_no_crash(tmp_path: Path) -> None:
    (tmp_path / "predictions.npz").write_bytes(b"none")
    names = {"accuracy": "accuracy"}
    assert "no .npz file" in recounts(tmp_path, names, {"accuracy": [0.9]})["accuracy"].reason
    np.savez(tmp_path / "predictions.npz", accuracy=np.array([{}], dtype=object))
    found = recounts(tmp_path, names, {"accuracy": [0.9]})
    assert found["accuracy"].reason and not found["accuracy"].saved
    np.savez(tmp_path / "predictions.npz", other=np.array([{}] * 9, dtype=object), n=np.array(3))
    assert recounts(tmp_path, names, {"accuracy": [0.9]})["accuracy"].reason


def test_the_nearest_definition_is_what_the_program_meant() -> None:
    found = Recount(saved={"macro F1": 0.4, "micro F1": 0.6, "nothing": float("nan")})
    assert found.nearest(0.58) == "micro F1" and found.nearest(None) == "macro F1"
    assert Recount().nearest(1.0) == ""


@pytest.mark.parametrize("place", ["test.csv:y", "test.npz:y", "y.npy", "deep/test.tsv:y"])
def test_targets_are_shuffled_and_all_else_stays(place: str, tmp_path: Path) -> None:
    data, target = tmp_path / "data", tmp_path / "shown"
    name = place.partition(":")[0]
    (data / name).parent.mkdir(parents=True)
    target.mkdir()
    wanted, inputs = np.arange(40), np.arange(40) * 2
    if name.endswith("npz"):
        np.savez(data / name, x=inputs, y=wanted)
    elif name.endswith("npy"):
        np.save(data / name, wanted)
    else:
        sign = "\t" if name.endswith("tsv") else ","
        rows = [f"{x}{sign}{y}" for x, y in zip(inputs, wanted, strict=True)]
        (data / name).write_text("\n".join([f"x{sign}y", *rows]) + "\n")
    write_shuffled(data, target, place, np.random.default_rng(0))
    truth, shown = read_targets(data, place), read_targets(target, place)
    assert truth is not None and shown is not None
    assert truth.tolist() == wanted.tolist() != shown.tolist()
    assert sorted(shown.tolist()) == wanted.tolist()
    if not name.endswith("npy"):
        other = read_targets(target, place.replace(":y", ":x"))
        assert other is not None and other.tolist() == inputs.tolist()


@pytest.mark.parametrize("place", ["no.csv:y", "test.csv:z", "test.csv", "../test.csv:y"])
def test_targets_that_are_not_there_are_refused(place: str, tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir()
    (data / "test.csv").write_text("x,y\n1,2\n")
    (tmp_path / "test.csv").write_text("x,y\n1,2\n")
    entry = OwnTask(name="x", metric=("mse",), targets=place)
    tasks = OwnTasks(OwnTasks.Options(tasks=[entry]))
    with pytest.raises(UsageError, match="--targets"):
        tasks.prepare(tasks.load("x", "full"), tmp_path / "cache", print, data)
    with pytest.raises(UsageError, match="add --data"):
        tasks.prepare(tasks.load("x", "full"), tmp_path / "cache", print, None)

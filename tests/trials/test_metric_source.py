"""Where a program from outside wrote its number, and what is no number."""

from pathlib import Path

import pytest

from autoreproduce.errors import CommandError, UsageError
from autoreproduce.task import Metric, Task
from autoreproduce.trials.measurement import Recomputed, measured_from
from autoreproduce.trials.metric_source import metrics_from, parse_metric_source

FILES = {
    "out.json": '{"test": {"mse": 0.25, "a.b": 1}, "epochs": [{"mse": 3}, {"mse": "2.5"}]}',
    "rows.jsonl": '{"mse": 1}\n\n{"mse": 0.5}\n{"other": 1}\n',
    "log.csv": "epoch, mse ,acc\n1,0.9,50%\n2,0.8,61.5%\n3,0.7,\n",
    "plain.txt": "0 1.5 0.9 0.8\n18 1.4 0.02 0.03\n19 1.6 0.018 2.9e-2\nsave model\n",
    "train.log": "test mse: 0.9 (best 0.1)\nval_test mse: 7\nTest mse = 0.4\ntest mse is -3e-2 now",
}
PRINTED = "Epoch 10 | 'accuracy': 0.914, loss 0.2\naccuracy (%)\n"


@pytest.fixture
def space(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).write_text(text)
    return tmp_path


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("out.json:test.mse", 0.25),
        ("out.json:test.a.b", 1),
        ("out.json:epochs.-1.mse", 2.5),
        ("rows.jsonl:mse", 0.5),
        ("log.csv:mse", 0.7),
        ("log.csv:acc", 61.5),
        ("train.log:test mse", -0.03),
        ("stdout:accuracy", 0.914),
        (r"stdout:/loss (\S+)$/", 0.2),
        (r"plain.txt:/^\d+ \S+ \S+ (\S+)$/", 0.029),  # no word stands before it
    ],
)
def test_a_number_is_found_at_its_place(space: Path, place: str, value: float) -> None:
    assert metrics_from([place], space, PRINTED, "m").metrics == {"m": value}
    named = metrics_from([place, f"claim={place}"], space, PRINTED, "m").metrics
    assert named == {"m": value, "claim": value}


@pytest.mark.parametrize(
    ("place", "why"),
    [
        ("out.json:test.acc", "no such key"),
        ("out.json:epochs.7.mse", "no such key"),
        ("out.json:test", "isn't a number"),
        ("train.log:loss", "no such key"),
        ("none.csv:x", "was not written"),
        ("broken.json:x", "is no json"),
        ("nan.json:x", "isn't a number"),
        ("plain.txt:/save (.+)/", "isn't a number"),
        ("plain.txt:/(epoch) \\d/", "no such key"),
    ],
)
def test_what_is_no_number_has_its_reason(space: Path, place: str, why: str) -> None:
    (space / "broken.json").write_text("{")
    (space / "nan.json").write_text('{"x": NaN}')
    with pytest.raises(CommandError, match=why):
        metrics_from([place], space, PRINTED, "m")


def test_a_link_out_of_the_workspace_is_not_followed(space: Path) -> None:
    (space / "link.json").symlink_to("/etc/hostname")
    with pytest.raises(CommandError, match="cannot be read"):
        metrics_from(["link.json:x"], space, "", "m")


def test_a_table_of_many_columns_and_rows_is_read_row_by_row(space: Path) -> None:
    header = ",".join(f"c{number}" for number in range(20_000))
    (space / "wide.csv").write_text(f"{header},mse\n" + "1\n" * 20_000)  # 400 million cells
    with pytest.raises(CommandError, match="no such key"):
        metrics_from(["wide.csv:mse"], space, "", "m")
    (space / "long.jsonl").write_text("\n" * 1_000_001)
    with pytest.raises(CommandError, match="over 1,000,000 lines"):
        metrics_from(["long.jsonl:x"], space, "", "m")


def test_the_last_of_two_columns_of_a_name_counts(space: Path) -> None:
    (space / "twice.csv").write_text('\nmse,note,mse\n1,"a\nb",2\n3,,4\n')
    assert metrics_from(["twice.csv:mse"], space, "", "m").metrics == {"m": 4}


@pytest.mark.parametrize("text", ["", "out.json", "out.json:", ":x", "/etc/x:y", "../x:y"])
def test_a_place_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(UsageError, match="metric-from"):
        parse_metric_source(text)


def test_the_number_is_the_programs_word_and_predictions_decide(space: Path) -> None:
    task = Task(id="t", metric=Metric(name="mse"), instruction="")
    missing, places = Recomputed(None, "predictions.npz was not written"), ["out.json:test.mse"]
    made = measured_from(task, space, missing, metric_from=places)
    assert (made.value, made.recomputed) == (0.25, False) and "own word" in made.warnings[0]
    assert measured_from(task, space, Recomputed(0.5), metric_from=places).value == 0.5
    gone = measured_from(task, space, missing, metric_from=["out.json:no"])
    assert gone.value is None and "no such key" in gone.reason


@pytest.mark.parametrize(
    ("place", "why"),
    [("stdout:/(/", "holds no pattern"), ("a.txt:/mse/", "which number"), ("a:/(a)(b)/", "which")],
)
def test_a_pattern_has_one_group(place: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse_metric_source(place)

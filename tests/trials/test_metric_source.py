"""Where a program from outside wrote its number, and what is no number."""

from pathlib import Path

import pytest

from autoreproduce.errors import CommandError, UsageError
from autoreproduce.task import Metric, Task
from autoreproduce.trials.derivation import metrics_from, parse_metric_source
from autoreproduce.trials.measurement import Recomputed, measured_from

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
        ("train.log:Test mse", 0.4),
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
        ("out.json:test.acc", "nothing at 'test.acc': the keys are mse, a.b"),
        ("out.json:epochs.7.mse", "nothing at"),
        ("out.json:test", "isn't a number"),
        ("train.log:loss", "no such key"),
        ("train.log:test mse", r"line 1 \('test mse: 0.9 .* and line 4 \('test mse is"),
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
    with pytest.raises(CommandError, match="mse is empty in all rows"):
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
    assert gone.value is None and "nothing at 'no'" in gone.reason


@pytest.mark.parametrize(
    ("place", "why"),
    [("stdout:/(/", "holds no pattern"), ("a.txt:/mse/", "which number"), ("a:/(a)(b)/", "which")],
)
def test_a_pattern_has_one_group(place: str, why: str) -> None:
    with pytest.raises(UsageError, match=why):
        parse_metric_source(place)


def read(printed: str, key: str = "acc") -> float:
    return metrics_from([f"stdout:{key}"], Path(), printed, "m").metrics["m"]


@pytest.mark.parametrize(
    "line",
    [
        "acc: 0.913", "acc=0.913", "acc 0.913", "acc\t0.913", "acc is 0.913", "acc -> 0.913",
        "acc → 0.913", "acc => 0.913", "acc ........ 0.913", "acc --- 0.913", "acc…… 0.913",
        "| acc | 0.913 |", "┃ acc ┃ 0.913 ┃", "│ acc        │ 0.913   │", "acc (test): 0.913",
        "acc (on the test set) = 0.913", "acc: [0.913]", "acc: (0.913)", "acc: [[0.913]]",
        "{'acc': np.float64(0.913)}", "acc = tensor(0.913)", "acc: tensor([0.913])",
        "acc = tensor(0.913, device='cuda:0', dtype=torch.float64)", "acc: array(0.913)",
        "acc Array(0.913, dtype=float32)", '"acc": "0.913"', "**acc**: 0.913", "`acc`: 0.913",
        "acc: 0.913 ± 0.004", "acc: 0.913, loss: 0.2", "seed 3 acc: 0.913", "[12:30] acc: 0.913",
        "\033[1macc\033[0m: \033[38;5;208m0.913\033[0m", "\033[32macc:\033[0m 0.913",
        "acc: 0.1\racc: 0.913", "acc: 0.5\racc: 0.913\r", "acc: 0,913", "acc: .913", "acc: +0.913",
        "acc: 9.13e-1", "INFO:root:acc: 0.913", "2026-11-28 12:30:01 acc=0.913",
    ],
)  # fmt: skip
def test_forms_in_which_programs_print_a_number(line: str) -> None:
    assert read(f"start\n{line}\nend") == 0.913


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("acc 1,234.5", 1234.5), ("acc: 12,345,678", 12345678), ("acc: 1_234", 1234),
        ("acc: 1'234.5", 1234.5), ("acc: -1,234", -1234), ("acc: 21.4%", 21.4), ("acc: 3.2s", 3.2),
        ("acc: np.int64(7)", 7), ("acc: −0.25", -0.25), ("acc: –.25", -0.25), ("acc: 1,5", 1.5), ("acc: 91.3 (0.4)", 91.3),
    ],
)  # fmt: skip
def test_thousands_units_and_commas(text: str, value: float) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    "text",
    [
        "acc: [0.1, 0.2]", "acc: (0.1, 0.2)", "acc: tensor([0.1, 0.2])", "acc: [0.1 0.2]",
        "acc: array([1., 2.])", "acc: 1,2,3", "acc 5-fold: high", "acc 3/20", "accuracy: 0.9",
        "topacc: 0.9", "acc@5: 0.9", "my_acc: 0.9", "acc: none", "acc:\n", "acc: 12:30",
        "acc: 0.1\racc: done", "acc: 3.2 x 10^-4", "acc: 3 * 10", "acc: 0x1F", "acc: 1.2.3",
        "acc: 20-39", "acc: 20–39", "acc: 5e",
    ],
)  # fmt: skip
def test_what_is_no_single_number_is_not_read(text: str) -> None:
    with pytest.raises(CommandError, match="no such key"):
        read(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("acc: 21.4%\ntop-5 acc: 7.1", 21.4),
        ("top-5 acc: 7.1\nacc: 21.4%", 21.4),
        ("final test acc: 7.1", 7.1),  # the only one
        ("epoch 1 acc 0.1\nepoch 2 acc 0.2\nepoch 3 acc 0.3", 0.3),
        ("acc: 0.1\nacc: 0.2\nacc: 0.3", 0.3),
        ("epoch 1\nacc: 0.1\nepoch 2\nacc: 0.2", 0.2),
        ("epoch 1 loss 0.9 acc 0.1\nepoch 2 loss 0.5 acc 0.2\nacc: 0.25", 0.25),
        ("val acc: 0.5\nval acc: 0.6", 0.6),
        ("acc: 0.9\nThe best acc = 0.9", 0.9),  # the same number
        ("train acc: 0.9\nacc: 0.9\n", 0.9),
    ],
)
def test_which_of_several_numbers_a_key_names(text: str, value: float) -> None:
    assert read(text) == value


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("train acc: 0.9\ntest acc: 0.8", ("line 1 ('train acc", "line 2 ('test acc")),
        ("Validation\nacc: 0.9\nTest\nacc: 0.8", ("line 2 ('acc", "line 4 ('acc")),
        ("acc: 0.9\nloss: 1\nacc = 0.8", ("line 1 ('acc", "line 3 ('acc")),
        ("| acc | 0.9 | 0.8 |", ("line 1", "line 1")),
        ("top-5 acc: 0.9\ntop-1 acc: 0.8", ("top-5", "top-1")),
    ],
)
def test_a_key_that_fits_different_numbers_is_an_error_with_both_lines(
    text: str, lines: tuple[str, str]
) -> None:
    with pytest.raises(CommandError, match="fits different numbers") as caught:
        read(text)
    assert all(line in str(caught.value) for line in lines)


def test_a_number_that_ends_as_nan_is_none() -> None:
    with pytest.raises(CommandError, match="isn't a number"):
        read("epoch 1 acc 0.1\nepoch 2 acc nan")


@pytest.mark.parametrize(
    ("name", "text", "value"),
    [
        ("a.json", '{"acc": [0.9]}', 0.9),
        ("a.json", '{"acc": "np.float64(0.9)"}', 0.9),
        ("a.json", '{"acc": "tensor(0.9, device=\'cpu\')"}', 0.9),
        ("a.csv", 'acc\n"1,234.5"\n', 1234.5),
        ("a.csv", "acc\ntensor(0.9)\n", 0.9),
        ("a.jsonl", '{"acc": [0.9]}\n', 0.9),
        ("a.log", "\033[1macc\033[0m: 0.9\n", 0.9),
    ],
)
def test_values_in_files_are_read_in_the_same_forms(
    tmp_path: Path, name: str, text: str, value: float
) -> None:
    (tmp_path / name).write_text(text)
    assert metrics_from([f"{name}:acc"], tmp_path, "", "m").metrics == {"m": value}


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("a.json", '{"acc": [0.9, 0.8]}'), ("a.json", '{"acc": "0.9 or so"}'),
        ("a.csv", "acc\n[0.9, 0.8]\n"), ("a.csv", "acc\n0.9 0.8\n"),
    ],
)  # fmt: skip
def test_values_in_files_that_are_several_or_words_are_refused(
    tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    with pytest.raises(CommandError, match="isn't a number"):
        metrics_from([f"{name}:acc"], tmp_path, "", "m")


@pytest.mark.parametrize(
    ("line", "value"),
    [
        ("error (0 to 1): 0.06", 0.06),
        ("error (of 10 runs) = 0.07", 0.07),
        ("error (lower is better) 0.05", 0.05),
        ("error [0.04]", 0.04),
    ],
)
def test_a_remark_in_brackets_is_no_value(tmp_path: Path, line: str, value: float) -> None:
    """Read before as the first number in the brackets."""
    assert metrics_from(["stdout:error"], tmp_path, line, "error").metrics == {"error": value}

"""The one rule by which values are read, whether FILE:KEY or an expression names them."""

import json
from pathlib import Path

import pytest

from autoreproduce.errors import CommandError
from autoreproduce.trials.derivation import metrics_from


def both(folder: Path, name: str, text: str, key: str, number: int = 1) -> list[float | str]:
    """What FILE:KEY and an expression give: the last value, or why there is none."""
    (folder / name).write_text(text)
    place = {"file": name, "key": key, "number": number}
    found: list[float | str] = []
    for source in (f"{name}:{key}", json.dumps({"take": "last", "of": [place]})):
        try:
            found.append(metrics_from([source], folder, "", "m").metrics["m"])
        except CommandError as error:
            found.append(str(error))
    return found


@pytest.mark.parametrize(
    ("name", "text", "key", "value"),
    [
        # names: another case, of a column, a key, a word; as it's written goes first
        ("a.csv", "epoch,Test_MSE\n1,0.9\n2,0.7\n", "test_mse", 0.7),
        ("a.csv", "MSE,mse\n0.9,0.7\n", "MSE", 0.9),
        ("a.json", '{"Test": {"MSE": 0.7}}', "test.mse", 0.7),
        ("a.json", '{"mse": 0.7, "MSE": 0.9}', "MSE", 0.9),
        ("a.jsonl", '{"Loss": 0.9}\n{"Loss": 0.7}\n', "loss", 0.7),
        ("a.jsonl", '{"loss": 0.7}\n{"Loss": 0.9}\n', "loss", 0.7),
        ("a.log", "Accuracy: 0.7\n", "accuracy", 0.7),
        ("a.log", "ACC = 0.7\n", "acc", 0.7),
        # signs around a name or a value
        ("a.csv", "`mse`,n\n'0.7',1\n", "mse", 0.7),
        ("a.tsv", "**mse**\tn\n**0.7**\t1\n", "mse", 0.7),
        ("a.json", '{"mse": "`0.7`"}', "mse", 0.7),
        # no value
        ("a.csv", "mse,n\n0.7,1\n ,2\n,3\n", "mse", 0.7),
        ("a.csv", "mse,n\n0.7,1\nNone,2\n-,3\nN/A,4\n", "mse", 0.7),
        ("a.jsonl", '{"mse": 0.7}\n{"mse": null}\n{"mse": ""}\n', "mse", 0.7),
        # values: true and false, a list of one, a spread, a unit
        ("a.json", '{"converged": true}', "converged", 1.0),
        ("a.csv", "ok\nTrue\nFalse\n", "ok", 0.0),
        ("a.jsonl", '{"acc": [0.7]}\n', "acc", 0.7),
        ("a.csv", "acc\n0.7 ± 0.02\n", "acc", 0.7),
        ("a.csv", "acc\n70.1% (0.4%)\n", "acc", 70.1),
        ("a.csv", "time\n0.7 +/- 0.1 ms\n", "time", 0.7),
        ("a.json", '{"time": "1,234.5 s"}', "time", 1234.5),
        # a pattern, in a file of any kind
        ("a.csv", "n,mse\n1,0.9\n2,0.7\n", r"/^2,(\S+)$/", 0.7),
        ("a.json", '{"a": 1,\n "mse": 0.7}', r'/"mse": (\S+)}/', 0.7),
        # rows of a list of objects in JSON
        ("a.json", '[{"mse": 0.9}, {"mse": "0.7"}]', "-1.mse", 0.7),
        ("a.json", '{"a": {"b": 0.9}, "a.b": 0.7}', "a.b", 0.7),
    ],
)
def test_both_ways_of_naming_a_value_read_it_alike(
    tmp_path: Path, name: str, text: str, key: str, value: float
) -> None:
    assert both(tmp_path, name, text, key) == [value, value]


@pytest.mark.parametrize(
    ("name", "text", "key", "why"),
    [
        ("a.csv", "MSE,Mse\n0.9,0.7\n", "mse", "no column 'mse': its columns are MSE, Mse"),
        ("a.json", '{"MSE": 0.9, "Mse": 0.7}', "mse", "nothing at 'mse'"),
        ("a.log", "Acc: 0.9\nACC: 0.7\n", "acc", "acc"),
        ("a.csv", "mse\n0.7\nnan\n", "mse", "holds 'nan', which isn't a number"),
        ("a.json", '{"mse": Infinity}', "mse", "isn't a number"),
        ("a.csv", "mse\nfailed\n", "mse", "'failed'"),
        ("a.csv", "mse\n-\n \n", "mse", "mse is empty in all rows"),
    ],
)
def test_both_refuse_alike(tmp_path: Path, name: str, text: str, key: str, why: str) -> None:
    found = both(tmp_path, name, text, key)
    assert all(isinstance(one, str) and why in one for one in found)


@pytest.mark.parametrize(
    "cell", ["3/20", "12:30", "1.2 M", "5 thousand", "0.9 or 0.7", "7 of 20 ok"]
)
def test_which_of_several_numbers_only_an_expression_says(tmp_path: Path, cell: str) -> None:
    plain, _ = both(tmp_path, "a.csv", f"share\n{cell}\n", "share")
    assert isinstance(plain, str) and "isn't a number" in plain
    if cell == "3/20":
        assert both(tmp_path, "a.csv", f"share\n{cell}\n", "share", number=2)[1] == 20.0


def test_several_values_in_one_json_are_no_last_one(tmp_path: Path) -> None:
    for text in ('{"acc": [0.9, 0.7]}', '[{"acc": 0.9}, {"acc": 0.7}]'):
        plain, expression = both(tmp_path, "a.json", text, "acc")
        assert isinstance(plain, str) and "isn't a number" in plain and expression == 0.7

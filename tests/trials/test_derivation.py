"""Numbers derived from what a run wrote: places in every form of output, and what is taken of them."""

import json
import math
from pathlib import Path
from typing import Any

import pytest

from autoreproduce.errors import CommandError, UsageError
from autoreproduce.trials.derivation import (
    Derivation,
    Derived,
    Outputs,
    derive,
    metrics_from,
    parse_metric_source,
)

CSV = """method,level,cost,ok
lqr,1,10.0,True
lqr,2,20.0,False
LQR,3,36.0,True
pid,1,11.0,True
pid,2,,True
pid,3,31.0,True
"""
PANDAS = """Results
  method  level   cost
0    lqr      1   10.0
1    lqr      2   20.0
2    pid      1   11.0

[3 rows x 3 columns]
"""
RICH = """┏━━━━━━━━┳━━━━━━━┓
┃ Method ┃ Cost  ┃
┡━━━━━━━━╇━━━━━━━┩
│ LQR    │ 1.5 ± 0.1 │
│ PID    │ 2.5 ± 0.2 │
└────────┴───────┘
"""
MARKDOWN = "| Method | Cost |\n|---|---|\n| **LQR** | 1.5 |\n| PID | 2.5 |\n"
LATEX = "\\begin{tabular}{lr}\nMethod & Cost \\\\\n\\hline\nLQR & 1.5 \\\\\nPID & 2.5 \\\\\n\\end{tabular}"
RUNS = {"runs": [{"seed": s, "m": {"acc": 0.5 + s / 10}} for s in range(3)], "name": "x"}
OUTPUTS = {
    "stdout": "seed 0 method=lqr accuracy: 0.91\nseed 1 method=lqr accuracy: 0.93\n"
    "seed 0 method=pid accuracy: 0.81\n\nhead\n  a 1.0 2.0\n  b 3.0 4.0\n",
    "summary.csv": CSV,
    "pandas.txt": PANDAS,
    "rich.log": RICH,
    "table.md": MARKDOWN,
    "table.tex": LATEX,
    "runs.json": json.dumps(RUNS),
    "by_name.json": json.dumps({"lqr": {"cost": 1.5}, "pid": {"cost": 2.5}}),
    "columns.json": json.dumps({"t": {"method": ["lqr", "pid"], "cost": [1.5, 2.5]}}),
    "records.json": json.dumps([{"method": "lqr", "cost": 1.5}, {"method": "pid", "cost": 2.5}]),
    "log.jsonl": '{"step": 1, "loss": 2.0}\n{"step": 2, "loss": 1.0}\n',
    "excel.csv": "\ufeffmethod;cost\nlqr;1,5\npid;2,5\n",
    "tabs.csv": "method\tcost\nlqr\t1.5\n",
    "seeds.log": "seed 0: acc 0.8\nseed 1: acc 0.9\nseed 10: acc 1.0\n",
    "out/seed-1/m.json": '{"acc": 0.5}',
    "out/seed-2/m.json": '{"acc": 0.7}',
}


def derived(take: str = "value", of: Any = None, **more: Any) -> Derived:
    made = Derivation.model_validate({"take": take, "of": of, **more})
    again = parse_metric_source(f"x={made.text}")  # as the journal keeps it
    assert again.name == "x" and again.derivation == made
    return derive(made, Outputs.of(OUTPUTS))


def place(file: str, key: str = "", **more: Any) -> dict[str, Any]:
    return {"file": file, "key": key, **more}


LQR = place("summary.csv", "cost", where={"method": "lqr"})
PID = place("summary.csv", "cost", where={"method": "pid"})


@pytest.mark.parametrize(
    ("take", "of", "more", "value"),
    [
        ("mean", LQR, {}, 22.0),
        ("median", LQR, {}, 20.0),
        ("sum", LQR, {}, 66.0),
        ("min", LQR, {}, 10.0),
        ("max", LQR, {}, 36.0),
        ("last", LQR, {}, 36.0),
        ("count", LQR, {}, 3.0),
        ("std", LQR, {}, 13.114877),
        ("population std", LQR, {}, 10.708252),
        ("quantile", LQR, {"q": 0.75}, 28.0),
        ("lower", LQR, {}, 22 - 4.302653 * 13.114877 / math.sqrt(3)),
        ("upper", LQR, {"by": "normal"}, 22 + 1.959964 * 13.114877 / math.sqrt(3)),
        ("mean", PID, {}, 21.0),
        ("difference", [{"take": "mean", "of": LQR}, {"take": "mean", "of": PID}], {}, 1.0),
        ("ratio", [{"take": "mean", "of": LQR}, {"take": "mean", "of": PID}], {}, 22 / 21),
        (
            "change",
            [{"take": "mean", "of": LQR}, {"take": "mean", "of": PID}],
            {"then": "times 100"},
            100 / 21,
        ),
        (
            "ratio",  # a share
            [
                {"take": "count", "of": place("summary.csv", "level", where={"cost": "> 15"})},
                {"take": "count", "of": place("summary.csv", "level")},
            ],
            {},
            0.5,
        ),
        ("mean", place("summary.csv", "ok"), {}, 5 / 6),
        ("value", place("stdout", line=6, number=2), {"then": ["log10"]}, math.log10(2)),
        ("value", place("stdout", line=6), {"then": ["negated", "exp"]}, math.exp(-1)),
        ("mean", [place("stdout", line=6), place("stdout", line=7)], {}, 2.0),
        (
            "mean",  # pair by pair
            {"take": "difference", "of": [place("stdout", line=6, to=7, number=2)] * 2},
            {},
            0.0,
        ),
    ],
)
def test_what_is_taken_of_numbers(take: str, of: Any, more: dict[str, Any], value: float) -> None:
    assert derived(take, of, **more).value == pytest.approx(value, rel=1e-6)


@pytest.mark.parametrize(
    ("of", "numbers"),
    [
        (place("pandas.txt", "cost", where={"method": "lqr"}), [10.0, 20.0]),
        (place("pandas.txt", "cost", where={"": "2"}), [11.0]),
        (place("rich.log", "Cost", where={"Method": "LQR"}), [1.5]),
        (place("rich.log", "Cost", where={"": "PID"}, number=2), [0.2]),
        (place("table.md", "Cost", where={"Method": "lqr"}), [1.5]),
        (place("table.tex", "Cost", where={"Method": ["LQR", "PID"]}), [1.5, 2.5]),
        (place("runs.json", "runs.*.m.acc"), [0.5, 0.6, 0.7]),
        (place("runs.json", "runs.*.m.acc", where={"seed": ">= 1"}), [0.6, 0.7]),
        (place("runs.json", "runs.1.m.acc"), [0.6]),
        (place("by_name.json", "*.cost", where={"*": "pid"}), [2.5]),
        (place("columns.json", "t.cost", where={"method": "pid"}), [2.5]),
        (place("records.json", "cost", where={"method": "pid"}), [2.5]),
        (place("log.jsonl", "loss", where={"step": 2}), [1.0]),
        (place("out/seed-*/m.json", "acc"), [0.5, 0.7]),
        (place("excel.csv", "cost", where={"method": "pid"}), [2.5]),
        (place("tabs.csv", "cost", where={"method": "lqr"}), [1.5]),
        (place("seeds.log", "acc"), [0.8, 0.9, 1.0]),
        (place("seeds.log", "acc", where={"seed": "1"}), [0.9]),
        (place("stdout", "accuracy", where={"method": "lqr"}), [0.91, 0.93]),
        (place("stdout", "accuracy", where={"seed": "0"}), [0.91, 0.81]),
        (place("stdout", "accuracy", where={"": "pid"}), [0.81]),
        (place("stdout", r"/accuracy: (\S+)/"), [0.91, 0.93, 0.81]),
        (place("stdout", line=5, to=7, number=1), [1.0, 3.0]),
    ],
)
def test_a_place_in_every_form_of_output(of: Any, numbers: list[float]) -> None:
    made = Derivation.model_validate({"take": "sum", "of": of})
    assert derive(made, Outputs.of(OUTPUTS)).value == pytest.approx(sum(numbers))
    count = Derivation.model_validate({"take": "count", "of": of})
    assert derive(count, Outputs.of(OUTPUTS)).value == len(numbers)


@pytest.mark.parametrize(
    ("of", "more", "says"),
    [
        (place("summry.csv", "cost"), {}, "summry.csv is none of the outputs"),
        (
            place("summary.csv", "costs"),
            {},
            "no column 'costs': its columns are method, level, cost",
        ),
        (place("summary.csv", "cost", where={"method": "mpc"}), {}, "'mpc': it's lqr, LQR, pid"),
        (place("summary.csv", "cost", where={"methd": "lqr"}), {}, "no column 'methd'"),
        (place("summary.csv", "cost", where={"method": "lqr", "level": "9"}), {}, "level '9'"),
        (LQR, {}, "it is 3 numbers (10, 20, 36): say what is taken"),
        (place("summary.csv", "method"), {"take": "mean"}, "holds 'lqr', which has 0 numbers"),
        (place("runs.json", "runs.*.m.f1"), {"take": "mean"}, "no 'runs.*.m.f1' there"),
        (place("runs.json", "runs.0.n.acc"), {}, "the keys are seed, m"),
        (place("runs.json", "name"), {}, "has 0 numbers"),
        (place("out/*/n.json", "acc"), {}, "no output fits out/*/n.json"),
        (place("stdout", line=1, number=9), {}, "line 1 of stdout has 2 numbers"),
        (place("stdout", line=99), {}, "no line 99"),
        (place("stdout", "precision"), {}, "no number after 'precision'"),
        (place("stdout", "accuracy", where={"method": "mpc"}), {}, "no line of stdout says"),
        (LQR, {"take": "std", "of": place("stdout", line=6)}, "too few for a std"),
        (LQR, {"take": "ratio", "of": [LQR, PID]}, "a ratio needs as many, or one"),
        (place("stdout", line=6), {"unit": "ms"}, "names no unit 'ms'"),
        (place("stdout", line=6), {"then": ["negated", "log"]}, "which has no log"),
    ],
)
def test_what_names_nothing_is_refused_with_what_is_there(
    of: Any, more: dict[str, Any], says: str
) -> None:
    with pytest.raises(CommandError) as error:
        derive(Derivation.model_validate({"of": of, **more}), Outputs.of(OUTPUTS))
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('x={"take": "average", "of": {"file": "a.csv", "key": "b"}}', "take: Input should be"),
        ('x={"take": "ratio", "of": {"file": "a.csv", "key": "b"}}', "a ratio is of two"),
        ('x={"of": {"file": "../a.csv", "key": "b"}}', "leads out of the run's folder"),
        ('x={"of": {"file": "a.csv"}}', "name a key or a line of a.csv"),
        ('x={"of": 0.93}', "of"),
        ('x={"take": "quantile", "of": {"file": "a.csv", "key": "b"}}', "a quantile needs q"),
    ],
)
def test_a_derivation_that_is_none_is_a_usage_error(text: str, says: str) -> None:
    with pytest.raises(UsageError) as error:
        parse_metric_source(text)
    assert says in error.value.what


@pytest.mark.parametrize(
    ("take", "of", "words"),
    [
        ("mean", LQR, "mean of cost in 3 rows of summary.csv where method = lqr"),
        ("value", place("runs.json", "runs.1.m.acc"), "runs.1.m.acc in runs.json"),
        (
            "mean",
            place("out/seed-*/m.json", "acc"),
            "mean of acc in 2 rows of 2 files out/seed-*/m.json",
        ),
        (
            "change",
            [{"take": "mean", "of": LQR}, {"take": "mean", "of": PID}],
            "relative change from mean of cost in 2 rows of summary.csv where method = pid to "
            "mean of cost in 3 rows of summary.csv where method = lqr",
        ),
    ],
)
def test_it_says_in_words_what_it_did(take: str, of: Any, words: str) -> None:
    assert derived(take, of).words == words


def test_another_run_prints_the_line_elsewhere(tmp_path: Path) -> None:
    """By the line's number alone another line's number was read, without a word."""
    at = place("stdout", line=1, number=1, text="mean error 0.25 over 3 runs")
    text = f"x={json.dumps({'of': at})}"
    moved = "warning: 8 cores\nmean error 0.31 over 3 runs\n"
    assert metrics_from([text], tmp_path, moved, "x").metrics == {"x": 0.31}
    with pytest.raises(CommandError, match="line 1 of stdout reads 'something else'"):
        metrics_from([text], tmp_path, "something else\n", "x")


def test_runs_that_are_named_as_such_are_kept(tmp_path: Path) -> None:
    for seed, acc in enumerate((0.5, 0.7)):
        (tmp_path / f"m{seed}.json").write_text(json.dumps({"acc": acc}))
    (tmp_path / "m9.json").write_text(json.dumps({"acc": 0.9}))  # from before the run
    text = json.dumps({"take": "mean", "of": place("m*.json", "acc"), "runs": True})
    found = metrics_from([f"x={text}"], tmp_path, "", "x", unwritten=["m9.json"])
    assert found.metrics == {"x": pytest.approx(0.6)} and found.runs == {"x": [0.5, 0.7]}


def test_of_a_program_that_failed_a_last_line_without_an_end_counts_nowhere(tmp_path: Path) -> None:
    (tmp_path / "s.csv").write_text("a,b\n1,2\n1,3")
    text = json.dumps({"take": "mean", "of": place("s.csv", "b")})
    with pytest.raises(CommandError, match="half written"):
        metrics_from([f"x={text}"], tmp_path, "", "x", whole=False)


def test_a_notebook_that_ran_is_read_by_its_cells_outputs(tmp_path: Path) -> None:
    cells = [
        {"outputs": [{"output_type": "stream", "text": ["acc 0.5\n", "f1 0.25\n"]}]},
        {"outputs": [{"data": {"text/plain": "  m  acc\n0 a  0.5\n1 b  0.7"}}]},
        {"outputs": [{"output_type": "error", "ename": "NameError", "evalue": "x"}]},
        {"source": "no outputs"},
    ]
    (tmp_path / "run.ipynb").write_text(json.dumps({"cells": cells}))
    text = json.dumps({"of": place("run.ipynb", "acc", where={"m": "b"})})
    assert metrics_from([f"x={text}"], tmp_path, "", "x").metrics == {"x": 0.7}

"""The whole tree of a program from outside goes into the sandbox, or is named with the reason."""

import os
from pathlib import Path

import pytest
from sandbox_fixtures import settings_for
from trial_results import verdict_of

from autoreproduce.errors import CommandError, UsageError
from autoreproduce.evaluation import submission as carrying
from autoreproduce.evaluation.submission import carried_files, lay_carried
from autoreproduce.runner.api import score
from autoreproduce.trials.derivation import metrics_from
from autoreproduce.trials.journal_reader import read_journal
from autoreproduce.trials.result import read_result
from autoreproduce.trials.steps import ExecutionResult

TABLE = """method     rmse   coverage
lin-reg    1.25   90.5%
ours (k=3) 0.75   -1.5e-3
"""


def make(folder: Path, **files: str) -> Path:
    for name, text in files.items():
        path = folder / name.replace("__", "/").replace("_dot_", ".")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return folder


def test_data_and_notebooks_are_carried_and_the_rest_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make(
        tmp_path / "p",
        main_dot_py="x",
        data__a_dot_csv="1",
        b_dot_ipynb="{}",
        metrics_dot_json="{}",
        w_dot_pt="0" * 50,
        _dot_gitmodules="[submodule]\n\tpath = third/party\n",
        big_dot_npz=f"{carrying.LFS}v1\noid sha256:{'0' * 64}\nsize 2000000000\n",
    )
    (root / "link").symlink_to("main.py")
    monkeypatch.setattr(carrying, "LARGEST_FILE", 49)
    found = carried_files(root, [], [])
    assert found.names == (".gitmodules", "b.ipynb", "data/a.csv", "main.py")
    assert found.left_out == {
        "third/party": "a submodule: fetch it and name the folder",
        "link": "a link",
        "big.npz": "kept by Git LFS, and not fetched: run git lfs pull and name the folder",
        "metrics.json": "the result of an earlier run",
        "w.pt": "0 MB; --carry w.pt takes it",
    }
    named = carried_files(root, [], ["*.pt"])
    assert "w.pt" in named.names and named.digest != found.digest
    with pytest.raises(UsageError, match="--carry nothing"):
        carried_files(root, [], ["nothing.bin"])


def test_a_copy_keeps_contents_and_rights(tmp_path: Path) -> None:
    root = make(tmp_path / "p", run_dot_sh="echo", data__a_dot_bin="\0\1")
    (root / "run.sh").chmod(0o755)
    carried_files(root, [], []).copy_to(tmp_path / "t")
    lay_carried(tmp_path / "t", tmp_path / "w")
    assert (tmp_path / "w" / "data" / "a.bin").read_text() == "\0\1"
    assert os.access(tmp_path / "w" / "run.sh", os.X_OK)


@pytest.mark.parametrize(
    ("place", "value"),
    [
        ("#2.1", 1.25),
        ("#2.2", 90.5),
        ("#3.1", 3.0),
        ("#3.3", -1.5e-3),
        (r"/^lin-reg +(\S+)/", 1.25),
    ],
)
def test_a_number_is_found_on_its_line(tmp_path: Path, place: str, value: float) -> None:
    (tmp_path / "t.csv").write_text(TABLE)
    for file in ("stdout", "t.csv"):
        found = metrics_from([f"{file}:{place}"], tmp_path, TABLE, "m")
        assert found.metrics == {"m": value}


def test_a_missing_number_leaves_the_others(tmp_path: Path) -> None:
    places = ["stdout:#2.1", "a=stdout:#9.1", "b=stdout:#2.2"]
    assert metrics_from(places, tmp_path, TABLE, "m").metrics == {"m": 1.25, "b": 90.5}
    with pytest.raises(CommandError, match="line 1 of stdout has 0 numbers"):
        metrics_from(["stdout:#1.1", "b=stdout:#2.2"], tmp_path, TABLE, "m")


PROGRAM = """
import csv, json, sys
numbers = [float(row[0]) for row in csv.reader(open("data/points.csv"))]
json.load(open("notes.ipynb"))
print(f"mean {sum(numbers) / len(numbers):.4f} seed {sys.argv[1]}")
print("largest", max(numbers) * 1.0001)
"""


@pytest.mark.slow
def test_a_program_with_its_data_is_run_and_judged(tmp_path: Path) -> None:
    root = make(
        tmp_path / "p", main_dot_py=PROGRAM, data__points_dot_csv="1.5\n2.25\n8.125\n",
        notes_dot_ipynb='{"cells": []}',
    )  # fmt: skip
    (tmp_path / "paper.md").write_text("# A paper\n")
    [done] = score(
        root,
        task="Points",
        paper=tmp_path / "paper.md",
        run="python main.py {seed}",
        claims=["mean = 3.9583", "largest = 8.1258"],
        metric_from=["stdout:mean", "largest=stdout:largest"],
        levels=["execution"],
        settings=settings_for("process", runs_dir=tmp_path / "runs", seeds=2),
    )
    found, ended = verdict_of(done.path), read_result(done.path)
    assert found and ended and ended.sentence.startswith("Reproduced: all 2 numbers")
    assert [one.verdict.values for one in found.claims] == [
        (3.9583,),
        (8.1258125,),
    ]  # it has no seed
    steps = read_journal(done.path / "steps.jsonl")
    ran = [step.result.command for step in steps if isinstance(step.result, ExecutionResult)]
    assert ran == ["python main.py 0", "python main.py 1"]

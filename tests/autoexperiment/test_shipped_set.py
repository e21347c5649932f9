"""The set that ships: every task proven, the known demonstration reproduced, the tape replayed."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autoreproduce.autoexperiment.compare import Tolerance, compare
from autoreproduce.autoexperiment.outcome import Place, judge
from autoreproduce.autoexperiment.taskset import read_proofs
from autoreproduce.benchmarks.autoexperiment import load_task, masked_task, open_set, shipped, task_names
from autoreproduce.config import Settings
from autoreproduce.runner.attempt import Request, attempt
from autoreproduce.solvers.masked import put_in


def test_six_papers_and_every_task_is_proven():
    found = open_set()
    assert len(found.papers) >= 6 and set(found.splits.values()) == {"dev", "test"}
    names = [name for n in range(4) for name in task_names(n=[n])]
    proofs = read_proofs(shipped())
    assert len(names) == 44 and all(proofs[name].proven for name in names)


def test_the_gold_is_nowhere_in_what_a_solver_sees():
    for paper in open_set().papers.values():
        golds = [
            str(value) for each in paper.experiments for value in _numbers(each.result) if abs(value) not in (0, 1)
        ]
        texts = [path.read_text() for path in paper.code.rglob("*.py")] + [paper.text]
        assert golds and not [gold for gold in golds for text in texts if len(gold) > 5 and gold in text]


def _numbers(value):
    if isinstance(value, dict):
        return [number for each in value.values() for number in _numbers(each)]
    if isinstance(value, list):
        return [number for each in value for number in _numbers(each)]
    return [value]


STEP = "def step_size(base_rate, average, eps):\n    return base_rate / (average ** 0.5 + eps)\n"
SQUARED = "def moving_average(previous, gradient, beta=0.9):\n    return beta * previous + (1 - beta) * gradient ** 2\n"
FORGOTTEN = "def moving_average(previous, gradient, beta=0.9):\n    return beta * previous + (1 - beta) * gradient\n"


@pytest.fixture
def adaptive(tmp_path):
    """The code of the adaptive rate with some functions replaced; what a command prints."""
    paper = open_set().papers["adaptive-rate"]

    def run(which, **functions):
        folder = tmp_path / which
        shutil.copytree(paper.code, folder)
        for name, code in functions.items():
            put_in(folder, "optimiser.py", name, code)
        done = subprocess.run(
            [sys.executable, "main.py", which], cwd=folder, capture_output=True, text=True, check=True
        )
        return json.loads(done.stdout)["step sizes"]

    return run


def passing(found, wanted):
    leaves = compare({"x": wanted}, {"x": found}, Tolerance(relative=0.05)).leaves
    return sum(leaf.passed for leaf in leaves)


def test_one_function_alone_passes_four_of_four(adaptive):
    assert passing(adaptive("single", step_size=STEP), [0.02, 0.0999999, 0.05, 999.000999]) == 4


def test_with_the_average_masked_too_a_forgotten_square_passes_one_of_five(adaptive):
    right = [0.063246, 0.056344, 0.032906, 0.034480, 0.029920]
    assert passing(adaptive("path", step_size=STEP, moving_average=SQUARED), right) == 5


def test_the_forgotten_square(adaptive):
    wrong = adaptive("path", step_size=STEP, moving_average=FORGOTTEN)
    assert wrong == pytest.approx([0.044721, 0.081650, 0.032703, 0.036724, 0.028090], abs=1e-6)
    assert passing(wrong, [0.063246, 0.056344, 0.032906, 0.034480, 0.029920]) == 1


def test_the_harness_tells_the_forgotten_square(tmp_path):
    task = masked_task(shipped(), "adaptive-rate_0,1")
    shutil.copytree(task.paper.code, tmp_path / "s")
    place = Place(Settings(sandbox="process"), tmp_path / "packages")
    assert judge(task, tmp_path / "s", place).strict.passed
    put_in(tmp_path / "s", "optimiser.py", "moving_average", FORGOTTEN)
    found = judge(task, tmp_path / "s", place)
    assert not found.strict.passed and found.kind == "wrong numbers"


def test_the_tape_of_the_demo_is_replayed(tmp_path):
    tape = Path(shipped()) / "tapes" / "adaptive-rate.jsonl"
    settings = Settings(model=f"tape:{tape}", sandbox="process")
    done = attempt(Request(load_task("adaptive-rate_0,1"), settings, solver="agentless", out=tmp_path / "t"))
    assert done.outcome.metric == 1 and not done.outcome.warnings

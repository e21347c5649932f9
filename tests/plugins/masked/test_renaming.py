"""A set without papers and with other names: the same numbers, and what passes there is memory."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from autoreproduce.plugins.masked.dataset import load_dataset
from autoreproduce.plugins.masked.pass_estimates import Attempt
from autoreproduce.plugins.masked.pass_tables import memory_tables
from autoreproduce.plugins.masked.python_source import PythonSource
from autoreproduce.plugins.masked.renaming import new_names, renamed_code, write_renamed
from autoreproduce.plugins.masked.selection import select_tasks
from autoreproduce.plugins.masked.tasks import open_set

CODE = '''\
"""Weighs entries."""
import argparse
import numpy as np
from torch import nn

RATE = 0.5


class Layer(nn.Module):
    def forward(self, inputs):
        return inputs


class Ledger:
    def __init__(self, entries):
        self.entries = entries  # the entries

    def weighed(self, scale, axis=0):
        """The entries by `scale`; RATE of it."""
        total = np.sum(self.entries, axis=axis) * scale
        return f"{total}" if False else total * RATE


def options():
    parser = argparse.ArgumentParser()
    parser.add_argument("--half-life", type=int, default=9)
    return parser.parse_args([])


half_life = options().half_life
print(Ledger([1.0, 2.0]).weighed(scale=half_life))
'''


def printed(code: str) -> str:
    code = code.replace("from torch import nn\n", "import types; nn = types; nn.Module = object\n")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout


def test_own_names_change_and_those_of_others_stay() -> None:
    names = new_names({"ledger.py": PythonSource(CODE.encode())})
    made = renamed_code(CODE, names)
    assert {"Ledger", "scale", "options", "total", "RATE", "parser"} <= set(names)
    assert not {"forward", "axis", "entries", "half_life", "nn", "np", "inputs"} & set(names)
    assert "Ledger" not in made and "`scale`" not in made and "RATE" not in made
    assert printed(made) == printed(CODE)


def test_names_that_texts_may_find_stay() -> None:
    code = 'def settle(rate):\n    return rate\nprint(settle(**{"rate": 1}))\n'
    assert list(new_names({"a.py": PythonSource(code.encode())})) == ["settle"]


@pytest.mark.slow
def test_the_set_again_has_the_same_tasks_and_numbers(tmp_path: Path) -> None:
    ours, out = open_set(), tmp_path / "renamed"
    assert write_renamed(ours, out) > 100
    found = load_dataset(out)
    assert not found.faults.found and list(found.papers) == list(ours.papers)
    for n in (1, 2):
        before, after = select_tasks(ours, [n]), select_tasks(found, [n])
        assert [each.id for each in before] == [each.id for each in after]
        assert [each.gold for each in before] == [each.gold for each in after]
    paper = found.papers["choir-row"]
    assert not paper.text and "chance" not in {row.name for row in paper.functions}
    for name in ("choir-row", "quay-gauge"):
        done = [
            subprocess.run(
                [sys.executable, "main.py"], cwd=each.papers[name].code, capture_output=True
            ).stdout
            for each in (ours, found)
        ]
        assert done[0] == done[1] != b""


def attempt(shown: str, task: str, passed: bool) -> Attempt:
    return Attempt(
        "a", task, "p", 1, passed, passed, {"1": 0.0}, solver="agentless", model="m", shown=shown
    )


@pytest.mark.parametrize(
    ("ways", "row"),
    [
        ({"paper": (1, 1, 1, 0), "renamed": (1, 0, 0, 0)}, ["renamed", 4, "33%"]),
        ({"paper": (1, 1), "no paper": (1, 1, 0, 0)}, ["no paper", 2, "100%"]),
        ({"paper": (0, 0), "renamed": (0, 0)}, ["renamed", 2, "nothing passes"]),
    ],
)
def test_what_memory_explains(ways: dict[str, tuple[int, ...]], row: list[object]) -> None:
    attempts = [
        attempt(shown, f"p_{number}", bool(passed))
        for shown, outcomes in ways.items()
        for number, passed in enumerate(outcomes)
    ]
    (table,) = memory_tables(attempts)
    assert [table.rows[0][3], table.rows[0][4], table.rows[0][-1]] == row


def test_without_both_there_is_no_table() -> None:
    assert memory_tables([attempt("paper", "p_0", True)]) == []

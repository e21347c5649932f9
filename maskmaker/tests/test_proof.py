"""Proofs by faulty bodies: what is told, what is too weak, and what is kept when they stop."""

from __future__ import annotations

import os
import signal
import threading
import time
from dataclasses import replace
from pathlib import Path

import pytest
from hand_made import hand_made, place

from autoreproduce.config import Settings
from autoreproduce.plugins.autoexperiment.python_source import PythonSource
from autoreproduce.plugins.autoexperiment.taskset import MaskProof
from autoreproduce.sandboxes.setup import SandboxSetup
from maskmaker.mutants import mutants_of
from maskmaker.proof import prove
from maskmaker.proving import proofs_text, prove_tasks

FAULTY = """\
def f(x, y=2):
    \"\"\"Its text stays.\"\"\"
    if x < 0 and not y:
        raise ValueError("below 0")
    total = 0.5
    for each in range(x):
        total += min(each, y) ** 2
    return -total
"""


def test_mutants_are_small_faults_that_parse() -> None:
    source = PythonSource(FAULTY.encode())
    found = dict(mutants_of(source.find("f"), 99))
    assert {
        "line 3: And as Or",
        "line 3: Lt as LtE",
        "line 3: condition negated",
        "line 3: without Not",
        "line 5: 0.5 as 1.0",
        "line 6: one round of a loop",
        "line 6: without range",
        "line 7: Add as Sub",
        "line 7: Pow as Mult",
        "line 7: arguments of min swapped",
        "line 7: min as max",
        "line 7: statement left out",
        "line 7: overwritten",
        "line 8: without USub",
    } <= set(found)
    for body in found.values():
        compile(f"def f(x, y):\n    {body.replace(chr(10), chr(10) + '    ')}", "f", "exec")
        assert "below 1" not in body
    assert len(mutants_of(source.find("f"), 5)) == 5
    assert mutants_of(source.find("f"), 5) == mutants_of(source.find("f"), 5)


SUMS = """\
import json

def weight(x):
    return 3.0 * x + 1.0

def hidden(x):
    found = x * 2.0 - 7.0
    return found

def total(n):
    found = hidden(1.0)
    return sum(weight(i) for i in range(n)) + 0 * found

print(json.dumps({"total": total(4)}))
"""


@pytest.mark.slow
def test_each_function_counts_by_itself(tmp_path: Path) -> None:
    task = hand_made(tmp_path, SUMS, "weight", "hidden")
    proof = prove(task, place(task.paper.folder))
    weight, hidden = proof.kills["main.py::weight"], proof.kills["main.py::hidden"]
    assert weight.moved and weight.rate == 1.0 and weight.differ >= 5
    assert not hidden.moved and hidden.tried > 4
    assert proof.reason == "main.py::hidden: no faulty body that came to its numbers missed them"


@pytest.mark.slow
def test_weak_numbers_are_no_matter_where_the_behaviour_tells(tmp_path: Path) -> None:
    source = SUMS.replace("total(4)})", "round(total(4), -1)})")
    proof = prove(hand_made(tmp_path, source, "weight"), place(tmp_path / "p"))
    assert proof.proven and proof.kills["main.py::weight"].rate == 1.0
    assert proofs_text([proof]).endswith("faulty bodies fail (1 functions)")


SLOW = """\
import json, time

def f(x):
    found = x * 2.0 + 1.0
    return found

found = [f(1.0), f(2.0)]
time.sleep(__SECONDS__)
print(json.dumps({"found": found}))
"""


@pytest.mark.slow
def test_an_interrupt_ends_proofs_within_seconds_and_keeps_those_that_are_made(
    tmp_path: Path,
) -> None:
    task = hand_made(tmp_path, SLOW.replace("__SECONDS__", "0"), "f")
    program = task.paper.code / "main.py"
    program.write_text(SLOW.replace("__SECONDS__", "60"))
    quick = replace(task, functions=(), solution="echo Experiment 1\necho '{\"found\": [3, 5]}'\n")
    settings = Settings(sandbox="process", cache_dir=tmp_path / "cache")
    made: dict[str, MaskProof] = {}

    def write(proof: MaskProof) -> None:
        made[proof.combined_id] = proof
        threading.Timer(1.0, os.kill, (os.getpid(), signal.SIGUSR1)).start()

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    sandboxes = SandboxSetup(settings, tmp_path / "packages", trusted=True)
    signal.signal(signal.SIGUSR1, interrupt)
    began = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        prove_tasks([quick, task], lambda _: sandboxes, 1, write=write)
    assert time.monotonic() - began < 10
    assert set(made) == {"p_"} and made["p_"].proven
    marked = made["p_"].model_copy(update={"note": "kept"})
    again = prove_tasks([quick], lambda _: place(tmp_path / "p"), earlier={"p_": marked})
    assert again == [marked]

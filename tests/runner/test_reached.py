"""Runs of changed lines say whether they reach them, and do else what they did."""

import subprocess
import sys

import pytest

from autoreproduce.runner.reached import MARK, with_probe

PROGRAM = """\
from __future__ import annotations
import sys

LIMIT = 3

@staticmethod
def unused(first, second=2):
    \"\"\"Its words.\"\"\"
    return first

def total(values,
          start=0):
    for value in values:
        if value > LIMIT: start += value
        elif value == 2:
            start += 1
        else:
            pass
    return start

print(total([1, 2, 5]))
"""


@pytest.mark.parametrize(
    ("line", "reached"), [(4, True), (7, False), (9, False), (12, True), (14, True), (16, True),
                          (18, True), (19, True), (21, True)]
)  # fmt: skip
def test_a_probe_tells_whether_its_line_is_reached(line: int, reached: bool) -> None:
    ran = subprocess.run(
        [sys.executable, "-c", with_probe(PROGRAM, line)], capture_output=True, text=True
    )
    assert (ran.returncode, ran.stdout) == (0, "6\n")
    assert ran.stderr.count(MARK) == reached


@pytest.mark.parametrize(("text", "line"), [(PROGRAM, 1), (PROGRAM, 99), ("print 1\n", 1)])
def test_what_cant_be_probed_stays_as_it_was(text: str, line: int) -> None:
    assert with_probe(text, line) == text

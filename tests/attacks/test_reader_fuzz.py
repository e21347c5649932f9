"""Whatever the bytes: a reader ends soon, and raises nothing but the project's errors.

A few examples a reader in the fast suite; AUTOREPRODUCE_FUZZ_SECONDS says how long the slow search
goes on.
"""

from __future__ import annotations

import contextlib
import json
import os
import random
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from latex_maker import BIB, FILES, MAIN, gz, tar_gz
from pdf_maker import paper_pdf

from autoreproduce.benchmarks.reproducebench.schema import Points, read_yaml
from autoreproduce.errors import AutoReproduceError
from autoreproduce.evaluation.judging.blind import blind
from autoreproduce.evaluation.judging.program import read_program
from autoreproduce.evaluation.report.texts import markdown
from autoreproduce.evaluation.structure.syntax import read_syntax
from autoreproduce.files.confined import confined
from autoreproduce.method.paper_lineage.cache import load
from autoreproduce.method.paper_lineage.extract import extract, repositories
from autoreproduce.models.tape import read_tape
from autoreproduce.papers.bibliography import from_bib
from autoreproduce.papers.files import read_file
from autoreproduce.plugins.masked.parsing import read_output, read_results_file
from autoreproduce.plugins.masked.rows import Faults, read_csv, read_jsonl, read_value
from autoreproduce.plugins.masked.source import parse
from autoreproduce.plugins.masked.taskset import read_paper_set, read_proofs, read_splits
from autoreproduce.plugins.paperbench.papers import load_paper
from autoreproduce.runner.suite.lines import YamlFile
from autoreproduce.runner.suite.schema import SuiteFile
from autoreproduce.trials.metrics_file import parse_metrics

SECONDS = float(os.environ.get("AUTOREPRODUCE_FUZZ_SECONDS", "60"))
SEED = int(os.environ.get("AUTOREPRODUCE_FUZZ_SEED", "2026"))  # another one searches elsewhere
LONGEST = 5.0  # seconds of one small file
Reader = Callable[[Path], object]

SUITE = "name: a\ntasks: [lsm, {name: bspm, instruction: Be brief}]\nvariants: {a: {}, b: {settings: {k: 5}}}\n"
RUBRIC = {
    "id": "a",
    "requirements": "all",
    "weight": 1,
    "sub_tasks": [
        {"id": "b", "requirements": "part", "weight": 2.5, "task_category": "Code Development"}
    ],
}
METRICS = {
    "metrics": {"x": 1.5},
    "history": [{"epoch": 1, "loss": 0.4}],
    "settings": {"lr": 0.1, "a": [1, None]},
}
NOTEBOOK = {
    "cells": [{"cell_type": "code", "source": ["x = 1\n", "%pip install x"], "outputs": []}]
}
SOURCE = '"""A module."""\nimport torch\n\n\ndef f(a, *b, c=3, **d):  # a comment\n    return f"{a!r:>{c}}" + \'judge\'\n'
TEXT = "# A head\n\nSome *text* and `code`, $x_1$ and [a link](b) to https://github.com/a/b.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n"
OUTPUT = "epoch 1 loss 0.5\n{'loss': np.float64(0.5)}\nTotal loss: tensor(0.25)\n{\"a\": [1, 2]}\n"
CONTENT = Path(__file__).parents[2]
LINES = (CONTENT / "reproducebench/lsm/tapes/small.jsonl").read_bytes().split(b"\n")
TAPE = b"\n".join([LINES[0], min(LINES[1:], key=lambda line: (not line, len(line)))])
ENTRY = next((CONTENT / "lineage_cache").glob("*/entry.yaml")).read_bytes()
POINTS = (CONTENT / "reproducebench/lsm/points.yaml").read_bytes()


def notebook(path: Path) -> object:
    return blind(read_program(str(path)))


def sources(path: Path) -> object:
    text = path.read_bytes().decode("utf-8", "replace")
    parse_error = contextlib.suppress(AutoReproduceError)
    with parse_error:
        parse(text, "a.py")
    return read_syntax({"a.py": text}), notebook(path)


def numbers(path: Path) -> object:
    text = path.read_bytes().decode("utf-8", "replace")
    with contextlib.suppress(ValueError):
        read_value(text)
    return (
        read_results_file(path.read_bytes()),
        read_output(text),
        read_output(text, {"loss": 1.0, "a": [1]}),
    )


def rows(path: Path) -> object:
    faults = Faults()
    return read_jsonl(path, faults), read_csv(path, faults)


def texts(path: Path) -> object:
    text = path.read_bytes().decode("utf-8", "replace")
    return markdown(text), extract(text), repositories(text), read_file(path, path.parent / "out")


def sets(path: Path) -> object:
    for name in ("splits.json", "taskset.json", "proofs.jsonl"):
        (path.parent / name).write_bytes(path.read_bytes())
    for read in (lambda: read_splits(path.parent, ["a"]), lambda: read_paper_set(path.parent)):
        with contextlib.suppress(AutoReproduceError):
            read()
    return read_proofs(path.parent)


def paperbench(path: Path) -> object:
    (path.parent / "config.yaml").write_bytes(path.read_bytes())
    return load_paper(path)


def entry(path: Path) -> object:
    (path.parent / "x").mkdir(exist_ok=True)
    (path.parent / "x" / "entry.yaml").write_bytes(path.read_bytes())
    return load([path.parent])


def paper(path: Path) -> object:
    return read_file(path, path.parent / "out")


READERS: dict[str, tuple[Reader, bytes]] = {
    "a.pdf": (paper, paper_pdf(1)),
    "a.tar.gz": (paper, tar_gz(FILES)),
    "b.gz": (paper, gz(MAIN.encode())),
    "a.tex": (paper, MAIN.encode()),
    "a.bib": (lambda path: from_bib([path], []), BIB.encode()),
    "a.md": (texts, TEXT.encode()),
    "a.ipynb": (notebook, json.dumps(NOTEBOOK).encode()),
    "a.py": (sources, SOURCE.encode()),
    "suite.yaml": (lambda path: YamlFile(path).read(SuiteFile), SUITE.encode()),
    "points.yaml": (lambda path: read_yaml(path, Points), POINTS),
    "entry.yaml": (entry, ENTRY),
    "rubric.json": (paperbench, json.dumps(RUBRIC).encode()),
    "metrics.json": (
        lambda path: parse_metrics(path.read_bytes().decode("utf-8", "replace")),
        json.dumps(METRICS).encode(),
    ),
    "output.txt": (numbers, OUTPUT.encode()),
    "rows.jsonl": (rows, b'{"func_id": 1, "a": "b"}\n{"c": [1, 2]}\n'),
    "set.json": (sets, b'{"a": "dev", "seeds": [0], "patterns": {"x": "y"}}'),
    "tape.jsonl": (read_tape, TAPE),
}
# what readers of text stumble over: half characters, odd numbers and dates, aliases, what nests and
# what repeats
PIECES = [
    b"",
    b"\0",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\\ud800",
    b"\xe2\x80\xa8",
    b"NaN",
    b"1e999",
    b"-1e308",
    b"9" * 400,
    b"9" * 5000,
    b"2024-99-99",
    b"!!python/object:os.system x",
    b"&a [*a]",
    b"<<: *a",
    b"? ",
    b"- " * 30,
    b"[" * 300,
    b"{" * 300,
    b"(" * 90,
    b"![" * 300,
    b"- - - ",
    b"\t",
    b"\r",
    b"\x0c",
    b"\\begin{a}",
    b"\\input{a}",
    b"\\def\\a{\\a\\a}",
    b"$$",
    b"%",
    b"&",
    b"@a{",
    b"}}",
    b"null",
    b"true",
    b"[]",
    b"{}",
    b'""',
    b"1:1:1:1.5",
    b"0x_",
    b"lambda: " * 50,
    b"-" * 400,
    b"f'{",
    b"/Length 99999999",
    b"/Kids [2 0 R]",
]
CHANGES = st.lists(
    st.tuples(
        st.integers(0, 10**5), st.integers(0, 30), st.sampled_from(PIECES) | st.binary(max_size=8)
    ),
    min_size=1,
    max_size=5,
)


def mutated(data: bytes, changes: list[tuple[int, int, bytes]]) -> bytes:
    for place, length, piece in changes:
        begin = place % (len(data) + 1)
        data = data[:begin] + piece + data[begin + length :]
    return data


def attempt(name: str, data: bytes) -> None:
    """Read `data` as the file `name`: within the time, and with no error but ours."""
    began = time.process_time()
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(AutoReproduceError):
        file = Path(folder) / name
        file.write_bytes(data)
        READERS[name][0](file)
    assert time.process_time() - began < LONGEST, (name, data)


@pytest.mark.slow
@pytest.mark.parametrize("name", READERS)
@settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))
@given(changes=CHANGES, raw=st.none() | st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(
    name: str, changes: list[tuple[int, int, bytes]], raw: bytes | None
) -> None:
    attempt(name, mutated(READERS[name][1], changes) if raw is None else raw)


def search(name: str, seconds: float, seed: int) -> int:
    """Mutations of one file until the time is over; how many."""
    chance, ends, count = random.Random(seed), time.monotonic() + seconds, 0
    while time.monotonic() < ends:
        pieces = [
            chance.choice([*PIECES, chance.randbytes(4)]) for _ in range(chance.randrange(1, 8))
        ]
        changes = [(chance.randrange(10**5), chance.randrange(30), piece) for piece in pieces]
        attempt(name, mutated(READERS[name][1], changes))
        count += 1
    return count


@pytest.mark.slow
@pytest.mark.timeout(120 + 3 * int(SECONDS))
@pytest.mark.parametrize("name", READERS)
def test_a_long_search_finds_nothing(name: str) -> None:
    share = max(1.0, SECONDS / len(READERS))
    found = confined(search, name, share, SEED, what=name, seconds=share + 60, memory_gb=4.0)
    assert found > 0

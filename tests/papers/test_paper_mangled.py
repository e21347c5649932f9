"""Whatever the bytes: a paper, or a PaperError; nothing else, and no crash of the libraries
below.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest
from fuzzing import mutated
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from latex_maker import BBL, BIB, EXPERIMENTS, FILES, MAIN, METHOD, gz, tar_gz
from pdf_maker import paper_pdf

from autoreproduce.errors import PaperError
from autoreproduce.papers.bibliography import from_bib, from_bibitems
from autoreproduce.papers.files import read_file
from autoreproduce.papers.mineru import take_pictures
from autoreproduce.papers.references import parse_references
from autoreproduce.papers.sections import body_of

WHOLE = {
    "p.pdf": paper_pdf(2),
    "p.tar.gz": tar_gz(FILES),
    "q.tar.gz": gz(MAIN.encode()),
    "p.tex": (MAIN.replace(r"\input{sections/method}", METHOD) + EXPERIMENTS).encode(),
    "p.md": b"# T\n\n![](data:image/png;base64,iVBORw0KGgo=)\n\n# References\n\n" + BBL.encode(),
}
CHANGE = st.tuples(st.integers(0, 10**6), st.integers(0, 40), st.binary(max_size=12))
few = settings(max_examples=25, deadline=None, suppress_health_check=list(HealthCheck))


def attempt(name: str, data: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder, contextlib.suppress(PaperError):
        file = Path(folder) / name
        file.write_bytes(data)
        parts = read_file(file, Path(folder) / "out")
        assert isinstance(body_of(parts.text), str)


@pytest.mark.slow
@pytest.mark.parametrize("name", WHOLE)
@few
@given(changes=st.lists(CHANGE, min_size=1, max_size=6))
def test_mangled_papers(name, changes):
    attempt(name, mutated(WHOLE[name], changes))


@pytest.mark.parametrize("name", WHOLE)
@few
@given(data=st.binary(max_size=300))
def test_bytes_that_are_no_paper(name, data):
    attempt(name, data)


@pytest.mark.slow
@few
@given(text=st.text(max_size=400))
def test_any_text(text):
    assert all(
        one.text for one in parse_references(text) + parse_references(f"# References\n\n[1] {text}")
    )
    assert isinstance(body_of(text), str)
    take_pictures(f"![]({text})", Path("/nonexistent"))


@few
@given(changes=st.lists(CHANGE, min_size=1, max_size=6))
def test_mangled_bibliographies(changes):
    """What can still be read is a list of references whose texts are text."""
    found = from_bibitems(mutated(BBL.encode(), changes).decode("latin-1"))
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "x.bib"
        file.write_bytes(mutated(BIB.encode(), changes))
        cited = from_bib([file], ["cao2021", "li2020"])
    assert len(cited) <= 2
    assert all(isinstance(one.text, str) for one in [*found, *cited])


@pytest.mark.parametrize(
    "text",
    [
        "{" * 3000,
        "\\begin{a}" * 2000,
        "$" * 5001,
        "\\newcommand{\\x}[9]{#9\\x}" + "\\x" * 3000,
        "[" * 4000,
    ],
)
def test_pathological_latex(text):
    attempt("p.tex", (r"\documentclass{article}\begin{document}" + text).encode())


@pytest.mark.parametrize(
    "text",
    [
        "a, " * 20_000,
        "A. " * 20_000,
        "[1] " * 10_000,
        "Aa, B. " * 10_000,
        "van " * 20_000,
        "Aa " * 20_000,
    ],
)
def test_lists_that_take_no_time(text):
    """No regular expression here runs away on what repeats."""
    import time

    began = time.monotonic()
    parse_references("# References\n\n" + text + " 2019.")
    assert time.monotonic() - began < 5


MANY = """
import random, sys
from fuzzing import mutated
from test_paper_mangled import WHOLE, attempt
chance = random.Random(int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    changes = [(chance.randrange(10**6), chance.randrange(40), chance.randbytes(chance.randrange(12))) for _ in range(chance.randrange(1, 8))]
    attempt("p.pdf", mutated(WHOLE["p.pdf"], changes))
print("whole")
"""


@pytest.mark.slow
def test_three_hundred_mangled_pdfs_do_not_crash_pdfium():
    here = str(Path(__file__).parent)
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([here, *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", MANY, "7", "300"],
        env=environment,
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert done.stdout.strip() == "whole", done.stderr[-2000:]

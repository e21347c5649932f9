"""Files made to take all memory or time: each ends within its limits, in one of the project's
errors or well.
"""

from __future__ import annotations

import contextlib
import json
import time
import zipfile
from pathlib import Path

import hostile_files as hostile
import pytest
import yaml

from autoreproduce.errors import (
    AutoReproduceError,
    PaperError,
    ReaderCrashError,
    ReaderError,
    ReaderMemoryError,
    ReaderTimeError,
)
from autoreproduce.evaluation.judging.blind import blind
from autoreproduce.evaluation.judging.submitted_code import Sources, read_program
from autoreproduce.evaluation.report.texts import markdown
from autoreproduce.files.bounded import parse_json, parse_python, parse_yaml
from autoreproduce.files.confined import confined
from autoreproduce.papers import Paper
from autoreproduce.papers.files import read_file
from autoreproduce.trials.metrics_file import parse_metrics

SLOW = [pytest.param(made, marks=pytest.mark.slow) for made in ("many_words", "forms")]
GB = 0.6  # enough for every reader, and soon used up


def peak_children() -> int:
    """The most memory (bytes) that a process started from here has used."""
    import resource

    return resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024


def read(place: Path, name: str, data: bytes | str) -> Paper:
    file = place / name
    file.write_bytes(data if isinstance(data, bytes) else data.encode())
    return confined(read_file, file, place / "out", what=name, seconds=20, memory_gb=GB)


@pytest.mark.slow
@pytest.mark.parametrize("made", ["content_bomb", "nested_bomb", "object_stream_bomb", *SLOW])
def test_a_pdf_that_takes_gigabytes_is_an_error(tmp_path: Path, made: str) -> None:
    with pytest.raises((ReaderMemoryError, ReaderCrashError, ReaderTimeError), match=r"x\.pdf"):
        read(tmp_path, "x.pdf", getattr(hostile, made)())
    assert peak_children() < 2.2 * 2**30


@pytest.mark.slow
@pytest.mark.parametrize(
    "made", ["huge_page", pytest.param("huge_picture", marks=pytest.mark.slow)]
)
def test_a_picture_or_page_without_end_is_read_or_refused(tmp_path: Path, made: str) -> None:
    try:
        assert "Figure 1" in read(tmp_path, "x.pdf", getattr(hostile, made)()).text
    except ReaderError as error:
        assert "x.pdf" in str(error)


@pytest.mark.slow
def test_pages_that_hold_themselves_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(PaperError, match="damaged"):
        read(tmp_path, "x.pdf", hostile.page_loop())


@pytest.mark.slow
def test_macros_that_double_end(tmp_path: Path) -> None:
    assert "words" in read(tmp_path, "x.tex", hostile.doubling_latex()).text


@pytest.mark.slow
def test_files_that_include_each_other_end(tmp_path: Path) -> None:
    for name, other in (("x", "y"), ("y", "x")):
        (tmp_path / f"{name}.tex").write_text(rf"\input{{{other}}}" * 3 + "words " * 500)
    assert (
        "words"
        in read(tmp_path, "z.tex", r"\begin{document}\input{x}\input{y}" + "words " * 500).text
    )


@pytest.mark.slow
@pytest.mark.parametrize(("made", "name"), [("gzip_bomb", "x.gz"), ("header_bomb", "x.tar.gz")])
def test_an_archive_that_unpacks_to_gigabytes_is_an_error(
    tmp_path: Path, made: str, name: str
) -> None:
    with pytest.raises((PaperError, ReaderMemoryError), match=name):
        read(tmp_path, name, getattr(hostile, made)())


@pytest.mark.slow
@pytest.mark.parametrize("text", ["![" * 50_000, "<img " * 20_000, "# " + "# " * 50_000 + "x"])
def test_markdown_that_repeats_takes_no_time(tmp_path: Path, text: str) -> None:
    began = time.process_time()
    assert read(tmp_path, "x.md", "# A title\n\n" + text).title == "A title"
    assert len(markdown(text)) < 1_000_000
    assert time.process_time() - began < 20


@pytest.mark.slow
def test_a_program_in_an_archive_that_unpacks_to_gigabytes_is_an_error(tmp_path: Path) -> None:
    for name, data in (("x.zip", hostile.zip_bomb()), ("x.tar.gz", hostile.header_bomb())):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(AutoReproduceError, match=name):
            read_program(str(tmp_path / name))


@pytest.mark.slow
def test_a_notebook_of_200_mb_is_left_unread(tmp_path: Path) -> None:
    cell = {"cell_type": "code", "source": ["x = 1\n"], "outputs": [{"text": "a" * 200_000_000}]}
    (tmp_path / "a.ipynb").write_text(json.dumps({"cells": [cell]}))
    (tmp_path / "b.ipynb").write_text('{"cells": [' + "[]," * 5_000_000 + "[]]}")
    (tmp_path / "c.ipynb").write_text('{"cells": ' + "[" * 100_000)
    program = read_program(str(tmp_path))
    assert program.files == {} and set(program.unread) == {"a.ipynb", "b.ipynb", "c.ipynb"}


LAUGHS = "a: &a [x]\n" + "".join(
    f"{b}: &{b} [{', '.join([f'*{a}'] * 10)}]\n"
    for a, b in zip("abcdefgh", "bcdefghi", strict=True)
)


def test_yaml_of_a_billion_laughs_is_refused() -> None:
    with pytest.raises(yaml.YAMLError, match="alias"):
        parse_yaml(LAUGHS)


@pytest.mark.parametrize(
    "text",
    [
        "[" * 100_000,
        "a: " + "1" * 100_000,
        "a: 1" + ":1" * 50_000 + ".0",
        "- " * 60_000,
        "x" * 10**6,
        "a: 0x" + "f" * 10**5,
    ],
)
def test_yaml_without_end_is_an_error_or_a_value(text: str) -> None:
    began = time.process_time()
    with contextlib.suppress(ValueError, yaml.YAMLError):
        parse_yaml(text)
    assert time.process_time() - began < 15


DEEP, LONG, MANY = "[" * 100_000, "1" * 100_000_000, "[" + "[]," * 9_000_000 + "[]]"


@pytest.mark.parametrize(
    "text", [DEEP, LONG, MANY, "[" * 200 + "]" * 200, '{"a":' + "9" * 400 + "}", "1e999"]
)
def test_json_without_end_is_an_error_at_once(text: str) -> None:
    began = time.process_time()
    with pytest.raises(ValueError):
        parse_json(text, finite=True)
    with pytest.raises(AutoReproduceError):
        parse_metrics(text)
    assert time.process_time() - began < 15


SOURCES = {
    "minus": "-" * 10**5 + "1",
    "plus": "+".join(["1"] * 3000),
    "calls": "f" + "()" * 10**4,
    "nots": "not " * 10**5 + "1",
    "brackets": "(" * 10**5,
    "large": "1," * 300_000,
    "elif": "if 1: pass\n" + "elif 1: pass\n" * 3000,
    "attributes": "a" + ".b" * 2900,
    "number": "x = " + "9" * 10**5,
    "f-strings": 'f"{' * 1000,
    "nul": "a\0b",
    "surrogate": "'\ud800'",
}


@pytest.mark.parametrize("name", SOURCES)
def test_source_of_any_depth_is_an_error(name: str) -> None:
    with pytest.raises(SyntaxError):
        parse_python(SOURCES[name])
    assert blind(Sources({"a.py": SOURCES[name]}))


def claims(shape: str, descr: str = "'<f8'") -> bytes:
    header = f"{{'descr': {descr}, 'fortran_order': False, 'shape': {shape}, }}\n".encode()
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [claims("(1000000000000,)"), claims("(1,)", "'|O'") + b"cos\nsystem\n(S'touch owned'\ntR."],
)
def test_arrays_that_claim_much_or_hold_objects_are_reasons(tmp_path: Path, content: bytes) -> None:
    from autoreproduce.benchmarks.reproducebench.recomputing import measured_by

    (tmp_path / "metric.py").write_text(
        "import numpy\ndef metric(path, data):\n    return float(numpy.load(path, allow_pickle=False)['a'].sum())\n"
    )
    with zipfile.ZipFile(tmp_path / "p.npz", "w") as archive:
        archive.writestr("a.npy", content)
    try:
        found = confined(
            measured_by,
            tmp_path / "metric.py",
            tmp_path / "p.npz",
            tmp_path,
            2**30,
            what="p.npz",
            memory_gb=2.0,
        )
        assert found.value is None and "allow_pickle" in found.reason
    except ReaderMemoryError as error:
        assert "p.npz" in str(error)
    assert not Path("owned").exists()

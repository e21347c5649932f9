"""A cell that a spreadsheet would run as a formula is text in every CSV that the project writes."""

import csv
import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreproduce.evaluation.tables.build import Table
from autoreproduce.evaluation.tables.write import comma
from autoreproduce.files.csv_text import csv_text, plain_cell, safe_cell
from autoreproduce.plugins.masked.dataset import Experiment, load_dataset
from autoreproduce.plugins.masked.taskset import PaperSet
from autoreproduce.plugins.masked.writer import write_paper

FORMULAS = [
    "=1+1",
    "+1+1",
    "-1+1",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    '=HYPERLINK("http://x","y")',
    "-",
    "=",
    "-1e5x",
]


def cells(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text, newline=""), strict=True))


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_becomes_text(formula: str) -> None:
    assert cells(csv_text([formula], [[formula]])) == [[f"'{formula}"], [f"'{formula}"]]
    assert cells(comma(Table("t", "T", ["model"], [[formula]]))) == [["model"], [f"'{formula}"]]


@pytest.mark.parametrize(
    "value", [-1, -0.5, 3, 1e-9, None, "-0.25", "+3", "-1e-05", "plain", "a=b", "'quoted'"]
)
def test_numbers_and_plain_texts_stay(value: object) -> None:
    assert safe_cell(value) == value
    assert cells(csv_text(["a", "b"], [[value, 1]]))[1] == [
        "" if value is None else str(value),
        "1",
    ]


@given(st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0")))
def test_a_cell_is_read_as_it_was_written(text: str) -> None:
    [[_, read]] = cells(csv_text(["x", text], []))
    assert plain_cell(read) == text


def test_a_set_reads_back_what_a_formula_was_and_a_spreadsheet_does_not(tmp_path: Path) -> None:
    said = "=cmd|'/c calc'!A1"
    (tmp_path / "p" / "code").mkdir(parents=True)
    experiment = Experiment("p", "0", said, {"loss": -1.5}, (), "@run\r\nnext")
    write_paper(tmp_path, "p", "-title", "@me", [], [experiment], PaperSet())
    write_paper(
        tmp_path, "q", "+title", "=me", [], [], PaperSet()
    )  # which writes the rows of p again
    for name in ("mlrc_main.csv", "mlrc_exps.csv"):
        for row in cells((tmp_path / name).read_bytes().decode()):
            assert not [cell for cell in row if cell[:1] in ("=", "+", "-", "@")]
    paper = load_dataset(tmp_path).papers["p"]
    assert (paper.title, paper.github) == ("-title", "@me")
    assert paper.experiments == (experiment,)

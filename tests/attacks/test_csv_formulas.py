"""A cell that a spreadsheet would run as a formula is text in every CSV that the project writes."""

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autoreproduce.evaluation.tables.model import Table
from autoreproduce.evaluation.tables.write import comma
from autoreproduce.files.csv_text import csv_text, plain_cell, safe_cell

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

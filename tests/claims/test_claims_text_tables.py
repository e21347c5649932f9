"""Tables that a PDF gives only as lines of text: read, checked line by line, and withheld."""

from typing import Any

import pytest
from claim_maker import claim, std
from hypothesis import given, settings
from hypothesis import strategies as st

from autoreproduce.claims.check import (
    ReadableTables,
    check_claim,
    check_in_paper,
    check_without_headings,
    readable_tables,
)
from autoreproduce.claims.withholding import WITHHELD, blank_values
from autoreproduce.papers.plain import plain
from autoreproduce.papers.table_lines import text_tables_in
from autoreproduce.papers.table_rows import row_of

PAPER = """We train for 200 steps and compare with what others report. The first
columns are of the small set, the last of the large one.
Method Moons Rings Spirals
Kernel (Doe & Roe, 2017) 70.5 81.5 –
Zeta with K = {1} (ablation) 72.7±0.73 80.1 ± 0.84 79.9±0.78
Zeta: fixed steps (ours) 74.4±0.81 82.8±0.62 80.0±1.1
Zeta: free steps
(ours) 74.6±0.81^† 82.9±0.40 80.8±0.58

Table 1: Results on three sets of points. ^{†}The steps are
those of the fixed ones.

Set points noise
Moons 3,327 0.05 6
Rings 2,708 0.15 7

Table 2: The sets.

We reach an accuracy of 74.6%, 82.9%, and
80.8% on Moons, Rings and Spirals.

Table 3: Cost and quality

Model Params (M) Acc
Kernel 0.74 91.2
Zeta 0.92 93.5
"""
FIXED = "Zeta: fixed steps (ours) 74.4±0.81 82.8±0.62 80.0±1.1"


def of_line(value: float = 74.4, **fields: Any) -> Any:
    known = {
        "row": ("Zeta: fixed steps (ours)",),
        "column": ("Moons",),
        "spread": std(0.81),
        "line": FIXED,
    }
    return claim(value, **{**known, **fields})


def problem_of(one: Any) -> str:
    found = check_claim(one, PAPER)
    return "" if found is None else found.text


@pytest.mark.parametrize(
    ("line", "label", "fields"),
    [
        ("Zeta (2 layers) 71.4 ± 0.8 – 80.0", "Zeta (2 layers)", ["71.4 ± 0.8", "–", "80.0"]),
        ("Doe et al. [12] 9.1 (0.3) OOM 12%", "Doe et al. [12]", ["9.1 (0.3)", "OOM", "12%"]),
        ("Zeta with K = 4 71.4", "Zeta with K = 4", ["71.4"]),
        ("× 13% ^+8% −6% 5.5 · 10^4", "×", ["13% ^+8%", "−6%", "5.5 · 10^4"]),
        ("Zeta [withheld] [withheld]", "Zeta", ["[withheld]", "[withheld]"]),
        ("none of which is said", "none of which is said", []),
    ],
)
def test_a_line_is_a_label_and_values(line: str, label: str, fields: list[str]) -> None:
    row = row_of(line, 7)
    assert (row.label, [field.text for field in row.fields]) == (label, fields)
    assert [line[field.start - 7 : field.end - 7] for field in row.fields] == fields


def test_a_block_has_the_captions_beside_it_and_the_columns_of_its_heading() -> None:
    results, sets, cost = text_tables_in(PAPER)
    assert (results.names, sets.names, cost.names) == (("1",), ("1", "2"), ("3",))
    assert results.columns_of(results.rows[0]) == ("Moons", "Rings", "Spirals")
    assert sets.columns_of(sets.rows[0]) == ()  # three headings, one of them over the labels
    assert cost.columns_of(cost.rows[0]) == ("Params (M)", "Acc")
    assert readable_tables(PAPER) == ReadableTables(False, ["1", "2", "3"])


def test_the_end_of_a_sentence_is_no_row() -> None:
    text = "each of them is trained for 200\nZeta 71.4 80.0\n\nTable 1: Results.\n"
    assert [row.label for row in text_tables_in(text)[0].rows] == ["Zeta"]


def test_shots_over_decimals_are_a_heading() -> None:
    (table,) = text_tables_in("Table 1: Shots.\nMethod 1-shot 5-shot\nZeta 71.4 80.0\n")
    assert table.columns_of(table.rows[0]) == ("1-shot", "5-shot")


def test_a_parsed_table_and_prose_are_none() -> None:
    markdown = (
        "Table 1: R.\n\n| M | Acc |\n|---|---|\n| Ours | 94.3 |\n\nTable 2 shows less than 5\n"
    )
    assert readable_tables(markdown) == ReadableTables(True, [])


def test_the_number_at_its_line_and_column_is_right() -> None:
    assert problem_of(of_line()) == ""
    assert problem_of(of_line(82.8, column=("Rings",), spread=std(0.62))) == ""
    assert (
        problem_of(
            of_line(70.5, row=("Kernel",), spread=None, line="Kernel (Doe & Roe, 2017) 70.5")
        )
        == ""
    )


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"line": ""}, "copy the row's whole line, exactly, to `line`"),
        ({"line": FIXED.replace("74.4", "94.4")}, "isn't a row of Table 1"),
        ({"table": "Table 9"}, "there are Table 1, Table 1 or Table 2, Table 3"),
        ({"table": "Table 3"}, 'its rows are "Kernel", "Zeta"'),
        ({"column": ("Rings",)}, "reads '82.8±0.62', not 74.4"),
        ({"column": ("Cubes",)}, 'its columns are "Moons", "Rings", "Spirals"'),
        ({"row": ("Kernel",)}, "which does not name 'Kernel'"),
        ({"row": ("Zeta",)}, "give the whole label"),
        ({"row": ("seen data", "Zeta: fixed steps (ours)")}, "neither the line nor one above it"),
        ({"spread": None}, "give the spread 0.81 too"),
        ({"spread": std(0.8)}, "its spread is 0.81, not 0.8"),
        ({"value": 0.744, "scale": "fraction"}, "as printed, scale percent"),
        (
            {"line": "Kernel (Doe & Roe, 2017) 70.5 81.5 – Zeta with K = {1} (ablation) 72.7"},
            "isn't a row",
        ),
        ({"line": "steps (ours) 74.4±0.8", "spread": std(0.8)}, "its spread is 0.81"),
    ],
)
def test_what_the_line_does_not_say_is_refused(fields: dict[str, Any], words: str) -> None:
    assert words in problem_of(of_line(**fields))


def test_where_headings_may_be_cut_apart_a_number_in_its_row_is_enough() -> None:
    other = of_line(column=("Accuracy on moons",))
    elsewhere = of_line(99.0, id="other", column=("Accuracy",))
    assert [one.id for one in check_in_paper([other, elsewhere], PAPER).right] == []
    late = check_without_headings([other, elsewhere], PAPER)
    assert [(one.id, one.remark) for one in late.right] == [("ours", "column unchecked")]
    assert [one.id for one in late.problems] == ["other"]


def test_a_column_that_cannot_be_checked_is_a_remark_of_the_claim() -> None:
    wrapped = "Zeta: free steps (ours) 74.6±0.81 82.9±0.40 80.8±0.58"  # of two lines
    free = of_line(74.6, id="free", row=("Zeta: free steps (ours)",), line=wrapped)
    points = {"id": "points", "table": "Table 2", "spread": None, "scale": "raw"}
    sets = of_line(3327, row=("Moons",), column=("points",), line="Moons 3,327 0.05 6", **points)
    checked = check_in_paper([of_line(), free, sets], PAPER)
    assert [str(problem) for problem in checked.problems] == []
    assert [one.remark for one in checked.right] == ["", "column unchecked", "column unchecked"]
    assert "has not 99" in problem_of(free.model_copy(update={"value": 99.0}))
    assert "remark" not in of_line().model_dump()  # the digest of earlier files stays


def test_a_line_without_a_table_is_refused() -> None:
    with pytest.raises(ValueError, match="give its number as table too"):
        claim(74.4, sentence="An accuracy of 74.4", line=FIXED)


@pytest.mark.parametrize(
    "one",
    [
        of_line(),
        of_line(row=("Zeta (fixed)",)),  # named otherwise: its table goes all the same
        claim(74.6, row=(), column=(), sentence="We reach an accuracy of 74.6%"),
    ],
)
def test_all_results_of_a_claims_table_go_and_settings_stay(one: Any) -> None:
    blanked = blank_values(PAPER, [one])
    results = blanked[: blanked.index("Table 1")]
    assert "Kernel (Doe & Roe, 2017) [withheld] [withheld] –" in results
    assert "Zeta with K = {1} (ablation) [withheld] [withheld] [withheld]" in results
    assert results.count(WITHHELD) == 11
    sets = PAPER[PAPER.index("Set points") : PAPER.index("Table 2")]
    assert sets in blanked and "200 steps" in blanked
    assert "an accuracy of [withheld]%, [withheld]%, and\n[withheld]% on Moons" in blanked


def test_a_column_of_settings_stays_unless_it_is_the_claims() -> None:
    acc = claim(93.5, row=("Zeta",), column=("Acc",), table="Table 3", line="Zeta 0.92 93.5")
    assert "Kernel 0.74 [withheld]\nZeta 0.92 [withheld]\n" in blank_values(PAPER, [acc])
    size = acc.model_copy(update={"column": ("Params (M)",), "value": 0.92})
    assert "Kernel [withheld] [withheld]\n" in blank_values(PAPER, [size])


_NUMBERS = st.integers(100, 999).map(lambda tenths: f"{tenths / 10}")
_CELLS = st.lists(
    st.tuples(_NUMBERS, st.sampled_from(["", "±0.31", " ± 1.2", "%", "^†", " (0.3)"])).map("".join),
    min_size=2,
    max_size=4,
)
_LABELS = st.sampled_from(
    ["Alpha", "Beta (Doe & Roe, 2017)", "Gamma [12]", "Delta with k = {3}", "Eta: slow (ours)"]
)


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.tuples(_LABELS, _CELLS), min_size=2, max_size=5, unique_by=lambda row: row[0]),
    st.booleans(),
    st.data(),
)
def test_no_result_of_a_claimed_block_is_left_and_no_other_line_changes(
    rows: list[tuple[str, list[str]]], below: bool, data: st.DataObject
) -> None:
    label, cells = data.draw(st.sampled_from(rows))
    value = float(plain(cells[0])[:4])
    body = "\n".join(" ".join([name, *numbers]) for name, numbers in rows)
    caption = "Table 7: What was measured."
    block = f"{body}\n\n{caption}" if below else f"{caption}\n\n{body}"
    sets = "Rate 0.1\nBatch 64 128"
    text = f"Here it begins with a sentence about 10 things.\n\n{block}\n\nSo it ends here, as it began above.\n\n{sets}\n\nTable 8: Settings.\n"
    one = claim(value, row=(label,), table="Table 7", line=" ".join([label, *cells]))
    blanked = blank_values(text, [one])
    for name, numbers in rows:
        assert " ".join([name, *[WITHHELD] * len(numbers)]) in blanked
    assert sets in blanked and "about 10 things" in blanked
    assert blank_values(blanked, [one]) == blanked

"""Tables of Markdown and HTML as people write them: headings, captions and numbers of any form."""

from __future__ import annotations

from pathlib import Path

import pytest

from autoreproduce.claims.check import check_claim
from autoreproduce.claims.claim import Claim
from autoreproduce.claims.places import cells_at, tables_named
from autoreproduce.claims.source import read_source
from autoreproduce.papers.captions import caption_parts, table_number
from autoreproduce.papers.files import read_file
from autoreproduce.papers.model import Paper
from autoreproduce.papers.numbers import numbers_in
from autoreproduce.papers.ruled_tables import with_html_tables
from autoreproduce.papers.table import Entry, Table, flowed
from autoreproduce.papers.tables import tables_in


def values(table: Table) -> dict[str, float]:
    """ "row path | column path" -> the main number."""
    return {
        f"{' / '.join(cell.row_path)} | {' / '.join(cell.column)}": cell.numbers[0].value
        for cell in table.cells
    }


def columns(text: str) -> list[str]:
    (table,) = tables_in(text)
    return list(dict.fromkeys(" / ".join(cell.column) for cell in table.cells))


def rows_of(text: str) -> list[str]:
    (table,) = tables_in(text)
    return list(dict.fromkeys(" / ".join(cell.row_path) for cell in table.cells))


BODY = "| A | {} |\n| B | {} |\n"


@pytest.mark.parametrize(
    ("heads", "wanted"),
    [
        pytest.param(
            "| M | | x | | | y | |\n|---|---|---|---|---|---|---|\n| | p | q | r | p | q | r |",
            ["x / p", "x / q", "x / r", "y / p", "y / q", "y / r"],
            id="over the middle column",
        ),
        pytest.param(
            "| M | | | x | | | y |\n|---|---|---|---|---|---|---|\n| | p | q | r | p | q | r |",
            ["x / p", "x / q", "x / r", "y / p", "y / q", "y / r"],
            id="over the last column",
        ),
        pytest.param(
            "| M | x | | | y | | |\n|---|---|---|---|---|---|---|\n| | 1 | 5 | 10 | 1 | 5 | 10 |",
            ["x / 1", "x / 5", "x / 10", "y / 1", "y / 5", "y / 10"],
            id="numbers in the second row",
        ),
        pytest.param(
            "| M | x | | y | | | |\n|---|---|---|---|---|---|---|\n| | p | q | p | q | r | s |",
            ["x / p", "x / q", "y / p", "y / q", "y / r", "y / s"],
            id="groups of two sizes",
        ),
        pytest.param(
            "| | x | | | y | | |\n|---|---|---|---|---|---|---|\n| | p | | t | p | | t |\n"
            "| M | 1st | 2nd | s | 1st | 2nd | s |",
            ["x / p / 1st", "x / p / 2nd", "x / t / s", "y / p / 1st", "y / p / 2nd", "y / t / s"],
            id="three rows",
        ),
        pytest.param(
            "| | x | x | x | y | y | y |\n| M | p | q | r | p | q | r |\n|-|-|-|-|-|-|-|",
            ["x / p", "x / q", "x / r", "y / p", "y / q", "y / r"],
            id="both above the dashes",
        ),
    ],
)
def test_the_name_of_a_group_is_over_all_its_columns(heads: str, wanted: list[str]) -> None:
    body = "| A | .11 | .12 | .13 | .14 | .15 | .16 |\n| B | .21 | .22 | .23 | .24 | .25 | .26 |"
    text = f"{heads}\n{body}"
    assert columns(text) == wanted
    assert list(values(tables_in(text)[0]).values()) == [
        *(0.11, 0.12, 0.13, 0.14, 0.15, 0.16),
        *(0.21, 0.22, 0.23, 0.24, 0.25, 0.26),
    ]


def test_a_group_that_nobody_can_place_is_not_guessed() -> None:
    text = (
        "| M | | x | | y | |\n|---|---|---|---|---|---|\n| | p | q | r | s | t |\n"
        "| A | .1 | .2 | .3 | .4 | .5 |"
    )
    assert columns(text) == ["p", "x / q", "r", "y / s", "t"]


@pytest.mark.parametrize(
    ("head", "wanted"),
    [
        ("| M | | x | | |\n|---|---|---|---|---|\n| | p | q | r | s |", ["p", "x / q", "r", "s"]),
        ("| M | | x | |\n|---|---|---|---|\n| | p | q | r |", ["x / p", "x / q", "x / r"]),
        ("| M | x | | |\n|---|---|---|---|\n| | p | q | r |", ["x / p", "x / q", "x / r"]),
    ],
)
def test_one_group_alone_is_over_all_where_it_stands_first_or_in_the_middle(
    head: str, wanted: list[str]
) -> None:
    assert columns(f"{head}\n| A {'| .1 ' * len(wanted)}|") == wanted


@pytest.mark.parametrize("dashes", ["|:-:|:-:|", "|-|-|", "| - | -: |", ":-|-:"])
def test_one_dash_is_enough(dashes: str) -> None:
    assert values(tables_in(f"| M | Acc |\n{dashes}\n| A | 1.5 |")[0]) == {"A | Acc": 1.5}


@pytest.mark.parametrize(
    ("line", "name"),
    [
        ("- <span>Table 1: E</span>", "1"),
        ("TABLE IV", "IV"),
        ("**Table XII.** E", "XII"),
        ("表2：误差", "2"),
        ("续表3 误差", "3"),
        ("Tab.3 Error", "3"),
        ("Tab. 3: Error", "3"),
        ("Table S4. E", "S4"),
        ("Table A.5: E", "A.5"),
        ("Table B-2 | E", "B-2"),
        ("Table 1 6: E", "16"),
        ("Tabelle 7: F", "7"),
        ("Tableau 8 : E", "8"),
        ("Supplementary Table 9: E", "9"),
        ("Extended Data Table 10 | E", "10"),
        ("<figcaption>Table 11: E</figcaption>", "11"),
        ("*Table tab:main: E*", "tab:main"),
        ("> Table 2a. E", "2a"),
        ("Table C: E", "C"),
        ("Tbl. 5: E", "5"),
        ("_Table 16_: E", "16"),
        ("__Table IV__. E", "IV"),
        ("Table&nbsp;12: E", "12"),
        ("eTable 7. E", "7"),
        ("Tabell 8: E", "8"),
    ],
)
def test_captions_in_any_numbering(line: str, name: str) -> None:
    parts = caption_parts(line)
    assert parts is not None and parts[0] == (name,)


@pytest.mark.parametrize(
    "line",
    [
        "Table 2 shows the error.",
        "Table 3 and Table 4 give more.",
        "table in the hall",
        "The table 2: x",
        "Tablets 3: x",
        "Table manners",
    ],
)
def test_a_sentence_about_a_table_is_no_caption(line: str) -> None:
    assert caption_parts(line) is None


def test_the_words_of_a_caption_may_follow_its_number() -> None:
    text = "TABLE II\n\nRATE BY MODEL\n\n| M | Acc |\n|---|---|\n| A | 1.5 |"
    (table,) = tables_in(text)
    assert (table.names, table.caption) == (("II",), "RATE BY MODEL")
    for name in ("Table II", "Table 2", "TABLE II.", "tab. 2"):
        assert tables_named(name, [table]) == [table]
    assert not tables_named("Table 3", [table]) and not tables_named("Table 11", [table])
    assert [table_number(one) for one in ("IX", "XL", "9", "2(b)", "S4", "S.4", "tab:x")] == [
        *("9", "40", "9", "2", "s4", "s4", "")
    ]


@pytest.mark.parametrize("label", ["1-s=0.1", "0.5=q", "2^k=16", "1-α = 0.9"])
def test_an_equation_is_a_label(label: str) -> None:
    assert rows_of(f"| M | Acc |\n|---|---|\n| A | 1.5 |\n| {label} | 2.5 |")[1] == label
    text = f"| M | Acc | |\n|---|---|---|\n| | {label} | 1-s=0.2 |\n| A | 1.5 | 2.5 |"
    assert columns(text) == [f"Acc / {label}", "Acc / 1-s=0.2"]


def test_inequalities_that_tell_rows_apart_are_labels_and_others_are_values() -> None:
    head = "| Set | Gap | P |\n|---|---|---|\n"
    told = head + "| A | < 0.5 | 1.5 |\n| A | ≥ 0.5 | 2.5 |\n| B | < 0.5 | 3.5 |\n"
    assert rows_of(told) == ["A / < 0.5", "A / ≥ 0.5", "B / < 0.5"]
    (p_values,) = tables_in(head + "| A | < 0.01 | 1.5 |\n| B | 0.03 | 2.5 |\n")
    assert values(p_values) == {"A | Gap": 0.01, "A | P": 1.5, "B | Gap": 0.03, "B | P": 2.5}


@pytest.mark.parametrize(
    ("cells", "wanted"),
    [
        (["0,887", "0,85", "1,304"], [0.887, 0.85, 1.304]),
        (["0,887 ± 0,006", "−0,125"], [0.887, -0.125]),
        (["1.204.500", "1.234,5"], [1204500, 1234.5]),
        (["12,5", "1.250"], [12.5, 1250]),
        (["12,345", "1,204,500"], [12345, 1204500]),
        (["12\u202f345", "0.31"], [12345, 0.31]),
        (["1,304", "0.85"], [1304, 0.85]),
        (["1,304.5", "2,100"], [1304.5, 2100]),
        (["0,912"], [0.912]),
        (["[0,1]", "0.5"], [0, 0.5]),
        (["12'345", "1.5"], [12345, 1.5]),
    ],
)
def test_the_table_tells_what_a_comma_is(cells: list[str], wanted: list[float]) -> None:
    rows = "".join(f"| r{n} | {cell} |\n" for n, cell in enumerate(cells))
    (table,) = tables_in(f"| M | V |\n|---|---|\n{rows}")
    assert [cell.numbers[0].value for cell in table.cells] == wanted


def test_a_zero_is_before_decimals_and_not_before_thousands_in_sentences() -> None:
    assert [n.value for n in numbers_in("auf 0,912 und 0,88")] == [0.912, 0.88]
    assert [n.value for n in numbers_in("of 1,234 runs in [0,1]; 1.204.500 words")] == [
        *(1234, 0, 1, 1204500)
    ]


def test_spread_unit_runs_and_notes_of_a_value() -> None:
    text = (
        "Table 1: T\n\n| M | Time (ms) | Acc (n = 5) |\n|---|---|---|\n"
        "| A | 9.5† | **0.91 ± 0.02** |\n\n† on one core\n"
    )
    time, acc = tables_in(text)[0].cells
    assert (time.unit, time.notes, time.runs) == ("ms", ("on one core",), None)
    assert (acc.numbers[0].spread, acc.runs) == (0.02, 5)


@pytest.mark.parametrize(
    ("cell", "value", "spread"),
    [
        (r"$0.678_{\:0.367}^{\:0.889}$", 0.678, None),  # an interval's ends
        ("$0.4_{0}^{1.4}$", 0.4, None),
        ("$0.96_{0.1}^{28.4}$", 0.96, None),
        ("$0.85_{0.4}$", 0.85, 0.4),
        ("$13^{+8}_{-5}$", 13, 8),
        ("0.485 [CI not reported]", 0.485, None),
        ("0.41 [smith2018]", 0.41, None),
        ("0.41 (seeds vary)", 0.41, None),
    ],
)
def test_what_stands_at_a_value(cell: str, value: float, spread: float | None) -> None:
    ((found,),) = (one.cells for one in tables_in(f"| M | V |\n|---|---|\n| A | {cell} |\n"))
    assert (found.numbers[0].value, found.numbers[0].spread) == (value, spread)


SIMPLE = """\
  Model          Error   Rate
  ------------ ------- ------
  **Gated**       0.31    12%
  Dense           0.41    31%
"""
MULTILINE = """\
  ----------------------------
  Model          Error    Rate
                 (test)
  ------------ --------- -----
  Gated with        0.31   12%
  one state

  Dense             0.41   31%
  ----------------------------
"""
GRID = """\
+-------+---------------+
|       | Error         |
|       +-------+-------+
| Model | A     | B     |
+:======+:=====:+======:+
| Gated | 0.31  | 0.12  |
+-------+-------+-------+
| Dense | 0.41  | 0.31  |
+-------+-------+-------+
"""
BARE = """\
  ------- ------ -----
  Gated     0.31   12%
  Dense     0.41   31%
  ------- ------ -----
"""


@pytest.mark.parametrize(
    ("drawn", "wanted"),
    [
        (SIMPLE, {"Gated | Error": 0.31, "Gated | Rate": 12.0, "Dense | Rate": 31.0}),
        (SIMPLE.replace("  ", "", 1).replace("\n  ", "\n"), {"Gated | Error": 0.31}),
        (MULTILINE, {"Gated with one state | Error (test)": 0.31, "Dense | Rate": 31.0}),
        (GRID, {"Gated | Error / A": 0.31, "Dense | Error / B": 0.31}),
    ],
    ids=["simple", "not indented", "multiline", "grid"],
)
@pytest.mark.parametrize(
    "around",
    [
        "%s\n  : Errors of\n  two models.\n\nMore.\n",
        "::: {#a}\n%s\nTable: Errors of\ntwo models.\n:::\n",
    ],
)
def test_tables_that_pandoc_draws(
    tmp_path: Path, drawn: str, wanted: dict[str, float], around: str
) -> None:
    file = tmp_path / "paper.md"
    file.write_text(f"# Rivers\n\nWe measure.\n\n{around % drawn}")
    (table,) = read_file(file, tmp_path).tables
    found = values(table)
    assert {key: found[key] for key in wanted} == wanted and len(found) == 4
    assert (table.names, table.caption) == (("1",), "Errors of two models.")


def test_pandoc_s_empty_comments_fill_columns_and_say_nothing() -> None:
    part = "`<!-- -->`{=html}"
    drawn = f"  Model {part}(t)      Error   Rate\n  {'-' * 28}   -----   ----\n"
    drawn += f"  Gated {part}5 s       0.31    12%\n  Dense{'':28}0.41    31%\n"
    text = with_html_tables(f"Before {part}5.\n\n{drawn}\nMore.\n")
    assert "Before 5." in text and "<!--" not in text and "&lt;!" not in text
    (table,) = tables_in(text)
    assert values(table)["Gated 5 s | Error"] == 0.31 and len(table.cells) == 4


def test_dashes_that_draw_no_table_stay(tmp_path: Path) -> None:
    text = (
        "---\ntitle: Rivers\n---\n\nWords\n-----\n\n```\n" + SIMPLE + "```\n\na - b\n\n"
        "A paragraph of\ntwo lines\n---- ----\n\n- one\n\n"
    )
    assert with_html_tables(text) == text
    assert len(tables_in(with_html_tables(f"{text}\n{BARE}\n"))) == 1


def test_tables_without_any_caption_are_numbered_as_they_come() -> None:
    drawn = "| M | V |\n|---|---|\n| A | 0.5 |\n\nWords.\n\n"
    assert [one.names for one in tables_in(drawn * 2)] == [("1",), ("2",)]
    named = f"{drawn}{drawn}Table 7: Errors.\n\n{drawn}"
    assert [one.names for one in tables_in(named)] != [("1",), ("2",), ("3",)]


def _names(form: str, captions: list[str]) -> list[tuple[str, ...]]:
    drawn = "| M | V |\n|---|---|\n| A | 0.5 |"
    return [t.names for t in tables_in("".join(form.format(c, drawn) for c in captions))]


def test_a_caption_that_isn_t_read_moves_no_other() -> None:
    captions = ["Table 1: E", "Plate 2: E", "Table 3: E", "Table 4: E"]
    assert _names("{0}\n\n{1}\n\n", captions) == [("1",), (), ("3",), ("4",)]
    assert _names("{1}\n\n{0}\n\n", captions) == [("1",), (), ("3",), ("4",)]
    said = "{1}\n\nWe see that.\n\n{0}\n\n"
    assert _names(said, ["Table 1: E", "Table 2: E", "Table 3: E"]) == [("1",), ("2",), ("3",)]


def test_a_row_s_own_name_goes_before_longer_ones_whatever_its_column_is_called() -> None:
    rows = "| Ours (w/o gate) | 98.3 | 88.3 |\n| Ours | 99.3 | 91.3 |\n| Ours + aug | 99.9 | 92.3 |"
    (table,) = tables_in(f"| M | Train accuracy | Test accuracy |\n|---|---|---|\n{rows}")
    for row, column, value in (
        ("Ours", "Test", "91.3"),
        ("Ours w/o gate", "Test", "88.3"),
        ("Ours + aug", "Train", "99.9"),
    ):
        assert [cell.text for cell in cells_at((row,), (column,), table)] == [value]


@pytest.mark.parametrize("cell", ["†0.51", "*0.51", "‡ 0.51", "↑0.51", "^*0.51", "€0.51"])
def test_a_mark_may_stand_before_a_number(cell: str) -> None:
    (table,) = tables_in(f"| M | V |\n|---|---|\n| A | {cell} |\n| B | 0.61 |")
    assert values(table) == {"A | V": 0.51, "B | V": 0.61}


@pytest.mark.parametrize("names", [("Dense", "Dense"), ("Dense", "Gated")])
def test_headings_that_come_again_in_a_table_name_what_is_below_them(
    names: tuple[str, str],
) -> None:
    parts = [
        f"| Set | {where} | |\n{rule}| Method | MSE | MAE |\n| {name} | 0.4{n} | 0.3{n} |\n"
        for n, (where, name, rule) in enumerate(
            zip(("Rivers", "Lakes"), names, ("|---|---|---|\n", ""), strict=True), 1
        )
    ]
    (table,) = tables_in("".join(parts))
    assert values(table) == {
        f"{names[0]} | Rivers / MSE": 0.41,
        f"{names[0]} | Rivers / MAE": 0.31,
        f"{names[1]} | Lakes / MSE": 0.42,
        f"{names[1]} | Lakes / MAE": 0.32,
    }


def test_the_headings_of_a_table_that_goes_on_are_no_row() -> None:
    again = (
        "| M | MSE | MAE |\n|---|---|---|\n| A | 0.4 | 0.3 |\n| M | MSE | MAE |\n| B | 0.5 | 0.2 |"
    )
    (table,) = tables_in(again)
    assert values(table) == {"A | MSE": 0.4, "A | MAE": 0.3, "B | MSE": 0.5, "B | MAE": 0.2}


def test_a_heading_s_own_marks_and_citation_tell_it_from_others() -> None:
    head = "|  | Dense (ours) | Dense [12] | Dense† |\n|---|---|---|---|\n"
    (table,) = tables_in(f"{head}| Rivers | 0.41 | 0.42 | 0.43 |\n| Lakes | 0.51 | 0.52 | 0.53 |")
    for column, value in (("Dense (ours)", "0.51"), ("Dense [12]", "0.52"), ("dense†", "0.53")):
        assert [cell.text for cell in cells_at(("Lakes",), (column,), table)] == [value]
    assert len(cells_at(("Lakes",), ("Dense",), table)) > 1


def test_a_raised_plus_is_one() -> None:
    (table,) = tables_in("| M | V |\n|---|---|\n| A$^{+}$ | 0.4 |\n| A++ | 0.6 |\n| A | 0.5 |")
    for row, value in (("A+", "0.4"), ("A++", "0.6"), ("A", "0.5"), ("A^+", "0.4")):
        assert [cell.text for cell in cells_at((row,), ("V",), table)] == [value]


def test_a_row_that_is_a_link_is_named_by_its_words() -> None:
    rows = "| [Ours](https://ex.org/a%20b) | 0.5 |\n| Theirs [3](#r3) | 0.7 |"
    (table,) = tables_in(f"| M | V |\n|---|---|\n{rows}")
    for name, value in (("Ours", "0.5"), ("Theirs", "0.7")):
        assert [cell.text for cell in cells_at((name,), ("V",), table)] == [value]


def test_a_number_over_a_caption_is_the_table_s() -> None:
    drawn = "**Table 4**\n\nTable: Errors of two.\n\n| M | V |\n|---|---|\n| A | 0.5 |\n"
    (table,) = tables_in(drawn)
    assert (table.names, table.caption) == (("4",), "Errors of two.")


def test_a_value_over_two_columns_is_one_of_each_and_one_number() -> None:
    html = (
        "<table><tr><th rowspan=2>M</th><th colspan=2>X</th></tr><tr><th>p</th><th>q</th></tr>"
        "<tr><td>A</td><td colspan=2>0.5</td></tr></table>"
    )
    (table,) = tables_in(html)
    assert values(table) == {"A | X / p": 0.5, "A | X / q": 0.5}
    claim = Claim(
        **{"id": "a", "row": ("A",), "metric": "x", "direction": "higher", "value": 0.5},
        **{"printed": "0.5", "table": "Table 1", "scale": "raw"},
        column=("X",),
    )
    assert check_claim(claim, f"Table 1: T\n{html}") is None


def test_any_reader_can_make_a_table_and_a_paper_keeps_it() -> None:
    rows = [
        [Entry("M", 0, 0, rows=2), Entry("X", 0, 0, columns=2)],
        [Entry("p", 0, 0), Entry("q", 0, 0)],
        [Entry("A", 0, 0), Entry("1.5", 0, 0), Entry("?", 0, 0, doubt=r"\foo isn't known")],
    ]
    table = Table(flowed(rows), ("1",), "T", heads=2)
    assert [(cell.column, len(cell.numbers)) for cell in table.cells] == [
        (("X", "p"), 1),
        (("X", "q"), 0),
    ]
    paper = Paper(title="P", text="t", body="t", source="markdown", tables=(table,))
    assert Paper.model_validate_json(paper.model_dump_json()).tables == (table,)


def test_a_table_in_a_cell_of_html_is_the_cell_s_text() -> None:
    inner = "<table><tr><td>2.5</td></tr></table>"
    html = f"<table><tr><th>M</th><th>V</th></tr><tr><td>A</td><td>{inner}</td></tr></table>"
    (table,) = tables_in(html)
    assert values(table) == {"A | V": 2.5}


SIZES = """
| F | n | α | τ = -0.5 | τ = 0.5 |
|---|---|---|---|---|
| Normal | 100 | 0.01 | 0.012 | 0.016 |
|  |  | 0.05 | 0.063 | 0.073 |
|  | 200 | 0.01 | 0.011 | 0.014 |
|  |  | 0.05 | 0.056 | 0.069 |
| Gamma | 100 | 0.01 | 0.014 | 0.017 |
|  |  | .05 | 0.064 | 0.074 |
|  | 200 | 0.01 | 0.010 | 0.013 |
|  |  | .05 | 0.055 | 0.068 |
"""


def test_numbers_that_tell_rows_apart_and_come_again_name_them() -> None:
    """The settings of a simulation study's rows: sizes of samples, levels of tests."""
    rows = rows_of(SIZES)
    assert rows[:3] == ["Normal / 100 / 0.01", "Normal / 100 / 0.05", "Normal / 200 / 0.01"]
    assert len(rows) == 8 and columns(SIZES) == ["τ = -0.5", "τ = 0.5"]
    twice = "| M | Error | Time |\n|---|---|---|\n| A | 0.5 | 1.2 |\n| A | 0.4 | 1.3 |\n"
    assert columns(twice) == ["Error", "Time"]
    alike = "| M | Error | Time |\n|---|---|---|\n| A | 0.5 | 1.2 |\n| | 0.4 | 1.3 |\n"
    assert columns(f"{alike}| B | 0.5 | 1.1 |\n| | 0.4 | 1.4 |\n") == ["Error", "Time"]


def test_a_heading_below_zero_is_another_than_the_one_above() -> None:
    facts = {"id": "a", "metric": "size", "direction": "match", "scale": "raw", "table": "Table 1"}
    named = SIZES.replace("\n", "\nTable 1: Sizes.\n\n", 1)
    for before, name, value in (
        ("", "-0.5", 0.063),
        ("", "$0.5$", 0.073),
        ("τ = ", "τ = 0.5", 0.073),
        ("τ = ", "$\\tau = -0.5$", 0.063),
    ):
        text = named.replace("τ = ", before)
        place = {"row": ["Normal", "100", "0.05"], "column": [name], "value": value}
        claim = Claim.model_validate({**facts, **place})
        assert check_claim(claim, read_source(text)) is None
        other = claim.model_copy(update={"value": 0.136 - value})
        assert check_claim(other, read_source(text)) is not None

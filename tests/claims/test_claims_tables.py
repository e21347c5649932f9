"""Tables in the shapes that papers have, to cells with their headings."""

import pytest
from claim_maker import claim, grid, only
from hypothesis import given
from hypothesis import strategies as st

from autoreproduce.claims.check import count_claimed
from autoreproduce.papers.tables import tables_in


def test_booktabs_with_nested_headings_sections_and_colours() -> None:
    text = r"""\newcommand{\ours}{LSM}
\begin{table}[t]\caption{Main results (\%)}\label{tab:main}
\resizebox{\textwidth}{!}{
\begin{tabular}{@{}l|cc>{\columncolor{gray}}c@{}}\toprule[1.5pt]
\multirow{2}{*}{Model} & \multicolumn{2}{c}{CIFAR} & ImageNet \\
\cmidrule(lr){2-3} \cmidrule(l){4-4}
 & Acc $\uparrow$ & NLL $\downarrow$ & Acc $\uparrow$ \\ \midrule
\multicolumn{4}{c}{\textit{Baselines}} \\ \midrule
ResNet~\cite{he} & 90.1 & 0.31 & \hphantom{0}9.5 \\ % old & 1 & 2 & 3 \\
\rowcolor{gray!20} ViT & 91.2 & 0.29 & -- \\
\multicolumn{4}{l}{\emph{This work}} \\
\rowcolor[gray]{.9} \ours\textsuperscript{\dag} & \textbf{94.3}{\scriptsize $\pm$0.1} &
    $\mathbf{0.20}_{\pm 0.01}$ & \underline{88.0} \\
\bottomrule \end{tabular}}
\end{table}"""
    table = only(text)
    assert table.names == ("1", "tab:main")
    assert table.caption == "Main results (%)"
    assert grid(table) == {
        ("Baselines / ResNet [he]", "CIFAR / Acc ↑"): "90.1",
        ("Baselines / ResNet [he]", "CIFAR / NLL ↓"): "0.31",
        ("Baselines / ResNet [he]", "ImageNet / Acc ↑"): "9.5",
        ("Baselines / ViT", "CIFAR / Acc ↑"): "91.2",
        ("Baselines / ViT", "CIFAR / NLL ↓"): "0.29",
        ("This work / LSM^†", "CIFAR / Acc ↑"): "94.3±0.1",
        ("This work / LSM^†", "CIFAR / NLL ↓"): "0.20 ± 0.01",
        ("This work / LSM^†", "ImageNet / Acc ↑"): "88.0",
    }
    for cell in table.cells:  # each has its place in the source, without what colours its row
        assert "rowcolor" not in text[cell.start : cell.end]
        assert str(cell.numbers[0].value).rstrip("0")[:3] in text[cell.start : cell.end]


def test_multirow_of_minus_n_names_the_rows_above_it() -> None:
    text = r"""\begin{tabular}{ll|cc}\hline
Data & Model & \multicolumn{1}{c|}{MSE} & \makecell{MAE\\(norm)} \\ \hline\hline
 & X & 0.1 & 0.2 \\ \cline{2-4}
\multirow{-2}{*}{\rotatebox{90}{ETT}} & Y & 0.3 & 0.4 \\ \hline
 & X & 0.5 & \cellcolor{red!10}0.6 \\
\multirow{-2}{*}{ECL} & Y & 0.7 & 0.8\footnotemark[1] \\ \hline \end{tabular}"""
    assert grid(only(text)) == {
        ("ETT / X", "MSE"): "0.1",
        ("ETT / X", "MAE (norm)"): "0.2",
        ("ETT / Y", "MSE"): "0.3",
        ("ETT / Y", "MAE (norm)"): "0.4",
        ("ECL / X", "MSE"): "0.5",
        ("ECL / X", "MAE (norm)"): "0.6",
        ("ECL / Y", "MSE"): "0.7",
        ("ECL / Y", "MAE (norm)"): "0.8",
    }


def test_multirow_downwards_and_multicolumn_around_it() -> None:
    text = r"""\begin{tabular}{llr} \toprule Set & Model & Acc \\ \midrule
\multirow{2}{*}{A} & X & 1.1 \\ & Y & 2.2 \\ \midrule
\multicolumn{1}{c}{\multirow{2}{*}{B}} & X & 3.3 \\ & Y & 4.4 \\ \bottomrule \end{tabular}"""
    assert grid(only(text)) == {
        ("A / X", "Acc"): "1.1",
        ("A / Y", "Acc"): "2.2",
        ("B / X", "Acc"): "3.3",
        ("B / Y", "Acc"): "4.4",
    }


def test_an_empty_name_takes_the_one_above_up_to_a_rule() -> None:
    text = r"""\begin{tabular}{llr} \toprule Set & Model & Acc \\ \midrule
A & X & 1.1 \\ & Y & 2.2 \\ \midrule & Z & 3.3 \\ \bottomrule \end{tabular}"""
    assert list(grid(only(text))) == [("A / X", "Acc"), ("A / Y", "Acc"), ("Z", "Acc")]


def test_two_tables_side_by_side_have_their_own_captions() -> None:
    text = r"""\begin{table} \caption{zero} \begin{tabular}{lr} M & A \\ \hline x & 1.0 \\
\end{tabular} \end{table}
\begin{table}\begin{minipage}{.5\textwidth}\captionof{table}{one}\label{t:a}
\begin{tabular}{lc} M & Acc \\ \hline X & 0.1 \\ \hline \end{tabular}\end{minipage}
\begin{minipage}{.5\textwidth}\captionof{table}{two}\label{t:b}
\begin{tabular}{lS[table-format=2.1]} \toprule
K & {Acc} \\ \midrule 1 & 94.3(2) \\ 2 & 95.0 \pm 0.1 \\
\bottomrule\end{tabular}\end{minipage}\end{table}"""
    tables = tables_in(text)
    assert [(t.names, t.caption) for t in tables] == [
        (("1",), "zero"),
        (("2", "t:a"), "one"),
        (("3", "t:b"), "two"),
    ]
    assert grid(tables[2]) == {("1", "Acc"): "94.3(2)", ("2", "Acc"): "95.0 ±0.1"}
    assert [c.numbers[0].spread for c in tables[2].cells] == [pytest.approx(0.2), 0.1]


def test_two_captions_in_one_float_go_in_order() -> None:
    text = r"""\begin{table*} \caption{left}\label{l} \begin{tabular}{lr} M & A \\ \hline x & 1.0 \\
\end{tabular} \caption{right}\label{r}
\begin{tabular}{lr} M & B \\ \hline y & 2.0 \\ \end{tabular} \end{table*}"""
    assert [t.names for t in tables_in(text)] == [("1", "l"), ("2", "r")]


def test_a_tabular_that_lays_out_tables_and_one_that_breaks_a_line() -> None:
    text = r"""\begin{tabular}{cc}
\begin{tabular}{lr} M & \begin{tabular}[c]{@{}c@{}}MSE\\(norm)\end{tabular} \\ \hline
x & 1.0 \\ y & 2.0 \\ \end{tabular} &
\begin{tabular}{lr} M & B \\ \hline x & 3.0 \\ y & 4.0 \\ \end{tabular}
\end{tabular}"""
    first, second = tables_in(text)
    assert grid(first) == {("x", "MSE (norm)"): "1.0", ("y", "MSE (norm)"): "2.0"}
    assert grid(second) == {("x", "B"): "3.0", ("y", "B"): "4.0"}


def test_numbers_as_headings_and_a_second_part_with_its_own() -> None:
    text = r"""\begin{table*}\caption{T}\begin{tabular*}{\textwidth}{@{\extracolsep{\fill}}lrrr}
\toprule
Method & 96 & 192 & 336 \\ \midrule
Ours & .31 & .32 & .33 \\ Base & .41 & - & OOM \\ \midrule
Method & ECL & Traffic & Weather \\ \midrule
Ours & .1 & .2 & .3 \\ \bottomrule \end{tabular*}\end{table*}"""
    assert grid(only(text)) == {
        ("Ours", "96"): ".31",
        ("Ours", "192"): ".32",
        ("Ours", "336"): ".33",
        ("Base", "96"): ".41",
        ("Ours", "ECL"): ".1",
        ("Ours", "Traffic"): ".2",
        ("Ours", "Weather"): ".3",
    }


def test_tabularx_with_a_multiplier_and_thousands() -> None:
    text = r"""\begin{tabularx}{\linewidth}{lXX} \hline
Method & Error ($\times 10^{-3}$) & Steps \\ \hline
A & 1.5 & 1\,000 \\ B & $2.5\pm0.5$ & 3{,}000 \\ \hline
\end{tabularx}"""
    table = only(text)
    assert [c.factor for c in table.cells] == [1e-3, 1, 1e-3, 1]
    assert [c.numbers[0].value for c in table.cells] == [1.5, 1000, 2.5, 3000]


def test_hlines_after_every_row_and_no_rule_under_the_head() -> None:
    every = r"""\begin{tabular}{|l|c|}\hline M & Acc \\ \hline A & 1.5 \\ \hline B & 2.5 \\ \hline
\end{tabular}"""
    none = r"\begin{tabular}{lc}\hline M & Acc \\ A & 1.5 \\ B & 2.5 \\ \hline\end{tabular}"
    for text in (every, none):
        assert grid(only(text)) == {("A", "Acc"): "1.5", ("B", "Acc"): "2.5"}


def test_a_rule_between_two_lines_of_headings() -> None:
    text = r"""\begin{tabular}{lcc}\hline
& \multicolumn{2}{c}{CIFAR} \\ \hline M & Acc & NLL \\ \hline
A & 1.5 & 2.5 \\ \hline\end{tabular}"""
    assert grid(only(text)) == {("A", "CIFAR / Acc"): "1.5", ("A", "CIFAR / NLL"): "2.5"}


def test_settings_beside_a_name_tell_rows_apart() -> None:
    text = r"""\begin{tabular}{lrrl} \toprule Model & Epochs & Acc & Backbone \\ \midrule
Ours & 100 & 94.3 & R50 \\ Ours & 300 & 95.1 & R101 \\ \bottomrule\end{tabular}"""
    rows = [[(h.text, h.above) for h in c.row] for c in only(text).cells if c.column == ("Acc",)]
    assert rows == [
        [("Ours", "Model"), ("R50", "Backbone"), ("100", "Epochs")],
        [("Ours", "Model"), ("R101", "Backbone"), ("300", "Epochs")],
    ]


def test_longtable_and_environments_that_the_parser_does_not_know() -> None:
    rows = r"M & Acc \\ \hline A & 1.5 \\ B & 2.5 \\"
    for begin in (
        r"\begin{longtable}{lc} \caption{L} \\",
        r"\begin{NiceTabular}{lc}[hvlines]",
        r"\begin{tblr}{colspec={lc}}",
        r"\begin{tabu} to \textwidth {lc}",
        r"\begin{xltabular}{\linewidth}{lX}",
    ):
        name = begin.split("{")[1].split("}")[0]
        table = only(f"{begin} {rows} \\end{{{name}}}")
        assert ("B", "Acc") in grid(table), begin


@given(st.text(alphabet="ab1.5|&\\{}<>/tdrm \n-", max_size=200))
def test_no_text_breaks_the_reader_of_tables(inside: str) -> None:
    for text in (
        inside,
        rf"\begin{{tabular}}{{ll}} {inside} \end{{tabular}}",
        f"<table>{inside}</table>",
        f"| a | b |\n|---|---|\n{inside}",
    ):
        for table in tables_in(text):
            assert all(0 <= cell.start < cell.end <= len(text) for cell in table.cells)


@pytest.mark.slow
@given(st.integers(1, 4), st.integers(1, 4), st.data())
def test_every_plain_table_is_read_in_all_three_forms(
    height: int, width: int, data: st.DataObject
) -> None:
    numbers = data.draw(
        st.lists(
            st.lists(st.decimals(0, 99, places=2), min_size=width, max_size=width),
            min_size=height,
            max_size=height,
        )
    )
    head = ["Model", *(f"col{x}" for x in "abcd"[:width])]
    rows = [[f"row{'abcd'[y]}", *map(str, line)] for y, line in enumerate(numbers)]
    latex = r" \\ \midrule " + r" \\ ".join(" & ".join(row) for row in rows) + r" \\"
    markdown = [" | ".join(row) for row in [head, ["---"] * len(head), *rows]]
    forms = [
        rf"\begin{{tabular}}{{l{'c' * width}}} {' & '.join(head)}{latex} \end{{tabular}}",
        "\n".join(f"| {line} |" for line in markdown),
        "<table>"
        + "".join(f"<tr>{''.join(f'<td>{x}</td>' for x in row)}</tr>" for row in [head, *rows])
        + "</table>",
    ]
    wanted = {(row[0], head[x]): row[x] for row in rows for x in range(1, width + 1)}
    assert [grid(only(form)) for form in forms] == [wanted] * 3


def test_a_spread_in_a_column_of_its_own_belongs_to_the_number_before_it() -> None:
    text = r"""\begin{tabular}{l *{2}{r@{$\,\pm\,$}l} p{2cm} c}
M & \multicolumn{2}{c}{Acc} & \multicolumn{2}{c}{NLL} & Note & Time \\ \hline
A & 94.3 & 0.2 & 0.31 & 0.01 & new & 5.0 \\ B & 92.2 & 0.3 & 0.40 & 0.02 & old & 6.0 \\
\end{tabular}"""
    table = only(text)
    assert grid(table)["A", "Acc"] == "94.3 ± 0.2"
    assert grid(table)["B", "NLL"] == "0.40 ± 0.02"
    assert grid(table)["B", "Time"] == "6.0"
    assert text[table.cells[0].start : table.cells[0].end] == "94.3 & 0.2"


def test_a_part_of_a_table_with_a_title_and_headings_of_its_own() -> None:
    text = r"""\begin{tabular}{lcc} \toprule
\multicolumn{3}{l}{\textbf{(a) First}} \\ \addlinespace[4pt]
Method & LPIPS & FID \\ \midrule
Ours & $0.42$ & $63.0$ \\ \midrule
\multicolumn{3}{l}{\textbf{(b) Second}} \\ \addlinespace[4pt]
Method & \multicolumn{2}{c}{ATE $\downarrow$} \\ \midrule
Ours & \multicolumn{2}{c}{$1.87{\pm}0.01$} \\ \bottomrule
\end{tabular}"""
    assert grid(only(text)) == {
        ("Ours", "(a) First / LPIPS"): "0.42",
        ("Ours", "(a) First / FID"): "63.0",
        ("(b) Second / Ours", "ATE ↓"): "1.87±0.01",
    }


def test_an_interval_after_a_number_and_headings_with_a_rule_between() -> None:
    text = r"""\begin{tabular}{l|cc} \toprule
Model & Pass@1 [95\% CI] & Time \\ \midrule
 & & s \\ \midrule
A & 39.17 [37.17, 41.20] & 0.5 \\ \bottomrule \end{tabular}"""
    table = only(text)
    assert grid(table) == {
        ("A", "Pass@1 [95% CI]"): "39.17 [37.17, 41.20]",
        ("A", "Time / s"): "0.5",
    }
    assert table.cells[0].numbers[0].value == 39.17


@pytest.mark.parametrize(
    ("claims", "others"),
    [
        ([("Ours", "Acc", 94.3)], ("Ours / F1: 0.91", "Base / Acc: 92.0", "Base / F1: 0.88")),
        (
            [("Ours", "F1", 0.91), ("Base", "Acc", 92.0), ("Ours", "Acc", 94.3)],
            ("Base / F1: 0.88",),
        ),
        (
            [
                ("Ours", "Acc", 94.3),
                ("Ours", "F1", 0.91),
                ("Base", "Acc", 92.0),
                ("Base", "F1", 0.88),
            ],
            (),
        ),
    ],
)
def test_the_numbers_of_a_table_that_nobody_claimed_are_named(
    claims: list[tuple[str, str, float]], others: tuple[str, ...]
) -> None:
    paper = (
        "Table 1: Scores.\n\n| method | Acc | F1 |\n|---|---|---|\n"
        "| Ours | 94.3 | 0.91 |\n| Base | 92.0 | 0.88 |\n\n"
        "Table 2: Seconds.\n\n| method | s |\n|---|---|\n| Ours | 3.5 |\n"
    )
    made = [
        claim(value, id=f"c{n}", row=(row,), column=(column,), scale="raw", table="Table 1")
        for n, (row, column, value) in enumerate(claims)
    ]
    table, whole = count_claimed(made, paper)
    assert (table.name, table.claimed, table.numbers) == ("Table 1", len(claims), 4)
    assert table.others == others
    assert (whole.name, whole.claimed, whole.numbers) == ("All tables", len(claims), 5)

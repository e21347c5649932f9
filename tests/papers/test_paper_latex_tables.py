r"""Tables of LaTeX in the forms that authors use: each value with its headings, spread and place."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from autoreproduce.claims.check import check_claim
from autoreproduce.claims.claim import Claim
from autoreproduce.claims.source import read_source
from autoreproduce.claims.withholding import WITHHELD, blank_values
from autoreproduce.papers.files import read_file
from autoreproduce.papers.latex_markdown import to_markdown
from autoreproduce.papers.model import Paper
from autoreproduce.papers.tables import tables_in

WORDS = "We measure the error of two models on the data of two rivers and a lake. " * 4


def paper(tmp_path: Path, body: str, preamble: str = "", **files: str) -> Paper:
    """`body` as a paper; `files` lie beside it, "__" in a name is a point."""
    (tmp_path / "in").mkdir(exist_ok=True)
    for name, text in files.items():
        (tmp_path / "in" / name.replace("__", ".")).write_text(text)
    (tmp_path / "in" / "main.tex").write_text(
        rf"\documentclass{{article}}{preamble}\begin{{document}}{WORDS}{body}\end{{document}}"
    )
    return read_file(tmp_path / "in" / "main.tex", tmp_path / "out")


def values(tables) -> dict[str, str]:
    """ "row path | column path" -> the numbers as value±spread."""
    return {
        f"{' / '.join(cell.row_path)} | {' / '.join(cell.column)}": ", ".join(
            f"{n.value:g}" + ("" if n.spread is None else f"±{n.spread:g}") for n in cell.numbers
        )
        for table in tables
        for cell in table.cells
    }


def table(rows: str, columns: str = "lrr", head: str = r"M & X & Y \\") -> str:
    return (
        rf"\begin{{table}}\caption{{Error.}}\label{{tab:e}}\begin{{tabular}}{{{columns}}}\toprule "
        rf"{head} \midrule {rows} \bottomrule\end{{tabular}}\end{{table}}"
    )


FOUR = {"A | X": "0.41", "A | Y": "0.36", "B | X": "0.31", "B | Y": "0.28"}
ROWS = r"A & 0.41 & 0.36 \\ B & 0.31 & 0.28 \\"


@pytest.mark.parametrize(
    ("preamble", "rows"),
    [
        (r"\newcommand{\row}[3]{#1 & #2 & #3 \\}", r"\row{A}{0.41}{0.36}\row{B}{0.31}{0.28}"),
        (r"\def\row#1:#2,#3;{#1 & #2 & #3 \cr}", r"\row A:0.41,0.36;\row B:0.31,0.28;"),
        (r"\newcommand\amp{&}\newcommand\nl{\\}", r"A \amp 0.41 & 0.36 \nl B & 0.31 \amp 0.28 \nl"),
        (r"\let\nl\tabularnewline", r"A & 0.41 & 0.36 \nl B & 0.31 & 0.28 \crcr"),
        (r"\expandafter\def\csname my-row\endcsname{A & 0.41 & 0.36 \\}",
         r"\csname my-row\endcsname B & 0.31 & 0.28 \\*[2pt]"),
        (r"\newif\iflong\longtrue", r"A & 0.41 & 0.36 \\ \iflong B & 0.31 & 0.28 \\ \else C & 1 & 2 \\ \fi"),
        (r"\def\x{1}\def\y{1}", r"A & 0.41 & 0.36 \\ \ifx\x\y B & 0.31 & 0.28 \\ \fi"),
        (r"\newcommand{\paper}{0}", r"A & 0.41 & 0.36 \\ \if0\paper B & 0.31 & 0.28 \\ \else C & 1 & 2\\ \fi"),
        ("", r"\rowcolor{gray!20} A & \cellcolor{red!10}0.41 & 0.36 \\ \hline B & 0.31 & {\bf 0.28} \\"),
        ("", r"A & \textbf{0.41} & \underline{0.36} \\ B & $\mathbf{0.31}$ & $\underline{0.28}$ \\"),
        ("", r"A & \num{0.41} & \SI{0.36}{} \\ B & {0.31} & \multicolumn{1}{c}{0.28} \\"),
        ("", r"\textbf{\makecell[l]{A}} & \makecell{0.41} & 0.36\footnotemark[1] \\ B & \phantom{0}0.31 & 0.28 \\"),
        ("", r"A & 0.41 % & 9 & 9 \\" "\n" r" & 0.36 \\ B & 0.31 & 0.28 \\"),
    ],
)  # fmt: skip
def test_rows_in_any_form(tmp_path, preamble, rows):
    found = paper(tmp_path, table(rows), preamble)
    assert values(found.tables) == FOUR
    assert (found.tables[0].names, found.tables[0].caption) == (("1", "tab:e"), "Error.")
    assert values(tables_in(found.text)) == FOUR  # as a model reads it
    for cell in found.tables[0].cells:
        assert cell.numbers[0].text in found.text[cell.start : cell.end]


SPREADS = {"A | X": "50±1.1", "A | Y": "63.7±0.4"}


@pytest.mark.parametrize(
    ("defined", "cells"),
    [
        (r"\newcommand{\dev}[1]{_{\pm #1}}", r"$50.0\dev{1.1}$ & $63.7\dev{0.4}$"),
        (r"\newcommand{\err}[2][]{#1\pm#2}", r"$50.0\err{1.1}$ & $63.7\err[{}]{0.4}$"),
        (r"\def\pmv#1#2{#1$\pm$#2}\let\wd\pmv", r"\wd{50.0}{1.1} & \wd{63.7}{0.4}"),
        (r"\NewDocumentCommand\sp{m O{0.4}}{#1 $\pm$ #2}", r"\sp{50.0}[1.1] & \sp{63.7}"),
        (r"\NewDocumentCommand{\sp}{s m m}{\IfBooleanTF{#1}{\textbf{#2 $\pm$ #3}}{#2 $\pm$ #3}}",
         r"\sp{50.0}{1.1} & \sp*{63.7}{0.4}"),
        (r"\NewDocumentCommand{\sp}{m d<>}{#1\IfValueT{#2}{ $\pm$ #2}}", r"\sp{50.0}<1.1> & \sp{63.7}<0.4>"),
        (r"\NewDocumentCommand{\sp}{m D<>{0.4}}{#1 $\pm$ #2}", r"\sp{50.0}<1.1> & \sp{63.7}"),
        (r"\NewDocumentCommand{\sp}{m g}{#1\IfNoValueF{#2}{ $\pm$ #2}}", r"\sp{50.0}{1.1} & \sp{63.7}{0.4}"),
        (r"\newcommandx{\sp}[2][2=0.4]{#1 $\pm$ #2}", r"50.0 ± 1.1 & 63.7 $\pm$ 0.4"),
        (r"\makeatletter\def\sp{\@ifstar\sp@b\sp@a}\def\sp@a#1#2{#1$\pm$#2}\def\sp@b#1#2{\textbf{#1}$\pm$#2}\makeatother",
         r"\sp{50.0}{1.1} & \sp*{63.7}{0.4}"),
        ("", r"$50.0_{\scriptscriptstyle\pm1.1}$ & $63.7_{\text{±}0.4}$"),
        ("", r"$50.0^{\pm 1.1}$ & 63.7$_{(\pm 0.4)}$"),
        ("", r"\textbf{50.0}\textsubscript{$\pm$1.1} & ${63.7}_{\mbox{\tiny $\pm$0.4}}$"),
        ("", r"50.0\tiny{$\pm$1.1} & \makecell{63.7\\ $\pm$0.4}"),
        ("", r"50.0(11) & 63.7(4)"),
        ("", r"\num{50.0 +- 1.1} & \num{63.7(4)}"),
        ("", r"50.0 {\color{gray}\scriptsize ($\pm$ 1.1)} & $63.7\,{\scriptstyle \pm\,0.4}$"),
    ],
)  # fmt: skip
def test_a_spread_in_any_form(tmp_path, defined, cells):
    assert values(paper(tmp_path, table(rf"A & {cells} \\"), defined).tables) == SPREADS


def test_macros_of_a_package_beside_the_paper(tmp_path):
    sty = (
        "\\ProvidesPackage{results}\n\\RequirePackage{xspace}\n"
        "\\newcommand{\\best}[1]{\\textbf{#1}}\n\\NewDocumentCommand{\\sp}{m m}{#1 $\\pm$ #2}\n"
        "\\newcommand{\\ours}{GateNet\\xspace}\n\\def\\@internal{\\hbox to 3cm{x}}\n"
        "\\renewcommand{\\section}{\\@startsection{section}{1}{0pt}}\n"
    )
    body = r"\section{One}" + table(r"\ours & \sp{50.0}{1.1} & \best{\sp{63.7}{0.4}} \\")
    found = paper(tmp_path, body, r"\usepackage{booktabs,results}", results__sty=sty)
    assert values(found.tables) == {"GateNet | X": "50±1.1", "GateNet | Y": "63.7±0.4"}
    assert "## One" in found.text
    assert found.unread == []


def test_an_author_s_definition_goes_before_a_package_s(tmp_path):
    body = r"\newcommand{\num}{\ensuremath{n}}" + "".join(
        rf"Of \num [{n}0, {n + 1}0) it is 0.2{n}." + "\n" for n in range(40)
    )
    began = time.monotonic()
    text = paper(tmp_path, body).text
    assert "Of $n$[10, 20) it is 0.21." in text and time.monotonic() - began < 5


def test_what_is_not_known_leaves_its_cell_in_doubt(tmp_path):
    found = paper(tmp_path, table(r"A & $41\err{2}$ & \weird{3.5} \\ B & 0.31 & \nice{text} \\"))
    (one,) = found.tables
    shown = {f"{c.row_path[0]} {c.column[0]}": (len(c.numbers), c.doubt) for c in one.cells}
    assert shown["A X"] == (0, r"\err isn't known")
    assert shown["A Y"] == (0, r"\weird isn't known")
    assert shown["B X"] == (1, "")
    claim = Claim(
        **{"id": "a", "row": ("A",), "column": ("X",), "metric": "x", "direction": "lower"},
        **{"value": 41.0, "printed": "41", "table": "Table 1", "scale": "raw"},
    )
    problem = check_claim(claim, read_source(found))
    assert problem is not None and r"\err isn't known" in problem.text


@pytest.mark.parametrize(
    ("columns", "head", "rows", "wanted"),
    [
        (r"l r@{.}l r@{ $\pm$ }l", r"M & \multicolumn{2}{c}{X} & \multicolumn{2}{c}{Y} \\",
         r"A & 0&41 & 88.3 & 0.2 \\", {"A | X": "0.41", "A | Y": "88.3±0.2"}),
        (r"l D{.}{.}{3} S[table-format=2.1]", r"M & \multicolumn{1}{c}{X} & {Y} \\",
         r"A & 0.41 & 88.3 \pm 0.2 \\", {"A | X": "0.41", "A | Y": "88.3±0.2"}),
        (r"l >{$}c<{$} c<{\%}", r"M & X & Y \\", r"A & 0.41_{\pm 0.02} & 88.3 \\",
         {"A | $X$" if False else "A | X": "0.41±0.02", "A | Y%": "88.3"}),
        (r"l *{2}{r@{\,$\pm$\,}l}", r"M & \multicolumn{2}{c}{X} & \multicolumn{2}{c}{Y} \\",
         r"A & 0.41 & 0.02 & 88.3 & 0.2 \\ B & 0.31 & & 1.0 & 0.1 \\",
         {"A | X": "0.41±0.02", "A | Y": "88.3±0.2", "B | X": "0.31", "B | Y": "1±0.1"}),
        (r"l Y Y", r"M & X & Y \\", r"A & 0.41 & 88.3 \\", {"A | X": "0.41", "A | Y": "88.3"}),
    ],
)  # fmt: skip
def test_columns_that_print_something_themselves(tmp_path, columns, head, rows, wanted):
    preamble = r"\newcolumntype{Y}{>{\centering\arraybackslash}X}"
    assert values(paper(tmp_path, table(rows, columns, head), preamble).tables) == wanted


def test_merged_rows_and_columns(tmp_path):
    body = r"""\begin{table}\caption{E.}\begin{tabular}{llcccc}\toprule
\multirow{2}{*}{Set} & \multirow{2}{*}{M} & \multicolumn{2}{c}{Small} & \multicolumn{2}{c}{Large} \\
\cmidrule(lr){3-4}\cmidrule(lr){5-6} & & p & q & p & q \\ \midrule
\multirow{2}{*}{R} & A & 0.31 & 0.42 & \multicolumn{2}{c}{0.36} \\
 & B & \multirow{2}{*}{0.21} & 0.32 & 0.15 & 0.26 \\
\multirow{2}{*}{L} & A & & 0.43 & 0.17 & 0.37 \\
 & \multicolumn{1}{l}{B} & 0.22 & 0.33 & --- & 0.27 \\ \midrule
\multicolumn{2}{l}{Mean} & 0.25 & 0.375 & 0.23 & 0.315 \\ \bottomrule
\end{tabular}\end{table}"""
    found = paper(tmp_path, body)
    read = values(found.tables)
    assert read["R / A | Large / p"] == read["R / A | Large / q"] == "0.36"
    assert read["R / B | Small / p"] == read["L / A | Small / p"] == "0.21"
    assert read["Mean | Large / q"] == "0.315"
    assert len(read) == 19 and values(tables_in(found.text)) == read


@pytest.mark.parametrize(
    "body",
    [
        r"\begin{tblr}{colspec={lcc}, hlines}\SetCell[r=2]{c} M & \SetCell[c=2]{c} E & \\"
        r" & X & Y \\ " + ROWS + r"\end{tblr}",
        r"\begin{NiceTabular}{lcc}[hvlines] \Block{2-1}{M} & \Block{1-2}{E} & \\ & X & Y \\ "
        + ROWS + r"\end{NiceTabular}",
        r"\begin{tabularx}{\linewidth}{lXX}\hline \multirow{2}{*}{M} & \multicolumn{2}{c}{E} \\"
        r" \cline{2-3} & X & Y \\ \hline " + ROWS + r"\end{tabularx}",
        r"\resizebox{\textwidth}{!}{\begin{tabular}{lcc} & \multicolumn{2}{c}{E} \\ M & X & Y \\ \hline "
        + ROWS + r"\end{tabular}}",
        r"\begin{longtable}{lcc}\toprule & \multicolumn{2}{c}{E} \\ M & X & Y \\ \midrule\endfirsthead "
        r"\toprule & \multicolumn{2}{c}{E} \\ M & X & Y \\ \midrule\endhead "
        r"\multicolumn{3}{r}{continued} \\ \endfoot \bottomrule\endlastfoot " + ROWS + r"\end{longtable}",
        r"\begin{threeparttable}\begin{tabular}{lcc} & \multicolumn{2}{c}{E} \\ M\tnote{a} & X & Y \\ \hline "
        + ROWS + r"\end{tabular}\begin{tablenotes}\item[a] of 3\end{tablenotes}\end{threeparttable}",
    ],
)  # fmt: skip
def test_environments_of_packages(tmp_path, body):
    found = paper(tmp_path, rf"\begin{{table}}\caption{{T}}{body}\end{{table}}")
    wanted = {key.replace("| ", "| E / "): value for key, value in FOUR.items()}
    assert values(found.tables) == wanted
    assert found.tables[0].caption == "T"


AAS = r"""%s\begin{deluxetable%s}{lcc}\tabletypesize{\small}\tablewidth{0pt}\tablecolumns{3}
\tablecaption{Error.\label{tab:e}}\tablehead{\colhead{M} & \colhead{X\tablenotemark{a}} & \colhead{Y} \\
\colhead{} & \colhead{(s)} & \colhead{}}
\startdata A & 0.41 & 0.36 \\ \cutinhead{Part two} B & 0.31 & \nodata \\ \enddata
\tablenotetext{a}{on one core}\tablecomments{Seven nights.}\end{deluxetable%s}%s"""


@pytest.mark.parametrize(
    ("before", "star", "after"),
    [
        ("", "", ""),
        (r"\begin{longrotatetable}", "*", r"\end{longrotatetable}"),
        (r"\begin{floattable}", "", r"\end{floattable}"),
    ],
)
def test_tables_of_aastex(tmp_path, before, star, after):
    found = paper(tmp_path, AAS % (before, star, star, after) + r" As Table~\ref{tab:e} says.")
    (one,) = found.tables
    assert values([one]) == {
        "A | X^a / (s)": "0.41",
        "A | Y": "0.36",
        "Part two / B | X^a / (s)": "0.31",
    }
    assert (one.names, one.caption) == (("1", "tab:e"), "Error.")
    assert "As Table 1 says." in found.text and "Seven nights." in found.text
    assert one.notes == (("a", "on one core"),)


@pytest.mark.parametrize(
    "body",
    [
        r"\tbl{Error.\label{tab:e}}{%s}",
        r"\processtable{Error.\label{tab:e}}{%s}{On one core.}",
        r"\TABLE{Error.\label{tab:e}}{%s}{}",
    ],
)
def test_captions_of_journals_own_commands(tmp_path, body):
    inner = rf"\begin{{tabular}}{{lcc}} M & X & Y \\ \hline {ROWS}\end{{tabular}}"
    (one,) = paper(tmp_path, rf"\begin{{table}}{body % inner}\end{{table}}").tables
    assert values([one]) == FOUR and (one.names, one.caption) == (("1", "tab:e"), "Error.")


def test_what_a_class_means_by_a_word_yields_to_the_author(tmp_path):
    (one,) = paper(tmp_path, table(ROWS), r"\newcommand{\tbl}[1]{#1}").tables
    assert values([one]) == FOUR
    found = paper(
        tmp_path, table(r"A & \tbl{0.41} & 0.36 \\ B & 0.31 & 0.28 \\"), r"\def\tbl#1{#1}"
    )
    assert values(found.tables) == FOUR


def test_environments_of_the_author(tmp_path):
    preamble = (
        r"\newenvironment{results}[1]{\begin{tabular}{#1}\toprule}{\bottomrule\end{tabular}}"
        r"\NewDocumentEnvironment{floated}{O{t} m}{\begin{table}[#1]\caption{#2}}{\end{table}}"
        r"\NewEnviron{boxed}{\resizebox{1cm}{!}{\BODY}}"
    )
    rows = r"M & X & Y \\ \midrule " + ROWS
    body = rf"\begin{{floated}}{{T.}}\begin{{boxed}}\begin{{results}}{{lrr}}{rows}\end{{results}}\end{{boxed}}\end{{floated}}"
    found = paper(tmp_path, body, preamble)
    assert values(found.tables) == FOUR
    assert (found.tables[0].names, found.tables[0].caption) == (("1",), "T.")


CSV = "M,X,Y\nA,0.41,0.36\nB,0.31,0.28\n"


@pytest.mark.parametrize(
    "body",
    [
        r"\csvautotabular{s.csv}",
        r"\csvautobooktabular[table head=x]{s}",
        r"\csvreader[tabular=lrr, table head=\toprule M & X & Y\\\midrule, table foot=\bottomrule]"
        r"{s.csv}{M=\m,X=\x,Y=\y}{\m & \x & \y}",
        r"\csvreader[head to column names, tabular=lrr, table head=M & X & Y\\]{s.csv}{}{\M & \X & \Y}",
        r"\csvreader[head to column names, head to column names prefix=my, tabular=lrr,"
        r" table head=M & X & Y\\]{s.csv}{}{\myM & \myX & \myY}",
        r"\begin{tabular}{lrr} M & X & Y \\ \hline \csvreader[late after line=\\]{s.csv}{}"
        r"{\csvcoli & \csvcolii & \csvcoliii}\end{tabular}",
        r"\pgfplotstabletypeset[col sep=comma, columns={M,X,Y}, string type]{s.csv}",
        r"\pgfplotstableread[col sep=comma]{s.csv}\mine\pgfplotstabletypeset{\mine}",
    ],
)
def test_tables_that_are_kept_in_files(tmp_path, body):
    found = paper(tmp_path, rf"\begin{{table}}\caption{{T}}{body}\end{{table}}", s__csv=CSV)
    assert values(found.tables) == FOUR


def test_a_table_whose_rows_came_out_empty_is_told_of(tmp_path):
    body = r"\csvreader[tabular=lrr, table head=M & X & Y\\]{s.csv}{}{\a & \b & \c}"
    found = paper(tmp_path, rf"\begin{{table}}\caption{{T}}{body}\end{{table}}", s__csv=CSV)
    assert [part.what for part in found.unread] == ["Table 1"]


def test_a_file_that_the_source_writes_and_one_that_is_not_there(tmp_path):
    preamble = "\\begin{filecontents*}{inside.csv}\n" + CSV + "\\end{filecontents*}"
    body = r"\begin{table}\caption{T}\csvautotabular{%s.csv}\end{table}"
    assert values(paper(tmp_path, body % "inside", preamble).tables) == FOUR
    gone = paper(tmp_path, body % "gone", "")
    assert gone.tables == () and [part.what for part in gone.unread] == ["gone.csv", "Table 1"]


@pytest.mark.parametrize(
    "row",
    [
        r"\csname @@input\endcsname rows ",
        r"\primitiveinput{rows}",
        r"\input rows ",
        r"\expandafter\input{\folder rows}",
        r"\InputIfFileExists{rows}{}{}",
    ],
)
def test_rows_from_a_file_by_any_command(tmp_path, row):
    preamble = (
        r"\makeatletter\newcommand\primitiveinput[1]{\@@input #1 }\makeatother\def\folder{./}"
    )
    found = paper(tmp_path, table(row), preamble, rows__tex=ROWS)
    assert values(found.tables) == FOUR


def test_links_with_percent_signs(tmp_path):
    body = table(
        r"\url{https://a.org/b%2Fc} & 0.41 & \href{https://a.org/x%20y?z=1}{0.36} \\"
        r"\path{d/c%2F} & 0.31 & 0.28 \\ \nolinkurl{e%20f} & 0.21 & 0.18 \\"
    )
    read = values(paper(tmp_path, body).tables)
    assert list(read.values())[:1] == ["0.41"]
    assert [read[f"{name} | X"] for name in ("d/c%2F", "e%20f")] == ["0.31", "0.21"]


def test_numbers_of_tables_as_the_source_counts_them(tmp_path):
    body = (
        table(ROWS)
        + r"See Table~\ref{tab:s}.\appendix\setcounter{table}{0}\renewcommand{\thetable}{S\arabic{table}}"
        + table(ROWS).replace("tab:e", "tab:s")
        + r"\begin{table}\caption*{Not counted.}\begin{tabular}{lr} a & b \\ c & 1.5 \\ \end{tabular}\end{table}"
    )
    found = paper(tmp_path, body)
    assert [one.names for one in found.tables] == [("1", "tab:e"), ("S1", "tab:s"), ()]
    assert "See Table S1." in found.text and "*Table S1: Error.*" in found.text


@pytest.mark.parametrize(
    ("between", "number"),
    [
        (r"\begin{longtable}{lr} a & b \\ c & 1.5 \\ \end{longtable}", "3"),
        (r"\begin{longtable}{lr} a & b \\ c & 1 \\ \end{longtable}\addtocounter{table}{-1}", "2"),
        (r"\begin{longtable*}{lr} a & b \\ c & 1.5 \\ \end{longtable*}", "2"),
        (
            r"\begin{longtable}{lr} \caption{L} \\ a & b \\ \hline \endfirsthead"
            r" \caption[]{(continued)} \\ a & b \\ \endhead c & 1.5 \\ \end{longtable}",
            "3",
        ),
    ],
)
def test_a_long_table_is_counted_with_a_caption_or_without(tmp_path, between, number):
    last = table(ROWS).replace("tab:e", "tab:s")
    found = paper(tmp_path, table(ROWS) + between + last)
    assert [found.tables[0].names, found.tables[-1].names] == [("1", "tab:e"), (number, "tab:s")]


def test_marked_headings_of_a_long_table_are_its_headings(tmp_path):
    body = (
        r"\begin{longtable}{lcl} \caption{L} \\ \multicolumn{3}{l}{a. Runs} \\ \toprule"
        r" M & X & Status \\ \midrule \endfirsthead \toprule M & X & Status \\ \midrule \endhead"
        r" A & 0.41 & picked \\ B & 0.31 & left out \\ \end{longtable}"
    )
    read = values(paper(tmp_path, body).tables)
    assert read == {"A | a. Runs / X": "0.41", "B | a. Runs / X": "0.31"}


def test_parts_of_a_table_and_notes(tmp_path):
    part = r"\begin{subtable}{4cm}\begin{tabular}{lr} M & X \\ \hline A & %s \\ \end{tabular}\caption{%s}\end{subtable}"
    body = (
        rf"\begin{{table}}{part % ('0.41', 'Left')}{part % ('0.31', 'Right')}\caption{{Both.}}\end{{table}}"
        r"\begin{table}\caption{N}\begin{threeparttable}\begin{tabular}{lr} M & X \\ \hline"
        r" A & 0.41\tnote{a} \\ \end{tabular}\begin{tablenotes}\item[a] one run\end{tablenotes}"
        r"\end{threeparttable}\end{table}"
    )
    left, right, noted = paper(tmp_path, body).tables
    assert (left.names, left.caption) == (("1a",), "Both. Left")
    assert (right.names, right.caption) == (("1b",), "Both. Right")
    assert noted.cells[0].notes == ("one run",) and noted.cells[0].numbers[0].value == 0.41


def test_values_in_expanded_rows_are_withheld(tmp_path):
    preamble = r"\newcommand{\row}[3]{#1 & #2 & #3 \\}"
    found = paper(tmp_path, table(r"\row{A}{0.411}{0.368}\row{B}{0.311}{0.287}"), preamble)
    claim = Claim(
        **{"id": "a", "row": ("B",), "column": ("Y",), "metric": "x", "direction": "lower"},
        **{"value": 0.287, "printed": "0.287", "table": "Table 1", "scale": "raw"},
    )
    assert check_claim(claim, read_source(found)) is None
    text = blank_values(found.text, [claim])
    assert text.count(WITHHELD) == 4 and not any(v in text for v in ("0.411", "0.368", "0.287"))


@pytest.mark.parametrize(
    "latex",
    [
        r"This was shown \cite[Section 1, and used." + "\n\n",
        r"\begin{eqnarray}\sqrt [a_{1}, b_{1}) &=& c \\ \end{eqnarray}",
        r"\num [0, 10) and \SI [1, 2) x",
        r"\textbf{ open \emph{ open $ open ",
        r"\newcommand{\a}[1]{\b{#1}\b{#1}}\newcommand{\b}[1]{#1#1#1}\a{\a{\a{\a{\a{x y}}}}}",
        r"\begin{tabular}{lr} a & \multirow{2}{*}{ 1 \\ ",
        r"\def\x{\y\y\y}\def\y{\z\z\z}\def\z{\w\w\w}\def\w{1 2 3}\x\x\x",
        r"\if0 \ifx\a \else \begin{a}\end{b}",
    ],
)
def test_no_form_takes_more_than_linear_time(latex):
    began = time.monotonic()
    for count in (100, 1000):
        to_markdown(latex * count)
    assert time.monotonic() - began < 12


def test_a_macro_that_writes_without_end_is_named_and_not_lost(tmp_path):
    body = r"\newcommand{\tw}[1]{#1#1#1#1}" + r"\tw{" * 12 + "word" + "}" * 12 + " Last 0.9."
    found = paper(tmp_path, body)
    assert len(found.text) < 2_000_000 and "Last 0.9." in found.text
    assert [part.what for part in found.unread] == [r"what \tw means"]


def test_a_table_within_markdown_has_its_places():
    text = (
        "# P\n\n\\newcommand{\\row}[2]{#1 & #2 \\\\}\n\n\\begin{table}\\caption{T}\\begin{tabular}{lr}"
        "M & X \\\\ \\hline \\row{A}{0.41} B & \\textbf{0.31} \\\\ \\end{tabular}\\end{table}\n"
    )
    (one,) = tables_in(text)
    assert values([one]) == {"A | X": "0.41", "B | X": "0.31"}
    assert [text[cell.start : cell.end] for cell in one.cells] == ["0.41", r"\textbf{0.31}"]


@pytest.mark.parametrize(
    ("columns", "head", "rows", "wanted"),
    [
        pytest.param("llr", r"Task & Model & X \\", r"P & 0.5B & 0.41 \\ P & 3B & 0.31 \\",
                     {"P / 0.5B | X": "0.41", "P / 3B | X": "0.31"}, id="names that look like values"),
        pytest.param("lccr", r"M & VQ & P & X \\", r"A & \checkmark & 6 & 0.41 \\ B & $\times$ & - & 0.31 \\",
                     {"A | P": "6", "A | X": "0.41", "B | X": "0.31"}, id="ticks are no names"),
        pytest.param("llr", r"Land & Rounds & X \\", r"A & 2--11 & 0.41 \\ B & 1--9 & 0.31 \\",
                     {"A / 2-11 | X": "0.41", "B / 1-9 | X": "0.31"}, id="from one to another"),
        pytest.param("lrr", r"M & N & X \\", r"A & $\sim$2000 & 0.41 \\ B & $2.10^3$ & 0.31 \\",
                     {"A | N": "2000", "A | X": "0.41", "B | N": "2000", "B | X": "0.31"}, id="about"),
        pytest.param("llrr", r"\multicolumn{4}{l}{\textbf{Part A}} \\ \midrule M & How & X & Y \\",
                     r"A & slow & 0.41 & -- \\ B & fast & -- [--] & n/-- \\",
                     {"A / slow | Part A / X": "0.41"}, id="a title above the headings"),
    ],
)  # fmt: skip
def test_tables_of_other_people(tmp_path, columns, head, rows, wanted):
    assert values(paper(tmp_path, table(rows, columns, head)).tables) == wanted


def test_a_reference_in_a_cell_is_its_number(tmp_path):
    body = table(r"\Cref{tab:e} & 0.41 & 0.36 \\ Alg.~\ref{alg:x} & 0.31 & 0.28 \\")
    found = paper(tmp_path, body)
    assert [one.row_path[0] for one in found.tables[0].cells[::2]] == ["1", "Alg. alg:x"]
    for cell in found.tables[0].cells:
        assert found.text[cell.start : cell.end] == cell.text


def test_a_file_that_is_only_asked_for_is_not_missed(tmp_path):
    body = r"\IfFileExists{gone.sty}{\usepackage{gone}}{Without it.}"
    found = paper(tmp_path, body)
    assert "Without it." in found.text and found.unread == []


NOISE = {"0 | Accuracy / Ours": "94.1", "0 | Accuracy / Base": "93", "10 | Accuracy / Ours": "92.3"}
AXIS = r"""\begin{figure}\begin{tikzpicture}\begin{%s}[xlabel=noise,ylabel={Accuracy},%s]%s
\end{%s}\end{tikzpicture}\caption{Under noise.}\label{fig:n}\end{figure}"""


@pytest.mark.parametrize(
    ("kind", "options", "plots"),
    [
        (
            "axis",
            "legend pos=south west, xtick={0,10}",
            r"\addplot[blue, mark=*] coordinates {(0, 94.1) (10,92.3)}; \addlegendentry{Ours}"
            r"\addplot+[red] coordinates {(0,93)}; \addlegendentry{Base}",
        ),
        (
            "semilogxaxis",
            "legend entries={Ours, Base}",
            r"\addplot table[x=n,y=a,col sep=comma]{runs.csv};"
            r"\addplot table[x=n,y=b,col sep=comma]{\runs};",
        ),
        (
            "axis",
            "xbar, xlabel={Accuracy}, ylabel=noise",
            r"\addplot coordinates {(94.1,0) (92.3,10)}; \addplot coordinates {(93,0)};"
            r"\legend{Ours,Base}",
        ),
    ],
)
def test_the_numbers_of_a_plot_are_a_table(tmp_path, kind, options, plots):
    stored = r"\pgfplotstableread[col sep=comma]{short.csv}\runs "
    files = {"runs__csv": "n,a,b\n0,94.1,93\n10,92.3,90\n", "short__csv": "n,a,b\n0,94.1,93\n"}
    found = paper(tmp_path, stored + AXIS % (kind, options, plots, kind), **files)
    assert values(found.tables) == NOISE
    (one,) = found.tables
    assert one.names == ("Figure 1", "fig:n") and one.caption == "Under noise."
    assert "94.1 | 93 |" in found.text


def test_a_curve_of_many_points_and_a_formula_are_no_table(tmp_path):
    points = " ".join(f"({n},{n * n})" for n in range(300))
    plots = rf"\addplot coordinates {{{points}}};\addplot[domain=0:1] {{x^2}};"
    found = paper(tmp_path, WORDS * 30 + AXIS % ("axis", "legend entries={a}", plots, "axis"))
    assert not found.tables and "89401" not in found.text


def test_a_claim_on_a_plot_is_checked_and_withheld(tmp_path):
    plots = r"\addplot coordinates {(0,94.1) (10,92.3)}; \addplot coordinates {(0,93) (10,90.4)};"
    found = paper(tmp_path, AXIS % ("axis", "legend entries={Ours,Base}", plots, "axis"))
    claim = Claim(
        **{"id": "a", "row": ("10",), "column": ("Ours",), "metric": "accuracy"},
        **{"value": 92.3, "printed": "92.3", "table": "Fig. 1", "direction": "higher"},
    )
    assert check_claim(claim, read_source(found)) is None
    blanked = blank_values(found.text, [claim])
    assert not any(value in blanked for value in ("94.1", "92.3", "90.4"))
    assert "| noise | Ours | Base |" in blanked and "| 10 |" in blanked


@pytest.mark.parametrize(
    "array",
    [
        r"$\begin{array}{lrr}\hline \text{M} & \text{X} & \text{Y} \\ \hline "
        r"\text{A} & 0.41 & 0.36 \\ \text{B} & \mathbf{0.31} & 0.28 \\ \hline\end{array}$",
        r"\[ \begin{array}{l|cc} & \mbox{X} & \mbox{Y} \\ \mbox{A} & 0.41 & 0.36 \\ "
        r"\mbox{B} & 0.31 & 0.28 \end{array} \]",
        r"\begin{equation*}\begin{array}{lcc} & X & Y \\ \toprule A & 0.41 & 0.36 \\ "
        r"B & 0.31 & 0.28 \end{array}\end{equation*}",
    ],
)
def test_an_array_that_is_set_as_a_table_is_one(tmp_path, array):
    assert values(paper(tmp_path, array).tables) == FOUR


def test_an_array_within_a_formula_stays_a_formula(tmp_path):
    cases = (
        r"$$ f(x) = \left\{\begin{array}{ll} 0 & \text{if } x<0 \\ 1 & x\ge 0\end{array}\right. $$"
    )
    matrix = r"$$\begin{array}{cc} 1 & 2 \\ 3 & 4 \end{array}$$"
    found = paper(tmp_path, cases + matrix)
    assert not found.tables and found.text.count(r"\begin{array}") == 2

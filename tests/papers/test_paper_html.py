"""HTML: arXiv's (LaTeXML), saved pages with all their faults; and what becomes HTML on its way:
Word documents, reStructuredText; and notebooks.
"""

from __future__ import annotations

import gzip
import json
import zipfile
from pathlib import Path

import pytest
from arxiv_server import Stored, serve
from latex_maker import gz, tar_gz
from pdf_maker import paper_pdf

from autoreproduce.errors import PaperError
from autoreproduce.papers import read_paper
from autoreproduce.papers.files import read_file
from autoreproduce.papers.html_reader import html_markdown
from autoreproduce.papers.model import Paper
from autoreproduce.papers.tables import tables_in

FILLER = (
    "<p>We measure the error of two models on two rivers, and report its mean over runs.</p>" * 9
)


def values(paper: Paper | str) -> list[tuple[str, str, str]]:
    tables = paper.tables if isinstance(paper, Paper) else tables_in(html_markdown(paper)[1])
    return [
        (" / ".join(cell.row_path), " / ".join(cell.column), cell.text)
        for table in tables
        for cell in table.cells
    ]


def td(text: str, *classes: str) -> str:
    return f'<td class="{" ".join(("ltx_td", *classes))}">{text}</td>'


MATH = '<math alttext="{}" display="inline"><mi>?</mi></math>'
SPREAD = MATH.format(r"0.31\pm 0.02")
LATEXML = f"""<!DOCTYPE html><html><head><title>[2303.00001v2] Rivers</title></head><body>
<nav class="ltx_page_navbar">Menu</nav><div class="ltx_page_main"><div class="ltx_page_content">
<article class="ltx_document"><h1 class="ltx_title ltx_title_document">Rivers</h1>
<div class="ltx_abstract"><h6 class="ltx_title ltx_title_abstract">Abstract</h6>
<p class="ltx_p">An error of {MATH.format("10^{-3}")}.</p></div>{FILLER}
<section class="ltx_section"><h2 class="ltx_title"><span class="ltx_tag">1 </span>Results</h2>
<p class="ltx_p">It falls<span class="ltx_note ltx_role_footnote"><sup class="ltx_note_mark">1</sup>
<span class="ltx_note_outer"><span class="ltx_note_content"><sup class="ltx_note_mark">1</sup>
<span class="ltx_tag ltx_tag_note">1</span>In 0.5 of cases.</span></span></span>.</p>
<table class="ltx_equation ltx_eqn_table"><tbody><tr class="ltx_equation ltx_eqn_row"><td></td>
<td>{MATH.format("E=mc^{2}")}</td><td>(7)</td></tr></tbody></table>
<figure class="ltx_table"><figcaption class="ltx_caption"><span class="ltx_tag ltx_tag_table">
Table 1: </span>Error.</figcaption><table class="ltx_tabular"><thead class="ltx_thead">
<tr class="ltx_tr">{td("Model", "ltx_th")}<th class="ltx_td ltx_th_column" colspan="2">Rivers</th></tr>
<tr class="ltx_tr"><th class="ltx_th"></th><th class="ltx_th">A</th><th class="ltx_th">B</th></tr>
</thead><tbody class="ltx_tbody"><tr class="ltx_tr">
<th class="ltx_td ltx_th ltx_th_row">Gated</th>{td(SPREAD)}{td("0.28")}</tr>
<tr class="ltx_tr"><th class="ltx_td ltx_th ltx_th_row">Dense</th>{td("")}{td("0.41")}</tr>
</tbody></table></figure>
<figure class="ltx_table"><figcaption class="ltx_caption">Table 2: As spans.</figcaption>
<span class="ltx_tabular"><span class="ltx_tbody">
<span class="ltx_tr"><span class="ltx_td ltx_border_tt">Model</span>
<span class="ltx_td ltx_border_tt">Loss</span></span>
<span class="ltx_tr"><span class="ltx_td ltx_border_t">Gated</span>
<span class="ltx_td ltx_border_t"><span class="ltx_text ltx_font_bold">0.2</span></span></span>
</span></span></figure></section>
<section class="ltx_bibliography"><h2>References</h2><ul class="ltx_biblist">
<li class="ltx_bibitem"><span class="ltx_tag">[1]</span>
<span class="ltx_bibblock">Kingma, D. and Ba, J.</span>
<span class="ltx_bibblock">Adam: A method for stochastic optimization.</span>
<span class="ltx_bibblock">In ICLR, 2015.</span></li></ul></section></article></div></div></body></html>"""
TRUE = [
    ("Gated", "Rivers / A", "0.31± 0.02"),
    ("Gated", "Rivers / B", "0.28"),
    ("Dense", "Rivers / B", "0.41"),
    ("Gated", "Loss", "0.2"),
]


def test_arxivs_own_html(tmp_path):
    (tmp_path / "p.html").write_text(LATEXML)
    paper = read_file(tmp_path / "p.html", tmp_path / "out")
    assert (paper.source, paper.title) == ("html", "Rivers")
    assert values(paper) == TRUE
    assert [table.names for table in paper.tables] == [("1",), ("2",)]
    assert "$10^{-3}$" in paper.text and "$$\nE=mc^{2}\n$$" in paper.text
    assert "(footnote: In 0.5 of cases.)" in paper.text and "Menu" not in paper.text
    assert [one.title for one in paper.references] == ["Adam: A method for stochastic optimization"]


@pytest.mark.parametrize(
    ("html", "found"),
    [
        # no end tags, as in many pages written by hand
        (
            "<table><caption>Table 1. X<tr><th>Model<th>A<tr><td>Gated<td>0.5<tr><td>B<td>0.3</table>",
            [("Gated", "A", "0.5"), ("B", "A", "0.3")],
        ),
        # merged cells, a sign for less, a note's mark
        (
            "<table><tr><th rowspan=2>Model</th><th colspan=2>Error</th></tr><tr><th>A</th><th>B</th>"
            "</tr><tr><td>G</td><td>&lt; 0.3<sup>a</sup></td><td>0.4</td></tr></table>",
            [("G", "Error / A", "< 0.3^a"), ("G", "Error / B", "0.4")],
        ),
        # a table that lays out two others
        (
            "<table><tr><td><table><tr><th>M<th>A<tr><td>G<td>0.1</table></td><td><table><tr><th>M"
            "<th>B<tr><td>G<td>0.2</table></td></tr></table>",
            [("G", "A", "0.1"), ("G", "B", "0.2")],
        ),
        # a line break in a cell, hidden text, a formula of MathML alone
        (
            "<table><tr><td>M<td>Test<br>error</tr><tr><td>G<style>td{}</style></td><td><math><mn>0.7"
            "</mn><mo>±</mo><mn>0.1</mn></math></td></tr></table>",
            [("G", "Test error", "0.7±0.1")],
        ),
        # paragraphs and stray end tags within cells
        (
            "<table><tr><td><p>M</p><td><p>A<p></tr><tr><td>G</div></td><td></b><p>0.8</p></td></tr></table>",
            [("G", "A", "0.8")],
        ),
    ],
)
def test_tables_of_pages(html, found):
    assert values(html) == found


@pytest.mark.parametrize(
    ("html", "names"),
    [
        ("<table><caption>Errors of two.</caption>%s</table>", ("1",)),
        ("<figure><figcaption>Errors of two.</figcaption><table>%s</table></figure>", ("1",)),
        ("<figure><table>%s</table><figcaption>Errors of two.</figcaption></figure>", ("1",)),
        ("<div>Table 4</div><table><caption>Errors of two.</caption>%s</table>", ("4",)),
        ("<table><caption><b>Table IV</b>. Errors of two.</caption>%s</table>", ("IV",)),
    ],
)
def test_captions_that_name_no_number(tmp_path, html, names):
    rows = "<tr><th>M<th>A<tr><td>G<td>0.5<tr><td>H<td>0.3"
    page = tmp_path / "p.html"
    page.write_text(f"<article><p>{'We measure it. ' * 20}</p>{html % rows}<p>More.</p></article>")
    (one,) = read_file(page, tmp_path / "out").tables
    assert (one.names, one.caption) == (names, "Errors of two.")


RAISED = "<msup><mn>10</mn><mrow><mo>−</mo><mn>4</mn></mrow></msup>"
KATEX = (
    '<span class="katex"><span class="katex-mathml"><math><semantics><mn>91.3</mn><annotation '
    'encoding="application/x-tex">91.3</annotation></semantics></math></span>'
    '<span class="katex-html" aria-hidden="true"><span>91.3</span></span></span>'
)


@pytest.mark.parametrize(
    ("cell", "value", "spread"),
    [
        (f"<math>{RAISED}</math>", 1e-4, None),
        (f"<math><mn>3.1</mn><mo>×</mo>{RAISED}</math>", 3.1e-4, None),
        ("<math><msub><mn>91.3</mn><mrow><mo>±</mo><mn>0.2</mn></mrow></msub></math>", 91.3, 0.2),
        (
            "<math><msubsup><mn>0.5</mn><mrow><mo>-</mo><mn>0.1</mn></mrow>"
            "<mrow><mo>+</mo><mn>0.2</mn></mrow></msubsup></math>",
            0.5,
            0.2,
        ),
        (KATEX, 91.3, None),
        ('<span style="display: none">0913</span>91.3', 91.3, None),
        ("<span hidden>2</span>91.3", 91.3, None),
        (r'<script type="math/tex">91.3 \pm 0.2</script>', 91.3, 0.2),
    ],
)
def test_formulas_without_their_latex_and_what_isn_t_shown(cell, value, spread):
    page = f"<table><tr><th>M<th>E<tr><td>A<td>{cell}<tr><td>B<td>1.5</table>"
    (table,) = tables_in(html_markdown(page)[1])
    [number] = table.cells[0].numbers
    assert (number.value, number.spread) == (pytest.approx(value), spread)


def test_a_page_that_never_closes_its_tags():
    title, text = html_markdown("<h1>Rivers</h1>" + "<div><span>" * 20_000 + "The end, 0.7")
    assert title == "Rivers" and text.endswith("The end, 0.7\n")


BROKEN = gz(
    rb"\documentclass{article}\begin{document}\includepdf{x.pdf}\end{document}" + b"\n" * 9000
)
PART = tar_gz(
    {
        "main.tex": rb"\documentclass{article}\title{Rivers}\begin{document}"
        + b"We measure it. " * 200
        + rb"\input{tables/error}\end{document}"
    }
)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("source", "html", "read"),
    [
        (BROKEN, LATEXML.encode(), "html"),
        (BROKEN, gzip.compress(LATEXML.encode()), "html"),
        (PART, LATEXML.encode(), "html"),
        (PART, None, "latex"),
        (BROKEN, None, "pdf"),
        (BROKEN, b"<html>No HTML for this paper</html>", "pdf"),
    ],
)
def test_arxivs_html_serves_where_its_latex_cannot(tmp_path, monkeypatch, source, html, read):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    stored = Stored("2303.00001", "Rivers", source=source, pdf=paper_pdf(), html=html)
    with serve([stored]) as server:
        notes: list[str] = []
        where = server.settings(tmp_path / "cache")
        paper = read_paper(where, tmp_path / "t", arxiv_id="2303.00001", note=notes.append)
    assert paper.source == read
    assert ("The LaTeX source could not be used" in notes[0]) == (read != "latex")
    assert (values(paper) == TRUE) == (read == "html")
    if read == "latex":
        assert "tables/error" in notes[1]


def test_a_notebook(tmp_path):
    cells = [
        {"cell_type": "markdown", "source": ["# Rivers\n", "\n", "Error below.\n", FILLER]},
        {
            "cell_type": "code",
            "source": "print(1)",
            "outputs": [
                {"output_type": "stream", "text": ["error 0.31\n"]},
                {
                    "output_type": "execute_result",
                    "data": {
                        "text/html": [
                            "<table><tr><th></th><th>A</th></tr><tr><th>Gated</th>",
                            "<td>0.31</td></tr></table>",
                        ],
                        "text/plain": ["  A\nGated 0.31"],
                    },
                },
                {"output_type": "error", "ename": "E", "evalue": "", "traceback": []},
            ],
        },
    ]
    (tmp_path / "p.ipynb").write_text(json.dumps({"cells": cells, "nbformat": 4}))
    paper = read_file(tmp_path / "p.ipynb", tmp_path / "out")
    assert (paper.title, values(paper)) == ("Rivers", [("Gated", "A", "0.31")])
    assert "```python\nprint(1)\n```" in paper.text and "error 0.31" in paper.text


RST = r"""
Rivers
======

An error of :math:`10^{-3}`.

.. table:: Table 1: Error.

   +--------+---------------+
   | Model  |     Rivers    |
   |        +-------+-------+
   |        |   A   |   B   |
   +========+=======+=======+
   | Gated  | 0.31  | 0.28  |
   +--------+-------+-------+

.. list-table:: Table 2: Loss.
   :header-rows: 1

   * - Model
     - Loss
   * - Gated
     - 0.2

.. include:: /etc/hostname
.. csv-table:: Table 3
   :file: scores.csv
"""


def test_restructured_text_reads_no_other_file(tmp_path):
    (tmp_path / "p.rst").write_text(RST)
    paper = read_file(tmp_path / "p.rst", tmp_path / "out")
    assert (paper.title, values(paper)) == (
        "Rivers",
        [
            ("Gated", "Rivers / A", "0.31"),
            ("Gated", "Rivers / B", "0.28"),
            ("Gated", "Loss", "0.2"),
        ],
    )
    assert "$10^{-3}$" in paper.text
    assert [part.what for part in paper.unread] == ["/etc/hostname", "scores.csv"]
    host = Path("/etc/hostname")
    assert not host.exists() or host.read_text().strip() not in paper.text


W = 'xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main"'
M = 'xmlns:m="http://schemas.openxmlformats.org/officeDocument/2006/math"'


def paragraph(text: str, style: str = "") -> str:
    named = f'<w:pPr><w:pStyle w:val="{style}"/></w:pPr>' if style else ""
    return f"<w:p>{named}<w:r><w:t>{text}</w:t></w:r></w:p>"


def word_row(*cells: tuple[str, str]) -> str:
    made = (f"<w:tc><w:tcPr>{how}</w:tcPr>{paragraph(text)}</w:tc>" for text, how in cells)
    return f"<w:tr>{''.join(made)}</w:tr>"


def word(file: Path, body: str) -> Path:
    kind = "application/vnd.openxmlformats-officedocument.wordprocessingml.document.main+xml"
    relation = "http://schemas.openxmlformats.org/officeDocument/2006/relationships/officeDocument"
    with zipfile.ZipFile(file, "w") as made:
        made.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            f'<Override PartName="/word/document.xml" ContentType="{kind}"/></Types>',
        )
        made.writestr(
            "_rels/.rels",
            '<Relationships xmlns="http://schemas.openxmlformats.org/package/2006/relationships">'
            f'<Relationship Id="r1" Type="{relation}" Target="word/document.xml"/></Relationships>',
        )
        made.writestr(
            "word/document.xml", f"<w:document {W} {M}><w:body>{body}</w:body></w:document>"
        )
    return file


def test_a_word_document(tmp_path):
    across, down, on = '<w:gridSpan w:val="2"/>', '<w:vMerge w:val="restart"/>', "<w:vMerge/>"
    rows = (
        word_row(("Model", down), ("Rivers", across))
        + word_row(("", on), ("A", ""), ("B", ""))
        + word_row(("Gated", ""), ("0.31 ± 0.02", ""), ("", ""))
        + word_row(("Dense", ""), ("0.41", ""), ("0.36", ""))
    )
    body = (
        paragraph("Rivers of the North", "Title")
        + paragraph("We measure it. " * 20)
        + paragraph("Table 1: Error.", "Caption")
        + f"<w:tbl>{rows}</w:tbl>"
        + "<w:p><w:r><w:object/></w:r></w:p>"
    )
    paper = read_file(word(tmp_path / "p.docx", body), tmp_path / "out")
    assert paper.title == "Rivers of the North"
    assert values(paper) == [
        ("Gated", "Rivers / A", "0.31 ± 0.02"),
        ("Dense", "Rivers / A", "0.41"),
        ("Dense", "Rivers / B", "0.36"),
    ]
    assert paper.tables[0].names == ("1",)
    assert [part.what for part in paper.unread] == ["some formulas"]


def math_run(text: str) -> str:
    return f"<m:r><m:t>{text}</m:t></m:r>"


@pytest.mark.parametrize(
    ("formula", "shown"),
    [
        (math_run("0.31 ± 0.02"), "0.31 ± 0.02"),
        (
            f"<m:sSub><m:e>{math_run('0.31')}</m:e><m:sub>{math_run('±0.02')}</m:sub></m:sSub>",
            "0.31_{±0.02}",
        ),
        (
            f"{math_run('3.1×')}<m:sSup><m:e>{math_run('10')}</m:e><m:sup>{math_run('-1')}</m:sup></m:sSup>",
            "3.1×10^{-1}",
        ),
        (
            f"<m:f><m:num>{math_run('a')}</m:num><m:den>{math_run('b')}</m:den></m:f>"
            f"<m:rad><m:deg/><m:e>{math_run('c')}</m:e></m:rad>",
            r"\frac{a}{b}\sqrt{c}",
        ),
        (
            '<m:nary><m:naryPr><m:chr m:val="∑"/></m:naryPr><m:sub>' + math_run("i=1") + "</m:sub>"
            f"<m:sup>{math_run('n')}</m:sup><m:e><m:d><m:e>{math_run('x')}</m:e></m:d></m:e></m:nary>",
            "∑_{i=1}^{n} (x)",
        ),
        (
            '<m:acc><m:accPr><m:chr m:val="\u0305"/></m:accPr><m:e>'
            + math_run("x")
            + "</m:e></m:acc>",
            r"\bar{x}",
        ),
    ],
)
def test_formulas_of_word(tmp_path, formula, shown):
    cell = f"<w:tc><w:p><m:oMath>{formula}</m:oMath></w:p></w:tc>"
    rows = word_row(("Model", ""), ("Rivers", "")) + (
        f"<w:tr><w:tc>{paragraph('Gated')}</w:tc>{cell}</w:tr>"
    )
    body = (
        paragraph("We measure it. " * 20)
        + paragraph("Errors of one.", "TableCaption")
        + f"<w:tbl>{rows}</w:tbl><w:p><m:oMathPara><m:oMath>{formula}</m:oMath></m:oMathPara></w:p>"
    )
    paper = read_file(word(tmp_path / "p.docx", body), tmp_path / "out")
    assert paper.text.count(f"${shown}$") == 2 and not paper.unread
    if shown.startswith(("0", "3")):
        (found,) = paper.tables[0].cells
        assert found.numbers[0].value == 0.31 and found.column == ("Rivers",)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("p.docx", b"PK no zip", "is no Word document"),
        ("p.docx", gzip.compress(b"x", mtime=0), "is no Word document"),
        ("p.ipynb", b"{}", "is no notebook"),
        ("p.ipynb", b'{"cells": [1]}', "is no notebook"),
        ("p.html", b"<html><body>Not found</body></html>", "no text of a paper"),
        ("p.rst", b"\n\n", "has no text"),
    ],
)
def test_what_is_none_is_said(tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(PaperError, match=message):
        read_file(tmp_path / name, tmp_path / "out")

"""Tables of PDFs: by where words stand, or by Docling's models; what isn't decided is text."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
from pdf_maker import Page, make_pdf, prose

from autoreproduce.config import Settings
from autoreproduce.errors import PaperError, UsageError
from autoreproduce.papers import Paper, read_paper
from autoreproduce.papers.docling import tables_of_document
from autoreproduce.papers.files import read_file

Row = list[tuple[float, str]]


def page(*rows: Row, caption: str = "Table 1: Error by set.", left: float = 72, step: float = 14):
    """A page with prose, a caption and rows of words at their places."""
    made = Page().line(72, 760, "Errors of Three Models", 15, "bold")
    for n, text in enumerate(prose(3)):
        made.line(72, 735 - 12 * n, text.capitalize() + ".")
    if caption:
        made.line(left, 680, caption)
    for n, row in enumerate(rows):
        for x, text in row:
            made.line(x, 664 - step * n, text)
    for n, text in enumerate(prose(3, 9)):
        made.line(72, 664 - step * len(rows) - 30 - 12 * n, text.capitalize() + ".")
    return made


def read(tmp_path: Path, *pages: Page) -> Paper:
    (tmp_path / "p.pdf").write_bytes(make_pdf(list(pages)))
    return read_file(tmp_path / "p.pdf", tmp_path / "out")


def values(paper: Paper) -> list[tuple[str, str, str]]:
    return [
        (" / ".join(cell.row_path), " / ".join(cell.column), cell.text)
        for table in paper.tables
        for cell in table.cells
    ]


HEAD = [(72.0, "Model"), (200.0, "Rivers"), (270.0, "Lakes"), (340.0, "Hills")]
DENSE = [(72.0, "Dense"), (200.0, "0.411"), (270.0, "0.368"), (340.0, "0.502")]


def test_the_name_of_a_first_section_is_no_heading(tmp_path):
    grown = [(72.0, "Dense"), (200.0, "0.31"), (270.0, "0.26"), (340.0, "0.40")]
    rows = [HEAD, [(72.0, "Small models")], DENSE, [(72.0, "Large models")], grown]
    found = values(read(tmp_path, page(*rows)))
    assert [(row, text) for row, column, text in found if column == "Lakes"] == [
        ("Small models / Dense", "0.368"),
        ("Large models / Dense", "0.26"),
    ]


def test_two_tables_beside_each_other_are_two(tmp_path):
    made = Page().line(72, 760, "Errors of Three Models", 15, "bold")
    for n, text in enumerate(prose(9)):
        made.line(72, 620 - 12 * n, text.capitalize() + ".")
    for left, number in ((72, 1), (320, 2)):
        made.line(left, 700, f"Table {number}: Error on set {number}.")
        rows = [("Model", "Error"), ("Dense", f"0.41{number}"), ("Gated", f"0.31{number}")]
        for n, (name, value) in enumerate(rows):
            made.line(left, 684 - 14 * n, name)
            made.line(left + 110, 684 - 14 * n, value)
    found = read(tmp_path, made).tables
    assert [table.names for table in found] == [("1",), ("2",)]
    assert [[c.text for c in t.cells] for t in found] == [["0.411", "0.311"], ["0.412", "0.312"]]


@pytest.mark.parametrize(
    ("row", "right"),
    [
        ([(72, "Gated"), (270, "0.287"), (340, "0.433")], ["Lakes", "Hills"]),
        ([(72, "Gated"), (200, "0.287"), (340, "0.433")], ["Rivers", "Hills"]),
        ([(72, "Gated"), (203, "0.28"), (266, "10.433")], ["Rivers", "Lakes"]),
    ],
)
def test_an_empty_cell_shifts_no_column(tmp_path, row, right):
    found = values(read(tmp_path, page(HEAD, DENSE, row)))
    assert [column for label, column, _ in found if label == "Gated"] == right


def test_the_order_in_which_a_table_is_drawn_says_nothing(tmp_path):
    made = page([])
    for column in zip(
        HEAD, DENSE, [(72, "Gated"), (200, "–"), (270, "0.287"), (340, "0.4")], strict=True
    ):
        for n, (x, text) in enumerate(column):
            made.line(x, 664 - 14 * n, text)
    found = values(read(tmp_path, made))
    assert ("Dense", "Hills", "0.502") in found and ("Gated", "Lakes", "0.287") in found
    assert len(found) == 5


@pytest.mark.parametrize(
    "upper",
    [
        [(120, "Rivers"), (200, "Lakes")],  # over the first of its group
        [(130, "Rivers"), (212, "Lakes")],  # in its middle
    ],
)
def test_stacked_headings_are_kept_beside_another_column(tmp_path, upper):
    columns = [120.0, 160.0, 200.0, 240.0]
    rows = [
        upper,
        [(72, "Model"), *zip(columns, ["Train", "Test", "Train", "Test"], strict=True)],
        [(72, "Dense"), *zip(columns, ["0.31", "0.42", "0.25", "0.36"], strict=True)],
        [(72, "Gated"), *zip(columns, ["0.21", "0.32", "0.15", "0.26"], strict=True)],
    ]
    made = page(*rows)
    for n in range(6):
        made.line(320, 672 - 13 * n, f"In column two the text goes on, line {n}, with 0.{n}5.")
    found = values(read(tmp_path, made))
    assert found[:4] == [
        ("Dense", "Rivers / Train", "0.31"),
        ("Dense", "Rivers / Test", "0.42"),
        ("Dense", "Lakes / Train", "0.25"),
        ("Dense", "Lakes / Test", "0.36"),
    ]
    assert len(found) == 8


@pytest.mark.parametrize("caption", ["TABLE II", "TABLE IV", "Table S3. Error", "Tab. 2: Error"])
def test_captions_of_any_numbering(tmp_path, caption):
    made = page(HEAD, DENSE, [(72, "Gated"), (200, "0.3"), (270, "0.2")], caption=caption)
    (table,) = read(tmp_path, made).tables
    assert table.names and len(table.cells) == 5


def test_a_caption_below_its_table(tmp_path):
    made = page(HEAD, DENSE, DENSE, caption="")
    made.line(72, 664 - 3 * 14 - 4, "Table 7: Error by set.")
    (table,) = read(tmp_path, made).tables
    assert table.names == ("7",) and len(table.cells) == 6


@pytest.mark.parametrize(
    "rows",
    [
        # a value under no heading; two values at one place, or over one; a heading between columns
        [HEAD[:3], DENSE, DENSE],
        [HEAD, [*DENSE, (340.0, "0.9")], DENSE],
        [
            HEAD[:3],
            [(72, "Dense"), (200, "10.4112"), (270, "0.411")],
            [(72, "G"), (200, "0.2"), (218, "0.3")],
        ],
        [[(72, "Model"), (228, "E")], DENSE[:3], DENSE[:3]],
    ],
)
def test_what_places_do_not_decide_is_text_and_named(tmp_path, rows):
    paper = read(tmp_path, page(*rows))
    assert paper.tables == () and "0.411" in paper.text
    (part,) = paper.unread
    assert part.what == "the columns of Table 1" and "Docling" in part.fix


DOCUMENT = {
    "schema_name": "DoclingDocument",
    "pages": {"1": {"size": {"width": 612.0, "height": 792.0}, "page_no": 1}},
    "texts": [{"self_ref": "#/texts/0", "text": "Table 1: Error by set.", "label": "caption"}],
    "tables": [
        {
            "prov": [
                {
                    "page_no": 1,
                    "bbox": {"l": 60, "t": 676, "r": 400, "b": 620, "coord_origin": "BOTTOMLEFT"},
                }
            ],
            "captions": [{"$ref": "#/texts/0"}],
            "data": {"num_rows": 3, "num_cols": 3, "table_cells": []},
        }
    ],
}
GRID = [
    (0, 1, 0, 1, "Model", True),
    (0, 1, 1, 3, "Error", True),
    (1, 2, 0, 1, "", True),
    (1, 2, 1, 2, "Rivers", True),
    (1, 2, 2, 3, "Lakes <", True),
    (2, 3, 0, 1, "Gated", False),
    (2, 3, 1, 2, "0.31", False),
    (2, 3, 2, 3, "0.28", False),
]


def document(origin: str = "BOTTOMLEFT") -> dict:
    made = json.loads(json.dumps(DOCUMENT))
    names = ("start_row_offset_idx", "end_row_offset_idx", "start_col_offset_idx")
    names = (*names, "end_col_offset_idx", "text", "column_header")
    made["tables"][0]["data"]["table_cells"] = [
        dict(zip(names, cell, strict=True)) for cell in GRID
    ]
    if origin == "TOPLEFT":
        box = made["tables"][0]["prov"][0]["bbox"]
        box |= {"t": 792 - 676, "b": 792 - 620, "coord_origin": origin}
    return made


TRUE = [("Gated", "Error / Rivers", "0.31"), ("Gated", "Error / Lakes <", "0.28")]


def a_docling(tmp_path, monkeypatch, script: str) -> None:
    """A program of docling's name: Docling itself wants weights that can't be had everywhere."""
    program = tmp_path / "bin" / "docling"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n" + script)
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}:/usr/bin:/bin")
    monkeypatch.setattr(sys, "executable", str(program.parent / "python"))


@pytest.mark.parametrize("origin", ["BOTTOMLEFT", "TOPLEFT"])
def test_doclings_table_stands_in_place_of_its_lines(tmp_path, origin):
    from autoreproduce.papers.files import docling_paper

    # the words stand where no reader by places could tell the columns
    made = page([(72, "Model Error")], [(72, "Gated 0.31"), (200, "x 0.28")], [(72, "y")])
    (tmp_path / "p.pdf").write_bytes(make_pdf([made]))
    (tmp_path / "d.json").write_text(json.dumps(document(origin)))
    paper = docling_paper(tmp_path / "p.pdf", tmp_path / "d.json", tmp_path / "out")
    assert (paper.source, values(paper), paper.tables[0].names) == ("docling", TRUE, ("1",))
    assert "x 0.28" not in paper.text and paper.unread == []


def test_doclings_own_classes_write_what_is_read(tmp_path):
    core = pytest.importorskip("docling_core.types.doc", reason="docling-core isn't installed")
    made = core.DoclingDocument(name="p")
    made.add_page(page_no=1, size=core.Size(width=612, height=792))
    names = ("start_row_offset_idx", "end_row_offset_idx", "start_col_offset_idx")
    names = (*names, "end_col_offset_idx", "text", "column_header")
    cells = [core.TableCell(**dict(zip(names, cell, strict=True))) for cell in GRID]
    box = core.BoundingBox(l=60, t=676, r=400, b=620, coord_origin=core.CoordOrigin.BOTTOMLEFT)
    place = core.ProvenanceItem(page_no=1, bbox=box, charspan=(0, 0))
    caption = made.add_text(label=core.DocItemLabel.CAPTION, text="Table 1: Error.")
    data = core.TableData(table_cells=cells, num_rows=3, num_cols=3)
    made.add_table(data=data, caption=caption, prov=place)
    made.save_as_json(tmp_path / "d.json")
    (table,) = tables_of_document(tmp_path / "d.json")
    assert (table.page, table.box, table.caption) == (0, (60, 620, 400, 676), "Table 1: Error.")
    assert '<th colspan="2">Error</th>' in table.html and "<td>0.28</td>" in table.html


@pytest.mark.slow
def test_docling_is_taken_if_it_is_installed(tmp_path, monkeypatch):
    (tmp_path / "d.json").write_text(json.dumps(document()))
    asked = tmp_path / "asked"
    a_docling(
        tmp_path,
        monkeypatch,
        f'echo "$@" > {asked}\nwhile [ "$1" != --output ]; do shift; done\nmkdir -p "$2"\n'
        f'cp {tmp_path}/d.json "$2/p.json"\n',
    )
    monkeypatch.setattr("autoreproduce.files.confined.sys.executable", sys.orig_argv[0])
    (tmp_path / "p.pdf").write_bytes(make_pdf([page([(72, "Gated 0.31")], [(72, "Dense 0.4")])]))
    settings = Settings(cache_dir=tmp_path / "c", docling_models=tmp_path / "weights")
    import subprocess

    real = subprocess.Popen
    interpreter = Path(sys.prefix) / "bin" / "python"

    def popen(command, **how):
        first = str(interpreter) if command[0] in (sys.executable, sys.orig_argv[0]) else command[0]
        return real([first, *command[1:]], **how)

    monkeypatch.setattr(subprocess, "Popen", popen)
    paper = read_paper(settings, tmp_path / "t", file=tmp_path / "p.pdf")
    assert (paper.source, values(paper)) == ("docling", TRUE)
    assert "with the tables that Docling found" in paper.note
    assert f"--artifacts-path {tmp_path}/weights" in asked.read_text()


def test_docling_that_was_named_and_is_missing_or_fails(tmp_path, monkeypatch):
    from autoreproduce.papers.docling import read_by_docling

    pdf = tmp_path / "p.pdf"
    pdf.write_bytes(make_pdf([page([(72, "Gated 0.31")])]))
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(UsageError, match="--pdf-reader own"):
        read_by_docling(Settings(pdf_reader="docling"), pdf, tmp_path / "t")
    a_docling(tmp_path, monkeypatch, "echo 'no weights' >&2\nexit 1\n")
    with pytest.raises(PaperError, match=r"no weights.*--pdf-reader own"):
        read_by_docling(Settings(pdf_reader="docling"), pdf, tmp_path / "t")
    (tmp_path / "bad.json").write_text('{"tables": [{"data": {"table_cells": [{}]}}]}')
    with pytest.raises(PaperError, match="answer cannot be read"):
        tables_of_document(tmp_path / "bad.json")


def test_docling_that_was_found_and_fails_is_named(tmp_path, monkeypatch):
    from autoreproduce.papers.pdf_readers import with_layout

    a_docling(tmp_path, monkeypatch, "echo 'no weights' >&2\nexit 1\n")
    own = Paper(title="", text="own", body="", source="pdf")
    settings = Settings(cache_dir=tmp_path)
    found = with_layout(settings, tmp_path / "p.pdf", tmp_path, lambda: own, lambda *_: own)
    assert found.text == "own" and "no weights" in found.unread[0].why

"""Where a paper comes from: arXiv's source, its PDF, a file, the digest; and that a second call
needs no network.
"""

from __future__ import annotations

import json

import pytest
from arxiv_server import Stored, serve
from latex_maker import FILES, MAIN, gz, tar_gz, write
from pdf_maker import Page, make_pdf, paper_pdf

from autoreproduce.errors import PaperError, UnreachableError, UsageError
from autoreproduce.papers import (
    Figure,
    Paper,
    arxiv_client,
    figures_for_model,
    read_arxiv_text,
    read_paper,
)

TEX = Stored("2301.12664", "Small Grids for Large Equations", source=tar_gz(FILES), pdf=paper_pdf())
PDF_ONLY = Stored("hep-th/9901001", "The Title by arXiv", source=paper_pdf())
PDF_ELSEWHERE = Stored("2302.00001", "Another Title by arXiv", pdf=paper_pdf())
WRAPPED = Stored(
    "2302.00002",
    "Wrapped",
    source=gz(
        rb"\documentclass{article}\begin{document}\includepdf{x.pdf}\end{document}" + b"\n" * 9000
    ),
    pdf=paper_pdf(),
)
DIGEST = "# The paper in our words\n\nIt trains on small grids."


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(arxiv_client, "TIMEOUT", 0.3)


@pytest.fixture
def server():
    with serve([TEX, PDF_ONLY, PDF_ELSEWHERE, WRAPPED]) as running:
        yield running


@pytest.fixture
def read(server, tmp_path):
    notes: list[str] = []

    def reader(arxiv_id=None, file=None, digest=None, name="trial", **settings) -> Paper:
        where = server.settings(tmp_path / "cache", **settings)
        paper = read_paper(
            where, tmp_path / name, arxiv_id=arxiv_id, file=file, digest=digest, note=notes.append
        )
        assert notes[-1 - len(paper.unread)] == paper.note
        return paper

    reader.notes = notes
    return reader


def test_latex_from_arxiv(read, server, tmp_path):
    paper = read("arXiv:2301.12664")
    assert (paper.arxiv_id, paper.title, paper.source) == (
        "2301.12664",
        "Small Grids for Large Equations",
        "latex",
    )
    assert paper.note == "The paper's text is from its LaTeX source on arXiv (2301.12664)."
    assert r"\frac{1}{N}" in paper.text
    assert "Shuhao" in paper.text
    assert "Shuhao" not in paper.body
    assert len(paper.references) == 2
    assert len(paper.figures) == 1
    assert server.requests == ["/e-print/2301.12664"]
    assert (tmp_path / "trial" / "paper" / "paper.md").read_text() == paper.text


@pytest.mark.slow
def test_a_second_call_needs_no_network(read, server, tmp_path):
    first = read("2301.12664")
    server.requests.clear()
    assert read("https://arxiv.org/abs/2301.12664") == first
    assert server.requests == []
    assert json.loads(first.model_dump_json())["references"][0]["key"] == "cao2021"
    assert Paper.model_validate_json(first.model_dump_json()) == first


@pytest.mark.slow
def test_the_folder_can_be_moved(read, tmp_path):
    read("2301.12664", name="here")
    (tmp_path / "here").rename(tmp_path / "there")
    paper = read("2301.12664", name="there")
    assert paper.figures[0].path.is_relative_to(tmp_path / "there")
    assert paper.figures[0].path.is_file()


@pytest.mark.slow
def test_another_question_is_not_answered_from_what_is_kept(read, tmp_path):
    read("2301.12664")
    assert read("2302.00001").title == "Another Title by arXiv"
    (tmp_path / "trial" / "paper" / "paper.json").write_text('{"asked": 3')
    assert read("2302.00001").source == "pdf"


@pytest.mark.slow
def test_an_eprint_that_is_a_pdf(read, server):
    paper = read("hep-th/9901001")
    assert (paper.source, paper.title, len(paper.references)) == ("pdf", "The Title by arXiv", 3)
    assert [request.split("?")[0] for request in server.requests] == [
        "/e-print/hep-th/9901001",
        "/api/query",
    ]


@pytest.mark.slow
def test_a_pdf_where_there_is_no_source(read):
    paper = read("2302.00001")
    assert paper.source == "pdf"
    assert "read directly (formulas are incomplete)" in paper.note
    assert len(paper.figures) == 1


@pytest.mark.slow
def test_a_pdf_where_the_source_is_a_wrapper(read):
    paper = read("2302.00002")
    assert paper.source == "pdf"
    assert "The LaTeX source could not be used" in paper.note


@pytest.mark.slow
def test_the_title_is_read_off_where_the_api_fails(read, server):
    server.fail("/api/", 500)
    assert read("2302.00001").title == "Small Grids for Large Equations"


@pytest.mark.slow
def test_a_busy_arxiv_is_tried_again(read, server):
    server.fail("/e-print/", 503, times=2)
    assert read("2301.12664").source == "latex"


def fail(server):
    server.fail("/", 503)


def hang(server):
    server.hang("/")


def nonsense(server):
    server.answer("/", b"<html>Please log in</html>")


@pytest.mark.parametrize("fault", [fail, pytest.param(hang, marks=pytest.mark.slow), nonsense])
def test_the_digest_serves_where_arxiv_does_not(read, server, fault, tmp_path):
    fault(server)
    paper = read("2301.12664", digest=DIGEST)
    assert (paper.source, paper.text, paper.title) == ("digest", DIGEST, "The paper in our words")
    assert "the task's own digest of the paper serves instead" in paper.note
    assert ("127.0.0.1" in paper.note) == (fault is not nonsense)
    with pytest.raises(PaperError, match="--paper FILE"):
        read("2301.12664", name="other")
    assert not (tmp_path / "other" / "paper" / "paper.json").exists()


@pytest.mark.slow
def test_what_failed_once_is_fetched_again(read, server):
    nonsense(server)
    with pytest.raises(UnreachableError, match="isn't a PDF"):
        read("2301.12664")
    server.faults.clear()
    assert read("2301.12664").source == "latex"


def test_a_paper_that_does_not_exist(read):
    with pytest.raises(PaperError, match=r"check the arXiv id, or give .*--paper FILE"):
        read("2401.00001")


def test_bad_input(read):
    with pytest.raises(UsageError, match="an arXiv id"):
        read("Darcy")
    with pytest.raises(UsageError, match="--arxiv ID or --paper FILE"):
        read()
    assert read(digest=DIGEST).source == "digest"


@pytest.mark.slow
def test_a_cited_paper(server, tmp_path):
    settings = server.settings(tmp_path / "cache")
    paper = read_arxiv_text(settings, "2301.12664v1", tmp_path / "cited")
    assert paper.source == "latex"
    server.requests.clear()
    assert read_arxiv_text(settings, "2301.12664v1", tmp_path / "cited") == paper
    assert server.requests == []
    with pytest.raises(PaperError):
        read_arxiv_text(settings, "2401.00001", tmp_path / "none")


MARKDOWN = """# A Title

![A plot](images/plot.png)

Figure 1: What was drawn.

Text.

# References

[1] Kingma, D. P. and Ba, J. Adam: A method for stochastic optimization. In ICLR, 2015.
"""


@pytest.mark.parametrize(
    ("name", "data", "source"),
    [
        ("p.pdf", paper_pdf(), "pdf"),
        ("P.PDF", paper_pdf(), "pdf"),
        ("p.md", MARKDOWN.encode(), "markdown"),
        ("p.txt", MARKDOWN.encode("latin-1"), "text"),
        ("p.tar.gz", tar_gz(FILES), "latex"),
        ("p.tex", MAIN.encode() * 2, "latex"),
    ],
    ids=["pdf", "PDF", "md", "txt", "tar.gz", "tex"],  # an archive's bytes differ by the second
)
def test_a_file_of_each_kind(read, server, tmp_path, name, data, source):
    (tmp_path / name).write_bytes(data)
    paper = read("2301.12664", file=tmp_path / name)
    assert paper.source == source
    assert paper.title in ("Small Grids for Large Equations", "A Title")
    assert paper.note.endswith(f"({name}).")
    assert server.requests == []
    (tmp_path / name).unlink()
    assert read("2301.12664", file=tmp_path / name) == paper


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-be"])
def test_a_text_that_a_windows_editor_saved(read, tmp_path, encoding):
    mark = "\ufeff" if encoding == "utf-16-be" else ""
    (tmp_path / "p.md").write_bytes(
        (mark + MARKDOWN.replace("Text.", "Müller, α = 0.1")).encode(encoding)
    )
    paper = read(file=tmp_path / "p.md")
    assert paper.title == "A Title"
    assert "Müller, α = 0.1" in paper.text


@pytest.mark.parametrize("name", ["circle.md", "A title in place of a file " * 20, "a\0.md"])
def test_a_name_that_cannot_be_followed_is_said(read, tmp_path, name):
    (tmp_path / "circle.md").symlink_to("circle.md")
    with pytest.raises(PaperError, match="give the paper's file"):
        read(file=tmp_path / name)


@pytest.mark.slow
def test_a_folder(read, tmp_path):
    paper = read(file=write(tmp_path / "tex", FILES))
    assert (paper.source, len(paper.references)) == ("latex", 2)


@pytest.mark.slow
def test_pictures_that_markdown_links_to(read, tmp_path):
    from autoreproduce.papers.pdfium import as_png

    (tmp_path / "x.pdf").write_bytes(make_pdf([Page().box(9, 9, 99, 99).line(9, 9, "x")]))
    assert as_png(tmp_path / "x.pdf", tmp_path / "images" / "plot.png")
    (tmp_path / "p.md").write_text(MARKDOWN + "\n![](../../secret.png)\n![](images/absent.png)")
    assert [figure.caption for figure in read(file=tmp_path / "p.md").figures] == [
        "Figure 1: What was drawn."
    ]


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("p.pdf", b"", "is empty"),
        ("p.txt", b" \n ", "is empty"),
        ("p.odt", b"PK", "of a kind that cannot be read"),
        ("p", b"x", "of a kind that cannot be read"),
        ("p.pdf", make_pdf([Page().line(9, 9, "x")], encrypted=True), "encrypted"),
        ("p.pdf", b"%PDF-1.5 nothing", "damaged"),
        ("p.tar.gz", b"nothing", "neither tar, zip, gzip nor PDF"),
    ],
)
def test_a_file_that_cannot_be_read(read, tmp_path, name, data, message):
    (tmp_path / name).write_bytes(data)
    with pytest.raises(PaperError, match=message):
        read(file=tmp_path / name)


def test_a_file_that_is_not_there(read, tmp_path):
    with pytest.raises(UsageError, match="is missing"):
        read(file=tmp_path / "gone.pdf")


def test_figures_for_a_model(tmp_path, monkeypatch):
    import numpy

    from autoreproduce.papers.pdfium import write_png

    figures = []
    for index, side in enumerate([100, 400, 20, 300, 200]):
        write_png(
            numpy.zeros((side, 100 if side > 20 else 20), dtype=numpy.uint8),
            tmp_path / f"{index}.png",
        )
        figures.append(Figure(path=tmp_path / f"{index}.png", caption=str(side)))
    figures.append(Figure(path=tmp_path / "gone.png"))
    paper = Paper(title="", text="", body="", source="text", note="", figures=figures)
    assert [figure.caption for figure in figures_for_model(paper)] == ["400", "300", "200", "100"]
    monkeypatch.setattr("autoreproduce.papers.model.MOST_FIGURES", 1)
    assert [figure.caption for figure in figures_for_model(paper)] == ["400"]

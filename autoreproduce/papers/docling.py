"""The tables of a PDF by Docling's models of a page's layout, which the extra `pdf` installs.

Docling runs as a process of its own (`docling`, found beside this Python or on PATH). Its models'
weights lie in the folder that the setting `docling_models` names (`docling-tools models download
-o FOLDER` fetches them), else Docling fetches them at its first use. Its answer is its document as
JSON; from that come the tables alone, for the text is read better directly.
"""

from html import escape
from pathlib import Path

from pydantic import BaseModel, Field, ValidationError

from autoreproduce.config import Settings
from autoreproduce.errors import PaperError
from autoreproduce.papers.outside_reader import program_path, run_reader

LARGEST = 64 * 2**20  # bytes of its answer


class LaidOutTable(BaseModel):
    """A table in HTML, its page (from 0) and its box there: left, bottom, right, top in points from
    the lower left.
    """

    html: str
    page: int
    box: tuple[float, float, float, float]
    caption: str = ""


class _Box(BaseModel):
    left: float = Field(alias="l")
    top: float = Field(alias="t")
    right: float = Field(alias="r")
    bottom: float = Field(alias="b")
    coord_origin: str = "BOTTOMLEFT"


class _Place(BaseModel):
    page_no: int
    bbox: _Box


class _Cell(BaseModel):
    text: str
    start_row_offset_idx: int
    end_row_offset_idx: int
    start_col_offset_idx: int
    end_col_offset_idx: int
    column_header: bool = False


class _Grid(BaseModel):
    table_cells: list[_Cell] = []


class _Reference(BaseModel):
    ref: str = Field("", alias="$ref")


class _Table(BaseModel):
    prov: list[_Place] = []
    captions: list[_Reference] = []
    data: _Grid = _Grid()


class _Size(BaseModel):
    height: float


class _Page(BaseModel):
    size: _Size


class _Text(BaseModel):
    self_ref: str = ""
    text: str = ""


class _Document(BaseModel):
    tables: list[_Table] = []
    texts: list[_Text] = []
    pages: dict[str, _Page] = {}


def read_by_docling(settings: Settings, pdf: Path, folder: Path) -> Path:
    """A file in `folder` with Docling's document of `pdf`, as JSON.

    Raises UsageError if Docling is not installed, PaperError if it cannot read the PDF.
    """
    output = folder / "docling"
    command = [program_path("docling", "Docling", "pdf"), "convert", str(pdf)]
    command += ["--from", "pdf", "--to", "json", "--no-ocr", "--image-export-mode", "placeholder"]
    if settings.papers.docling_models is not None:
        command += ["--artifacts-path", str(settings.papers.docling_models)]
    run_reader([*command, "--output", str(output)], "Docling", pdf, folder / "docling.log")
    answer = output / f"{pdf.stem}.json"
    if not answer.is_file():
        raise PaperError(f"Docling made nothing of {pdf}", fix="try --pdf-reader own")
    return answer


def tables_of_document(answer: Path) -> list[LaidOutTable]:
    """The tables of Docling's document. Raises PaperError if it is none."""
    try:
        if answer.stat().st_size > LARGEST:
            raise ValueError(f"over {LARGEST >> 20} MB")
        document = _Document.model_validate_json(answer.read_bytes())
    except (ValidationError, ValueError) as error:
        raise PaperError(
            f"Docling's answer cannot be read ({str(error).splitlines()[0][:100]})",
            fix="install docling>=2.100, or try --pdf-reader own",
        ) from None
    texts = {text.self_ref: text.text for text in document.texts}
    return [
        LaidOutTable(
            html=_html(table.data.table_cells),
            page=place.page_no - 1,
            box=_from_below(place.bbox, document.pages.get(str(place.page_no))),
            caption=" ".join(texts.get(one.ref, "") for one in table.captions).strip(),
        )
        for table in document.tables
        if table.data.table_cells
        for place in table.prov[:1]
    ]


def _from_below(box: _Box, page: _Page | None) -> tuple[float, float, float, float]:
    top, bottom = box.top, box.bottom
    if box.coord_origin == "TOPLEFT" and page is not None:
        top, bottom = page.size.height - top, page.size.height - bottom
    return (box.left, min(top, bottom), box.right, max(top, bottom))


def _html(cells: list[_Cell]) -> str:
    rows: dict[int, list[_Cell]] = {}
    for cell in cells:
        rows.setdefault(cell.start_row_offset_idx, []).append(cell)
    head = [n for n, row in sorted(rows.items()) if any(cell.column_header for cell in row)]
    heads = [n for place, n in enumerate(head) if n == head[0] + place]  # those at the top alone
    heads = heads if heads and heads[0] == min(rows) else []
    lines = ["<table>"]
    for number in range(max(rows) + 1):
        row = sorted(rows.get(number, []), key=lambda cell: cell.start_col_offset_idx)
        if heads and number == heads[0]:
            lines.append("<thead>")
        lines.append("<tr>" + "".join(_cell(cell, number in heads) for cell in row) + "</tr>")
        if heads and number == heads[-1]:
            lines.append("</thead>")
    return "\n".join([*lines, "</table>"])


def _cell(cell: _Cell, head: bool) -> str:
    spans = {
        "rowspan": cell.end_row_offset_idx - cell.start_row_offset_idx,
        "colspan": cell.end_col_offset_idx - cell.start_col_offset_idx,
    }
    shown = "".join(f' {name}="{count}"' for name, count in spans.items() if count > 1)
    tag = "th" if head else "td"
    return f"<{tag}{shown}>{escape(' '.join(cell.text.split()), quote=False)}</{tag}>"

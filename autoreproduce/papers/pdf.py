"""A PDF to Markdown by PDFium alone: fast, in the PDF's own reading order, without a model.

PDFium gives each character with its box. From these come lines, and from the lines' places and sizes what a
reader sees at a glance: the page's furniture (running heads, numbers), headings, paragraphs, and in a
reference list with hanging indents where an entry begins. What it cannot give is formulas as such; the LaTeX
source has those.
"""

from __future__ import annotations

import ctypes
import math
import re
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from autoreproduce.errors import PaperError
from autoreproduce.papers.model import Figure
from autoreproduce.papers.pdf_figures import crop_figures
from autoreproduce.papers.pdf_text import gather_bits, join_hyphens, plain
from autoreproduce.papers.pdfium import opened

MOST_PAGES = 1000
_NUMBERED = re.compile(r"(?:Appendix\s+)?((?:\d{1,2}|[A-Z])(?:\.\d{1,2})*)[.:]?\s+\S*[A-Za-z]{3}")
_CAPITALS = re.compile(r"(?:[IVX]{1,5}|[A-Z]|\d{1,2})\.\s+[A-Z][A-Z&,:–-]+(?:\s+[A-Z&,:–-]+){0,9}")  # IEEE's
_NAMED = re.compile(
    r"(abstract|introduction|references|bibliography|acknowledge?ments?|appendix|appendices|conclusions?"
    r"|supplementary material|related work|discussion|limitations)\W*",
    re.I,
)
_LIST_HEAD = re.compile(r"\W*(references|bibliography|literature cited)\W*", re.I)
_MARKED_FONT = re.compile(rb"bold|medi|black|heavy|CMBX|CMSSBX|CMB\d|-SC|CMCSC|caps", re.I)
_ARXIV_STAMP = re.compile(r"arXiv:\S+\s+\[[\w.-]+\]\s+\d+ \w+ \d{4}")


@dataclass(frozen=True)
class Line:
    """One line of text. Places in points from the page's lower left, `bottom` being the baseline.

    `size` is its font's, in points; `marked` says that the font is bold or small capitals.
    """

    text: str
    page: int
    left: float
    right: float
    bottom: float
    top: float
    size: float
    marked: bool


def read_pdf(path: Path, figures_folder: Path) -> tuple[str, str, list[Figure]]:
    """Title, Markdown and figures (as PNG below `figures_folder`) of a PDF.

    Raises PaperError where it is encrypted, damaged, too long, or holds no text (a scan).
    """
    with opened(path) as document:
        if len(document) > MOST_PAGES:
            raise PaperError(f"{path} has over {MOST_PAGES} pages: give the pages of the paper alone")
        pages, heights = [], []
        for number in range(len(document)):
            page = document[number]
            pages.append(page_lines(page, number))
            heights.append(page.get_height())
            page.close()
        lines = without_furniture(pages, heights)
        if sum(len(line.text) for line in lines) < 20:
            raise PaperError(f"{path} holds no text (a scan?): read it by MinerU with --mineru-tier basic")
        figures = crop_figures(document, lines, figures_folder)
    title, markdown = to_markdown(lines)
    return title, markdown, figures


def page_lines(page: Any, number: int) -> list[Line]:
    """The lines of one page in the PDF's order. Characters that print nothing are left out."""
    from pypdfium2 import raw

    textpage = page.get_textpage()
    count = raw.FPDFText_CountChars(textpage)
    codes = [raw.FPDFText_GetUnicode(textpage, index) for index in range(max(0, count))]
    lines, begin = [], 0
    for index in range(len(codes) + 1):
        if index == len(codes) or codes[index] in (10, 13):
            if line := _line(textpage, codes, begin, index, number):
                lines.append(line)
            begin = index + 1
    textpage.close()
    return lines


def _line(textpage: Any, codes: list[int], begin: int, end: int, number: int) -> Line | None:
    printing = [index for index in range(begin, end) if codes[index] not in (0, 2, 32, 160, 0xFFFE, 0xFFFF)]
    if not printing:
        return None
    # PDFium marks a hyphen at a line's end by 2, and takes the break out
    text = plain("".join("\ufffe" if code == 2 else chr(code) for code in codes[begin:end] if 0 < code < 0x110000))
    first, last = _place(textpage, printing[0]), _place(textpage, printing[-1])
    fonts = Counter(_font(textpage, index) for index in printing[:: max(1, len(printing) // 7)])
    size, marked = fonts.most_common(1)[0][0]
    return Line(
        text=text,
        page=number,
        left=first[0],
        right=max(first[1], last[1]),
        bottom=last[2] if last[2] < first[2] - size else first[2],  # a word broken at the end takes in the next line
        top=first[2] + 0.75 * size,
        size=size,
        marked=marked,
    )


def _place(textpage: Any, index: int) -> tuple[float, float, float]:
    """A character's left edge, right edge and baseline."""
    from pypdfium2 import raw

    box, x, y = raw.FS_RECTF(), ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetLooseCharBox(textpage, index, box)
    raw.FPDFText_GetCharOrigin(textpage, index, x, y)
    return box.left, box.right, y.value


def _font(textpage: Any, index: int) -> tuple[float, bool]:
    """A character's size as printed (its box is as high as the glyph in many fonts), and whether it is marked."""
    from pypdfium2 import raw

    matrix, name = raw.FS_MATRIX(), ctypes.create_string_buffer(128)
    raw.FPDFText_GetMatrix(textpage, index, matrix)
    raw.FPDFText_GetFontInfo(textpage, index, name, len(name), ctypes.c_int())
    size = raw.FPDFText_GetFontSize(textpage, index) * math.hypot(matrix.c, matrix.d)
    return round(size, 1), bool(_MARKED_FONT.search(name.value))


def without_furniture(pages: list[list[Line]], heights: list[float]) -> list[Line]:
    """The lines without running heads and feet, page numbers, line numbers, and arXiv's stamp."""
    edges = [
        [_pattern(line.text) for line in _at_edge(lines, height)] for lines, height in zip(pages, heights, strict=True)
    ]
    seen = Counter(pattern for edge in edges for pattern in set(edge))
    often = max(3, len(pages) // 4)
    kept = []
    for lines, height in zip(pages, heights, strict=True):
        edge = set(map(id, _at_edge(lines, height)))
        numbers = sum(line.text.strip().isdigit() for line in lines)
        for line in lines:
            text = line.text.strip()
            running = id(line) in edge and (seen[_pattern(text)] >= often or re.fullmatch(r"\W*\d{1,4}\W*", text))
            line_number = numbers > 25 and re.fullmatch(r"\d{1,4}", text)
            if text and not running and not line_number and not _ARXIV_STAMP.search(text):
                kept.append(line)
    return kept


def _at_edge(lines: list[Line], height: float) -> list[Line]:
    """Lines in the outer tenth of the page, above and below."""
    return [line for line in lines if line.bottom > 0.9 * height or line.top < 0.1 * height]


def _pattern(text: str) -> str:
    return re.sub(r"\d+|\b[ivxlc]+\b", "#", " ".join(text.split()))


def to_markdown(lines: list[Line]) -> tuple[str, str]:
    """Title and Markdown: headings marked, a blank line between paragraphs, hyphens at line ends joined."""
    weights: Counter[float] = Counter()
    for line in lines:
        weights[line.size] += len(line.text)
    body = weights.most_common(1)[0][0]
    title_lines = _title_lines(lines, body)
    title = " ".join(line.text for line in title_lines)
    blocks = [f"# {title}"] if title else []
    paragraph: list[Line] = []
    margins: dict[tuple[int, int], float] | None = None
    for line in lines:
        if line in title_lines:
            continue
        heading = _heading(line, body)
        if heading or (paragraph and _breaks(paragraph[-1], line, margins)):
            blocks.append(_text_of(paragraph, margins))
            paragraph = []
        if heading:
            blocks.append(heading)
            margins = _margins(lines, line) if _LIST_HEAD.fullmatch(heading) else None
        else:
            paragraph.append(line)
    blocks.append(_text_of(paragraph, margins))
    return title, gather_bits(join_hyphens("\n\n".join(block for block in blocks if block))) + "\n"


def _title_lines(lines: list[Line], body: float) -> list[Line]:
    """The lines in the largest print on the upper half of page one, where that is larger than the text's."""
    first = [line for line in lines if line.page == 0 and len(line.text) > 3][:40]
    largest = max((line.size for line in first), default=0.0)
    if largest < 1.15 * body:
        return []
    found = [line for line in first if line.size > 0.97 * largest]
    return found[:5]


def _heading(line: Line, body: float) -> str:
    """The Markdown heading that `line` is, or ""."""
    text = line.text.strip()
    prominent = line.marked or line.size > 1.08 * body
    numbered = _NUMBERED.match(text)
    if (
        len(text) > 100
        or text.endswith((",", ";"))
        or not (prominent or _LIST_HEAD.fullmatch(text) or _CAPITALS.fullmatch(text))
    ):
        return ""
    if numbered and not re.search(r"[.]\s+\w+\s+\w+\s+\w", text[numbered.end() :]):
        return "#" * min(6, 2 + numbered[1].count(".")) + " " + text
    if _NAMED.fullmatch(text) or _CAPITALS.fullmatch(text):
        return f"## {text}"
    return f"## {text}" if line.size > 1.15 * body and re.search(r"[A-Za-z]{3}", text) else ""


def _breaks(before: Line, line: Line, margins: dict[tuple[int, int], float] | None) -> bool:
    """Whether `line` begins a paragraph after `before`; with `margins`, an entry of a reference list."""
    if margins is not None:
        labelled = re.match(r"\[\d{1,3}\]\s", line.text)  # labels of one digit stand further in
        return bool(labelled) or line.left < margins.get((line.page, _column(line)), 0.0) + 2.0
    if line.page != before.page or line.bottom > before.top:  # a new page or column: only what follows tells
        return before.text.rstrip().endswith((".", ":", "?", "!")) and line.text[:1].isupper()
    gap = before.bottom - line.top
    indented = line.left > before.left + 0.7 * line.size and before.text.rstrip().endswith((".", ":"))
    return gap > 0.8 * line.size or indented or abs(line.size - before.size) > 0.15 * before.size


def _column(line: Line) -> int:
    return int(line.left // 150)


def _margins(lines: list[Line], head: Line) -> dict[tuple[int, int], float] | None:
    """The left edge of each column of a reference list with hanging indents; None where it has none.

    In such a list some lines stand at the edge and others, the continuations, all at one indent.
    """
    begin = next(index for index, line in enumerate(lines) if line is head) + 1
    part = [line for line in lines[begin:] if abs(line.size - lines[min(begin, len(lines) - 1)].size) < 1.5]
    edges: dict[tuple[int, int], float] = {}
    for line in part:
        place = (line.page, _column(line))
        edges[place] = min(edges.get(place, line.left), line.left)
    indented = sum(4.0 < line.left - edges[line.page, _column(line)] < 40.0 for line in part)
    return edges if 0.2 * len(part) < indented < 0.95 * len(part) else None


def _text_of(paragraph: list[Line], margins: dict[tuple[int, int], float] | None) -> str:
    texts = [re.sub(r"^#", r"\\#", line.text.strip()) for line in paragraph]  # a label «# epochs» is no heading
    return (" " if margins is not None else "\n").join(texts)

"""Figures of a PDF, found by their captions and drawn as PNG.

A figure in a paper is rarely one object: it is a picture, or hundreds of strokes and labels. What
identifies it is the caption below it. So from each line that begins "Figure 3" the region grows
upward over the graphics close by, and that region of the page is drawn.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any

from autoreproduce.errors import PaperError
from autoreproduce.papers.model import Figure
from autoreproduce.papers.pdf_text import join_hyphens
from autoreproduce.papers.pdfium import save_page

if TYPE_CHECKING:
    from autoreproduce.papers.pdf_lines import TextLine

MOST_FIGURES = 40
MOST_OBJECTS = 20_000  # of one page: a scatter plot of every point takes longer than it is worth
_CAPTION = re.compile(r"(?:Figure|Fig\.)\s*([A-Z]?\.?\d{1,3})\s*[.:|–-]", re.I)
Box = tuple[float, float, float, float]  # left, bottom, right, top


def crop_figures(document: Any, lines: list[TextLine], folder: Path) -> list[Figure]:
    """Draw the figures above the captions in `lines` to `folder`/figure-N.png."""
    captions = [index for index, line in enumerate(lines) if _CAPTION.match(line.text)][
        :MOST_FIGURES
    ]
    boxes: dict[int, list[Box]] = {}
    figures: list[Figure] = []
    for index in captions:
        page = lines[index].page
        if page not in boxes:
            boxes[page] = _graphics(document[page])
        region = _region(lines[index], boxes[page])
        if region is None:
            continue
        number = _CAPTION.match(lines[index].text)
        path = folder / f"figure-{len(figures) + 1}-{number[1] if number else ''}.png"
        try:
            save_page(document[page], path, region)
        except PaperError:
            continue
        figures.append(Figure(path=path, caption=_whole_caption(lines, index)))
    return figures


def _graphics(page: Any) -> list[Box]:
    """The boxes of a page's pictures, strokes and embedded drawings, without its text."""
    from pypdfium2 import PdfiumError, raw

    kinds = [
        raw.FPDF_PAGEOBJ_IMAGE,
        raw.FPDF_PAGEOBJ_PATH,
        raw.FPDF_PAGEOBJ_SHADING,
        raw.FPDF_PAGEOBJ_FORM,
    ]
    width, height = page.get_size()
    boxes = []
    for number, item in enumerate(page.get_objects(filter=kinds, max_depth=1)):
        if number >= MOST_OBJECTS:
            break
        try:
            left, bottom, right, top = item.get_bounds()
        except PdfiumError:
            continue
        if (right - left) * (top - bottom) < 0.95 * width * height:  # not the page's background
            boxes.append((max(0.0, left), max(0.0, bottom), min(width, right), min(height, top)))
    return boxes


def _region(caption: TextLine, boxes: list[Box], reach: float = 45.0) -> Box | None:
    """The union of the graphics above the caption, each within `reach` points of those below it."""
    low, high = caption.top - 2.0, caption.top
    left, right = caption.left, caption.right
    found: Box | None = None
    for box in sorted(boxes, key=lambda one: one[1]):
        beside = box[0] > right + 60 or box[2] < left - 60
        if box[1] < low or beside:
            continue
        if box[1] - high > reach:
            break
        high = max(high, box[3])
        found = box if found is None else _union(found, box)
    if found is None or found[2] - found[0] < 40 or found[3] - found[1] < 30:
        return None
    return (found[0] - 12, max(found[1] - 14, caption.top), found[2] + 12, found[3] + 8)


def _union(one: Box, other: Box) -> Box:
    return (
        min(one[0], other[0]),
        min(one[1], other[1]),
        max(one[2], other[2]),
        max(one[3], other[3]),
    )


def _whole_caption(lines: list[TextLine], index: int) -> str:
    """The caption's line and those that follow it closely in the same column and print."""
    text = [lines[index].text]
    for before, line in zip(lines[index:], lines[index + 1 : index + 12], strict=False):
        close = -2.0 < before.bottom - line.top < 0.8 * line.size
        if line.page != before.page or not close or abs(line.size - lines[index].size) > 0.6:
            break
        text.append(line.text)
    return join_hyphens(" ".join(text))[:2000]

"""The lines of a PDF's page: PDFium gives each character with its box, its font and its baseline.

A character in smaller print above the line's baseline is an exponent or a mark, and becomes ^6:
without that, 10 to the 6 would be 106.
"""

import ctypes
import math
import re
from collections import Counter
from dataclasses import dataclass, replace
from typing import Any

from autoreproduce.papers.pdf_text import after_exponent, plain, with_exponents

_MARKED_FONT = re.compile(rb"bold|medi|black|heavy|CMBX|CMSSBX|CMB\d|-SC|CMCSC|caps", re.I)


@dataclass(frozen=True)
class TextLine:
    """One line of text. Positions in points from the page's lower left; `bottom` is the baseline.

    `size` is its font's, in points; `marked` means that the font is bold or small capitals.
    """

    text: str
    page: int
    left: float
    right: float
    bottom: float
    top: float
    size: float
    marked: bool


def page_lines(page: Any, number: int) -> list[TextLine]:
    """The lines of one page in the PDF's order. Characters that print nothing are left out."""
    from pypdfium2 import raw

    textpage = page.get_textpage()
    count = raw.FPDFText_CountChars(textpage)
    codes = [raw.FPDFText_GetUnicode(textpage, index) for index in range(max(0, count))]
    lines, begin = [], 0
    for index in range(len(codes) + 1):
        if index == len(codes) or codes[index] in (10, 13):
            if line := _text_line(textpage, codes, begin, index, number):
                lines.append(line)
            begin = index + 1
    textpage.close()
    return _rejoined(lines)


def _rejoined(lines: list[TextLine]) -> list[TextLine]:
    """The lines with those joined again that PDFium breaks after an exponent."""
    joined: list[TextLine] = []
    for line in lines:
        last = joined[-1] if joined else line
        gap, same_height = line.left - last.right, abs(line.bottom - last.bottom) < 0.1 * line.size
        if re.search(r"\^\S+$", last.text) and same_height and -0.1 < gap / line.size < 0.7:
            blank = " " if gap > 0.15 * line.size else ""
            text = after_exponent(last.text, blank + line.text)
            joined[-1] = replace(last, text=text, right=line.right)
        else:
            joined.append(line)
    return joined


def _text_line(
    textpage: Any, codes: list[int], begin: int, end: int, number: int
) -> TextLine | None:
    printing = [
        index for index in range(begin, end) if codes[index] not in (0, 2, 32, 160, 0xFFFE, 0xFFFF)
    ]
    if not printing:
        return None
    first, last = (
        _edges_and_baseline(textpage, printing[0]),
        _edges_and_baseline(textpage, printing[-1]),
    )
    fonts = Counter(_font(textpage, index) for index in printing[:: max(1, len(printing) // 7)])
    size, marked = fonts.most_common(1)[0][0]
    raised = _raised(textpage, printing, size)
    characters = [
        # PDFium marks a hyphen at a line's end by 2, and takes the break out
        ("\ufffe" if codes[index] == 2 else chr(codes[index]), index in raised)
        for index in range(begin, end)
        if 0 < codes[index] < 0x110000
    ]
    return TextLine(
        text=plain(with_exponents(characters)),
        page=number,
        left=first[0],
        right=max(first[1], last[1]),
        bottom=last[2]
        if last[2] < first[2] - size
        else first[2],  # a word broken at the end takes in the next line
        top=first[2] + 0.75 * size,
        size=size,
        marked=marked,
    )


def _raised(textpage: Any, printing: list[int], size: float) -> set[int]:
    """Those of the characters that stand above the line's baseline in smaller print."""
    baselines = {index: round(_baseline(textpage, index), 1) for index in printing}
    base = Counter(baselines.values()).most_common(1)[0][0]
    return {
        index
        for index, baseline in baselines.items()
        if 0.15 * size < baseline - base < size and _font(textpage, index)[0] < 0.9 * size
    }


def _edges_and_baseline(textpage: Any, index: int) -> tuple[float, float, float]:
    """A character's left edge, right edge and baseline."""
    from pypdfium2 import raw

    box = raw.FS_RECTF()
    raw.FPDFText_GetLooseCharBox(textpage, index, box)
    return box.left, box.right, _baseline(textpage, index)


def _baseline(textpage: Any, index: int) -> float:
    from pypdfium2 import raw

    x, y = ctypes.c_double(), ctypes.c_double()
    raw.FPDFText_GetCharOrigin(textpage, index, x, y)
    return y.value


def _font(textpage: Any, index: int) -> tuple[float, bool]:
    """A character's printed size in points, and whether its font is bold or small capitals.

    By the font's matrix: in many fonts the box is only as high as the glyph.
    """
    from pypdfium2 import raw

    matrix, name = raw.FS_MATRIX(), ctypes.create_string_buffer(128)
    raw.FPDFText_GetMatrix(textpage, index, matrix)
    raw.FPDFText_GetFontInfo(textpage, index, name, len(name), ctypes.c_int())
    size = raw.FPDFText_GetFontSize(textpage, index) * math.hypot(matrix.c, matrix.d)
    return round(size, 1), bool(_MARKED_FONT.search(name.value))

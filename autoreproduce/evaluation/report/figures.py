"""The paper's own figures beside the training's curves, if a claim's experiment is a figure.

A figure is known by its number: the one that its caption begins with, as in a PDF's text, else the
place of its caption among those of the LaTeX.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING

from autoreproduce.errors import UsageError
from autoreproduce.files.bounded import LARGEST_JSON, parse_json
from autoreproduce.files.shared import file_inside, read_plain
from autoreproduce.papers.files import MOST_FIGURES
from autoreproduce.papers.model import Figure, Paper, png_size

if TYPE_CHECKING:
    from pathlib import Path

    from autoreproduce.evaluation.report.evidence import Evidence

MOST = 4  # figures on a page
LARGEST = 3_000_000  # bytes of one
MOST_PIXELS = 40_000_000  # of one: few bytes can be a picture that fills a browser's memory
SAME_START = 40  # letters of two captions that are one
PNG = b"\x89PNG\r\n\x1a\n"
_NAMED = re.compile(r"\b(?:figure|fig\.)\s*(\d{1,3})", re.IGNORECASE)
_ENVIRONMENT = re.compile(r"\\(begin|end)\{figure\*?\}")


@dataclass(frozen=True)
class PaperFigure:
    """One figure of the paper: its number, caption and picture as a data: URL."""

    number: int
    caption: str
    picture: str


def paper_figures(found: Evidence) -> list[PaperFigure]:
    """The figures that the claims' experiments name, by number; none without such a claim.

    A paper without the figure, or a picture that cannot be read, is left out.
    """
    claims = [one.claim for one in found.verdict.claims] if found.verdict else []
    wanted = figure_numbers(claim.experiment for claim in claims)
    if not wanted:
        return []
    home = found.folder / "paper"
    try:
        stored = parse_json(read_plain(home / "paper.json", LARGEST_JSON))
        paper = Paper.model_validate(stored["paper"])
    except (OSError, UsageError, ValueError, KeyError, TypeError):
        return []
    shown = []
    for figure in paper.figures[:MOST_FIGURES]:
        number = number_of(figure, paper.latex)
        picture = _data_url(home, figure.path) if number in wanted else ""
        if number is not None and picture:
            shown.append(PaperFigure(number, figure.caption, picture))
    return sorted(shown, key=lambda one: one.number)[:MOST]


def figure_numbers(experiments: Iterable[str]) -> set[int]:
    """The numbers in names such as "Figure 3" and "Fig. 4b"."""
    return {int(number) for name in experiments for number in _NAMED.findall(name)}


def number_of(figure: Figure, latex: str) -> int | None:
    """The figure's number in the paper, None if it does not show."""
    if match := _NAMED.match(figure.caption):
        return int(match[1])
    start = _caption_letters(figure.caption)[:SAME_START]
    captions = [text for text in _environments(latex) if "\\caption" in text]
    places = [n for n, text in enumerate(captions, 1) if start and start in _caption_letters(text)]
    return places[0] if len(places) == 1 else None


def _environments(latex: str) -> Iterator[str]:
    """What is in each figure environment; one pattern for both ends would be quadratic."""
    begin: int | None = None
    for mark in _ENVIRONMENT.finditer(latex):
        if mark[1] == "begin":
            begin = mark.end() if begin is None else begin
        elif begin is not None:
            yield latex[begin : mark.start()]
            begin = None


def _data_url(home: Path, name: Path) -> str:
    """A PNG below the paper's folder as a data: URL, "" if it is none or too large to be drawn."""
    path = file_inside(home, name)
    try:
        data = read_plain(path, LARGEST) if path else b""
    except (OSError, UsageError):
        return ""
    if path is None or prod(png_size(path)) > MOST_PIXELS:
        return ""
    encoded = base64.b64encode(data).decode()
    return f"data:image/png;base64,{encoded}" if data.startswith(PNG) else ""


def _caption_letters(text: str) -> str:
    """The letters alone, for captions that are written in LaTeX here and in Markdown there."""
    plain = re.sub(r"\\[A-Za-z]+\*?", " ", text)
    return "".join(letter for letter in plain.casefold() if letter.isalpha())

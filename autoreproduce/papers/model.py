"""What reading a paper gives: its text as Markdown, its references and its figures.

All three are frozen pydantic models, so that a paper is written to the trial folder as JSON and
read unchanged. Nothing here knows where a paper came from; `reading` does.
"""

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from autoreproduce.papers.table import Table

Source = Literal[
    "latex", "html", "docling", "mineru", "pdf", "markdown", "text", "document", "digest"
]
MOST_FIGURES = 6  # that a model is shown
SMALLEST_FIGURE = 96  # pixels: smaller ones are logos, icons and single symbols


class Reference(BaseModel):
    """One entry of a paper's reference list. `title` is "" if none was recognised."""

    model_config = ConfigDict(frozen=True)

    title: str
    text: str = Field(description="the whole entry on one line")
    arxiv_id: str | None = Field(None, description="if the entry names one, without its version")
    key: str = Field("", description='the number, the BibTeX key, or "Surname, year"')


class Unread(BaseModel):
    """A part of a paper that was left out, why, and what a user can do about it."""

    model_config = ConfigDict(frozen=True)

    what: str
    why: str
    fix: str = ""

    @classmethod
    def of(cls, what: str, why: str, fix: str = "give its text, or the PDF") -> "Unread":
        """Bounded: each comes from a file of somebody else."""
        return cls(what=what[:200], why=why[:300], fix=fix[:300])

    def __str__(self) -> str:
        return f"not read: {self.what} ({self.why})" + (f": {self.fix}" if self.fix else "")


class Figure(BaseModel):
    """A figure as a PNG file."""

    model_config = ConfigDict(frozen=True)

    path: Path
    caption: str = ""


class Paper(BaseModel):
    """A paper that was read.

    `text` is all of it in Markdown; `tables` have their places in it; `body` leaves out what a
    reproduction does not need: reference list, acknowledgements, appendices of proofs alone. `note`
    is one sentence for the user, which `reading` adds.
    """

    model_config = ConfigDict(frozen=True)

    arxiv_id: str | None = None
    title: str
    text: str
    body: str
    latex: str = Field("", description='its LaTeX in one text, files put in; "" without')
    references: list[Reference] = []
    figures: list[Figure] = []
    tables: tuple[Table, ...] = ()
    source: Source
    note: str = ""
    unread: list[Unread] = Field([], description="what was left out, and why")

    @property
    def tables_with_values(self) -> tuple[Table, ...]:
        """The tables in which numbers stand at headings."""
        return tuple(table for table in self.tables if table.cells)


def png_size(path: Path) -> tuple[int, int]:
    """Width and height in pixels, from the PNG's header; (0, 0) if the file is not a PNG."""
    try:
        with path.open("rb") as file:
            head = file.read(24)
    except OSError:
        return 0, 0
    if len(head) < 24 or head[:8] != b"\x89PNG\r\n\x1a\n":
        return 0, 0
    return int.from_bytes(head[16:20], "big"), int.from_bytes(head[20:24], "big")


def figures_for_model(paper: Paper) -> list[Figure]:
    """At most MOST_FIGURES for a model that sees pictures, the largest (in pixels) first."""
    sized = [
        (width * height, figure)
        for figure in paper.figures
        for width, height in [png_size(figure.path)]
        if min(width, height) >= SMALLEST_FIGURE
    ]
    return [figure for _, figure in sorted(sized, key=lambda pair: -pair[0])[:MOST_FIGURES]]

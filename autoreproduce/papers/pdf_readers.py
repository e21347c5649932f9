"""Who reads a PDF's tables: Docling or MinerU, as chosen or as installed, else its words' places.

Text, figures and references are always read directly (`pdf`). Docling adds its tables in their
places; MinerU's Markdown, which has formulas too, takes the text's place.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Literal

from autoreproduce.config import Settings
from autoreproduce.content import install_command
from autoreproduce.errors import AutoReproduceError
from autoreproduce.papers.docling import read_by_docling
from autoreproduce.papers.mineru import read_by_mineru
from autoreproduce.papers.model import Paper, Unread
from autoreproduce.papers.outside_reader import find_program, program_path

Reader = Literal["own", "docling", "mineru"]
# What runs a reader on a PDF: a file in the folder, which `files` makes a paper of.
RUNS: dict[str, Callable[[Settings, Path, Path], Path]] = {
    "docling": read_by_docling,
    "mineru": read_by_mineru,
}
PROGRAMS = {"docling": ("docling", "Docling", "pdf"), "mineru": ("mineru-kit", "MinerU", "mineru")}


def reader_of(settings: Settings) -> Reader:
    """The reader that the settings name, or the first that is installed. Raises UsageError if the
    one that is named isn't.
    """
    wanted = settings.papers.pdf_reader
    if settings.papers.mineru_url and wanted in ("auto", "mineru"):
        return "mineru"
    if wanted == "auto":
        if find_program("docling"):
            return "docling"
        return "mineru" if find_program("mineru-kit") else "own"
    if wanted != "own":
        program_path(*PROGRAMS[wanted])
    return wanted


def with_layout(
    settings: Settings,
    pdf: Path,
    folder: Path,
    own: Callable[[], Paper],
    made: Callable[[Reader, Path], Paper],
) -> Paper:
    """The paper of `pdf` by the chosen reader, whose answer `made` reads; else `own`.

    A reader that was not named but found, and fails, is a part unread. Raises UsageError and
    PaperError of one that was named.
    """
    reader = reader_of(settings)
    if reader == "own":
        return own()
    try:
        answer = RUNS[reader](settings, pdf, folder)
        paper = made(reader, answer)
        answer.unlink(missing_ok=True)
    except AutoReproduceError as error:
        if settings.papers.pdf_reader != "auto":
            raise
        failed = Unread.of(f"the PDF's tables by {reader}", error.what, "see --pdf-reader")
        found = own()
        paper = found.model_copy(update={"unread": [failed, *found.unread]})
    return paper


def undecided(names: list[str], reader: Reader) -> list[Unread]:
    """What is said of tables whose columns can't be told from the PDF."""
    if not names:
        return []
    what = f"the columns of {', '.join(f'Table {name}' for name in names[:12])}"
    fix = "give the paper's LaTeX or HTML"
    if reader == "own":
        fix += f", or have its tables read by Docling: {install_command('pdf')}"
    return [Unread.of(what, "a PDF has no tables, and its words' places don't decide them", fix)]

"""Where a paper comes from, in this order: what the folder holds already, a file, arXiv's LaTeX, arXiv's PDF,
and where arXiv cannot be reached the task's own digest of the paper.

Everything that was fetched stays below the folder, and what was made of it in `paper.json`: a second call with
the same folder needs no network and gives the same paper, so a resumed trial asks its model the same.
"""

from __future__ import annotations

import contextlib
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from autoreproduce import turns
from autoreproduce.config import Settings
from autoreproduce.errors import PaperError, UnreachableError, UsageError
from autoreproduce.papers.archive import unpack
from autoreproduce.papers.arxiv_client import NotThereError, by_id, download_pdf, download_source, normal_id
from autoreproduce.papers.files import Parts, keep_copy, latex_parts, pdf_parts, read_file
from autoreproduce.papers.latex_source import main_file
from autoreproduce.papers.model import Paper
from autoreproduce.papers.references import parse_references
from autoreproduce.papers.sections import body_of

ORIGINS = {
    "latex": "its LaTeX source",
    "mineru": "its PDF, read by MinerU (tier {tier})",
    "pdf": "its PDF, read directly (formulas are incomplete)",
    "markdown": "a Markdown file",
    "text": "a text file",
}


@turns.left()
def read_paper(
    settings: Settings,
    folder: Path,
    *,
    arxiv_id: str | None,
    file: Path | None,
    digest: str | None,
    note: Callable[[str], None],
) -> Paper:
    """The paper of a task, kept in `folder`/paper. `note` gets the sentence that says where its text is from.

    `file` goes before arXiv; `digest` serves where arXiv cannot be reached or what it has cannot be read.
    Raises UsageError for a wrong arXiv id or MinerU asked for and absent, PaperError where no source serves.
    """
    place = folder / "paper"
    arxiv_id = normal_id(arxiv_id) if arxiv_id else None
    asked = _asked(settings, arxiv_id, file)
    paper = _kept(place, asked)
    if paper is None:
        place.mkdir(parents=True, exist_ok=True)
        paper = _from_anywhere(settings, place, arxiv_id, file, digest)
        _keep(place, asked, paper)
    note(paper.note)
    return paper


def read_arxiv_text(settings: Settings, arxiv_id: str, folder: Path) -> Paper:
    """A paper from arXiv (a cited one), kept in `folder`. Raises PaperError, UsageError for a wrong id."""
    arxiv_id = normal_id(arxiv_id)
    asked = _asked(settings, arxiv_id, None)
    paper = _kept(folder, asked)
    if paper is None:
        folder.mkdir(parents=True, exist_ok=True)
        paper = _from_arxiv(settings, folder, arxiv_id)
        _keep(folder, asked, paper)
    return paper


def _from_anywhere(
    settings: Settings, place: Path, arxiv_id: str | None, file: Path | None, digest: str | None
) -> Paper:
    if file is not None:
        parts = read_file(settings, file, place)
        keep_copy(file, place / f"original{file.suffix}")
        return _paper(parts, arxiv_id, f"The paper's text is from {_origin(settings, parts)} ({file.name}).")
    if settings.offline and digest is None:
        raise PaperError("--offline fetches nothing and the task has no digest: give the paper by --paper FILE")
    if arxiv_id is None and digest is None:
        raise UsageError("no paper is named: give --arxiv ID or --paper FILE")
    reason = "--offline fetches nothing" if settings.offline else "The task names no arXiv id"
    if arxiv_id is not None and not settings.offline:
        try:
            return _from_arxiv(settings, place, arxiv_id)
        except PaperError as error:
            if not digest:
                raise
            reason = str(error).split(": ")[0]
    return _paper(
        Parts("digest", _first_heading(digest or ""), digest or "", parse_references(digest or "")),
        arxiv_id,
        f"{reason}; the task's own digest of the paper serves instead, which is not the paper's text.",
    )


def _from_arxiv(settings: Settings, place: Path, arxiv_id: str) -> Paper:
    """The LaTeX where arXiv has it and it can be read, else the PDF."""
    instead = ""
    try:
        parts = _from_source(settings, place, arxiv_id)
    except NotThereError:
        parts = None
    except PaperError as error:
        parts, instead = None, f" The LaTeX source could not be used: {str(error).split(': ')[0]}."
    if parts is None:
        parts = _from_pdf(settings, place, arxiv_id)
    title = parts.title
    if parts.source != "latex" or not title:
        with contextlib.suppress(PaperError):  # what is printed largest on page one has to do then
            title = by_id(settings, arxiv_id).title
    sentence = f"The paper's text is from {_origin(settings, parts)} on arXiv ({arxiv_id}).{instead}"
    return _paper(parts, arxiv_id, sentence, title)


def _from_source(settings: Settings, place: Path, arxiv_id: str) -> Parts | None:
    """The paper from its source, None where that is a PDF (which is then kept as one)."""
    archive, source = place / f"{_stem(arxiv_id)}.source", place / "source"
    if not archive.exists():
        download_source(settings, arxiv_id, archive)
    try:
        kind = unpack(archive, source)
    except PaperError:
        archive.unlink()
        raise
    if kind == "tex":
        return latex_parts(source, place, main_file(source))
    (source / "paper.pdf").replace(place / f"{_stem(arxiv_id)}.pdf")
    return None


def _from_pdf(settings: Settings, place: Path, arxiv_id: str) -> Parts:
    pdf = place / f"{_stem(arxiv_id)}.pdf"
    if not pdf.exists():
        download_pdf(settings, arxiv_id, pdf)
    with pdf.open("rb") as opened:
        if b"%PDF" not in opened.read(1024):
            pdf.unlink()
            raise UnreachableError(f"arXiv answered with something that is no PDF of {arxiv_id}: give --paper FILE")
    return pdf_parts(settings, pdf, place)


def _stem(arxiv_id: str) -> str:
    return arxiv_id.replace("/", "_")


def _paper(parts: Parts, arxiv_id: str | None, sentence: str, title: str = "") -> Paper:
    return Paper(
        arxiv_id=arxiv_id,
        title=title or parts.title,
        text=parts.text,
        body=body_of(parts.text),
        references=parts.references,
        figures=parts.figures,
        source=parts.source,
        note=sentence,
    )


def _origin(settings: Settings, parts: Parts) -> str:
    return ORIGINS[parts.source].format(tier=settings.mineru_tier)


def _first_heading(text: str) -> str:
    return next((line.lstrip("# ").strip() for line in text.splitlines() if line.startswith("#")), "")


def _asked(settings: Settings, arxiv_id: str | None, file: Path | None) -> dict[str, Any]:
    """What decides which paper is read and how; another question is not answered from what is kept."""
    mineru = settings.mineru_tier if settings.mineru else None
    return {"arxiv_id": arxiv_id, "file": _followed(file) if file else None, "mineru": mineru}


def _followed(file: Path) -> str:
    """The true path of what the user named. Raises PaperError where the system cannot follow it."""
    try:
        file.is_file()  # here alone a name too long is seen
        return str(file.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a circle of links
        raise PaperError(f"{str(file)[:200]} cannot be followed ({error!s:.60}): give the paper's file") from error


def _kept(place: Path, asked: dict[str, Any]) -> Paper | None:
    """The paper that `place` holds for the same question, None where it holds none."""
    try:
        stored = json.loads((place / "paper.json").read_text(encoding="utf-8"))
        if stored["asked"] != asked:
            return None
        paper = Paper.model_validate(stored["paper"])
    except (OSError, ValueError, KeyError, TypeError, ValidationError):
        return None
    figures = [figure.model_copy(update={"path": place / figure.path}) for figure in paper.figures]
    return paper.model_copy(update={"figures": figures})


def _keep(place: Path, asked: dict[str, Any], paper: Paper) -> None:
    """Write paper.json (its figures' paths relative, so that the folder can be moved) and paper.md."""
    figures = [
        figure.model_copy(update={"path": Path(os.path.relpath(figure.path, place))}) for figure in paper.figures
    ]
    content = paper.model_copy(update={"figures": figures}).model_dump(mode="json")
    for name, text in (
        ("paper.md", paper.text),
        ("paper.json", json.dumps({"asked": asked, "paper": content}, indent=1)),
    ):
        part = place / f".{name}.part"
        part.write_text(text, encoding="utf-8", errors="replace")
        part.replace(place / name)

"""Where a paper comes from, in this order: the folder itself, a file, arXiv's LaTeX, its HTML of
that, its PDF, and if arXiv cannot be reached the task's own digest of the paper.

Everything that was fetched stays below the folder, and what was made of it in `paper.json`: a
second call with the same folder needs no network and gives the same paper, so a resumed trial sends
its model the same prompts.
"""

import contextlib
import functools
import hashlib
import json
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

from autoreproduce.config import Settings, digest
from autoreproduce.errors import (
    NoConnectionError,
    PaperError,
    ReaderError,
    UnreachableError,
    UsageError,
)
from autoreproduce.files.bounded import parse_json
from autoreproduce.files.confined import confined
from autoreproduce.files.shared import file_inside, read_plain
from autoreproduce.papers.arxiv_client import (
    NotOnArxivError,
    by_id,
    download_html,
    download_pdf,
    download_source,
    normal_id,
)
from autoreproduce.papers.files import (
    docling_paper,
    html_paper,
    mineru_paper,
    pdf_in,
    read_file,
    read_source,
    save_copy,
)
from autoreproduce.papers.model import Paper
from autoreproduce.papers.paths import content_digest, paper_path
from autoreproduce.papers.pdf_readers import reader_of, with_layout
from autoreproduce.papers.references import parse_references
from autoreproduce.papers.sections import body_of

Result = TypeVar("Result")
ORIGINS = {
    "latex": "its LaTeX source",
    "html": "its HTML",
    "document": "a document",
    "docling": "its PDF, with the tables that Docling found",
    "mineru": "its PDF, read by MinerU (tier {tier})",
    "pdf": "its PDF, read directly (formulas are incomplete)",
    "markdown": "a Markdown file",
    "text": "a text file",
}


def read_paper(
    settings: Settings,
    folder: Path,
    *,
    arxiv_id: str | None = None,
    file: Path | None = None,
    digest: str | None = None,
    note: Callable[[str], None] = lambda _: None,
) -> Paper:
    """The paper of a task, saved in `folder`/paper; `note` gets a sentence on its text's origin,
    and one for each part that was left out.

    `file` goes before arXiv, and is a file, a folder, FOLDER:MAIN or a repository's address;
    `digest` is used if arXiv cannot be reached or its paper cannot be read. Raises UsageError for a
    wrong arXiv id or a missing MinerU, PaperError if no source works.
    """
    arxiv_id = normal_id(arxiv_id) if arxiv_id else None
    paper = _kept(
        folder / "paper",
        _request(settings, arxiv_id, file),
        lambda there: _from_anywhere(settings, there, arxiv_id, file, digest),
    )
    note(paper.note)
    for part in paper.unread:
        note(str(part))
    return paper


def read_arxiv_text(settings: Settings, arxiv_id: str, folder: Path) -> Paper:
    """A cited paper from arXiv, saved in `folder`. Raises PaperError; UsageError for a wrong id."""
    arxiv_id = normal_id(arxiv_id)
    request = _request(settings, arxiv_id, None)
    return _kept(folder, request, lambda there: _from_arxiv(settings, there, arxiv_id))


def _kept(folder: Path, request: dict[str, Any], read: Callable[[Path], Paper]) -> Paper:
    """The paper that is saved in `folder` for this request, else what `read` gives, saved there."""
    paper = _saved_paper(folder, request)
    if paper is None:
        with _room_for(folder):
            folder.mkdir(parents=True, exist_ok=True)
            paper = read(folder)
            _save_paper(folder, request, paper)
    return paper


@contextlib.contextmanager
def _room_for(folder: Path) -> Iterator[None]:
    """A full disk, or a folder that cannot be written, is a PaperError."""
    try:
        yield
    except OSError as error:
        raise PaperError(
            f"the paper cannot be written to {folder} ({error.strerror})",
            fix="make room, then run the same command",
            retryable=True,
        ) from error


def _from_anywhere(
    settings: Settings, folder: Path, arxiv_id: str | None, file: Path | None, digest: str | None
) -> Paper:
    if file is not None:
        file = paper_path(file, settings)
        found = _paper_of_file(settings, file, folder)
        save_copy(file, folder / f"original{file.suffix}")
        sentence = f"The paper's text is from {_origin(settings, found)} ({file.name})."
        return _noted(found, arxiv_id, sentence)
    if settings.papers.offline and digest is None:
        raise PaperError(
            "--offline fetches nothing and the task has no digest",
            fix="give the paper with --paper FILE",
        )
    if arxiv_id is None and digest is None:
        raise UsageError("no paper is named", fix="give --arxiv ID or --paper FILE")
    reason = (
        "The setting offline is on" if settings.papers.offline else "The task names no arXiv id"
    )
    if arxiv_id is not None and not settings.papers.offline:
        try:
            return _from_arxiv(settings, folder, arxiv_id)
        except PaperError as error:
            if not digest:
                raise
            reason = error.what
    return _noted(
        _from_digest(digest or ""),
        arxiv_id,
        f"{reason}; the task's own digest of the paper serves instead, which is not the paper's "
        "text.",
    )


def _from_digest(digest: str) -> Paper:
    """The task's own digest, which is trusted and needs no process of its own."""
    title = _first_heading(digest)
    references = parse_references(digest)
    return Paper(
        source="digest", title=title, text=digest, body=body_of(digest), references=references
    )


def _paper_of_file(settings: Settings, file: Path, folder: Path) -> Paper:
    """A file of others, read once for its content in a process with limits; MinerU is one."""

    def read() -> Paper:
        found = _confined(read_file, file, folder, what=file)
        if found.source == "pdf":
            pdf = file if file.suffix.lower() == ".pdf" else pdf_in(folder)

            def made(reader: str, answer: Path) -> Paper:
                if reader == "docling":
                    return _confined(docling_paper, pdf, answer, folder, what=pdf)
                return _confined(mineru_paper, answer, folder, what=pdf)

            found = with_layout(settings, pdf, folder, lambda: found, made)
        return _with_own_figures(found, folder)

    return read_once(settings, file, folder, read)


def read_once(
    settings: Settings, file: Path, folder: Path, read: Callable[[], Result | Paper]
) -> Result | Paper:
    """What `read` gives, which reads `file` and writes its figures below `folder`; the next time,
    for the same content and the same readers, without reading. A paper of which parts weren't read
    is read again.
    """
    content = content_digest(file)
    if content is None:
        return read()
    request = [content, _pdf_request(settings), _readers()]
    kept = settings.cache_dir / "papers" / "read" / digest(request)
    if (paper := saved_paper(kept)) is not None:
        return _moved_figures(paper, folder)
    found = read()
    if isinstance(found, Paper) and not found.unread:
        with contextlib.suppress(OSError):  # without a cache it is read again
            kept.mkdir(parents=True, exist_ok=True)
            _save_paper(kept, {}, _moved_figures(found, kept))
    return found


def _moved_figures(paper: Paper, folder: Path) -> Paper:
    """The paper with copies of its figures below `folder`."""
    figures = []
    for number, figure in enumerate(paper.figures):
        target = folder / "figures" / (figure.path.name or f"figure-{number + 1}.png")
        if figure.path != target:
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(figure.path, target)
        figures.append(figure.model_copy(update={"path": target}))
    return paper.model_copy(update={"figures": figures})


@functools.cache
def _readers() -> str:
    """A digest of the readers' own code: another version may read a paper otherwise."""
    sources = sorted(Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


def _confined(function: Callable[..., Result], *arguments: Any, what: Path) -> Result:
    """As `confined`, but with a PaperError for its limits."""
    try:
        return confined(function, *arguments, what=str(what))
    except ReaderError as error:
        raise PaperError(error.what, fix=error.fix) from error


def _with_own_figures(found: Paper, folder: Path) -> Paper:
    """Only figures in `folder`: a model sees them, and a hostile file may mislead the reader."""
    inside = [
        figure for figure in found.figures if figure.path.resolve().is_relative_to(folder.resolve())
    ]
    return found.model_copy(update={"figures": inside})


def _from_arxiv(settings: Settings, folder: Path, arxiv_id: str) -> Paper:
    """The LaTeX if arXiv has it and it can be read well, else arXiv's HTML of it, else the PDF."""
    instead, found = "", None
    try:
        found = _from_source(settings, folder, arxiv_id)
        ill = "; ".join(map(str, found.unread)) if found else ""
    except NotOnArxivError:
        ill = ""
    except NoConnectionError:
        raise
    except PaperError as error:
        ill = error.what
    if ill:
        with contextlib.suppress(PaperError):
            page = _from_html(settings, folder, arxiv_id)
            if found is None or _values_in(page) > _values_in(found):
                found = page
        if found is None or found.source != "latex":
            instead = f" The LaTeX source could not be used: {ill}."
    if found is None:
        found = _from_pdf(settings, folder, arxiv_id)
    title = found.title
    if found.source != "latex" or not title:
        with contextlib.suppress(PaperError):  # else the title printed on page one is used
            title = by_id(settings, arxiv_id).title
    sentence = (
        f"The paper's text is from {_origin(settings, found)} on arXiv ({arxiv_id}).{instead}"
    )
    return _noted(found, arxiv_id, sentence, title)


def _from_source(settings: Settings, folder: Path, arxiv_id: str) -> Paper | None:
    """The paper from its source, None if that is a PDF (which is then saved as one)."""
    archive = folder / f"{_stem(arxiv_id)}.source"
    if not archive.exists():
        download_source(settings, arxiv_id, archive)

    def read() -> Paper | None:
        found = _confined(read_source, archive, folder, what=archive)
        if found is None:
            pdf_in(folder).replace(folder / f"{_stem(arxiv_id)}.pdf")
        return found and _with_own_figures(found, folder)

    return read_once(settings, archive, folder, read)


def _from_html(settings: Settings, folder: Path, arxiv_id: str) -> Paper:
    """The paper from arXiv's own HTML. Raises PaperError if there is none."""
    page = folder / f"{_stem(arxiv_id)}.html"
    if not page.exists():
        download_html(settings, arxiv_id, page)
    return read_once(settings, page, folder, lambda: _confined(html_paper, page, folder, what=page))


def _values_in(paper: Paper) -> int:
    return sum(len(table.cells) for table in paper.tables)


def _from_pdf(settings: Settings, folder: Path, arxiv_id: str) -> Paper:
    pdf = folder / f"{_stem(arxiv_id)}.pdf"
    if not pdf.exists():
        download_pdf(settings, arxiv_id, pdf)
    with pdf.open("rb") as opened:
        if b"%PDF" not in opened.read(1024):
            pdf.unlink()
            raise UnreachableError(
                f"arXiv answered with something that isn't a PDF of {arxiv_id}",
                fix="give --paper FILE",
            )
    return _paper_of_file(settings, pdf, folder)


def _stem(arxiv_id: str) -> str:
    return arxiv_id.replace("/", "_")


def _noted(found: Paper, arxiv_id: str | None, sentence: str, title: str = "") -> Paper:
    told = {"arxiv_id": arxiv_id, "note": sentence, "title": title or found.title}
    return found.model_copy(update=told)


def _origin(settings: Settings, found: Paper) -> str:
    return ORIGINS[found.source].format(tier=settings.papers.mineru_tier)


def _first_heading(text: str) -> str:
    return next(
        (line.lstrip("# ").strip() for line in text.splitlines() if line.startswith("#")), ""
    )


def _request(settings: Settings, arxiv_id: str | None, file: Path | None) -> dict[str, Any]:
    """What determines which paper is read and how; a saved one serves the same request alone."""
    path = _real_path(file) if file else None
    return {"arxiv_id": arxiv_id, "file": path, "pdf": _pdf_request(settings)}


def _pdf_request(settings: Settings) -> list[str | None]:
    """Which reader a PDF would have, and how thorough it is."""
    reader = reader_of(settings)
    papers = settings.papers
    return [reader, *([papers.mineru_tier, papers.mineru_url] if reader == "mineru" else [])]


def _real_path(file: Path) -> str:
    """The real path of the user's file. Raises PaperError if the system cannot follow it."""
    try:
        file.is_file()  # only this raises for a name that is too long
        return str(file.resolve())
    except (OSError, RuntimeError, ValueError) as error:  # RuntimeError: a circle of links
        raise PaperError(
            f"{str(file)[:200]} cannot be followed ({error!s:.60})", fix="give the paper's file"
        ) from error


def saved_paper(folder: Path) -> Paper | None:
    """The paper that `read_paper` saved in `folder`, however it was asked for; None if
    there is none.
    """
    return _saved_paper(folder, None)


def _saved_paper(folder: Path, request: dict[str, Any] | None) -> Paper | None:
    """The paper saved in `folder` for the same request (None: for any), None if there is none."""
    try:
        stored = parse_json(read_plain(folder / "paper.json"))
        if request is not None and stored["request"] != request:
            return None
        paper = Paper.model_validate(stored["paper"])
    except (OSError, UsageError, ValueError, KeyError, TypeError):
        return None
    lies = [(figure, file_inside(folder, figure.path)) for figure in paper.figures]
    # one that lies elsewhere is none: somebody else may have made the folder
    figures = [figure.model_copy(update={"path": path}) for figure, path in lies if path]
    return paper.model_copy(update={"figures": figures})


def _save_paper(folder: Path, request: dict[str, Any], paper: Paper) -> None:
    """Write paper.md, and paper.json with relative paths, so that the folder can be moved."""
    figures = [
        figure.model_copy(update={"path": Path(os.path.relpath(figure.path, folder))})
        for figure in paper.figures
    ]
    content = paper.model_copy(update={"figures": figures}).model_dump(mode="json")
    for name, text in (
        ("paper.md", paper.text),
        ("paper.json", json.dumps({"request": request, "paper": content}, indent=1)),
    ):
        part = folder / f".{name}.part"
        part.write_text(text, encoding="utf-8", errors="replace")
        part.replace(folder / name)
